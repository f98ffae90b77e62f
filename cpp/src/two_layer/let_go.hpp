/// Samples that drive nobody: their margins stand still, and their weights outgrow all others as the mass falls. Those
/// on whose boundaries neurons slide may let these go.
#pragma once

#include "problem/dataset.hpp"
#include "two_layer/state.hpp"
#include "two_layer/waveform.hpp"

namespace reluflow {

/// Logarithm of a weight that no rate shows yet, as a part of all.
inline constexpr double kUnseenWeight = -60.0;

/// The logarithm of what the heaviest sample weighs at the start of a step, as a part of all, that will let a neuron
/// go; it may have underflowed. -inf if there is none.
double log_let_go(const Dataset& data, const Waveform& waveform, const State& state);

}  // namespace reluflow
