/// What Python cannot see of the flow: that its steps allocate nothing, in the early phase with its events and in the
/// late one.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "allocations.hpp"
#include "check.hpp"
#include "problem.hpp"
#include "run/flow.hpp"
#include "uniform.hpp"

namespace {

using namespace reluflow;
using tests::Uniform;

struct Problem {
    Matrix X;
    Vector y;
    Matrix W;
    Vector a;
};

/// Gaussian-like clouds of two classes around ±shift on the first axis, balanced neurons of a given size.
Problem problem(Index n, Index d, Index m, double shift, double scale) {
    Uniform number;
    Problem made{Matrix(n, d), Vector(n), Matrix(m, d), Vector(m)};
    for (Index i = 0; i < n; ++i) {
        made.y[i] = i % 2 == 0 ? 1.0 : -1.0;
        for (Index k = 0; k < d; ++k) made.X(i, k) = number();
        made.X(i, 0) += shift * made.y[i];
    }
    for (Index j = 0; j < m; ++j) {
        for (Index k = 0; k < d; ++k) made.W(j, k) = number();
        made.W.row(j) *= scale / made.W.row(j).norm();
        made.a[j] = number() > 0.0 ? scale : -scale;
    }
    return made;
}

struct Run {
    int steps = 0;
    int allocating = 0;  // steps
    std::int64_t events = 0;
    std::int64_t holds = 0;
    std::int64_t late = 0;
    int turning = 0;             // steps whose kernel turns,
    int allocating_turning = 0;  // and those of them that allocate
};

/// Takes steps without a recorder; those before step `warm` are not looked at.
Run take_steps(const Problem& p, int warm, int steps, const Objective& objective = {}) {
    const Dataset data(p.X, p.y);
    State state(data, p.W, p.a, 0.0);
    tests::take_sides(data, state);
    Pool pool(1);
    Stepper stepper(data, objective, {}, state, pool);
    Run run;
    stepper.stand();
    if (!stepper.decide_start(KnownSides::none)) return run;
    stepper.begin();
    for (; run.steps < steps && !stepper.is_at_rest(); ++run.steps) {
        const long before = tests::allocations();
        if (!stepper.attempt(std::numeric_limits<double>::infinity())) break;
        stepper.commit();
        stepper.begin();
        if (run.steps < warm) continue;
        const bool allocates = tests::allocations() > before;
        run.allocating += allocates;
        run.turning += stepper.knows_rate();
        run.allocating_turning += stepper.knows_rate() && allocates;
        for (const auto& event : stepper.events()) {
            ++run.events;
            run.holds += event.after == 0;
        }
    }
    run.late = stepper.counts().late_steps;
    return run;
}

void steps_with_events_allocate_nothing(const Problem& p) {
    const Run run = take_steps(p, 20, 400);
    CHECK(run.steps == 400);
    CHECK(run.events > 100);
    CHECK(run.holds > 0);
    CHECK(run.allocating == 0);
}

void late_steps_allocate_nothing(const Problem& p, int steps) {
    const Run run = take_steps(p, 20, steps);
    CHECK(run.steps == steps);
    CHECK(run.late > 10);
    CHECK(run.allocating == 0);
}

/// With weight decay, from weights of a size at which labels that balance respond far faster than it.
void decaying_late_steps_allocate_nothing(const Problem& p) {
    Objective objective;
    objective.decay = 0.01;
    const Run run = take_steps(p, 20, 600, objective);
    CHECK(run.late > 50);
    CHECK(run.allocating == 0);
}

/// Classes that cannot be separated, in units in which some directions are steep.
void steps_whose_kernel_turns_allocate_nothing(Problem p) {
    for (Index k = 1; k < p.X.cols(); ++k) p.X.col(k) *= std::pow(0.1, static_cast<double>(k));
    const Run run = take_steps(p, 20, 3000);
    CHECK(run.turning > 20);
    CHECK(run.allocating_turning == 0);
}

/// What is kept of a run grows with it, column by column, and each column doubles its memory.
void a_run_asks_only_for_what_it_keeps(const Problem& p) {
    constexpr int kColumns = 6 + 6;  // of the states, of the events
    constexpr int kSteps = 400;
    RunPlan plan;
    int steps = 0;
    long first = 0;
    long last = 0;
    plan.hook = [&](const Progress&) {
        last = tests::allocations();
        if (steps == 20) first = last;
        return ++steps < kSteps ? Request::go_on : Request::stop;
    };
    const Dataset data(p.X, p.y);
    Flow flow(data, p.W, p.a, 0.0, plan);
    flow.run();
    CHECK(steps == kSteps);
    CHECK(flow.recorder().event_list().count() > 100);
    CHECK(last - first <= kColumns * static_cast<long>(std::ceil(std::log2(kSteps + 4000.0))));
}

}  // namespace

int main() {
    steps_with_events_allocate_nothing(problem(40, 5, 12, 0.3, 1e-2));
    steps_with_events_allocate_nothing(problem(100, 3, 30, 0.3, 1e-2));
    steps_with_events_allocate_nothing(problem(400, 64, 60, 0.3, 1e-3));
    late_steps_allocate_nothing(problem(12, 3, 6, 1.5, 0.1), 200);
    late_steps_allocate_nothing(problem(40, 6, 8, 1.5, 0.3), 400);
    decaying_late_steps_allocate_nothing(problem(40, 4, 4, 0.0, 10.0));
    for (const Index d : {3, 5, 8}) steps_whose_kernel_turns_allocate_nothing(problem(150, d, 4, 0.1, 0.1));
    a_run_asks_only_for_what_it_keeps(problem(40, 5, 12, 0.3, 1e-2));
    return reluflow::tests::failures();
}
