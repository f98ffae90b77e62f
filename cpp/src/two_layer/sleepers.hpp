/// Neurons that have decayed beyond all others are put to sleep, followed by their logarithmic size, and woken when
/// they would count again.
#pragma once

#include "problem/dataset.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/state.hpp"

namespace reluflow {

/// A balanced neuron that slides along a line, or in one dimension, decays like e^{-|g| τ} for ever if its samples push
/// it inwards, and would keep the steps of a slow flow as short as its time constant. It cannot turn, so its size alone
/// is followed, and it can be restored exactly.
///
/// Follows the sizes of the sleepers over a step of `duration` in rescaled time, with the gradients at the start of the
/// expansion.
void follow_sleepers(Parameters& parameters, const Expansion& expansion, double duration, double log_decay) noexcept;

/// At the start of a step: wakes sleepers that the samples of their boundaries no longer hold, which would turn; true
/// if there was one. `work` has room for 2 r numbers.
bool wake_released(const Dataset& data, State& state, const Expansion& expansion, Vector& work);

/// Puts decayed neurons to sleep and wakes those that have grown; true if there was one.
bool change_sleepers(State& state, const Expansion& expansion);

}  // namespace reluflow
