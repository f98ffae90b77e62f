/// The activation pattern as discrete state: the side of every boundary for every neuron. Only events change it.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "problem/dataset.hpp"

namespace reluflow {

enum class EventKind : std::uint8_t {
    cross_up,
    cross_down,
    slide,
    leave_up,
    leave_down,
    die,
    branch,
    start_up,
    start_down,
    start_slide,
};

/// Appends the boundaries of one row of sides that are zero, in order. A side is +1, -1, or 0 for a neuron that slides
/// on the boundary (its slope is then a multiplier).
void append_zero_boundaries(std::span<const std::int8_t> sides, std::vector<int>& boundaries);

/// The sign of a sample's pre-activation: the side of its boundary, negated for samples opposite to the normal.
inline std::int8_t sample_sign(const Dataset& data, Index sample, std::int8_t boundary_side) noexcept {
    return static_cast<std::int8_t>(boundary_side * data.orientation(sample));
}

/// The kind of a change of one sample's sign from `before` to `after`; `at_rest` distinguishes `die` from `slide`.
EventKind kind_of_change(std::int8_t before, std::int8_t after, bool at_rest) noexcept;

/// Boundary sides of m neurons. A hash per row is updated with every change, so that equal rows are found in O(1).
class Pattern {
  public:
    Pattern(Index neurons, Index boundaries, std::uint64_t seed = 0x9e3779b97f4a7c15ULL);

    Index neurons() const noexcept { return sides_.rows(); }
    Index boundaries() const noexcept { return sides_.cols(); }
    std::int8_t side(Index neuron, Index boundary) const noexcept { return sides_(neuron, boundary); }
    std::span<const std::int8_t> row(Index neuron) const noexcept {
        return {sides_.data() + neuron * sides_.cols(), static_cast<std::size_t>(sides_.cols())};
    }
    std::uint64_t hash(Index neuron) const noexcept { return hashes_[neuron]; }
    bool same_row(Index a, Index b) const noexcept;
    /// The number of boundaries on which a neuron is zero.
    Index zeros(Index neuron) const noexcept { return zeros_[neuron]; }
    /// Counts the changes, so that what was derived from a pattern can tell whether it is out of date.
    std::uint64_t version() const noexcept { return version_.load(std::memory_order_relaxed); }

    /// Thread-safe for different neurons.
    void set(Index neuron, Index boundary, std::int8_t side) noexcept;

    /// The signs of the samples (m, n).
    SignMatrix sample_signs(const Dataset& data) const;

  private:
    SignMatrix sides_;
    std::vector<std::uint64_t> keys_;  // one random word per boundary and side
    std::vector<std::uint64_t> hashes_;
    std::vector<Index> zeros_;
    /// On a cache line of its own, because all threads that move neurons write to it.
    alignas(64) std::atomic<std::uint64_t> version_{0};
};

}  // namespace reluflow
