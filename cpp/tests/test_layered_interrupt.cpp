/// A step of a layered network that is given up leaves the run where the last accepted step ended, bit for bit.
#include <cmath>
#include <cstdint>

#include "check.hpp"
#include "layered_graphs.hpp"
#include "run/layered_flow.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;
using reluflow::tests::dense;
using reluflow::tests::node;

constexpr Index kSamples = 6;
constexpr Index kInputs = 2;
constexpr Index kHidden = 5;

struct Problem {
    Graph graph{{node(kInputs, true), node(kHidden, false), node(1, true)},
                {dense(0, 1, kHidden, kInputs, 0), dense(1, 2, 1, kHidden, kHidden* kInputs)},
                kHidden * (kInputs + 1)};
    Matrix X{kSamples, kInputs};
    Matrix y{kSamples, 1};
    Vector theta{kHidden * (kInputs + 1)};

    Problem() {
        for (Index i = 0; i < X.size(); ++i) X.data()[i] = std::sin(1.7 * static_cast<double>(i) + 0.3);
        for (Index i = 0; i < kSamples; ++i) y(i, 0) = i % 2 == 0 ? 1.0 : -1.0;
        for (Index i = 0; i < theta.size(); ++i) theta[i] = 0.5 * std::cos(2.3 * static_cast<double>(i) + 0.1);
    }
};

struct Answer {
    Snapshot state;
    Status status = Status::running;
    std::int64_t steps = 0;
    std::int64_t events = 0;
    std::int64_t questions = 0;
};

/// A run of `steps` steps; the one after them is given up at question `at` inside it, 0 for none.
Answer run(const Problem& p, std::int64_t steps, std::int64_t at) {
    const DualSeries duals(layered_loss("logistic"), p.y, 1.0);
    RunPlan plan;
    bool last = false;
    std::int64_t questions = 0;
    plan.look_period = 0.0;
    plan.hook = [&](const Progress& progress) {
        last = progress.steps == steps;
        return progress.steps > steps || (at == 0 && last) ? Request::stop : Request::go_on;
    };
    plan.urgent = [&] { return last && ++questions == at ? Request::interrupt : Request::go_on; };
    LayeredFlow flow(p.graph, p.X, duals, p.theta, plan);
    flow.run();
    return {flow.state(), flow.status(), flow.steps(), flow.event_count(), questions};
}

void a_step_given_up_anywhere_changes_nothing() {
    const Problem p;
    const std::int64_t steps = 12;
    const Answer accepted = run(p, steps, 0);
    CHECK(accepted.status == Status::stopped_by_callback);
    CHECK(accepted.events > 0);
    const std::int64_t questions = run(p, steps, -1).questions;
    CHECK(questions > 4);
    for (std::int64_t at = 1; at <= questions; ++at) {
        const Answer given_up = run(p, steps, at);
        CHECK(given_up.status == Status::interrupted);
        CHECK(given_up.steps == accepted.steps);
        CHECK(given_up.events == accepted.events);
        CHECK(given_up.state.theta == accepted.state.theta);
        CHECK(given_up.state.clock.t() == accepted.state.clock.t());
        for (int v = 0; v < p.graph.count(); ++v)
            CHECK(given_up.state.activity.sides(v) == accepted.state.activity.sides(v));
    }
}

// All first weights are zero, so that every unit begins on the boundaries of all samples.
void a_start_given_up_is_not_decided() {
    Problem p;
    p.theta.head(kHidden * kInputs).setZero();
    const DualSeries duals(layered_loss("logistic"), p.y, 1.0);
    RunPlan plan;
    plan.look_period = 0.0;
    plan.urgent = [] { return Request::interrupt; };
    LayeredFlow flow(p.graph, p.X, duals, p.theta, plan);
    flow.run();
    CHECK(flow.status() == Status::interrupted);
    CHECK(flow.steps() == 0);
    CHECK(flow.event_count() == 0);
    CHECK(flow.branchings().empty());
    CHECK(flow.state().theta == p.theta);
}

}  // namespace

int main() {
    a_start_given_up_is_not_decided();
    a_step_given_up_anywhere_changes_nothing();
    return reluflow::tests::failures();
}
