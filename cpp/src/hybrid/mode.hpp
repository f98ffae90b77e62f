/// The discrete state of a run: the side of every boundary for every neuron, and what each neuron slides on.
#pragma once

#include <span>
#include <vector>

#include "hybrid/pattern.hpp"
#include "hybrid/sliding_set.hpp"
#include "problem/dataset.hpp"

namespace reluflow {

/// A neuron slides on the boundaries whose side is 0, except one at zero, which nothing moves. Only events change a
/// mode. What changes it is thread-safe for different neurons.
class Mode {
  public:
    /// Every neuron on every boundary, none sliding yet. `data` must outlive the mode.
    Mode(Index neurons, const Dataset& data);

    const Pattern& pattern() const noexcept { return pattern_; }
    std::int8_t side(Index neuron, Index boundary) const noexcept { return pattern_.side(neuron, boundary); }
    const SlidingSet& held(Index neuron) const noexcept { return held_[neuron]; }

    void set_side(Index neuron, Index boundary, std::int8_t side) noexcept { pattern_.set(neuron, boundary, side); }
    /// The neuron slides on these boundaries from now on; the first of dependent ones are the independent ones.
    void hold(Index neuron, std::span<const int> boundaries) { held_[neuron].assign(boundaries, data_.normals()); }
    /// The neuron has an output weight of zero and nothing that drives it; see SlidingSet::wait().
    void hold_waiting(Index neuron, std::span<const int> boundaries);

  private:
    const Dataset& data_;
    Pattern pattern_;
    std::vector<SlidingSet> held_;
};

}  // namespace reluflow
