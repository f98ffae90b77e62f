/// Neurons with one sector and sliding set share their gradient; they form a group.
#pragma once

#include <span>
#include <vector>

#include "base/types.hpp"
#include "hybrid/pattern.hpp"

namespace reluflow {

/// Partition of the neurons by equal pattern rows, in order of first appearance.
class Groups {
  public:
    explicit Groups(Index neurons);

    /// Updates the partition; returns false if it is already that of this version of the pattern.
    bool update(const Pattern& pattern);

    Index count() const noexcept { return count_; }
    int of(Index neuron) const noexcept { return of_[neuron]; }
    const int* of() const noexcept { return of_.data(); }
    /// A neuron of the group that speaks for it: the first one, unless `lead` has named another.
    int leader(Index group) const noexcept { return leader_[group]; }
    void lead(Index group, int neuron) noexcept { leader_[group] = neuron; }
    /// Its neurons, in order.
    std::span<const int> members(Index group) const noexcept {
        return {members_.data() + begin_[group], static_cast<std::size_t>(begin_[group + 1] - begin_[group])};
    }
    /// True if every neuron is its own group, in order.
    bool is_identity() const noexcept { return count_ == static_cast<Index>(of_.size()); }

  private:
    void list_members() noexcept;
    int find_or_add(const Pattern& pattern, int neuron) noexcept;

    std::vector<int> of_;
    std::vector<int> leader_;
    std::vector<int> members_, begin_;  // of one group after the other; group c begins at begin_[c]
    std::vector<int> table_;            // open addressing by row hash, -1 free
    Index count_ = 0;
    std::uint64_t version_ = ~std::uint64_t{0};
};

}  // namespace reluflow
