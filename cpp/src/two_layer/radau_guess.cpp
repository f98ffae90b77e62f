/// The first guess of the weights of a late step.
#include <algorithm>
#include <cmath>
#include <limits>

#include "two_layer/radau_step.hpp"
#include "two_layer/radau_turning.hpp"

namespace reluflow {

namespace {

/// The weights at the start of a step, which are those of its margins, differ from those at the end of the last one by
/// what rounding does to margins: by no more than this part of their sum.
constexpr double kRoundedStart = 1e-3;
/// With positive margins the polynomials of the last step go on over a step of up to this many times its length, and
/// their tangents over a longer one.
constexpr double kOnwards = 2.5;
/// They do for a weight of which they say the same as its logarithmic rate, to this part of an e-folding. A weight that
/// changes by more follows its rate.
constexpr double kSameGuess = 0.3;
/// The first guess changes no weight by more than this factor, e^1.
constexpr double kFarthestGuess = 1.0;
/// Rates of smaller weights are not extrapolated: such a weight may have few bits, and it does not matter.
constexpr double kLeastFollowed = 1e-280;
/// A first guess whose margins ask for other weights by more than this part of one that counts says nothing of them.
constexpr double kFarPart = 0.5;
/// Weights count from this part of all on.
constexpr double kCounts = 1e-8;
/// Of a weight that a guess takes away this part is kept where its logarithm is an unknown.
constexpr double kLeastKept = 0.1;

}  // namespace

/// First guess: the weights of the start, extrapolated with the logarithmic rates at the end of the last step.
void RadauStep::guess(const Expansion& expansion, double step) {
    start_margins_ = expansion.margins();
    mass_change_.setZero();
    for (Index i = 0; i < data_.n(); ++i) {
        start_weights_[i] = data_.signs()[i] * expansion.waveform().signed_weights(0)[i];
        live_[i] = expansion.waveform().is_live(i);
        if (turns_ && !keeps_mass_) {
            guess_onward(i, step);
            continue;
        }
        double rate = 0.0;
        if (kept_step_ > 0.0 && !is_linear_ && start_weights_[i] >= kLeastFollowed && live_[i])
            for (int k = 1; k < kStages; ++k) rate += k * kept_(k, i) / (start_weights_[i] * kept_step_);
        const bool goes_on = is_growing_ && kept_step_ > 0.0 && start_weights_[i] >= kLeastFollowed && live_[i];
        for (int node = 0; node < kStages; ++node) {
            if (is_linear_) {
                set_change(node, i, 0.0);
                continue;
            }
            double change = std::clamp(rate * nodes_.at[node] * step, -kFarthestGuess, kFarthestGuess);
            if (goes_on) {
                const double onward = onward_log_change(node, i, step);
                if (std::abs(onward - change) < kSameGuess) change = onward;
            }
            set_log_change(node, i, change);
        }
    }
    list_weighing();
}

/// Late in a run the weights of most samples are zero, and nothing but keep_margins() asks for their margins. A loss of
/// errors has all.
void RadauStep::list_weighing() {
    weighing_.clear();
    for (Index i = 0; i < data_.n(); ++i)
        if (is_linear_ || (live_[i] && start_weights_[i] > 0.0)) weighing_.push_back(static_cast<int>(i));
    if (2 * std::ssize(weighing_) > data_.n()) weighing_.clear();
}

/// What the polynomials of the last step, or their tangents at its end, say of the logarithm of a weight. They begin at
/// the weights that the last step has ended with. Those read off the margins there are off by up to the number of time
/// constants in a step times what Newton's method leaves, where samples in many directions hold each other: a layer
/// that begins with every step, and drives neurons by far more than the weights at the nodes do, of which all cancels.
double RadauStep::onward_log_change(int node, Index sample, double step) const {
    const double on = nodes_.at[node] * step / kept_step_;
    double change = kept_end_[sample] - start_weights_[sample];
    double power = 1.0;
    for (int k = 1; k < kStages; ++k) {
        power *= 1.0 + on;
        change += kept_(k, sample) * (step <= kOnwards * kept_step_ ? power - 1.0 : k * on);
    }
    const double part = change / start_weights_[sample];
    return part > -1.0 ? std::log1p(part) : -std::numeric_limits<double>::infinity();
}

/// The polynomials of the last step go on: what they give gradients in which they cancel does so as well.
void RadauStep::guess_onward(Index sample, double step) {
    const double off = live_[sample] ? kept_end_[sample] - start_weights_[sample] : 0.0;
    for (int node = 0; node < kStages; ++node) {
        double change = kept_step_ > 0.0 && std::abs(off) <= kRoundedStart ? off : 0.0;
        const double on = kept_step_ > 0.0 && live_[sample] ? nodes_.at[node] * step / kept_step_ : 0.0;
        double power = 1.0;
        for (int k = 1; k < kStages; ++k) {
            power *= 1.0 + on;
            change += kept_(k, sample) * (power - 1.0);
        }
        set_change(node, sample, change);
    }
}

/// A first value of log D: a weighted mean over the samples.
void RadauStep::guess_mass() {
    for (int node = 0; node < kStages; ++node) {
        double sum = 0.0;
        double share = 0.0;
        for (Index i = 0; i < data_.n(); ++i) {
            if (!shares_mass(i) || start_weights_[i] == 0.0) continue;
            const double follows = log_weight_change(objective_.loss, start_margins_[i], margin_change_(node, i));
            sum += weight_at(node, i) * (follows - log_change_(node, i));
            share += weight_at(node, i);
        }
        mass_change_[node] = sum / share;
    }
}

/// Whether weights that count are far from those that their margins ask for.
bool RadauStep::is_far_guess() const noexcept {
    for (int node = 0; node < kStages; ++node)
        for (Index i = 0; i < data_.n(); ++i) {
            const double weight = live_[i] ? start_weights_[i] : 0.0;
            if (weight > kCounts && !(std::abs(steady_residual_(node, i)) <= kFarPart * weight)) return true;
        }
    return false;
}

/// The step is short for any group to respond, or the groups have too many directions.
void RadauStep::forget_turning() noexcept {
    if (turning_->is_full()) {
        has_many_ = true;
        turns_ = false;
    }
    is_turning_ = false;
    for (int node = 0; node < kStages; ++node)
        for (Index i = 0; i < data_.n(); ++i)
            if (live_[i] && start_weights_[i] > 0.0)
                set_log_change(node, i, std::log1p(std::max(change_(node, i) / start_weights_[i], kLeastKept - 1.0)));
}

/// The weight of a sample that drives nothing stands still, and is not followed here.
void RadauStep::set_log_change(int node, Index sample, double log_change) {
    log_change_(node, sample) = log_change;
    const double start = start_weights_[sample];
    const double next = start > 0.0 ? start * std::exp(log_change) : 0.0;  // avoids 0 ∞
    change_(node, sample) = !live_[sample] || start == 0.0
                                ? 0.0
                                : (next > 1.0 && !keeps_mass_ ? 1.0 - start : start * std::expm1(log_change));
}

/// The change of a weight that a loss of errors asks for is linear: it is an unknown itself.
void RadauStep::set_change(int node, Index sample, double change) {
    log_change_(node, sample) = change_(node, sample) = live_[sample] ? change : 0.0;
}

}  // namespace reluflow
