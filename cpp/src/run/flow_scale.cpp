/// Beyond the digits of log t: where margins are so large that rounding would hide the differences that make the
/// weights, the state is held smaller by a power of two.
///
/// The margins are homogeneous of degree two, so the flow of the held state goes in the same direction, but for weights
/// exp(-q/4^k) in place of exp(-q): a difference of margins of Δq counts as Δq/4^k. As the margins that decide are
/// larger than kHeldAgain all the time, a direction is off by no more than a part log(n)/kHeldAgain of what it turns:
/// the gap between least and soft-least margin, relative to the margin (docs/design/scale.md).
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "run/flow.hpp"

namespace reluflow {

namespace {

/// The smallest margin at which the state is scaled down, and what it is scaled to. Weights are known to margins times
/// the rounding: 1e-5 and 1e-7.
constexpr double kMostHeld = 4e10;
constexpr double kHeldAgain = 1e9;
/// Weights that are this many e-foldings below the largest one do not count, before a scaling nor after it.
constexpr double kNoWeight = 40.0;
/// Differences of margins beyond this are those of a state that begins far beyond the digits: rounding, no weights.
constexpr double kKnown = 1e4;
/// From this margin on weights are carried from step to step; rounding of a margin; weights below this are not.
constexpr double kFine = 1e5;
constexpr double kMarginUlps = 256.0;
constexpr double kLeastKept = 1e-12;
constexpr int kNormHalvings = 60;
/// A clock below this part of the smallest margin is that of a run that began beyond the digits.
constexpr double kFarBehind = 0.5;
constexpr int kClockHalvings = 100;

}  // namespace

/// What margins and log L are to be multiplied by.
double Flow::scale() const noexcept {
    return std::ldexp(1.0, 2 * exponent_);
}

/// Of the state itself. A sample that drives nobody may have a loss that stays: margins are scaled, not the loss.
double Flow::log_loss() const {
    return exponent_ == 0 ? log_loss_ : unscaled_log_loss(stepper_.expansion().margins());
}

double Flow::unscaled_log_loss(const Vector& held_margins) const {
    const Vector margins = scale() * (held_margins + offsets_);
    return reluflow::log_loss(plan_.objective.loss, plan_.objective.reduction,
                              {margins.data(), static_cast<std::size_t>(margins.size())});
}

/// The estimate of what is left to turn counts on the law of the flow in t, and wants the state as it is.
bool Flow::is_beyond_digits() const noexcept {
    return stepper_.waveform().smallest_margin() > kMostHeld && stepper_.is_separated() && plan_.stop.direction == 0.0;
}

/// The weights stay what they are: each of those that count keeps its distance from the smallest margin, by an offset
/// of a few tens, which is what the scaling is off by.
void Flow::shrink() {
    stepper_.settle();
    const Vector& margins = stepper_.expansion().margins();
    const double least = stepper_.waveform().smallest_margin();
    const int by = std::max(1, static_cast<int>(std::round(0.5 * std::log2(least / kHeldAgain))));
    const double factor = std::ldexp(1.0, -2 * by);
    for (Index i = 0; i < data_.n(); ++i) {
        const double above = margins[i] - least;
        const bool counts = stepper_.waveform().is_live(i) && above < std::min(kNoWeight / factor, kKnown);
        offsets_[i] = counts ? factor * (offsets_[i] + above) - above : factor * offsets_[i];
    }
    state_.shrink(by);
    exponent_ += by;
    resting_square_ *= factor;
    stepper_.rescaled(offsets_);
    stepper_.begin();
    log_loss_ = stepper_.waveform().log_loss() + log_factor_;
}

/// The weights at the end of a step are known far better than the margins there tell: p answers to an error of q by
/// its part 1/|θ|².
bool Flow::keep_weights() {
    if (stepper_.waveform().smallest_margin() < kFine || !stepper_.is_separated()) return false;
    stepper_.waveform().signed_weights_at(stepper_.end(), weights_);
    weights_.array() *= data_.y().array();
    return true;
}

/// Makes the margins of the new start those of the weights kept, where the difference is rounding.
void Flow::restore_weights() {
    const Waveform& waveform = stepper_.waveform();
    const Vector& margins = stepper_.expansion().margins();
    const double least = waveform.smallest_margin();
    const double rounding = kMarginUlps * std::numeric_limits<double>::epsilon() * least;
    const auto miss = [&](Index i) { return (margins[i] - least) + std::log(weights_[i]); };
    double mean = 0.0;
    double share = 0.0;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!waveform.is_live(i) || weights_[i] < kLeastKept) continue;
        mean += weights_[i] * miss(i);
        share += weights_[i];
    }
    mean /= share;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!waveform.is_live(i) || weights_[i] < kLeastKept) continue;
        const double off = miss(i) - mean;
        if (std::abs(off) <= rounding) offsets_[i] += off;
    }
    stepper_.set_offsets(offsets_);
    stepper_.begin();
}

/// The smallest margin of a active sample, as held.
double Flow::least_margin_at(double u) {
    stepper_.waveform().margins_at(u, q_);
    double least = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < data_.n(); ++i)
        if (stepper_.waveform().is_live(i)) least = std::min(least, q_[i] + offsets_[i]);
    return least;
}

/// Where the state is held smaller, log t is the smallest margin, up to a part 1/kHeldAgain: also where the run began
/// there, and the clock is far behind.
Clock Flow::clock_at(double u) {
    if (exponent_ == 0) return stepper_.waveform().clock_at(clock_, u);
    if (u == 0.0) return clock_;
    const double from = scale() * least_margin_at(0.0);
    const double to = std::max(from, scale() * least_margin_at(u));
    return Clock::at_log(clock_.log_t() < kFarBehind * from ? to : clock_.log_t() + (to - from));
}

double Flow::reach(const Clock& target, double end) {
    if (exponent_ == 0) return stepper_.waveform().reach(clock_, target, end);
    if (!clock_.is_before(target)) return 0.0;
    if (clock_at(end).log_t() < target.log_t()) return kNoRoot;
    double low = 0.0;
    double high = end;
    for (int pass = 0; pass < kClockHalvings && low < high; ++pass) {
        const double middle = 0.5 * (low + high);
        if (middle == low || middle == high) break;
        (clock_at(middle).log_t() < target.log_t() ? low : high) = middle;
    }
    return high;
}

double Flow::log_norm_at(double u) {
    if (u > 0.0 || stepper_.is_carrying()) {
        stepper_.state_at(u, w_, a_);
    } else {
        w_ = state_.w;
        a_ = state_.a;
    }
    state_.lower(w_, a_);
    const double unit = std::ldexp(1.0, -exponent_);
    return 0.5 * std::log((unit * w_).squaredNorm() + (unit * a_).squaredNorm() + resting_square_) +
           exponent_ * std::numbers::ln2;
}

double Flow::end_by_norm(double end) {
    const double wanted = std::min(plan_.stop.log_norm, kLargestLogNorm);
    if (plan_.stop.log_norm > kLargestLogNorm && exponent_ == 0) return end;
    if (log_norm_at(end) < wanted) return end;
    double low = 0.0;
    double high = end;
    for (int pass = 0; pass < kNormHalvings; ++pass) {
        const double middle = 0.5 * (low + high);
        (log_norm_at(middle) < wanted ? low : high) = middle;
    }
    pending_ = plan_.stop.log_norm <= kLargestLogNorm ? Status::reached_log_norm : Status::accuracy_not_reached;
    return high;
}

}  // namespace reluflow
