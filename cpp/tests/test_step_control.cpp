/// The lengths of explicit steps: what ended the last one bounds the next.
#include <algorithm>
#include <cmath>
#include <vector>

#include "check.hpp"
#include "two_layer/step_control.hpp"

namespace {

using namespace reluflow;

/// Slow neurons: no step is bounded by their rate.
constexpr double kSlow = 1e-6;

/// After a step of length one that needed few orders.
StepControl after_a_step() {
    StepControl control;
    control.truncated(1.0, 4, 1.0);
    return control;
}

void a_step_that_many_events_cut_is_followed_by_one_of_their_spacing() {
    StepControl control = after_a_step();
    control.taken(1.0, 0.02, 1.0, 100, true);  // every neuron had its first event before the cut: none is known after
    CHECK(control.propose(kSlow) >= 0.02);
    CHECK(control.propose(kSlow) <= 0.04);
}

void a_step_grows_where_no_event_is_in_sight() {
    StepControl control = after_a_step();
    control.taken(1.0, 1.0, 1.0, 100, false);
    CHECK(control.propose(kSlow) >= 1.5);
}

void the_next_known_event_bounds_a_step() {
    for (const std::size_t kept : {1, 100}) {
        StepControl control = after_a_step();
        control.taken(1.0, 0.5, 0.1, kept, true);
        CHECK(control.propose(kSlow) >= 0.1);
        CHECK(control.propose(kSlow) <= 0.2);
    }
}

void few_events_say_nothing_of_later_ones() {
    StepControl control = after_a_step();
    control.taken(1.0, 0.02, 1.0, 2, true);
    CHECK(control.propose(kSlow) >= 1.5);
}

/// ½ U² Σ coupling is the budget at U = 0.1 for all of them.
std::vector<Disturbance> events_at_the_start(int count, int boundaries, double budget) {
    std::vector<Disturbance> events(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i)
        events[static_cast<std::size_t>(i)] = {.coupling = 2.0 * budget / (0.01 * count), .boundary = i % boundaries};
    return events;
}

double end_of(int count, int boundaries, double budget, bool is_owed) {
    return coupled_end(events_at_the_start(count, boundaries, budget), budget, 1.0, is_owed);
}

void each_of_ten_boundaries_has_a_budget_where_it_is_made_up_for() {
    constexpr double kBudget = 1e-9;
    for (const int boundaries : {1, 4, 10, 100}) {
        CHECK(std::abs(end_of(100, boundaries, kBudget, false) - 0.1) < 1e-9);
        const double most = std::min(boundaries, 10);
        CHECK(std::abs(end_of(100, boundaries, kBudget, true) - 0.1 * std::sqrt(most)) < 1e-9);
    }
    CHECK(std::abs(end_of(100, 100, 1e-5, true) - 0.1) < 1e-9);  // a loose tolerance leaves that much already
}

}  // namespace

int main() {
    each_of_ten_boundaries_has_a_budget_where_it_is_made_up_for();
    a_step_that_many_events_cut_is_followed_by_one_of_their_spacing();
    a_step_grows_where_no_event_is_in_sight();
    the_next_known_event_bounds_a_step();
    few_events_say_nothing_of_later_ones();
    return reluflow::tests::failures();
}
