#include <algorithm>

#include "polar_parts.hpp"
#include "reluflow/errors.hpp"
#include "reluflow/polar.hpp"

namespace reluflow {
namespace {

constexpr int kSteps = 100;          // the value rises at each, and there are finitely many σ; five is usual
constexpr double kClimbTau = 1e-14;  // duality gap of τ, relative to the trace of the Gram matrix
constexpr double kRise = 1e-13;      // a rise of the squared value below this, relatively, is rounding

class Climb {
  public:
    Climb(const MatrixView& gram, Index n_up)
        : gram_(gram), n_up_(n_up), n_down_(gram.rows() - 1 - n_up), down_(gram.bottomRightCorner(n_down_, n_down_)) {}

    Vector weights(const Eigen::RowVector<std::int8_t, Eigen::Dynamic>& choice) const {
        Vector weights = Vector::Constant(gram_.rows(), 0.5);
        weights[0] = 1;
        weights.segment(1, n_up_) = choice.transpose().cast<double>();
        Vector products = reply(weights);
        for (int step = 0; step < kSteps; ++step) {
            Vector next = weights;
            for (Index i = 1; i <= n_up_; ++i) next[i] = products[i] > 0 ? 1 : 0;
            const Vector next_products = reply(next);
            if (next.dot(next_products) <= (1 + kRise) * weights.dot(products)) break;
            weights = next;
            products = next_products;
        }
        return weights;
    }

  private:
    /// Sets τ in `weights` to the best reply; returns the products of all vectors with the sum.
    Vector reply(Vector& weights) const {
        if (n_down_ > 0) {
            Vector tau = weights.tail(n_down_);
            const Vector linear = gram_.bottomLeftCorner(n_down_, 1 + n_up_) * weights.head(1 + n_up_);
            detail::minimise_in_box(down_, linear, kClimbTau * gram_.diagonal().sum(), tau);
            weights.tail(n_down_) = tau;
        }
        return gram_ * weights;
    }

    const MatrixView& gram_;
    const Index n_up_, n_down_;
    const Matrix down_;
};

}  // namespace

Matrix climb_polar(MatrixView gram, Index n_up, const SignMatrixView& choices) {
    detail::check_polar(gram, n_up);
    if (choices.cols() != n_up)
        throw InvalidArgument("choices", std::to_string(choices.cols()) + " columns",
                              std::to_string(n_up) + " columns");
    const Climb climb(gram, n_up);
    Matrix weights(choices.rows(), gram.rows());
    for (Index s = 0; s < choices.rows(); ++s) weights.row(s) = climb.weights(choices.row(s)).transpose();
    return weights;
}

}  // namespace reluflow
