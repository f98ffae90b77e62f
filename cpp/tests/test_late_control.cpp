/// When Radau steps are tried, and when explicit steps resume.
#include <algorithm>
#include <cmath>
#include <limits>

#include "check.hpp"
#include "two_layer/event_gaps.hpp"
#include "two_layer/step_control.hpp"

namespace {

using namespace reluflow;

constexpr double kPlain = 1.0;
constexpr double kGain = 4.0;
constexpr double kEndless = std::numeric_limits<double>::infinity();  // room: no event is in the way
constexpr double kRate = 1e-3;  // time constants of the fastest neuron in an explicit step: stiff

/// A control that has been asked once.
LateControl asked(LateKind kind) {
    LateControl control;
    CHECK(control.wants(kRate, kind, kEndless));
    return control;
}

void a_step_that_just_fails_to_pay_is_tried_again_for_errors_alone() {
    for (const LateKind kind : {LateKind::margins, LateKind::careful, LateKind::errors}) {
        LateControl control = asked(kind);
        control.tried(false, 0.9 * kGain * kPlain, kGain, kGain, kPlain);
        CHECK(control.wants(kRate, kind, kEndless) == (kind == LateKind::errors));
    }
}

void a_short_step_that_ended_the_layer_is_followed_by_another() {
    for (const LateKind kind : {LateKind::careful, LateKind::errors}) {
        LateControl control = asked(kind);
        control.tried(true, 0.9 * kGain * kPlain, kGain, kGain, kPlain);
        CHECK(control.wants(kRate, kind, kEndless));
        CHECK(control.propose(kPlain) == 0.9 * kGain * kPlain);
    }
}

void a_careful_step_that_is_refused_is_not_tried_again() {
    LateControl control = asked(LateKind::careful);
    control.tried(false, 4.0 * kGain * kPlain, kGain, kGain, kPlain);
    CHECK(!control.wants(kRate, LateKind::careful, kEndless));
}

void steps_that_never_pay_end_and_are_paused() {
    for (const LateKind kind : {LateKind::careful, LateKind::errors}) {
        LateControl control = asked(kind);
        int tries = 0;
        for (; tries < 10 && control.wants(kRate, kind, kEndless); ++tries) {
            control.tried(true, 0.9 * kGain * kPlain, kGain, kGain, kPlain);
            control.taken(0.9 * kGain * kPlain, false);
        }
        CHECK(tries > 1);
        CHECK(tries < 10);
        control.plain_step_taken(1.0, 1.0);
        CHECK(!control.wants(kRate, kind, kEndless));
        for (int step = 0; step < 10; ++step) control.plain_step_taken(1.0, 1.0);
        CHECK(control.wants(kRate, kind, kEndless));
    }
}

void a_step_far_from_paying_is_not_tried() {
    LateControl control = asked(LateKind::errors);
    control.tried(false, 0.1 * kGain * kPlain, kGain, kGain, kPlain);
    CHECK(!control.wants(kRate, LateKind::errors, kEndless));
}

/// The number of explicit steps of the highest order before the next try.
int waits(LateControl& control) {
    constexpr int kMost = 1000;
    int count = 0;
    while (count < kMost && !control.wants(kRate, LateKind::margins, kEndless)) {
        control.plain_step_taken(1.0, 1.0);
        ++count;
    }
    return count;
}

void a_late_step_that_is_refused_waits_for_what_it_cost() {
    LateControl cheap = asked(LateKind::margins);
    LateControl dear = asked(LateKind::margins);
    cheap.tried(false, 0.0, 2.0, 2.0, kPlain);
    dear.tried(false, 0.0, 40.0, 40.0, kPlain);
    const int after_cheap = waits(cheap);
    const int after_dear = waits(dear);
    CHECK(after_cheap >= 2);
    CHECK(after_cheap < 40);
    CHECK(after_dear >= 40);
    CHECK(after_dear < 1000);
}

void what_was_given_up_before_it_began_costs_nothing() {
    LateControl control = asked(LateKind::margins);
    control.tried(false, 0.0, 40.0, 0.0, kPlain);
    CHECK(waits(control) < 10);
}

void explicit_steps_of_low_orders_repay_less() {
    LateControl high = asked(LateKind::margins);
    LateControl low = asked(LateKind::margins);
    for (LateControl* control : {&high, &low}) control->tried(false, 0.0, 40.0, 40.0, kPlain);
    for (int step = 0; step < 40; ++step) {
        high.plain_step_taken(1.0, 1.0);
        low.plain_step_taken(1.0, 0.25);
    }
    CHECK(waits(low) >= waits(high) + 20);
}

void a_late_step_that_was_worth_its_work_leaves_no_wait() {
    LateControl control = asked(LateKind::margins);
    control.tried(true, 100.0, 40.0, 40.0, kPlain);
    control.taken(60.0 * kPlain, false);
    CHECK(waits(control) == 0);
}

/// A control whose last step, much longer than an explicit one, was cut by an event.
LateControl cut_by_event(LateKind kind) {
    LateControl control = asked(kind);
    control.tried(true, 6e6 * kPlain, kGain, kGain, kPlain);
    control.taken(1e6 * kPlain, false);
    control.tried(true, 6e6 * kPlain, kGain, kGain, kPlain);
    CHECK(control.taken(1e6 * kPlain, true));  // the weights have a kink: none are extrapolated
    return control;
}

void a_layer_far_shorter_than_the_step_before_is_leapt_over() {
    LateControl control = cut_by_event(LateKind::margins);
    CHECK(control.wants(kRate, LateKind::margins, kEndless));
    CHECK(control.propose(kPlain) >= 1e6 * kPlain);
}

void a_leap_goes_little_farther_than_the_event_that_was_seen_next() {
    for (const double ahead : {1e2 * kPlain, 1e6 * kPlain, kEndless}) {
        LateControl control = asked(LateKind::margins);
        control.tried(true, 6e6 * kPlain, kGain, kGain, kPlain);
        control.taken(1e6 * kPlain, true, ahead);
        CHECK(control.wants(kRate, LateKind::margins, kEndless));
        CHECK(control.propose(kPlain) > std::min(ahead, 1e6 * kPlain));
        CHECK(control.propose(kPlain) < 1.5 * ahead);
    }
}

void a_layer_of_careful_steps_or_of_errors_is_not_leapt_over() {
    for (const LateKind kind : {LateKind::careful, LateKind::errors}) {
        LateControl control = cut_by_event(kind);
        CHECK(!control.wants(kRate, kind, kEndless));
    }
}

void a_layer_of_careful_steps_is_leapt_over_behind_gentle_events() {
    for (const LateKind kind : {LateKind::careful, LateKind::turning, LateKind::steep, LateKind::errors}) {
        LateControl control = asked(kind);
        control.tried(true, 6e6 * kPlain, kGain, kGain, kPlain);
        CHECK(control.taken(1e6 * kPlain, true, kEndless, true));
        const bool leaps = kind == LateKind::careful || kind == LateKind::turning;
        CHECK(control.wants(kRate, kind, kEndless) == leaps);
    }
}

void a_layer_as_long_as_the_step_before_is_not_leapt_over() {
    LateControl control = asked(LateKind::margins);
    control.tried(true, 10.0 * kPlain, kGain, kGain, kPlain);
    CHECK(control.taken(10.0 * kPlain, true));
    CHECK(!control.wants(kRate, LateKind::margins, kEndless));
}

void a_leap_that_misses_the_layer_is_followed_by_explicit_steps_and_tried_at_the_next_event() {
    LateControl control = cut_by_event(LateKind::margins);
    control.tried(false, 0.4e6 * kPlain, kGain, 0.0, kPlain, true);
    CHECK(!control.wants(kRate, LateKind::margins, kEndless));
    CHECK(waits(control) > 0);
    control.tried(true, 6e6 * kPlain, kGain, kGain, kPlain);
    control.taken(1e6 * kPlain, true);
    CHECK(control.wants(kRate, LateKind::margins, kEndless));
}

void a_leap_that_is_only_too_long_is_tried_again() {
    LateControl control = cut_by_event(LateKind::margins);
    control.tried(false, 0.9e6 * kPlain, kGain, 0.0, kPlain);
    CHECK(control.wants(kRate, LateKind::margins, kEndless));
    CHECK(control.propose(kPlain) == 0.9e6 * kPlain);
}

/// Explicit steps and short late ones behind them would take far more work to come there again.
void a_step_that_pays_by_far_is_tried_again_after_refusals_behind_a_late_step() {
    for (const LateKind kind :
         {LateKind::margins, LateKind::careful, LateKind::turning, LateKind::steep, LateKind::errors}) {
        LateControl control = asked(kind);
        control.tried(true, 1e6 * kPlain, kGain, 0.0, kPlain);
        control.taken(1e6 * kPlain, false);
        double next = 1e6 * kPlain;
        int tries = 0;
        for (; tries < 100 && control.wants(kRate, kind, kEndless); ++tries)
            control.tried(false, next *= 0.4, kGain, 0.0, kPlain);
        CHECK(kind == LateKind::steep || kind == LateKind::errors ? tries <= 3 : tries > 4);
        CHECK(tries < 10);
    }
}

/// Of a first late step behind explicit ones with negative margins nothing is known.
void a_first_careful_step_is_not_tried_again_however_far_it_would_go() {
    for (const LateKind kind : {LateKind::careful, LateKind::steep}) {
        LateControl control = asked(kind);
        control.tried(false, 1e6 * kPlain, kGain, 0.0, kPlain);
        CHECK(!control.wants(kRate, kind, kEndless));
    }
}

void what_explicit_steps_cannot_bring_forward_is_not_repaid_by_them() {
    constexpr double kHopelessRate = 1e-5;
    for (const LateKind kind : {LateKind::margins, LateKind::careful, LateKind::errors}) {
        LateControl control = asked(kind);
        control.tried(false, 0.0, 40.0, 40.0, kPlain);
        int count = 0;
        for (; count < 1000 && !control.wants(kHopelessRate, kind, kEndless); ++count)
            control.plain_step_taken(1.0, 1.0);
        CHECK(kind == LateKind::careful ? count >= 40 : count < 10);
    }
}

/// Without it a run that goes on would begin with explicit steps, and short late ones behind them.
void a_run_that_goes_on_has_the_lengths_of_the_one_before() {
    LateControl before = asked(LateKind::margins);
    before.tried(true, 6e6 * kPlain, kGain, kGain, kPlain);
    before.taken(1e6 * kPlain, false);
    Pace pace;
    before.tell(pace);
    LateControl after;
    after.resume(pace);
    CHECK(after.wants(kRate, LateKind::margins, kEndless));
    CHECK(after.propose(kPlain) == before.propose(kPlain));
    before.leave();
    before.tell(pace);
    after = LateControl();
    after.resume(pace);
    CHECK(after.wants(kRate, LateKind::margins, kEndless));
    CHECK(after.propose(kPlain) < 1e3 * kPlain);
}

void a_late_step_that_an_event_cut_waits_for_the_rest() {
    LateControl control = asked(LateKind::margins);
    control.tried(true, 100.0, 40.0, 40.0, kPlain);
    control.taken(10.0 * kPlain, false);
    control.leave();
    const int after = waits(control);
    CHECK(after >= 30);
    CHECK(after < 1000);
}

/// Its work would be lost where the next event is likely to end it.
void a_late_step_needs_room_between_events() {
    for (const LateKind kind : {LateKind::margins, LateKind::careful, LateKind::errors}) {
        LateControl control = asked(kind);
        CHECK(!control.wants(kRate, kind, 1.0));
        CHECK(control.wants(kRate, kind, 1e3));
        control.tried(true, 100.0 * kGain * kPlain, kGain, kGain, kPlain);
        control.taken(100.0 * kGain * kPlain, false);
        CHECK(control.wants(kRate, kind, 1.0));  // one that is going on without an event goes on
    }
}

/// Explicit steps that events keep short are of low order, and do not cost what one of the highest order does.
void a_late_step_needs_more_room_where_explicit_ones_are_cheap() {
    constexpr double kEnough = 25.0;
    LateControl dear = asked(LateKind::margins);
    LateControl cheap = asked(LateKind::margins);
    for (int step = 0; step < 20; ++step) {
        dear.plain_step_taken(1.0, 1.0);
        cheap.plain_step_taken(1.0, 0.25);
    }
    CHECK(dear.wants(kRate, LateKind::margins, kEnough));
    CHECK(!cheap.wants(kRate, LateKind::margins, kEnough));
    CHECK(cheap.wants(kRate, LateKind::margins, 4.0 * kEnough));
}

void the_room_between_events_is_what_their_gaps_were() {
    EventGaps gaps;
    CHECK(gaps.expected() == kEndless);
    for (int event = 0; event < 100; ++event) {
        gaps.went(2.0, 0, kPlain);
        gaps.went(3.0, 1, kPlain);
    }
    CHECK(std::abs(gaps.expected() - 5.0) < 1e-12);
    gaps.went(20.0, 4, kPlain);  // four in one step: gaps of a quarter
    CHECK(std::abs(gaps.expected() - 5.0) < 1e-12);
    gaps.went(5e6, 1, kPlain);  // one long gap is not taken for the next
    CHECK(gaps.expected() > 5.0);
    CHECK(gaps.expected() < 50.0);
}

void a_gap_that_is_long_is_room() {
    EventGaps gaps;
    gaps.went(10.0 * kPlain, 100, kPlain);
    CHECK(gaps.expected() == kPlain);  // shorter ones are all alike
    for (int step = 0; step < 50; ++step) gaps.went(kPlain, 0, kPlain);
    CHECK(gaps.expected() == 50.0 * kPlain);
}

/// An event at the begin of a late step is behind the next one. Where that comes to another one, explicit steps follow,
/// and then at more and more events before it is tried once more.
void a_step_goes_on_late_behind_an_event_at_its_begin() {
    const double step = 10.0 * kGain * kPlain;
    LateControl control = asked(LateKind::margins);
    const auto take = [&](double length, bool at_event) {
        control.tried(true, step, kGain, kGain, kPlain);
        return control.taken(length, at_event);
    };
    CHECK(!take(step, false));
    CHECK(take(0.5 * step, true));  // within the step
    CHECK(!take(0.0, true));
    CHECK(!take(step, false));
    int before = 0;
    for (int round = 0; round < 4; ++round) {
        int refused = 0;
        while (take(0.0, true)) ++refused;
        CHECK(round == 0 ? refused == 0 : refused > before);
        before = refused;
        CHECK(take(1e-3 * step, true));  // another event at once
    }
    while (take(0.0, true)) ++before;
    CHECK(!take(step, false));  // it was worth while
    CHECK(!take(0.0, true));
}

}  // namespace

int main() {
    a_late_step_that_is_refused_waits_for_what_it_cost();
    what_was_given_up_before_it_began_costs_nothing();
    explicit_steps_of_low_orders_repay_less();
    a_late_step_that_was_worth_its_work_leaves_no_wait();
    a_late_step_that_an_event_cut_waits_for_the_rest();
    a_step_that_just_fails_to_pay_is_tried_again_for_errors_alone();
    a_short_step_that_ended_the_layer_is_followed_by_another();
    a_careful_step_that_is_refused_is_not_tried_again();
    steps_that_never_pay_end_and_are_paused();
    a_step_far_from_paying_is_not_tried();
    a_late_step_needs_room_between_events();
    a_late_step_needs_more_room_where_explicit_ones_are_cheap();
    the_room_between_events_is_what_their_gaps_were();
    a_gap_that_is_long_is_room();
    a_step_goes_on_late_behind_an_event_at_its_begin();
    a_layer_far_shorter_than_the_step_before_is_leapt_over();
    a_leap_goes_little_farther_than_the_event_that_was_seen_next();
    a_layer_of_careful_steps_or_of_errors_is_not_leapt_over();
    a_layer_of_careful_steps_is_leapt_over_behind_gentle_events();
    a_layer_as_long_as_the_step_before_is_not_leapt_over();
    a_leap_that_misses_the_layer_is_followed_by_explicit_steps_and_tried_at_the_next_event();
    a_leap_that_is_only_too_long_is_tried_again();
    a_step_that_pays_by_far_is_tried_again_after_refusals_behind_a_late_step();
    a_first_careful_step_is_not_tried_again_however_far_it_would_go();
    what_explicit_steps_cannot_bring_forward_is_not_repaid_by_them();
    a_run_that_goes_on_has_the_lengths_of_the_one_before();
    return reluflow::tests::failures();
}
