#include "geometry/arrangement_boundaries.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow::detail {
namespace {

/// Keeps the rows of `rows` that are no multiple of an earlier one.
Boundaries merged(const Matrix& rows, const std::vector<double>& error) {
    std::vector<Index> kept;
    for (Index k = 0; k < rows.rows(); ++k) {
        const auto same = [&](Index j) {
            const double tolerance =
                kSameBoundary * (error[static_cast<std::size_t>(j)] + error[static_cast<std::size_t>(k)]);
            const double side = rows.row(j).dot(rows.row(k)) < 0 ? -1.0 : 1.0;
            return (rows.row(k) - side * rows.row(j)).squaredNorm() <= tolerance * tolerance;
        };
        if (std::none_of(kept.begin(), kept.end(), same)) kept.push_back(k);
    }
    Boundaries boundaries;
    boundaries.normals.resize(static_cast<Index>(kept.size()), rows.cols());
    for (std::size_t j = 0; j < kept.size(); ++j) {
        boundaries.normals.row(static_cast<Index>(j)) = rows.row(kept[j]);
        boundaries.error.push_back(error[static_cast<std::size_t>(kept[j])]);
    }
    return boundaries;
}

}  // namespace

Boundaries distinct_boundaries(const MatrixView& X) {
    Matrix rows = X;  // a copy, so that the alignment of the caller's memory does not change the last bits of sums
    Index n = 0;
    for (Index i = 0; i < X.rows(); ++i) {
        const double norm = rows.row(i).stableNorm();
        if (norm > 0) rows.row(n++) = rows.row(i) / norm;
    }
    rows.conservativeResize(n, X.cols());
    return merged(rows, std::vector<double>(static_cast<std::size_t>(n), kUnitRounding));
}

Vector reflector(const Vector& x) {
    Vector v = x;
    v[0] += x[0] < 0 ? -1.0 : 1.0;  // the sign that avoids cancellation
    return v.normalized();
}

Boundaries restricted(const Boundaries& boundaries, Index i, const Vector& v) {
    const Index dim = boundaries.dim();
    Matrix rows(i, dim - 1);
    std::vector<double> error;
    for (Index k = 0; k < i; ++k) {
        const double reflection = 2 * boundaries.normals.row(k).dot(v);
        rows.row(k) = boundaries.normals.row(k).tail(dim - 1) - reflection * v.tail(dim - 1).transpose();
        const double norm = rows.row(k).norm();  // sine of the angle to i, not 0
        rows.row(k) /= norm;
        error.push_back(
            (boundaries.error[static_cast<std::size_t>(k)] + boundaries.error[static_cast<std::size_t>(i)]) / norm);
    }
    return merged(rows, error);
}

}  // namespace reluflow::detail
