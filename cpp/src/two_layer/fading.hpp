/// Neurons that weight decay takes to zero while the others rest.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "two_layer/state.hpp"

namespace reluflow {

/// Moves the neurons whose gradient the decay outweighs on by the time in which the decay alone takes weights to
/// e^-decayed of themselves. Gradients (r, m), in units of the decay, stand still, and so do all other neurons, those
/// with stands[j] != 0 among them. A neuron is taken to stay in its pattern.
void fade(const Matrix& gradients, State& state, double decayed, const std::vector<char>& stands);

}  // namespace reluflow
