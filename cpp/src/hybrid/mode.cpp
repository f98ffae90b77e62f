#include "hybrid/mode.hpp"

#include <algorithm>

namespace reluflow {

namespace {

/// Initial reserve of all sliding sets together, in numbers (128 MiB, touched only where neurons slide). In a larger
/// network a neuron that slides on more boundaries than its share allocates once.
constexpr Index kHeldNumbers = Index{1} << 24;

}  // namespace

Mode::Mode(Index neurons, const Dataset& data) : data_(data), pattern_(neurons, data.n_boundaries()) {
    const Index room = std::max<Index>(1, kHeldNumbers / (neurons * 2 * data.rank()));
    held_.reserve(neurons);  // and constructed in place: a copy would not keep the reserve of a set
    for (Index j = 0; j < neurons; ++j) held_.emplace_back(data.rank(), room);
}

void Mode::hold_waiting(Index neuron, std::span<const int> boundaries) {
    hold(neuron, boundaries);
    held_[neuron].wait();
}

}  // namespace reluflow
