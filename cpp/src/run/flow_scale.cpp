/// Beyond the digits of log t: where margins are so large that rounding would hide the differences that make the
/// weights, the state is stored smaller by a power of two (docs/design/scale.md).
///
/// The margins are homogeneous of degree two, so the flow of the stored state has the same direction, except that its
/// weights are exp(-q/4^k) in place of exp(-q): a difference of margins of Δq counts as Δq/4^k. As the stored margins
/// stay above some M, the error of the direction is at most a part log(n)/M of its motion: the gap between least and
/// soft-least margin, relative to the margin.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "numeric/bracket.hpp"
#include "run/flow.hpp"

namespace reluflow {

namespace {

/// The stored state is scaled down when its smallest margin exceeds this, to about a part 1/kFall of it. Weights have
/// relative errors of a margin times the rounding: 1e-5, and 1e-7 behind it.
constexpr double kMostHeld = 4e10;
constexpr double kFall = 40.0;
/// The same, once scaled, where rounding of margins keeps late steps short: weights are then known a hundred times as
/// well, and the direction a hundredth as well as it need be.
constexpr double kMostOfFew = 4e8;
/// The same where margins are a small part of their terms, whose rounding would exceed the first (breast cancer in raw
/// units, 1e-8), but no less than the second.
constexpr double kMostRounding = 2e-3;
constexpr double kLeastMost = 1e5;
/// The same beside samples at rest: the rounding of their margins, which are sums of terms as large, is to stay far
/// below the share of the others.
constexpr double kMostBesideRest = 8e4;
constexpr double kAgainBesideRest = 5e3;
/// At a share of so much. A larger one leaves room for larger margins, and weights that answer to scalings by less, up
/// to these factors.
constexpr double kShareBesideRest = 1e-5;
constexpr double kMoreMost = 16.0;
constexpr double kMoreAgain = 64.0;
/// Weights that are this many e-foldings below the largest one do not count, before and after a scaling.
constexpr double kNoWeight = 40.0;
/// Larger differences of margins are those of a state that begins far beyond the digits: rounding that makes no
/// weights.
constexpr double kKnown = 1e4;
/// From margin kFine on weights are carried from step to step. They correct differences of margins within the rounding,
/// kMarginUlps, of samples with weights above kLeastKept.
constexpr double kFine = 1e5;
/// So they are, from the tail of the loss on, where the terms of a margin are so large that it is not known to this. In
/// raw units (breast cancer) margins are 1e-8 of |θ|²: steps were as short as that rounding lets them be, and neurons
/// crossed boundaries for it and came back.
constexpr double kFineRounding = 1e-8;
constexpr double kFineTail = 20.0;
constexpr double kMarginUlps = 256.0;
/// And those within what the tolerance of the step moves margins by, up to this many e-foldings.
constexpr double kMostRestored = 20.0;
constexpr double kLeastKept = 1e-12;
constexpr int kNormHalvings = 60;
/// Until all margins are positive the norm may turn within a step: it is looked at this many times.
constexpr int kNormPieces = 8;
/// If log t is below this part of the smallest margin, the run began beyond the digits and its clock does not matter.
constexpr double kFarBehind = 0.5;
constexpr int kClockHalvings = 100;

}  // namespace

/// The smallest margin at which the state is scaled down, and the one that it has then.
double Flow::most_held() const noexcept {
    if (plan_.objective.resting.is_empty() || plan_.past_stall) {
        const double most = lacks_digits() ? kMostOfFew : kMostHeld;
        return std::clamp(kMostRounding / rounding_part(), kLeastMost, most);
    }
    return kMostBesideRest * std::clamp(stepper_->waveform().share() / kShareBesideRest, 1.0, kMoreMost);
}

double Flow::held_again() const noexcept {
    if (plan_.objective.resting.is_empty()) return most_held() / kFall;
    return kAgainBesideRest * std::clamp(stepper_->waveform().share() / kShareBesideRest, 1.0, kMoreAgain);
}

/// The rounding of the margins as a part of the smallest one: it is that of their terms.
double Flow::rounding_part() const noexcept {
    return margin_rounding() / stepper_->waveform().smallest_margin();
}

double Flow::margin_rounding() const noexcept {
    return std::numeric_limits<double>::epsilon() * stepper_->square() * stepper_->waveform().mean_norm();
}

bool Flow::lacks_digits() const noexcept {
    return exponent() > 0 && stepper_->lacks_digits();
}

/// The factor 4^k from stored to true margins.
double Flow::scale() const noexcept {
    return std::ldexp(1.0, 2 * exponent());
}

/// The loss of the state itself: margins are scaled, not the loss, since a sample that drives no neuron keeps its loss.
double Flow::log_loss() const {
    const bool is_own = exponent() == 0 && plan_.objective.resting.is_empty();
    return is_own ? log_loss_ : true_log_loss(stepper_->expansion().margins());
}

double Flow::true_log_loss(const Vector& held_margins) const {
    if (exponent() == 0 && plan_.objective.resting.is_empty()) return loss_of_margins(held_margins);
    const Vector margins = scale() * (held_margins + state_.offsets);
    return log_loss_sum(plan_.objective.loss, span_of(margins), data_.counts_span()) + log_factor_;
}

/// True when the state has to be scaled down. Not with Stop(direction=): its estimate relies on the law of the flow in
/// t.
bool Flow::is_beyond_digits() const noexcept {
    if (hides_tails()) return true;
    return stepper_->waveform().smallest_margin() > most_held() && stepper_->is_separated() &&
           plan_.stop.direction == 0.0;
}

/// Scales the state down. The weights stay the same: each sample that counts keeps its distance from the smallest
/// margin by an offset of a few tens at most. This offset is the error of the scaling. What the margins of the scaled
/// state are off by, in rounding, is not.
void Flow::shrink() {
    stepper_->settle();
    weights_ = fine_weights();
    const Vector& margins = stepper_->expansion().margins();
    const double least = stepper_->waveform().smallest_margin();
    const double again = held_again();
    const int by = std::max(1, static_cast<int>(std::round(0.5 * std::log2(least / again))));
    const double factor = std::ldexp(1.0, -2 * by);
    for (Index i = 0; i < data_.n(); ++i) {
        const bool rests = plan_.objective.resting.rests(i);  // its weight depends on its own margin alone
        const double above = rests ? margins[i] : margins[i] - least;
        const bool is_known = stepper_->waveform().is_live(i) && above < std::min(kNoWeight / factor, kKnown);
        const bool counts = rests || is_known;
        state_.offsets[i] = counts ? factor * (state_.offsets[i] + above) - above : factor * state_.offsets[i];
    }
    state_.parameters.shrink(by);
    stepper_->rescaled();
    stepper_->begin();
    if (weights_.size() > 0) restore_weights();
    watch_rests();
    log_loss_ = stepper_->waveform().log_loss() + log_factor_;
}

Vector Flow::fine_weights() const {
    if (!has_fine_weights()) return {};
    const Waveform& waveform = stepper_->waveform();
    return (Eigen::Map<const Vector>(waveform.signed_weights(0), data_.n()).array() * data_.signs().array()).matrix();
}

/// Whether weights are known better than margins tell.
bool Flow::has_fine_weights() const noexcept {
    const Waveform& waveform = stepper_->waveform();
    const double least = margin_rounding() >= kFineRounding ? kFineTail : kFine;
    return waveform.smallest_margin() >= least && stepper_->is_separated();
}

/// Keeps the weights at the end of a step, which are known far better than the margins there tell: an error of q
/// changes p by its part 1/|θ|² only. False where margins are accurate enough.
bool Flow::keep_weights() {
    if (!has_fine_weights()) return false;
    stepper_->waveform().signed_weights_at(stepper_->end(), weights_);
    weights_.array() *= data_.signs().array();
    return true;
}

/// Replaces the weights of the new start by those kept, where they differ by rounding of the margins.
void Flow::restore_weights() {
    const Waveform& waveform = stepper_->waveform();
    const Vector& margins = stepper_->expansion().margins();
    const double least = waveform.smallest_margin();
    const double rounding = kMarginUlps * std::numeric_limits<double>::epsilon() * least;
    const double unknown = std::max(rounding, std::min(kMostRestored, stepper_->margin_error()));
    // A weight is what its sample counts times what its margin asks for.
    const auto miss = [&](Index i) { return (margins[i] - least) + std::log(weights_[i] / data_.counts()[i]); };
    double mean = 0.0;
    double share = 0.0;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!waveform.is_tail(i) || weights_[i] < kLeastKept) continue;
        mean += weights_[i] * miss(i);
        share += weights_[i];
    }
    mean /= share;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!waveform.is_tail(i) || weights_[i] < kLeastKept) continue;
        const double off = miss(i) - mean;
        if (std::abs(off) <= unknown) state_.offsets[i] += off;
    }
    stepper_->begin();
}

/// The smallest stored margin of an active sample.
double Flow::least_margin_at(double u) {
    stepper_->waveform().margins_at(u, q_);
    double least = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < data_.n(); ++i)
        if (stepper_->waveform().is_tail(i)) least = std::min(least, q_[i] + state_.offsets[i]);
    return least;
}

/// Where the state is scaled, log t is the smallest margin up to the inverse of the stored one; also if the run began
/// there and its clock is far behind.
Clock Flow::clock_at(double u) {
    if (exponent() == 0) return stepper_->waveform().clock_at(state_.clock, u);
    if (u == 0.0) return state_.clock;
    const double from = scale() * least_margin_at(0.0);
    const double to = std::max(from, scale() * least_margin_at(u));
    return Clock::at_log(state_.clock.log_t() < kFarBehind * from ? to : state_.clock.log_t() + (to - from));
}

double Flow::reach(const Clock& target, double end) {
    if (exponent() == 0) return stepper_->waveform().reach(state_.clock, target, end);
    if (!state_.clock.is_before(target)) return 0.0;
    if (clock_at(end).log_t() < target.log_t()) return kNoRoot;
    const auto is_before = [&](double u) { return clock_at(u).log_t() < target.log_t(); };
    return halved({0.0, end}, is_before, kClockHalvings).high;
}

double Flow::log_norm_at(double u) {
    load_true(u);
    const double unit = std::ldexp(1.0, -exponent());
    return 0.5 * std::log((unit * w_).squaredNorm() + (unit * a_).squaredNorm() + state_.parameters.resting_square()) +
           exponent() * std::numbers::ln2;
}

/// The first u in (0, end] at which |θ| has grown to a log norm; kNoRoot if it does not.
double Flow::reach_norm(double wanted, double end) {
    const int pieces = stepper_->is_separated() && plan_.objective.decay == 0.0 ? 1 : kNormPieces;
    for (int piece = 1; piece <= pieces; ++piece) {
        const double high = end * piece / pieces;
        const auto is_before = [&](double u) { return log_norm_at(u) < wanted; };
        if (!is_before(high)) return halved({end * (piece - 1) / pieces, high}, is_before, kNormHalvings).high;
    }
    return kNoRoot;
}

double Flow::end_by_norm(double end) {
    const double wanted = std::min(plan_.stop.log_norm, kLargestLogNorm);
    if (plan_.stop.log_norm > kLargestLogNorm && exponent() == 0) return end;
    const double u = reach_norm(wanted, end);
    if (u > end) return end;
    pending_ = plan_.stop.log_norm <= kLargestLogNorm ? Status::reached_log_norm : Status::accuracy_not_reached;
    return u;
}

}  // namespace reluflow
