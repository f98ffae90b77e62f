#include "two_layer/sleepers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

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
/// A sleeper is let go where its multipliers are out of their intervals by more than this part of Σ p |x|: far beyond
/// what is not known of them, so that the step releases it which finds it awake.
constexpr double kLetGo = 1e-6;

/// True for a balanced neuron that cannot turn and shrinks.
bool decays(const State& state, const Expansion& expansion, Index neuron) {
    const Parameters& neurons = state.parameters;
    const double output = neurons.a[neuron];
    if (output == 0.0 || neurons.invariant(neuron) != 0.0 || neurons.at_rest(neuron) != 0.0) return false;
    if (state.mode.held(neuron).size() + 1 < neurons.rank()) return false;
    return output * expansion.start_rate(neuron, neurons.w.col(neuron)) < 0.0;
}

/// True where a multiplier that holds a sleeper on its line is outside of what its samples give, or these repel it.
bool is_let_go(const Dataset& data, const State& state, const Expansion& expansion, const Sleeper& sleeper,
               Vector& work) {
    const SlidingSet& held = state.mode.held(sleeper.neuron);
    if (!held.dependent().empty()) return false;
    const Index rank = data.rank();
    expansion.gradient_at_start(sleeper.neuron, work.data());
    held.project(work.data(), work.data() + rank);
    held.multipliers(work.data() + rank, work.data());
    const double unknown = kLetGo * expansion.waveform().mean_norm();
    const double leak = state.parameters.leak();
    for (int h = 0; h < held.size(); ++h) {
        double below = 0.0;
        double above = 0.0;
        for (const int sample : data.samples_of(held.boundaries()[h])) {
            const double coefficient = data.coefficient(sample);
            const double pull = coefficient * expansion.waveform().signed_weights(0)[sample];
            below += pull * (coefficient > 0.0 ? leak : 1.0);
            above += pull * (coefficient > 0.0 ? 1.0 : leak);
        }
        const bool repels = sleeper.sign * (above - below) > unknown;
        const bool is_inside = work[h] > std::min(below, above) - unknown && work[h] < std::max(below, above) + unknown;
        if (repels || !is_inside) return true;
    }
    return false;
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

bool wake_released(const Dataset& data, State& state, const Expansion& expansion, Vector& work) {
    bool lets_go = false;
    for (Sleeper& sleeper : state.parameters.sleepers()) {
        if (!is_let_go(data, state, expansion, sleeper, work)) continue;
        sleeper.wakes_at = -std::numeric_limits<double>::infinity();
        lets_go = true;
    }
    return lets_go && state.parameters.wake();
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
