/// What the neurons of a group share in a step, computed once: bounds of their gradient, and when they leave
/// boundaries.
#pragma once

#include <array>
#include <vector>

#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/hits.hpp"

namespace reluflow {

/// For each group, if there are few: a bound of |g|, and bounds of g·normal of the boundaries, over the whole step.
class GroupBounds {
  public:
    /// With at most this many groups, bounds over the step cost less than examining the pairs that they exclude.
    static constexpr Index kFewGroups = 6;

    struct Interval {
        double lowest = 0.0;
        double highest = 0.0;
    };

    explicit GroupBounds(const Dataset& data);

    void update(const Expansion& expansion);

    /// False when there are too many groups; the bounds below are then not available.
    bool are_known() const noexcept { return known_; }
    double fastest(Index group) const noexcept { return fastest_[group]; }
    /// Of one boundary. A step asks for few of them, three of a thousand on P3.
    Interval of(Index group, Index boundary) const noexcept;
    /// Finds the bounds for every boundary, to be asked for below; precondition: are_known().
    void find_all();
    double lowest(Index group, Index boundary) const noexcept {
        return lowest_[group * data_.n_boundaries() + boundary];
    }
    double highest(Index group, Index boundary) const noexcept {
        return highest_[group * data_.n_boundaries() + boundary];
    }

  private:
    double* series_of(Index group) noexcept { return series_.data() + group * (kMaxOrder + 2) * data_.rank(); }
    const double* series_of(Index group) const noexcept {
        return series_.data() + group * (kMaxOrder + 2) * data_.rank();
    }

    const Dataset& data_;
    bool known_ = false;
    Index groups_ = 0;
    int order_ = 0;
    Numbers fastest_, lowest_, highest_, series_, projections_;
};

/// For each group and sign of the output weight: the first time at which its neurons leave a boundary. Multipliers
/// belong to the group, whatever the size of a neuron, so the time found on one neuron holds for all, to the last bit.
class Releases {
  public:
    explicit Releases(Index neurons) : of_group_(neurons) {}

    void forget(Index groups) { std::fill_n(of_group_.begin(), groups, Entry{}); }
    /// Returns true once per (group, sign); the caller that gets true computes the hit.
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
