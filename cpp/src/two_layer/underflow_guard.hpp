/// Neurons that have decayed beyond all others: they sleep at zero, and wake when they would count again.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "hybrid/sliding_set.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/network.hpp"

namespace reluflow {

/// A balanced neuron held on a line, or in one dimension, whose samples push it inwards decays like e^{-|g| τ} for
/// ever, and would keep the steps of a flow that creeps as short as its time constant. It cannot turn, so that its
/// size alone is followed, and it comes back from it exactly.
class UnderflowGuard {
  public:
    UnderflowGuard(Index neurons, Index rank);

    /// The state has moved by `duration` in rescaled time, under gradients that the expansion had at the start of it.
    void follow(const Expansion& expansion, double duration) noexcept;
    /// Puts neurons of the state to sleep, and wakes those that have grown; true if there was one.
    bool change(const Expansion& expansion, const std::vector<SlidingSet>& held, NetworkState& state);

  private:
    struct Neuron {
        int index = 0;
        double sign = 1.0;      // of the output weight
        double log_size = 0.0;  // of what the neuron would be
    };
    bool wake(NetworkState& state);

    std::vector<Neuron> neurons_;
    Matrix directions_;  // (r, m)
};

}  // namespace reluflow
