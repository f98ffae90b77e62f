#include "two_layer/underflow_guard.hpp"

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

UnderflowGuard::UnderflowGuard(Index neurons, Index rank) : directions_(rank, neurons) {
    neurons_.reserve(neurons);
}

void UnderflowGuard::follow(const Expansion& expansion, double duration, double log_decay) noexcept {
    for (Neuron& neuron : neurons_)
        neuron.log_size +=
            log_decay + duration * neuron.sign * expansion.start_rate(neuron.index, directions_.col(neuron.index));
}

bool UnderflowGuard::wake(NetworkState& state) {
    const std::size_t before = neurons_.size();
    std::erase_if(neurons_, [&](const Neuron& neuron) {
        if (neuron.log_size < kAsleep + kReturned) return false;
        state.revive(neuron.index, directions_.col(neuron.index), neuron.sign, neuron.log_size);
        return true;
    });
    return neurons_.size() < before;
}

bool UnderflowGuard::change(const Expansion& expansion, const std::vector<SlidingSet>& held, NetworkState& state) {
    bool changed = !neurons_.empty() && wake(state);
    for (Index j = 0; state.has_lifted() && j < state.neurons(); ++j) {
        const double output = state.a[j];
        if (!state.is_lifted(j) || output == 0.0 || state.invariant(j) != 0.0 || state.at_rest(j) != 0.0) continue;
        if (held[j].size() + 1 < state.rank() || state.log_size(j) > kAsleep) continue;
        directions_.col(j) = state.w.col(j) / std::abs(output);
        if (output * expansion.start_rate(j, directions_.col(j)) >= 0.0) continue;
        neurons_.push_back({static_cast<int>(j), output > 0.0 ? 1.0 : -1.0, state.log_size(j)});
        state.w.col(j).setZero();
        state.a[j] = 0.0;
        changed = true;
    }
    return changed;
}

}  // namespace reluflow
