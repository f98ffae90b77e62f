/// A step that is given up at any of its loops leaves the run where the last accepted step ended, bit for bit.
#include <chrono>
#include <cstdint>
#include <thread>

#include "check.hpp"
#include "run/flow.hpp"
#include "run/result.hpp"

namespace {

using namespace reluflow;

struct Problem {
    Matrix X;
    Vector y;
    Matrix W;
    Vector a;
};

/// Wide enough that the loops of a step are long ones, with events in its steps.
Problem problem(Index n, Index d, Index m, double scale) {
    std::uint64_t state = 1;
    const auto number = [&state] {
        state = state * 6364136223846793005ULL + 1442695040888963407ULL;
        return 2.0 * static_cast<double>(state >> 11) / 9007199254740992.0 - 1.0;
    };
    Problem made{Matrix(n, d), Vector(n), Matrix(m, d), Vector(m)};
    for (Index i = 0; i < n; ++i) {
        made.y[i] = i % 2 == 0 ? 1.0 : -1.0;
        for (Index k = 0; k < d; ++k) made.X(i, k) = number();
    }
    for (Index j = 0; j < m; ++j) {
        for (Index k = 0; k < d; ++k) made.W(j, k) = number();
        made.W.row(j) *= scale / made.W.row(j).norm();
        made.a[j] = number() > 0.0 ? scale : -scale;
    }
    return made;
}

struct Answer {
    RunResult result;
    std::int64_t questions = 0;
};

/// A run of `steps` steps, of which the one after them is given up at question `at` inside a step.
Answer run(const Problem& p, std::int64_t steps, std::int64_t at, int threads) {
    RunPlan plan;
    Answer answer;
    bool last = false;  // the step that is given up
    plan.n_threads = threads;
    plan.look_period = 0.0;
    plan.hook = [&](const Progress& progress) {
        last = progress.steps == steps;
        return progress.steps > steps || (at == 0 && last) ? Request::stop : Request::go_on;
    };
    plan.urgent = [&] { return last && ++answer.questions == at ? Request::interrupt : Request::go_on; };
    const Dataset data(p.X, p.y);
    Flow flow(data, p.W, p.a, 0.0, plan);
    flow.run();
    answer.result = collect(flow, data);
    return answer;
}

bool are_equal(const RunResult& one, const RunResult& two) {
    return one.t == two.t && one.log_t == two.log_t && one.log_loss == two.log_loss && one.W == two.W &&
           one.a == two.a && one.last_pattern == two.last_pattern && one.counts.steps == two.counts.steps &&
           one.events.t == two.events.t && one.log_gradient_norm == two.log_gradient_norm &&
           one.checkpoints.t == two.checkpoints.t && one.checkpoints.W == two.checkpoints.W;
}

/// Places at which a step is given up; each repeats the run, which takes seconds under the sanitizers.
constexpr std::int64_t kPlaces = 10;

void a_step_given_up_anywhere_changes_nothing(const Problem& p, std::int64_t steps, int threads) {
    const RunResult accepted = run(p, steps, 0, threads).result;
    CHECK(accepted.status == Status::stopped_by_callback);
    const std::int64_t questions = run(p, steps, -1, threads).questions;
    // The caller is asked for the tasks that it takes itself: with several threads these may be few.
    CHECK(threads > 1 || questions > 20);
    for (std::int64_t at = 1; at <= questions; at += 1 + questions / kPlaces) {
        const RunResult given_up = run(p, steps, at, threads).result;
        // The next time the caller may take fewer tasks.
        if (threads > 1 && given_up.status == Status::stopped_by_callback) continue;
        CHECK(given_up.status == Status::interrupted);
        CHECK(are_equal(given_up, accepted));
    }
}

void the_time_limit_is_heard_inside_a_step(const Problem& p) {
    RunPlan plan;
    plan.look_period = 0.0;
    plan.stop.seconds = 0.2;
    plan.urgent = [] {  // the step lasts beyond the limit
        std::this_thread::sleep_for(std::chrono::duration<double>(0.2));
        return Request::go_on;
    };
    const Dataset data(p.X, p.y);
    Flow flow(data, p.W, p.a, 0.0, plan);
    flow.run();
    CHECK(flow.status() == Status::reached_seconds);
    CHECK(flow.counts().steps == 0);
    CHECK(flow.clock().t() == 0.0);
}

}  // namespace

int main() {
    const Problem wide = problem(200, 24, 700, 1e-2);
    for (const int threads : {1, 2}) {
        a_step_given_up_anywhere_changes_nothing(wide, 3, threads);
        a_step_given_up_anywhere_changes_nothing(wide, 20, threads);
    }
    the_time_limit_is_heard_inside_a_step(wide);
    return reluflow::tests::failures();
}
