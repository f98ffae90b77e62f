/// How long the next Radau step is to be.
#include <algorithm>
#include <cmath>

#include "two_layer/radau_step.hpp"

namespace reluflow {

namespace {

constexpr double kShrink = 0.4;
/// A step of errors whose miss is a layer for more than this part is tried again at a length that leaves this part of
/// the tolerance. The layer is mostly what the last step left; aimed at the tolerance itself, three tries in a row were
/// too long by a hair, and explicit steps followed. Not with weight decay: there a network whose smallest neuron turns
/// late was then not seen to rest.
constexpr double kMostly = 0.5;
constexpr double kBelow = 0.7;
constexpr double kLargestGrowth = 6.0;
/// A miss below this part of the tolerance is what Newton's method leaves (kNewtonPart of RadauStep::expand) and says
/// nothing of the length: a step that took few iterations may then grow faster.
constexpr double kUnseen = 1e-3;
constexpr int kFewIterations = 2;
constexpr double kFastGrowth = 20.0;
/// A miss below the first after one iteration or none leaves room for a step longer by the second, up to kRegained of
/// the longest before. In raw units layers behind events are 10⁻¹⁵ of that, and what steps miss grows with the root of
/// their length only: each took thirteen steps to come back to it.
constexpr double kFarBelow = 1e-5;
constexpr double kFastestGrowth = 400.0;
/// With this many iterations a step is as long as it should be, and with fewer it may grow by the square of what is
/// left of them: one that was 2.5 times as long took all fourteen and was refused, and then each second one.
constexpr double kEnoughIterations = 8.0;
/// Where margins are negative another sample may take over all the weight within a step, and a much longer step could
/// miss that; so the growth is smaller there, unless they are not far below zero and nothing was missed.
constexpr double kCarefulGrowth = 2.0;
/// The same as kEnoughIterations for these: at twice the length of one that took six, steps were refused.
constexpr double kEnoughCareful = 6.0;
/// The same where the kernel turns: the last iterations of Newton's method gain several digits each.
constexpr double kEnoughTurning = 5.0;
/// But behind an event it grows as elsewhere up to this part of the longest step before: what else could come within
/// such a step has been seen not to.
constexpr double kRegained = 0.1;
/// A step that iterated on rounding, and longer ones in its place were refused, is as long as rounding lets one be.
constexpr double kLimitedGrowth = 1.1;
/// What an event leaves of the lengths before earlier ones.
constexpr double kRemembered = 0.5;
/// A step over a constant kernel that takes so many iterations is kept short by a kernel that turns.
constexpr int kTurnsFrom = 6;
/// So is one that misses this part of the tolerance in a layer, or it may be.
constexpr double kNearLimit = 0.1;
/// Of what it misses the groups feel next to nothing below this part.
constexpr double kNextToNothing = 0.1;

}  // namespace

/// Takes the step or not, and proposes the length of the next one. `rounding`: what of the miss may be rounding, which
/// says nothing of the length of a step that is taken. One that is refused is shorter when it is tried again.
bool RadauStep::conclude(Expansion& expansion, double step, double miss, double rounding) noexcept {
    const bool is_taken = miss <= 1.0;
    if (is_taken) longest_ = std::max(longest_, step);
    const bool is_limited = refused_ && rounding > 0.0 && step != landing_;
    const double growth = is_limited ? kLimitedGrowth : largest_growth(miss);
    refused_ = !is_taken;
    const bool is_seen = !is_taken || miss > (is_linear_ ? 0.0 : std::max(kUnseen, rounding));
    // What explicit steps left of a layer is over with this step, and says nothing of the length of the next one.
    const double lasting = left_ > 0.0 && is_taken ? std::max(miss - layer_ / tolerance_, kUnseen) : miss;
    double ratio = is_seen ? std::pow(lasting, -1.0 / kStages) : kFastestGrowth;
    // What is missed of a layer of errors at the start falls like the step alone.
    if (is_linear_ && !is_taken && layer_ > tolerance_) ratio = std::min(ratio, tolerance_ / layer_);
    const bool is_left = layer_ > kMostly * miss * tolerance_ && !expansion.waveform().decays();
    if (is_linear_ && !is_taken && is_left) ratio = std::min(ratio, kBelow / miss);
    next_step_ = step * std::clamp(0.9 * ratio, kShrink, growth);
    behind_ = is_taken && step == landing_ ? ahead_ : kUnlimited;
    if (is_taken && is_steady_ && !keeps_mass_ && !is_growing_ && !has_many_)
        turns_ |= is_kept_short(expansion, step, miss);
    if (is_taken) {
        lacks_digits_ = false;
        kept_ = coefficients_;
        kept_step_ = step;
    }
    return is_taken;
}

/// Whether a step over a constant kernel says that the next ones have to reckon with one that turns: Newton's method
/// took long, or what is missed is large, summed up by samples, and the groups feel next to nothing of it. Of a layer
/// that may be so.
bool RadauStep::is_kept_short(const Expansion& expansion, double step, double miss) {
    if (iterations_ >= kTurnsFrom) return true;
    if (miss <= kNearLimit) return false;
    const double missed = miss * tolerance_;
    return layer_ > kMostly * missed || smooth_error_of_groups(expansion, step) < kNextToNothing * missed;
}

/// By how much the next step may be longer: convergence has to last, and nothing new may come within it.
double RadauStep::largest_growth(double miss) const noexcept {
    if (is_linear_) return kLargestGrowth;
    if (!is_growing_) {
        const bool regains = longest_ < kRegained * longest_before_ && iterations_ <= kFewIterations;
        if (!is_steep_ && iterations_ <= 1 && miss < kFarBelow) return kFastGrowth;
        if (regains || (!is_steep_ && iterations_ <= kFewIterations && miss < kUnseen)) return kLargestGrowth;
        return growth_to(is_turning_ ? kEnoughTurning : kEnoughCareful, kCarefulGrowth);
    }
    if (iterations_ <= 1 && miss < kFarBelow)
        return std::clamp(kRegained * longest_before_ / longest_, kFastGrowth, kFastestGrowth);
    if (iterations_ <= kFewIterations) return miss < kUnseen ? kFastGrowth : kLargestGrowth;
    if (is_steady_) return kLargestGrowth;  // a longer step has the kernel between the nodes, and converges sooner
    return growth_to(kEnoughIterations, kLargestGrowth);
}

/// The growth that leaves a step with as many iterations as are enough.
double RadauStep::growth_to(double enough, double largest) const noexcept {
    const double left = enough / std::max(iterations_, 1);
    return std::clamp(left * left, 1.0, largest);
}

/// An event changes the kernel.
void RadauStep::interrupt() noexcept {
    pause();
    turns_ = has_many_ = false;
    longest_before_ = std::max(longest_, kRemembered * longest_before_);
    longest_ = 0.0;
}

/// A try that leads to nothing. With positive margins that ends a kernel that turns.
bool RadauStep::refuse(double step) noexcept {
    refused_ = true;
    if (is_positive_) turns_ = false;
    next_step_ = kShrink * step;
    return false;
}

}  // namespace reluflow
