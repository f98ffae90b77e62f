#include "reluflow/vanished.hpp"

#include <cmath>

namespace reluflow {

namespace {

/// Below this size the squares of weights leave the doubles.
constexpr double kSmallest = 1e-140;
/// Grown back by so many e-foldings, a neuron put to zero is missed.
constexpr double kReturned = 10.0;

}  // namespace

Vanished::Vanished(Index neurons, Index rank) : directions_(rank, neurons) {
    neurons_.reserve(neurons);
}

void Vanished::follow(const Expansion& expansion, double duration) noexcept {
    for (Neuron& neuron : neurons_) {
        neuron.log_size += duration * neuron.sign * expansion.start_rate(neuron.index, directions_.col(neuron.index));
        returned_ = returned_ || neuron.log_size > std::log(kSmallest) + kReturned;
    }
}

bool Vanished::take(const Expansion& expansion, NetworkState& state) {
    bool found = false;
    for (Index j = 0; j < state.neurons(); ++j) {
        const double output = state.a[j];
        if (std::abs(output) >= kSmallest || output == 0.0) continue;
        if (state.invariant(j) != 0.0 || state.at_rest(j) != 0.0) continue;
        directions_.col(j) = state.w.col(j) / std::abs(output);
        if (output * expansion.start_rate(j, directions_.col(j)) >= 0.0) continue;
        neurons_.push_back({static_cast<int>(j), output > 0.0 ? 1.0 : -1.0, std::log(std::abs(output))});
        state.w.col(j).setZero();
        state.a[j] = 0.0;
        found = true;
    }
    return found;
}

}  // namespace reluflow
