#include "two_layer/sleepers.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/bracket.hpp"

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
/// A step ends where one is let go by so much, so that the next begins with what wakes it.
constexpr double kSurelyLetGo = 2e-6;
/// Halvings for the time at which that is: to 2^-50 of the step.
constexpr int kHalvings = 50;

/// True for a balanced neuron that cannot turn and shrinks.
bool decays(const State& state, const Expansion& expansion, Index neuron) {
    const Parameters& neurons = state.parameters;
    const double output = neurons.a[neuron];
    if (output == 0.0 || neurons.invariant(neuron) != 0.0 || neurons.at_rest(neuron) != 0.0) return false;
    if (state.mode.held(neuron).size() + 1 < neurons.rank()) return false;
    return output * expansion.start_rate(neuron, neurons.w.col(neuron)) < 0.0;
}

/// The gradient of the samples on which a sleeper does not slide, under given signed weights.
void gradient_under(const Vector& weights, const Dataset& data, const Expansion& expansion, const Sleeper& sleeper,
                    VectorRef g) {
    const Index group = expansion.groups().of(sleeper.neuron);
    g.setZero();
    for (Index i = 0; i < data.n(); ++i) {
        const double factor = expansion.slope(i, group) * weights[i];
        if (factor != 0.0) g += factor * data.X().row(i).transpose();
    }
}

/// True where a multiplier that holds a sleeper on its line is outside of what its samples give, or these repel it, by
/// more than a part of Σ p |x|.
bool is_let_go(const Vector& weights, const Dataset& data, const State& state, const Expansion& expansion,
               const Sleeper& sleeper, double by, Vector& work) {
    const SlidingSet& held = state.mode.held(sleeper.neuron);
    if (!held.dependent().empty()) return false;
    const Index rank = data.rank();
    gradient_under(weights, data, expansion, sleeper, work.head(rank));
    held.project(work.data(), 1, work.data() + rank);
    held.multipliers(work.data() + rank);
    const double unknown = by * expansion.waveform().mean_norm();
    const double leak = state.parameters.leak();
    for (int h = 0; h < held.size(); ++h) {
        double below = 0.0;
        double above = 0.0;
        for (const int sample : data.samples_of(held.boundaries()[h])) {
            const double coefficient = data.coefficient(sample);
            const double pull = coefficient * weights[sample];
            below += pull * (coefficient > 0.0 ? leak : 1.0);
            above += pull * (coefficient > 0.0 ? 1.0 : leak);
        }
        const bool repels = sleeper.sign * (above - below) > unknown;
        const double beta = work[rank + h];
        const bool is_inside = beta > std::min(below, above) - unknown && beta < std::max(below, above) + unknown;
        if (repels || !is_inside) return true;
    }
    return false;
}

bool lets_any_go(const Vector& weights, const Dataset& data, const State& state, const Expansion& expansion,
                 Vector& work) {
    const auto sleepers = state.parameters.sleepers();
    return std::any_of(sleepers.begin(), sleepers.end(), [&](const Sleeper& sleeper) {
        return is_let_go(weights, data, state, expansion, sleeper, kSurelyLetGo, work);
    });
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

void follow_sleepers(const Dataset& data, Parameters& parameters, const Expansion& expansion, double end,
                     Vector& weights, Vector& work) {
    if (parameters.sleepers().empty()) return;
    const Waveform& waveform = expansion.waveform();
    const double duration = end * waveform.step();
    waveform.mean_signed_weights(end, weights);
    for (Sleeper& sleeper : parameters.sleepers()) {
        auto g = work.head(data.rank());
        gradient_under(weights, data, expansion, sleeper, g);
        const double rate = sleeper.sign * g.dot(parameters.direction(sleeper));
        sleeper.log_size += std::log(waveform.decay_at(end)) + duration * rate;
    }
}

double end_by_release(const Dataset& data, const State& state, const Expansion& expansion, double end, Vector& weights,
                      Vector& work) {
    if (state.parameters.sleepers().empty()) return end;
    const auto holds = [&](double u) {
        expansion.waveform().signed_weights_at(u, weights);
        return !lets_any_go(weights, data, state, expansion, work);
    };
    return holds(end) ? end : halved({0.0, end}, holds, kHalvings).high;
}

bool wake_released(const Dataset& data, State& state, const Expansion& expansion, Vector& weights, Vector& work) {
    if (state.parameters.sleepers().empty()) return false;
    weights = Eigen::Map<const Vector>(expansion.waveform().signed_weights(0), data.n());
    bool lets_go = false;
    for (Sleeper& sleeper : state.parameters.sleepers()) {
        if (!is_let_go(weights, data, state, expansion, sleeper, kLetGo, work)) continue;
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
