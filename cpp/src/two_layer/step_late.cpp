/// The Radau steps of a Stepper: when they are tried, and how far one goes that meets events.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"
#include "two_layer/let_go.hpp"
#include "two_layer/step.hpp"

namespace reluflow {

namespace {

/// A threshold below this turns Radau steps off.
constexpr double kNever = -1e100;
/// A late step covers at most this many time constants of weight decay: the neurons are held as if without it, and
/// their series must reach over the step.
constexpr double kLongestDecay = 2.0;

/// After so many explicit steps without any event a layer is what they leave themselves.
constexpr int kQuietSteps = 50;

}  // namespace

LateKind Stepper::kind_of_margins() const noexcept {
    const double smallest = waveform().smallest_margin();
    if (smallest > 0.0) return LateKind::margins;
    if (smallest < RadauStep::kSteep) return LateKind::steep;
    return radau_.turns() ? LateKind::turning : LateKind::careful;
}

/// Tries Radau steps, where explicit steps would be far shorter than the time constants of the neurons.
bool Stepper::try_late() {
    const bool linear = waveform().is_linear();
    const bool separated = linear || (!waveform().decays() && waveform().live_log_loss() < horizon_log_loss_ &&
                                      waveform().smallest_margin() > 0.0);
    const double rate = expansion_.fastest();
    const double plain = late_control_.plain_step(control_.smooth(), expansion_.series().square());
    // Events that keep explicit steps short would do the same to late ones, which cost far more.
    if (!separated && (plain * rate > kStiffRate || control_.is_limited_by_events())) return false;
    const LateKind kind = waveform().keeps_mass() ? LateKind::errors : kind_of_margins();
    const double room = gaps_.expected() / plain;
    if (!late_control_.wants(plain * rate, kind, room)) return false;
    bool lets_go = waveform().keeps_mass();
    if (!lets_go) {
        const double let_go = log_let_go(data_, waveform(), state_);
        lets_go = std::isfinite(let_go);
        if (lets_go && let_go < kUnseenWeight) return false;  // its weight has too few bits, or none, to be followed
    }
    if (waveform().is_owed()) {  // what is a constant for one step is too much for a far longer one
        owed_.forget(expansion_);
        expansion_.start();
    }
    const bool is_quiet = !late_ && quiet_steps_ >= kQuietSteps;
    do {
        double step = std::min({late_control_.propose(plain), kMaxRate / rate, radau_.longest(), expansion_.longest()});
        if (waveform().decays()) step = std::min(step, kLongestDecay / waveform().decay_rate());
        late_ = radau_.expand(expansion_, std::min(step, rounding_limit()), lets_go, is_quiet);
        counts_.late_iterations += radau_.iterations();
        const double work = radau_.relative_work(expansion_);
        const double gain = radau_.plan_next(expansion_, plain);
        late_control_.tried(late_, radau_.next_step(), gain, radau_.has_worked() ? work : 0.0, plain,
                            radau_.misses_layer());
        ++(late_ ? counts_.late_steps : counts_.late_refused);
        if (!late_) expansion_.restart();
    } while (!late_ && late_control_.wants(plain * rate, kind, room));
    if (late_)
        allowed_ = 1.0;
    else
        radau_.pause();
    return late_;
}

/// With weight decay margins do not grow for ever, their weights depend on time, and a Radau step keeps the mass of its
/// start. But while the mass of large losses falls by thousands of e-foldings time hardly passes, and the decay is left
/// out.
bool Stepper::expand_late() {
    if (horizon_log_loss_ < kNever) return false;
    const double plain = late_control_.plain_step(control_.smooth(), expansion_.series().square());
    if (!waveform().decays() || waveform().is_linear() || !waveform().is_decay_far(plain)) return try_late();
    expansion_.leave_out_decay(true);
    const bool is_taken = try_late();
    if (is_taken && !waveform().feels_decay(1.0)) return true;
    if (is_taken) refuse_late();
    expansion_.leave_out_decay(false);
    return false;
}

void Stepper::refuse_late() {
    late_control_.leave();
    radau_.interrupt();
    expansion_.restart();
    late_ = false;
    --counts_.late_steps;
    ++counts_.late_refused;
}

bool Stepper::retry_plain(double max_step) {
    cut(0.0);
    if (!events().empty() || carries_) return false;
    refuse_late();
    expansion_.leave_out_decay(false);
    expand_series(max_step);
    if (!is_finite()) return false;
    follow_events();
    return true;
}

/// True if a Radau step ends at a hit from a distance within what it may have moved the neuron by. Explicit steps
/// decide that: their series know the distance better the shorter they are.
bool Stepper::ends_in_doubt() const {
    return std::any_of(doubts_.begin(), doubts_.end(),
                       [this](const Doubt& doubt) { return doubt.u <= end_ && is_within_error(doubt); });
}

bool Stepper::is_within_error(const Doubt& doubt) const {
    return doubt.distance < radau_.moved() / kLatePart;
}

double Stepper::first_event() const noexcept {
    double first = std::numeric_limits<double>::infinity();
    for (const auto& event : disturbances_) first = std::min(first, event.u);
    return first;
}

/// Whether any event ends a Radau step. The errors of a loss of errors respond to any event, and where margins are far
/// below zero what it does to one of them may move all the weight.
bool Stepper::any_event_ends_late() const noexcept {
    return waveform().is_linear() || waveform().decays() || waveform().smallest_margin() < RadauStep::kSteep;
}

/// A Radau step ends at a hit in doubt, which is one of a neuron that what is neglected before it may have moved; where
/// that may be so, or the step itself may have moved the neuron there, at the event before it.
double Stepper::end_by_late_doubts(double end) const {
    for (const Doubt& doubt : doubts_) {
        if (doubt.u > end) continue;
        const bool is_known = !is_within_error(doubt) && coupled_end(disturbances_, doubt.moved, doubt.u) >= doubt.u;
        end = is_known ? doubt.u : std::min(doubt.u, last_event_before(doubt.u));
    }
    return end;
}

/// The last event before u; where there is none the first one.
double Stepper::last_event_before(double u) const noexcept {
    double last = -1.0;
    for (const auto& event : disturbances_)
        if (event.u < u) last = std::max(last, event.u);
    return last < 0.0 ? first_event() : last;
}

/// In a Radau step the weights respond to an event at once. It goes on where that is below the tolerance, as in
/// explicit steps; the margins of samples that weigh nothing may fall by hundreds within it, so that the weights are
/// looked at again with what the events have done to the margins. If that is too much the step ends at the last event,
/// which then does nothing within it; else half the events are kept.
double Stepper::late_end(double end) {
    const double first = first_event();
    while (first < end) {
        cut(end);
        const double missed = late_events_.missed(expansion_.series(), partitions_, state_, waveform(), end);
        const bool is_known = partitions_.series_rest(end) <= expansion_.state_error();
        double allowed = budget();
        for (const Doubt& doubt : doubts_)
            if (doubt.u <= end) allowed = std::min(allowed, doubt.moved);
        if (is_known && missed * waveform().step() * (end - first) <= allowed) return end;
        const auto& kept = events();
        const auto is_before = [end](const BoundaryEvent& event) { return event.u < end; };
        const std::ptrdiff_t before = std::count_if(kept.begin(), kept.end(), is_before);
        const bool is_behind_all = before == std::ssize(kept);
        if (before == 0)
            end = first;
        else
            end = std::max(first, kept[is_behind_all ? before - 1 : (before - 1) / 2].u);
    }
    return end;
}

/// Reports a step that is taken, of either kind, to what foretells how far a Radau step comes.
void Stepper::note_gap() noexcept {
    const auto is_kept = [this](const Disturbance& event) { return event.u <= end_; };
    const std::ptrdiff_t events = any_event_ends_late()
                                      ? std::count_if(disturbances_.begin(), disturbances_.end(), is_kept)
                                      : (end_ < allowed_ ? 1 : 0);
    const double plain = late_control_.plain_step(control_.smooth(), expansion_.series().square());
    gaps_.went(end_ * waveform().step(), events, plain);
}

Pace Stepper::pace() const noexcept {
    Pace pace;
    control_.tell(pace);
    late_control_.tell(pace);
    return pace;
}

void Stepper::resume(const Pace& pace) noexcept {
    if (pace.smooth == 0.0) return;
    control_.resume(pace);
    late_control_.resume(pace);
}

}  // namespace reluflow
