#include <string>

#include "base/errors.hpp"
#include "geometry/dual_norm.hpp"
#include "geometry/dual_norm_parts.hpp"

namespace reluflow {
namespace {

constexpr int kSteps = 100;          // bound of the passes: the value rises at each; five is usual
constexpr double kClimbTau = 1e-16;  // duality gap of τ, relative to the squared lengths of the vectors
constexpr double kRise = 1e-13;      // increases of the squared value below this, relatively, are rounding

Vector climb(const detail::DualNormVectors& v, const Eigen::RowVector<std::int8_t, Eigen::Dynamic>& choice) {
    Vector weights = Vector::Constant(v.rows.rows(), 0.5);
    weights[0] = 1;
    weights.segment(1, v.n_up) = choice.transpose().cast<double>();
    Vector sum = v.respond(weights, kClimbTau);
    for (int step = 0; step < kSteps; ++step) {
        Vector next = weights;
        const Vector heights = v.rows.middleRows(1, v.n_up) * sum;
        for (Index i = 0; i < v.n_up; ++i) next[1 + i] = heights[i] > 0 ? 1 : 0;
        const Vector next_sum = v.respond(next, kClimbTau);
        if (next_sum.squaredNorm() <= (1 + kRise) * sum.squaredNorm()) break;
        weights = next;
        sum = next_sum;
    }
    return weights;
}

}  // namespace

Matrix climb_polar(MatrixView vectors, Index n_up, const SignMatrixView& choices) {
    const detail::DualNormVectors v(vectors, n_up);
    if (choices.cols() != n_up)
        throw InvalidArgument("choices", std::to_string(choices.cols()) + " columns",
                              std::to_string(n_up) + " columns");
    Matrix weights(choices.rows(), vectors.rows());
    for (Index s = 0; s < choices.rows(); ++s) weights.row(s) = climb(v, choices.row(s)).transpose();
    return weights;
}

}  // namespace reluflow
