/// What the neurons of a group share in a step, found once: bounds of their gradient, and when their sliding boundaries
/// are released.
#pragma once

#include <array>
#include <vector>

#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/hits.hpp"

namespace reluflow {

/// Of each group, when there are few: a bound of |g|, and bounds of g·normal for every boundary, over the whole step.
class GroupBounds {
  public:
    explicit GroupBounds(const Dataset& data);

    void update(const Expansion& expansion);

    /// False when there are too many groups: the rest is then not known.
    bool are_known() const noexcept { return known_; }
    double fastest(Index group) const noexcept { return fastest_[group]; }
    double lowest(Index group, Index wall) const noexcept { return lowest_[group * data_.n_walls() + wall]; }
    double highest(Index group, Index wall) const noexcept { return highest_[group * data_.n_walls() + wall]; }

  private:
    const Dataset& data_;
    bool known_ = false;
    std::vector<double> fastest_, lowest_, highest_, series_, projections_;
};

/// The first release of a sliding boundary, of each group and sign of the output weight. Multipliers are those of the
/// group, whatever the size of the neuron: found on one of its neurons, they give all of them one time to the last bit.
class Releases {
  public:
    explicit Releases(Index neurons) : of_group_(neurons) {}

    void forget(Index groups) { std::fill_n(of_group_.begin(), groups, Entry{}); }
    /// True for the first who asks.
    bool claim(Index group, bool positive) noexcept {
        bool& claimed = of_group_[group].claimed[positive];
        return !claimed && (claimed = true);
    }
    Hit& of(Index group, bool positive) noexcept { return of_group_[group].hit[positive]; }

  private:
    struct Entry {
        std::array<bool, 2> claimed{};
        std::array<Hit, 2> hit{};
    };
    std::vector<Entry> of_group_;
};

}  // namespace reluflow
