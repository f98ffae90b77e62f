/// When Radau steps are tried, and when explicit steps resume.
#include "check.hpp"
#include "two_layer/step_control.hpp"

namespace {

using namespace reluflow;

constexpr double kPlain = 1.0;
constexpr double kGain = 4.0;
constexpr double kRate = 1e-3;  // time constants of the fastest neuron in an explicit step: stiff

/// A control that has been asked once.
LateControl asked(LateKind kind) {
    LateControl control;
    CHECK(control.wants(kRate, kind));
    return control;
}

void a_step_that_just_fails_to_pay_is_tried_again_for_errors_alone() {
    for (const LateKind kind : {LateKind::margins, LateKind::careful, LateKind::errors}) {
        LateControl control = asked(kind);
        control.tried(false, 0.9 * kGain * kPlain, kGain, kPlain);
        CHECK(control.wants(kRate, kind) == (kind == LateKind::errors));
    }
}

void a_short_step_that_ended_the_layer_is_followed_by_another() {
    LateControl control = asked(LateKind::errors);
    control.tried(true, 0.9 * kGain * kPlain, kGain, kPlain);
    CHECK(control.wants(kRate, LateKind::errors));
    CHECK(control.propose(kPlain) == 0.9 * kGain * kPlain);
}

void steps_that_never_pay_end_and_are_paused() {
    LateControl control = asked(LateKind::errors);
    int tries = 0;
    for (; tries < 10 && control.wants(kRate, LateKind::errors); ++tries)
        control.tried(true, 0.9 * kGain * kPlain, kGain, kPlain);
    CHECK(tries > 1);
    CHECK(tries < 10);
    control.plain_step_taken(1.0);
    CHECK(!control.wants(kRate, LateKind::errors));
    for (int step = 0; step < 10; ++step) control.plain_step_taken(1.0);
    CHECK(control.wants(kRate, LateKind::errors));
}

void a_step_far_from_paying_is_not_tried() {
    LateControl control = asked(LateKind::errors);
    control.tried(false, 0.1 * kGain * kPlain, kGain, kPlain);
    CHECK(!control.wants(kRate, LateKind::errors));
}

}  // namespace

int main() {
    a_step_that_just_fails_to_pay_is_tried_again_for_errors_alone();
    a_short_step_that_ended_the_layer_is_followed_by_another();
    steps_that_never_pay_end_and_are_paused();
    a_step_far_from_paying_is_not_tried();
    return reluflow::tests::failures();
}
