/// Neurons that have decayed beyond all others: they are set to zero, followed by their logarithmic size, and restored
/// when they would count again.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "hybrid/sliding_set.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/network.hpp"

namespace reluflow {

/// A balanced neuron that slides along a line, or in one dimension, decays like e^{-|g| τ} for ever if its samples push
/// it inwards, and would keep the steps of a slow flow as short as its time constant. It cannot turn, so its size alone
/// is followed, and it can be restored exactly.
class UnderflowGuard {
  public:
    UnderflowGuard(Index neurons, Index rank);

    /// Follows the sizes while the state moves by `duration` in rescaled time, with the gradients at the start of the
    /// expansion.
    void follow(const Expansion& expansion, double duration, double log_decay) noexcept;
    /// Sets decayed neurons of the state to zero and restores those that have grown; true if there was one.
    bool change(const Expansion& expansion, const std::vector<SlidingSet>& held, NetworkState& state);

  private:
    struct Neuron {
        int index = 0;
        double sign = 1.0;      // of the output weight
        double log_size = 0.0;  // logarithm of the size it would have
    };
    bool wake(NetworkState& state);

    std::vector<Neuron> neurons_;
    Matrix directions_;  // (r, m)
};

}  // namespace reluflow
