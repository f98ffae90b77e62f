#include "two_layer/step_control.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>

#include "base/tolerances.hpp"
#include "numeric/bracket.hpp"

namespace reluflow {

namespace {

/// First step, in time constants of the fastest neuron.
constexpr double kFirstRate = 0.1;
/// Growth of the step by the order that the last one needed: at an order far below the maximum it may double.
constexpr double kFastGrowth = 2.0;
constexpr double kSlowGrowth = 1.25;
/// After a cut by truncation the next step has this part of the allowed length.
constexpr double kShrink = 0.9;
/// The next step is a little longer than the events foreseen allow, so that it ends at events and not before them.
constexpr double kEventMargin = 1.2;
/// With no event in sight a step limited by events may grow by this factor.
constexpr double kEventGrowth = 3.0;
/// Of a step that kept this many events and was cut by others most neurons may have had their first event before the
/// cut, and later ones are not known. Then the next one is longer than what was left of it by this factor at most: at
/// 1.2 P3 to t = 3.5 takes 75 steps at rtol 1e-3, at 1.5 it takes 71; at 2 P2 takes a tenth longer. With fewer events,
/// as in small runs, their spacing is chance.
constexpr std::size_t kManyEvents = 8;
constexpr double kCrowdedGrowth = 1.5;
/// The work of a Radau step, less what it was worth, is done this many times over by explicit steps before the next
/// try, so that tries that gain nothing are a third of all work. At 1 breast cancer to t = 10 takes a fifth longer, at
/// 3 P1 to log t = 1e6 takes 39 steps at rtol 1e-3 instead of 30.
constexpr double kRepaid = 2.0;
/// Events have to leave a Radau step this many times the length in which explicit steps do its work: it begins with
/// layers, and its work is underestimated. At 1 breast cancer to t = 10 has 74 late steps, at 2 52, of 221 without the
/// rule; at 3 iris 1/2 to log t = 8, stalled, takes a tenth more steps.
constexpr double kRoom = 2.0;
/// The part that the last explicit step has in the mean work of one. Where events keep them short their orders are low.
constexpr double kLastWork = 0.25;
/// Bounds of the gain that a Radau step must have over an explicit step in length, whatever the estimate of its work
/// says.
constexpr double kLargestGain = 100.0;

/// How readily Radau steps are tried.
struct Eagerness {
    double smallest_gain;
    double hope;      // the first Radau step is longer by this than what would just pay
    int most_tries;   // Radau steps tried in a row, each shorter, before explicit steps resume
    int first_pause;  // back-off: explicit steps before a failed Radau step is retried; doubles after every failure
    int longest_pause;
    int layer_pause;   // the same after an event: by then most of its layer is over
    double least_pay;  // a shorter step is tried while its length is this part of what pays
};
constexpr Eagerness kEager{1.0, 2.0, 3, 2, 32, 2, 1.0};
/// Where margins are negative another sample may take over all the weight within a step; explicit steps see that. But
/// they keep what their tolerance leaves of fast components alive, so that a layer never ends; the first short Radau
/// step ends it, and the next ones are longer each.
constexpr Eagerness kCareful{4.0, 1.0, 1, 8, 64, 1, 0.7};
/// Once the kernel turns within such steps, the next ones are far longer than any explicit one, and one that is too
/// long is tried again shorter: behind some explicit steps they would have to grow anew.
constexpr Eagerness kTurning{4.0, 1.0, 3, 8, 64, 1, 0.7};
/// Errors have no weights that could be taken over. Of layers the same is true.
constexpr Eagerness kErrors{2.0, 2.0, 3, 2, 32, 2, 0.7};

const Eagerness& eagerness(LateKind kind) noexcept {
    switch (kind) {
        case LateKind::careful:
        case LateKind::steep: return kCareful;
        case LateKind::turning: return kTurning;
        case LateKind::errors: return kErrors;
        default: return kEager;
    }
}
/// Steps, at most, that are taken in a row while they do not pay.
constexpr int kMostShort = 3;
/// Where the next step would still be longer than what pays by this factor, it is tried however the last one went, so
/// often in a row: explicit steps, and short late ones behind them, would take far more work to come there again. With
/// negative margins only behind a late step, since the first one behind explicit steps is to end a layer, and not where
/// they are far below zero: starts with margins of -1e10 ended where another sample had taken over all the weight.
constexpr double kFarAhead = 20.0;
constexpr int kMostTriesFar = 6;
/// Where an explicit step covers less of the time constants of the neurons than this, none of them brings a run
/// forward, and work is not repaid by them. With negative margins they are to see what a late step would not.
constexpr double kNoWay = 1e-3;
/// Events, at most, at which going on late is not tried after it has failed again and again.
constexpr int kMostBarred = 63;
/// A Radau step leaps over the layer behind an event if the step before was longer than an explicit one by this factor.
constexpr double kLeap = 30.0;
/// It is as long as the step before times this factor at most, where no event was seen that ends it sooner: of what
/// goes farther nothing is left, and a longer step takes more iterations.
constexpr double kLeapGrowth = 6.0;
/// Halvings for the end of a step: a relative error of 2^-40 in what is an estimate.
constexpr int kHalvings = 40;

/// What events add to the rate of a neuron may turn it back if the bound of it is more than this many times that rate:
/// it counts the most opposite direction, of which a tenth and less is seen. At 2 as many steps are taken, at a quarter
/// half as many again at rtol 1e-3.
constexpr double kTurnsBack = 8.0;

double neglected(std::span<const Disturbance> disturbances, double end) noexcept {
    constexpr std::size_t kSide = 8;  // several sums side by side, since additions to one would wait for each other
    double sums[kSide] = {};
    const auto add = [&](std::size_t side, const Disturbance& event) {
        const double left = end - event.u;
        sums[side] += left > 0.0 ? 0.5 * left * left * event.coupling : 0.0;
    };
    std::size_t i = 0;
    for (; i + kSide <= disturbances.size(); i += kSide)
        for (std::size_t side = 0; side < kSide; ++side) add(side, disturbances[i + side]);
    for (; i < disturbances.size(); ++i) add(0, disturbances[i]);
    double sum = 0.0;
    for (const double part : sums) sum += part;
    return sum;
}

/// The number of boundaries of events before `end`, up to kMostCrowd. Those of like neurons on one boundary do the same
/// to the others.
std::size_t boundaries_met(std::span<const Disturbance> disturbances, double end) noexcept {
    std::array<int, kMostCrowd> met{};
    std::size_t count = 0;
    for (const auto& event : disturbances) {
        if (count == met.size()) break;
        const auto last = met.begin() + static_cast<std::ptrdiff_t>(count);
        if (event.u < end && std::find(met.begin(), last, event.boundary) == last) met[count++] = event.boundary;
    }
    return count;
}

}  // namespace

double crowded(double budget, std::size_t boundaries) noexcept {
    const double of_all = static_cast<double>(std::min(boundaries, kMostCrowd)) * budget;
    return std::max(budget, std::min(of_all, kMostNeglected));
}

double coupled_end(std::span<const Disturbance> disturbances, double budget, double end, bool is_owed) noexcept {
    const auto is_allowed = [&](double u) {
        const double sum = neglected(disturbances, u);
        if (sum <= budget || !is_owed) return sum <= budget;
        return sum <= crowded(budget, boundaries_met(disturbances, u));
    };
    if (is_allowed(end)) return end;
    const double low = halved({0.0, end}, is_allowed, kHalvings).low;
    // The bisection may stop just before an event that a step can reach without exceeding the budget.
    double first = std::numeric_limits<double>::infinity();
    for (const auto& event : disturbances) first = std::min(first, event.u);
    return std::max(low, std::min(first, end));
}

double effect_within(std::span<const Disturbance> disturbances, double end, double length) noexcept {
    double sum = 0.0;
    for (const auto& event : disturbances)
        if (event.u <= end) sum += 0.5 * length * length * event.coupling;
    return sum;
}

void list_slow_hits(std::span<const Disturbance> disturbances, double end, std::vector<SlowHit>& found) {
    found.clear();
    double most = 0.0;
    for (const auto& event : disturbances) most += event.coupling;
    for (const auto& hit : disturbances) {
        if (hit.u > end || kTurnsBack * hit.rate > most * hit.u) continue;
        double turned = 0.0;
        double before = 0.0;
        for (const auto& event : disturbances) {
            if (event.u >= hit.u) continue;
            turned += (hit.u - event.u) * event.coupling;
            before = std::max(before, event.u);
        }
        if (turned > kTurnsBack * hit.rate) found.push_back({hit, before});
    }
}

double StepControl::propose(double fastest) const noexcept {
    const double cap = kMaxRate / fastest;
    if (smooth_ == 0.0) return kFirstRate / fastest;
    return std::min({cap, smooth_, events_});
}

void StepControl::truncated(double step, int order, double allowed) noexcept {
    if (allowed < 1.0)
        smooth_ = kShrink * allowed * step;
    else
        smooth_ = step * (order <= kMaxOrder / 2 ? kFastGrowth : (order < kMaxOrder - 2 ? kSlowGrowth : 1.0));
}

void StepControl::taken(double step, double u, double next_end, std::size_t kept, bool cut) noexcept {
    if (next_end + u >= 1.0)
        events_ = kEventGrowth * step;
    else
        events_ = kEventMargin * next_end * step;
    if (cut && kept >= kManyEvents) events_ = std::min(events_, kCrowdedGrowth * u * step);
}

void StepControl::tell(Pace& pace) const noexcept {
    pace.smooth = smooth_;
    pace.events = events_;
}

void StepControl::resume(const Pace& pace) noexcept {
    smooth_ = pace.smooth;
    events_ = pace.events;
}

void LateControl::plain_step_taken(double square, double work) noexcept {
    square_ = square;
    plain_work_ += kLastWork * (work - plain_work_);
    debt_ = std::max(0.0, debt_ - work);
    if (pause_ > 0) --pause_;
}

double LateControl::plain_step(double smooth, double square) const noexcept {
    return smooth * square_ / square;
}

bool LateControl::wants(double rate, LateKind kind, double room) noexcept {
    kind_ = kind;
    const bool is_careful = kind == LateKind::careful || kind == LateKind::steep;
    const bool owes = debt_ > 0.0 && (is_careful || rate >= kNoWay);
    const bool has_room = room * plain_work_ >= kRoom * gain_;
    return active_ || (rate < kStiffRate && pause_ == 0 && !owes && has_room);
}

double LateControl::propose(double plain) const noexcept {
    return active_ ? step_ : eagerness(kind_).hope * gain_ * plain;
}

void LateControl::tried(bool accepted, double next, double gain, double spent, double plain, bool in_layer) noexcept {
    debt_ += kRepaid * spent;
    plain_ = plain;
    const Eagerness& how = eagerness(kind_);
    gain_ = std::clamp(gain, how.smallest_gain, kLargestGain);
    step_ = next;
    const bool goes_on = active_ && (kind_ == LateKind::careful || kind_ == LateKind::turning);
    const bool far = (kind_ == LateKind::margins || goes_on) && next >= kFarAhead * gain_ * plain;
    if (leaps_ && (accepted || !far || in_layer)) {
        leaps_ = false;
        if (!accepted) {
            tries_ = 0;
            return leave();
        }
    }
    const bool pays = next >= gain_ * plain;
    tries_ = accepted && pays ? 0 : tries_ + 1;
    const int most = far ? kMostTriesFar : (accepted ? kMostShort : how.most_tries);
    active_ = next >= how.least_pay * gain_ * plain && tries_ < most;
    if (active_) {
        if (accepted) next_pause_ = 0;
        return;
    }
    tries_ = 0;
    next_pause_ = std::clamp(2 * next_pause_, how.first_pause, how.longest_pause);
    pause_ = next_pause_;
}

bool LateControl::taken(double length, bool at_event, double ahead, bool is_gentle) noexcept {
    debt_ = std::max(0.0, debt_ - kRepaid * length / plain_);
    const bool went_on = goes_on_;
    goes_on_ = at_event && length == 0.0 && !went_on && barred_ == 0;
    if (went_on)
        barred_ = next_barred_ = at_event ? std::min(2 * next_barred_ + 1, kMostBarred) : 0;
    else if (at_event && barred_ > 0)
        --barred_;
    if (!at_event || goes_on_) return false;
    const bool may_turn = kind_ == LateKind::careful || kind_ == LateKind::turning;
    if (may_turn ? is_gentle : kind_ == LateKind::margins && length > kLeap * plain_) {
        leaps_ = active_ = true;
        step_ = std::min({step_, kLeapGrowth * length, kEventMargin * ahead});
        return true;
    }
    leave();
    return true;
}

void LateControl::leave() noexcept {
    active_ = leaps_ = false;
    pause_ = eagerness(kind_).layer_pause;
}

void LateControl::tell(Pace& pace) const noexcept {
    pace.square = square_;
    pace.late = active_ ? step_ : 0.0;
    pace.gain = gain_;
}

void LateControl::resume(const Pace& pace) noexcept {
    square_ = pace.square;
    step_ = pace.late;
    gain_ = pace.gain;
    active_ = step_ > 0.0;
}

}  // namespace reluflow
