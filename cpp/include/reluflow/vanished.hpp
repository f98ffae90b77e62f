/// Neurons that have decayed beyond what doubles hold: they are put to zero, and watched for a growth that would bring
/// them back.
#pragma once

#include <vector>

#include "reluflow/expansion.hpp"
#include "reluflow/network.hpp"
#include "reluflow/types.hpp"

namespace reluflow {

/// A balanced neuron held on a line, or in one dimension, whose samples push it inwards decays like e^{-|g| τ} for
/// ever.
class Vanished {
  public:
    Vanished(Index neurons, Index rank);

    /// The state has moved by `duration` in the step clock, under gradients that the expansion had at the start of it.
    void follow(const Expansion& expansion, double duration) noexcept;
    /// Puts newly vanished neurons of the state to zero; true if there was one.
    bool take(const Expansion& expansion, NetworkState& state);
    /// True when a neuron that was put to zero would have grown again: the state is no longer the flow's.
    bool has_returned() const noexcept { return returned_; }

  private:
    struct Neuron {
        int index = 0;
        double sign = 1.0;      // of the output weight
        double log_size = 0.0;  // of what the neuron would be
    };

    std::vector<Neuron> neurons_;
    Matrix directions_;  // (r, m)
    bool returned_ = false;
};

}  // namespace reluflow
