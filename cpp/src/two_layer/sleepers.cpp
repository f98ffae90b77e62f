#include "two_layer/sleepers.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

namespace {

/// A neuron is set to zero from this log size on. While the others grow from 1e-150 to one they take 350 time
/// constants, and a neuron decays by a few times as much; during this it must be followed with its events, since it may
/// come back. To decay to this size takes 800 steps.
constexpr double kAsleep = -2000.0;
/// It is restored when it has grown by this many e-foldings above that.
constexpr double kReturned = 10.0;

}  // namespace

void follow_sleepers(Parameters& parameters, const Expansion& expansion, double duration, double log_decay) noexcept {
    for (Sleeper& sleeper : parameters.sleepers())
        sleeper.log_size +=
            log_decay + duration * sleeper.sign * expansion.start_rate(sleeper.neuron, sleeper.direction);
}

bool change_sleepers(State& state, const Expansion& expansion) {
    Parameters& neurons = state.parameters;
    bool changed = neurons.wake(kAsleep + kReturned);
    for (Index j = 0; neurons.has_lifted() && j < neurons.neurons(); ++j) {
        const double output = neurons.a[j];
        if (!neurons.is_lifted(j) || output == 0.0 || neurons.invariant(j) != 0.0 || neurons.at_rest(j) != 0.0)
            continue;
        if (state.mode.held(j).size() + 1 < neurons.rank() || neurons.log_size(j) > kAsleep) continue;
        if (output * expansion.start_rate(j, neurons.w.col(j)) >= 0.0) continue;
        neurons.put_to_sleep(j);
        changed = true;
    }
    return changed;
}

}  // namespace reluflow
