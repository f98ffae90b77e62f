/// What events inside a step do to the weights that it took for known.
#include "two_layer/late_events.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/pool.hpp"
#include "check.hpp"
#include "two_layer/expansion.hpp"

namespace {

using namespace reluflow;

/// A step of two neurons that see the first sample; the first one meets the boundary of the second sample, (0, 1).
struct Step {
    Step(double slant, double label, double other, double scale = 1.0)
        : data(Matrix{{1.0, slant}, {0.0, 1.0}}, Vector{{1.0, label}}),
          state(data, scale * Matrix{{1.0, slant < 0.0 ? 0.002 : -0.002}, {1.0, other}}, scale * Vector{{1.1, 1.2}},
                0.0),
          expansion(data, {}, {}, state, pool),
          partitions(data, state, expansion, BranchPolicy::inactive, pool) {
        for (Index j = 0; j < 2; ++j)
            for (Index boundary = 0; boundary < 2; ++boundary)
                state.mode.set_side(j, boundary,
                                    data.normals().row(boundary).dot(state.parameters.w.col(j)) > 0.0 ? 1 : -1);
        expansion.start();
        partitions.begin_run();
        CHECK(partitions.decide_start(KnownSides::given));
        expansion.start();
        CHECK(expansion.expand(0.1) >= 1.0);
        partitions.prepare();
        partitions.scan(1.0);
        std::vector<Disturbance> disturbances;
        std::vector<Doubt> doubts;
        end = partitions.follow(1.0, disturbances, doubts);  // the series of a neuron that turns may not hold to 1
        CHECK(end > 0.5);
        partitions.cut(end);
        CHECK(partitions.events().size() == 1 && partitions.events()[0].boundary == 1);
    }

    double missed(double until) {
        return LateEvents(data, 2).missed(expansion.series(), partitions, state, expansion.waveform(), until);
    }

    Dataset data;
    State state;
    Pool pool{1};
    Expansion expansion;
    Partitions partitions;
    double end = 0.0;
};

void a_margin_that_an_output_has_left_is_seen() {
    Step step(-0.5, -1.0, 0.4);
    Matrix w(2, 2), old_w(2, 2);
    Vector a(2), old_a(2), weights(2);
    double expected = 0.0;
    const double first = step.partitions.events()[0].u;
    for (const double part : {0.25, 0.5, 0.75, 1.0}) {
        const double u = first + part * (step.end - first);
        step.expansion.series().evaluate(u, old_w, old_a);
        w = old_w;
        a = old_a;
        step.partitions.place(u, w, a);
        CHECK(w(1, 0) < 0.0);
        // The first sample is (1, -0.5) and both motions are active on it; of the second one the true output is zero.
        const double change = (a[0] * (w(0, 0) - 0.5 * w(1, 0))) - (old_a[0] * (old_w(0, 0) - 0.5 * old_w(1, 0)));
        const double left = old_a[0] * old_w(1, 0);
        step.expansion.waveform().signed_weights_at(u, weights);
        expected = std::max(expected, std::sqrt(1.25) * weights[0] * std::abs(std::expm1(-change)) +
                                          std::abs(weights[1]) * std::abs(std::expm1(-left)));
    }
    CHECK(expected > 1e-3);
    CHECK(std::abs(step.missed(step.end) - expected) < 1e-12 * expected);
    CHECK(step.missed(first) < 1e-12);
}

void a_sample_that_drove_nobody_is_not_known() {
    Step unknown(0.5, 1.0, -0.4);
    Step known(0.5, 1.0, 0.4);
    CHECK(std::isinf(unknown.missed(unknown.end)));
    CHECK(std::isfinite(known.missed(known.end)));
}

/// The boundary is that of a sample with no weight, which the other neuron keeps far above the least margin of 1e7.
/// Nothing changes but roundings of that, a hundred millionth of an e-folding.
void what_rounding_changes_of_large_margins_is_no_effect() {
    Step step(0.5, 1.0, 30.0, 1e3);
    CHECK(step.missed(step.end) < 1e-12);
}

/// It begins to act where the step ends, though it puts the neuron on a boundary there.
void an_event_at_the_end_does_nothing_before_it() {
    Step step(-0.5, -1.0, 0.4);
    CHECK(step.missed(step.partitions.events()[0].u) == 0.0);
    Step unknown(0.5, 1.0, -0.4);
    CHECK(unknown.missed(unknown.partitions.events()[0].u) == 0.0);
}

}  // namespace

int main() {
    a_margin_that_an_output_has_left_is_seen();
    a_sample_that_drove_nobody_is_not_known();
    what_rounding_changes_of_large_margins_is_no_effect();
    an_event_at_the_end_does_nothing_before_it();
    return reluflow::tests::failures();
}
