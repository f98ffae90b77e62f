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
/// Follows the sizes of the sleepers over a step that ends at `end`. `weights` has room for n numbers, `work` for 2 r.
void follow_sleepers(const Dataset& data, Parameters& parameters, const Expansion& expansion, double end,
                     Vector& weights, Vector& work);

/// The end of a step, or where in it the samples of its boundaries let a sleeper go.
double end_by_release(const Dataset& data, const State& state, const Expansion& expansion, double end, Vector& weights,
                      Vector& work);

/// At the start of a step: wakes sleepers that the samples of their boundaries no longer hold, which would turn; true
/// if there was one.
bool wake_released(const Dataset& data, State& state, const Expansion& expansion, Vector& weights, Vector& work);

/// Puts decayed neurons to sleep and wakes those that have grown; true if there was one.
bool change_sleepers(State& state, const Expansion& expansion);

}  // namespace reluflow
