/// Eigen's decompositions of small matrices, off the steps: each is long to compile, so it is compiled once, here.
#pragma once

#include <optional>

#include "base/types.hpp"

namespace reluflow {

/// An orthonormal basis of what the columns span, (rows, rank).
Eigen::MatrixXd span_basis(const Eigen::MatrixXd& columns);

/// The x of least norm among those of least |columns x - target|. A column counts as dependent on the others if what
/// they leave of it is at most `zero` times the largest; without it, where that is rounding.
Vector least_squares(const Eigen::MatrixXd& columns, const Vector& target, std::optional<double> zero = {});

/// What the span of the columns leaves of a vector; of columns as least_squares() counts them.
Vector outside_span(const Eigen::MatrixXd& columns, const Vector& vector, double zero);

double least_eigenvalue(const Eigen::MatrixXd& symmetric);

/// A symmetric matrix = vectors diag(values) vectors^T, values increasing.
struct SymmetricModes {
    Vector values;
    Eigen::MatrixXd vectors;
};
SymmetricModes symmetric_modes(const Eigen::MatrixXd& matrix);

/// An orthonormal basis of the x with matrix x = 0, (columns, columns - rank). A row counts as dependent on the others
/// if what they leave of it is at most `zero` times the largest.
Eigen::MatrixXd null_space(const Eigen::MatrixXd& matrix, double zero);

}  // namespace reluflow
