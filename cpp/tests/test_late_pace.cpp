/// When late steps of layered networks are tried, and how long.
#include <cmath>

#include "check.hpp"
#include "layered/late_pace.hpp"

namespace {

using namespace reluflow::layered;

void long_explicit_steps_have_no_late_ones() {
    LatePace pace;
    CHECK(!pace.wants());
    pace.plain_step_taken(0.3);
    CHECK(!pace.wants());
    pace.plain_step_taken(1e-3);
    CHECK(pace.wants());
    CHECK(pace.propose(pace.plain(10.0)) > 2e-3);
}

void explicit_steps_shorten_as_the_stiffness_grows() {
    LatePace pace;
    pace.plain_step_taken(1e-3);
    CHECK(pace.plain(10.0) == 1e-3);
    CHECK(std::abs(pace.plain(40.0) - 0.25e-3) < 1e-15);
    CHECK(std::abs(pace.plain(10.0) - 1e-3) < 1e-15);
    pace.plain_step_taken(2e-3);
    CHECK(pace.plain(70.0) == 2e-3);
}

void steps_that_pay_go_on_at_the_length_they_propose() {
    LatePace pace;
    pace.plain_step_taken(1e-3);
    const double plain = pace.plain(10.0);
    pace.tried(true, 0.2, 12.0, plain);
    CHECK(pace.wants());
    CHECK(pace.propose(plain) == 0.2);
}

void tries_that_fail_wait_for_more_and_more_explicit_steps() {
    LatePace pace;
    int waited = 0;
    for (int failure = 0; failure < 3; ++failure) {
        pace.plain_step_taken(1e-3);
        int steps = 1;
        for (; !pace.wants(); ++steps) pace.plain_step_taken(1e-3);
        CHECK(steps > waited);
        waited = steps;
        pace.tried(false, 1e-5, 0.0, pace.plain(10.0));
        CHECK(!pace.wants());
    }
}

void what_a_step_cost_in_vain_is_first_done_by_explicit_steps() {
    LatePace pace;
    pace.plain_step_taken(1e-3);
    const double plain = pace.plain(10.0);
    pace.tried(true, 0.2, 50.0, plain);
    pace.taken(0.02);  // worth 20 of its 50
    pace.leave();
    int steps = 0;
    for (; !pace.wants(); ++steps) pace.plain_step_taken(1e-3);
    CHECK(steps == 60);
    pace.tried(true, 0.2, 50.0, pace.plain(10.0));
    pace.taken(0.2);
    pace.leave();
    for (steps = 0; !pace.wants(); ++steps) pace.plain_step_taken(1e-3);
    CHECK(steps == 2);
}

void behind_an_event_come_two_explicit_steps() {
    LatePace pace;
    pace.plain_step_taken(1e-3);
    pace.tried(true, 0.2, 12.0, pace.plain(10.0));
    pace.taken(0.2);
    pace.leave();
    CHECK(!pace.wants());
    pace.plain_step_taken(1e-3);
    CHECK(!pace.wants());
    pace.plain_step_taken(1e-3);
    CHECK(pace.wants());
}

}  // namespace

int main() {
    long_explicit_steps_have_no_late_ones();
    explicit_steps_shorten_as_the_stiffness_grows();
    steps_that_pay_go_on_at_the_length_they_propose();
    tries_that_fail_wait_for_more_and_more_explicit_steps();
    what_a_step_cost_in_vain_is_first_done_by_explicit_steps();
    behind_an_event_come_two_explicit_steps();
    return reluflow::tests::failures();
}
