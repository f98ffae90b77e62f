#include "numeric/krylov.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/decompositions.hpp"

namespace reluflow {

namespace {

/// A new direction that is this part of the operator is rounding.
constexpr double kNothing = 8.0 * std::numeric_limits<double>::epsilon();

}  // namespace

KrylovModes krylov_modes(const std::function<Vector(const Vector&)>& times, const Vector& vector, Index most) {
    const double norm = vector.norm();
    const Index limit = norm > 0.0 ? std::min(most, vector.size()) : 0;
    Eigen::MatrixXd basis(vector.size(), limit);
    Eigen::MatrixXd reduced = Eigen::MatrixXd::Zero(limit, limit);
    Index count = 0;
    Vector next = vector / norm;
    double scale = 0.0;
    while (count < limit) {
        basis.col(count++) = next;
        next = times(next);
        scale = std::max(scale, next.norm());
        for (int pass = 0; pass < 2; ++pass) {  // the second for the rounding of the first
            const Vector taken = basis.leftCols(count).transpose() * next;
            next -= basis.leftCols(count) * taken;
            reduced(count - 1, count - 1) += taken[count - 1];
        }
        const double left = next.norm();
        if (count == limit || left <= kNothing * scale) break;
        reduced(count, count - 1) = reduced(count - 1, count) = left;
        next /= left;
    }
    if (count == 0) return {};
    const SymmetricModes modes = symmetric_modes(reduced.topLeftCorner(count, count));
    return {modes.values, norm * modes.vectors.row(0).transpose(), basis.leftCols(count) * modes.vectors};
}

}  // namespace reluflow
