/// Factors of an earlier step, kept for the next ones: errors respond alike whatever they are, and from step to step
/// the kernel changes with the weights of the neurons alone, which is little.
#include <algorithm>
#include <cmath>

#include "two_layer/radau_steady.hpp"

namespace reluflow {

namespace {

/// Factors are kept while no neuron has gone farther than this part of the size of its group's output weights. They
/// then miss at most about twice this part of any response, and an iteration leaves no more than that.
constexpr double kStayed = 0.01;

}  // namespace

bool SteadyResponse::prepare(Expansion& expansion, const Vector& weights, const Vector& answers, double step) {
    is_old_ = is_linear_ && still_holds(expansion, weights, answers, step);
    if (is_old_) {
        since_ = step / step_;
        return true;
    }
    since_ = 1.0;
    const bool is_known = factor(expansion, weights, answers, step);
    step_ = is_known ? step : 0.0;
    version_ = expansion.version();
    return is_known;
}

bool SteadyResponse::still_holds(Expansion& expansion, const Vector& weights, const Vector& answers, double step) {
    if (step_ == 0.0 || version_ != expansion.version() || left_out_ * step > kLeftOut * step_) return false;
    const double square = step * expansion.series().square();
    std::size_t next = 0;
    for (Index i = 0; i < data_.n(); ++i) {
        const double answer = std::max(answers[i], kLeastAnswer);
        if (root_[i] != std::sqrt(weights[i] * answer) || border_[i] != std::sqrt(weights[i] / answer)) return false;
        const bool is_listed = next < samples_.size() && samples_[next] == i;
        if (is_listed) ++next;
        if (!is_listed && responds(i, square)) return false;
    }
    expansion.series().evaluate(0.0, w_now_, a_now_);
    return has_stayed(expansion);
}

/// A neuron that has moved by δ changes the derivatives of the margins by what its group can move them by, times δ over
/// the size of the group's output weights.
bool SteadyResponse::has_stayed(const Expansion& expansion) const noexcept {
    for (Index j = 0; j < neurons_; ++j) {
        const double output = a_now_[j] - a_[j];
        const double gone = (w_now_.col(j) - w_.col(j)).squaredNorm() + output * output;
        if (!(gone <= kStayed * kStayed * squares_[expansion.groups().of(j)])) return false;
    }
    return true;
}

}  // namespace reluflow
