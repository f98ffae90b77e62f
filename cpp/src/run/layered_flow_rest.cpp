/// Rest: the part of LayeredFlow that tells that nothing moves any more.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/status.hpp"
#include "base/tolerances.hpp"
#include "layered/dual_rounding.hpp"
#include "run/layered_flow.hpp"

namespace reluflow::layered {
namespace {

/// Steps without an event that move nothing mean rest.
constexpr int kRestingSteps = 3;
/// So many of them that go on for what moves beside what rests will not come far enough for it: a few dozens do, as
/// they grow, where anything does.
constexpr int kMostUnmoved = 1000;
/// A step that moves θ by less than this part of it does not move it.
constexpr double kAtRest = 1e-15;
/// A few tens of roundings of a sum of gradients: a velocity below it is nothing else.
constexpr double kRateRounding = 1e-14;
/// A step in which the velocity changes by less than this part of it is not limited by that.
constexpr double kTurned = 1e-3;
/// So many steps below the last digit of t that move θ by less than this part of it in all do not move it either: each
/// may move it by rounding, and back.
constexpr int kStandingSteps = 500;
constexpr double kStanding = 1e-13;
/// Rest with decay: θ stays within this part of the tolerance while t grows e^kLogSettled times.
constexpr double kSettledPart = 0.1;
constexpr double kLogSettled = 1.4;
/// A unit grows if it does so at more than this part of the decay.
constexpr double kGrows = 1e-6;
/// Pre-activations below e^kLogOfNothing have no digits, or few.
const double kLogOfNothing = std::log(kSmallestNeuron);
/// All weights fall alike if none is further than this part of the largest from it: nothing but decay moves them.
constexpr double kAlike = 1e-10;

bool falls_alike(const Vector& theta, const Vector& rate) {
    const double size = largest(theta);
    if (size == 0.0) return true;
    const Vector part = theta / size;
    const double growth = part.dot(rate / size) / part.squaredNorm();
    return growth < 0.0 && largest(rate / size - growth * part) <= -kAlike * growth;
}

}  // namespace

// Decay ends at a critical point, which explicit steps reach to their tolerance and no better: they go on around it.
// What has moved by less than a part of the tolerance in most of the time of the run has no rate that matters, once
// that is as long as decay takes: before, events at tiny times or a fit may be all that there was. A unit far below the
// others that grows will be one of them. A network that decays to zero moves beside itself for ever: where its state at
// a time is asked for, it is compared with itself, until nothing but decay moves it and doubles do not hold the
// pre-activations of all layers any more.
bool LayeredFlow::has_settled() {
    if (!jet_.duals().decays()) return false;
    const double now = largest(state_.theta);
    const bool has_end = !std::isinf(time_stop().log_t());
    const bool is_nothing = (graph_->count() - 2) * std::log(now) < kLogOfNothing;
    fades_ = has_end && is_nothing && falls_alike(jet_.theta(0), jet_.theta(1));
    if (fades_) return true;
    largest_ = has_end ? now : std::max(largest_, now);
    const bool moved = settling_.size() != state_.theta.size() ||
                       largest(state_.theta - settling_) > kSettledPart * plan_.settings.rtol * largest_;
    if (moved) {
        settling_ = state_.theta;
        settling_since_ = state_.clock.log_t();
    }
    const double now_t = state_.clock.log_t();
    if (now_t - settling_since_ <= kLogSettled) return false;
    const double slowest = slowest_decay();
    if (now_t + std::log(slowest) <= 0.0) return false;
    const double rtol = plan_.settings.rtol;
    const double growth = sizes_of_units_.growth_of_small(jet_.theta(0), jet_.theta(1), rtol);
    const double passed = jet_.duals().time()[1] * std::exp(jet_.duals().log_unit());  // of t, in a unit of the series
    return growth <= std::max(kGrows, rtol) * slowest * passed;
}

// With decay a step may be short because its unit is that of another clock: what moves θ by more than the tolerance in
// the time in which it would decay is motion, however little it is in a step.
bool LayeredFlow::decays_still() {
    if (!jet_.duals().decays()) return false;
    sizes_of_units_.take(jet_.theta(0));
    const double passed = jet_.duals().time()[1] * std::exp(jet_.duals().log_unit());  // of t, in a unit of the series
    return sizes_of_units_.part(jet_.theta(1)) > plan_.settings.rtol * slowest_decay() * passed;
}

double LayeredFlow::slowest_decay() const {
    double slowest = std::numeric_limits<double>::infinity();
    for (const double rate : jet_.duals().decay())
        if (rate > 0.0) slowest = std::min(slowest, rate);
    return slowest;
}

bool LayeredFlow::is_at_rest(double u) {
    sizes_of_units_.take(state_.theta);
    const bool is_unmoved = moved_within(u) < kAtRest && !decays_still();
    unmoved_ = is_unmoved ? unmoved_ + 1 : 0;
    resting_ = is_unmoved && !is_on_its_way(u) ? resting_ + 1 : 0;
    if (resting_ >= kRestingSteps && !has_far_to_go()) return !finish_unseen();
    if (unmoved_ > kMostUnmoved)
        finish(Status::stalled, "the loss stalls " + at_log_time() +
                                    " while weights far below the others still move, over times that no steps come to");
    return false;
}

// Of θ, at most, as a part of it.
double LayeredFlow::moved_within(double u) const {
    double moved = 0.0;
    double power = 1.0;
    for (int k = 1; k <= jet_.order(); ++k) moved += sizes_of_units_.part(jet_.theta(k)) * (power *= u);
    return moved;
}

// What limits a step at rest is how fast velocities die away. One in which the velocity stays as it is was short for
// another reason, and much may move by it in the time that is left.
bool LayeredFlow::is_on_its_way(double u) const {
    const double rate = sizes_of_units_.part(jet_.theta(1));
    if (rate == 0.0 || 2.0 * sizes_of_units_.part(jet_.theta(2)) * u > kTurned * rate) return false;
    const double left = state_.clock.amount_to(time_stop(), jet_.duals().log_unit()) / jet_.duals().time()[1];
    return !(moved_within(left) < kAtRest);
}

// Whether more than rounding moves a parameter that grows, or that would come far in the time that is left: beside what
// limits a step others may move in far longer times. With decay a state is compared with itself.
bool LayeredFlow::has_far_to_go() {
    if (jet_.duals().decays() || std::isinf(time_stop().log_t())) return false;
    probed_ = false;
    probe_.start(state_.theta, state_.activity, span_, false);
    if (!probe_.advance()) return false;
    const double left =
        state_.clock.amount_to(time_stop(), probe_.duals().log_unit()) / (std::abs(probe_.duals().time()[1]));
    Vector moved = probe_.theta(1);
    const Vector hidden = kRateRounding * probe_.velocity_terms() + DualRounding::of_velocity(probe_);
    bool grows = false;
    for (Index g = 0; g < moved.size(); ++g) {
        if (std::abs(moved[g]) <= hidden[g]) moved[g] = 0.0;
        const double theta = state_.theta[g];
        grows = grows || (moved[g] * theta > 0.0 && std::abs(moved[g]) * left > kAtRest * std::abs(theta));
    }
    return grows || !(sizes_of_units_.part(moved) * left < kAtRest);
}

// At rest the state is the same at all later times, but for weights that decay to zero: that of the time stop is known.
void LayeredFlow::rest() {
    const Clock stop = time_stop();
    if (plan_.ends_at_rest || std::isinf(stop.log_t())) return finish(Status::stationary);
    if (plan_.save_by != SaveBy::log_norm)
        for (; !is_saved() && !stop.is_before(next_save()); ++n_saved_) {
            rest_until(next_save());
            save_state(state_.clock, 0.0);
        }
    rest_until(stop);
    keep_state();
    const bool is_time = stop.log_t() == std::log(plan_.stop.time);
    finish(is_time ? Status::reached_time : Status::reached_log_time, std::string(status_sentence(Status::stationary)));
}

void LayeredFlow::rest_until(const Clock& then) {
    const Vector& decay = jet_.duals().decay();
    const double passed = then.t() - state_.clock.t();
    for (Index g = 0; fades_ && g < decay.size(); ++g)
        if (decay[g] > 0.0) state_.theta[g] *= std::exp(-decay[g] * passed);
    state_.clock = then;
    if (jet_.duals().decays()) balance_.read(state_.clock.t(), state_.balance);
}

// Below the last digit of t no time tells that: the state is compared with itself after many steps.
bool LayeredFlow::stands(bool is_idle) {
    if (is_idle && ++standing_ < kStandingSteps) return false;
    sizes_of_units_.take(state_.theta);
    const bool is_known = is_idle && standing_from_.size() == state_.theta.size();
    const bool is_same = is_known && sizes_of_units_.part(state_.theta - standing_from_) < kStanding;
    standing_from_ = state_.theta;
    standing_ = 0;
    return is_same;
}

}  // namespace reluflow::layered
