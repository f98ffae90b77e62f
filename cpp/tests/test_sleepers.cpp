/// Neurons that sleep since they decay on a line: they wake where the samples of their boundary let them go.
#include <vector>

#include "base/pool.hpp"
#include "check.hpp"
#include "problem.hpp"
#include "two_layer/step.hpp"

namespace {

using namespace reluflow;

/// Neuron 1 points along e_2 and slides on the boundary of sample (1, 0), whose pull along e_1 is up to -count where
/// the other sample pulls by a half of its weight: it is held from a count of one half on. It decays by that sample.
bool sleeps(double count, double sign) {
    Matrix X(3, 2);
    X << 1.0, 0.0, -0.5, 1.0, 0.2, -1.0;
    Vector y(3);
    y << -sign, -sign, 1.0;
    Vector counts(3);
    counts << count, 1.0, 1.0;
    const Dataset data(X, y, LossKind::logistic, counts);
    Matrix W(2, 2);
    W << 0.01, -0.01, 0.0, 1e-3;
    Vector a(2);
    a << 0.01, sign * 1e-3;
    State state(data, W, a, 0.0);
    tests::take_sides(data, state);
    const std::vector<int> boundary{data.boundary_of(0)};
    state.mode.set_side(1, boundary[0], 0);
    state.mode.hold(1, boundary);
    state.parameters.put_to_sleep(1, 100.0);
    Pool pool(1);
    Stepper stepper(data, {}, {}, state, pool);
    stepper.begin();
    CHECK(state.parameters.sleepers().empty() == (state.parameters.a[1] != 0.0));
    return !state.parameters.sleepers().empty();
}

}  // namespace

int main() {
    for (const double sign : {1.0, -1.0}) {
        CHECK(sleeps(1.0, sign));
        CHECK(sleeps(0.51, sign));
        CHECK(!sleeps(0.49, sign));
        CHECK(!sleeps(0.1, sign));
    }
    return reluflow::tests::failures();
}
