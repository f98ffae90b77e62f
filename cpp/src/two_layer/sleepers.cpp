#include "two_layer/sleepers.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

namespace {

/// A neuron is set to zero from this log size on. While the others grow from 1e-150 to one they take 350 time
/// constants, and a neuron decays by a few times as much; during this it must be followed with its events, since it may
/// come back. To decay to this size takes 800 steps.
constexpr double kAsleep = -2000.0;
/// So it is from a size that is smaller than that of all others by this many times their e-foldings below one, and
/// below this one, to which it decays in 160 steps.
constexpr double kFarBelow = 8.0;
constexpr double kAsleepGrown = -400.0;
/// It is restored when it has grown by this many e-foldings above that.
constexpr double kReturned = 10.0;

/// True for a balanced neuron that cannot turn and shrinks.
bool decays(const State& state, const Expansion& expansion, Index neuron) {
    const Parameters& neurons = state.parameters;
    const double output = neurons.a[neuron];
    if (output == 0.0 || neurons.invariant(neuron) != 0.0 || neurons.at_rest(neuron) != 0.0) return false;
    if (state.mode.held(neuron).size() + 1 < neurons.rank()) return false;
    return output * expansion.start_rate(neuron, neurons.w.col(neuron)) < 0.0;
}

/// The log size from which on a neuron sleeps that decays.
double asleep_from(const State& state, const Expansion& expansion) {
    double smallest = 0.0;
    for (Index j = 0; j < state.neurons(); ++j)
        if (state.parameters.a[j] != 0.0 && !decays(state, expansion, j))
            smallest = std::min(smallest, state.parameters.log_size(j));
    return std::clamp(kFarBelow * smallest, kAsleep, kAsleepGrown);
}

}  // namespace

void follow_sleepers(Parameters& parameters, const Expansion& expansion, double duration, double log_decay) noexcept {
    for (Sleeper& sleeper : parameters.sleepers())
        sleeper.log_size +=
            log_decay + duration * sleeper.sign * expansion.start_rate(sleeper.neuron, parameters.direction(sleeper));
}

bool change_sleepers(State& state, const Expansion& expansion) {
    Parameters& neurons = state.parameters;
    bool changed = neurons.wake();
    if (!neurons.has_lifted()) return changed;
    const double asleep = asleep_from(state, expansion);
    for (Index j = 0; j < neurons.neurons(); ++j) {
        if (!neurons.is_lifted(j) || !decays(state, expansion, j) || neurons.log_size(j) > asleep) continue;
        neurons.put_to_sleep(j, asleep + kReturned);
        changed = true;
    }
    return changed;
}

}  // namespace reluflow
