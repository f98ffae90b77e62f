/// What implicit steps ask of a jet: how velocities change with θ, and the series of a step that is known already.
#include <utility>

#include "layered/jet.hpp"

namespace reluflow::layered {

// Order k of all z and h, of θ that holds what slides by itself.
void Jet::forward_as_given(int k) {
    load(k);
    for (int v = 1; v < graph_->count(); ++v) {
        forward(k, v, {0, X_->rows()});
        finish(k, v, true);
    }
}

// Along θ + u v the gradient of order 1 is its derivative.
void Jet::velocity_along(const Vector& change, Vector& out) {
    theta_[1] = change;
    forward_as_given(1);
    duals_.next(1, h_of(graph_->count() - 1).order(1));
    backward(1);
    gradient(1, out);
    out *= span_;
    duals_.add_decay(theta_, 1, out);
    if (const double fall = duals_.fall(); fall != 0.0) {
        gradient(0, gradient_);
        gradient_ *= span_;
        duals_.add_decay(theta_, 0, gradient_);
        out -= fall * gradient_;
    }
    sliding_.project(out);
}

bool Jet::follow(const std::vector<Vector>& theta, const std::vector<Matrix>& duals,
                 const std::vector<Vector>& multipliers, int order, Missed missed) {
    duals_.prescribe_duals(duals);
    for (int k = 1; k <= order; ++k) {
        backward(k - 1);
        if (k == 1 && !factor_sliding()) return false;
        if (k < static_cast<int>(theta.size()))
            theta_[k] = theta[k];
        else
            theta_[k].setZero();
        forward_as_given(k);
        if (!sliding_.empty()) {
            const auto j = static_cast<std::size_t>(k - 1);
            sliding_.prescribe(k - 1, j < multipliers.size() ? multipliers[j] : Vector::Zero(sliding_.count()));
            sliding_.spread(k - 1, delta_);
        }
        order_ = k;
        duals_.next(k, h_of(graph_->count() - 1).order(k));
    }
    has_delta_ = false;
    degree_ = static_cast<int>(theta.size()) - 1;
    missed_ = std::move(missed);
    return true;
}

}  // namespace reluflow::layered
