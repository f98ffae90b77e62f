/// Which samples are multiples of each other, so that what reads nothing else of them vanishes on all of them at once.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace reluflow::layered {

/// Each row of X as a multiple of the first row that is parallel to it. Values of parallel rows are the same to the
/// last bit this way, whatever rounding made of them.
class Directions {
  public:
    explicit Directions(const Matrix& X);

    /// False if no two samples have anything in common: then no two pre-activations are multiples of each other.
    bool any() const noexcept { return any_; }
    Index leader(Index sample) const noexcept { return leader_[sample]; }
    /// The row of a sample is this multiple of that of its leader.
    double ratio(Index sample) const noexcept { return ratio_[sample]; }

  private:
    std::vector<Index> leader_;
    std::vector<double> ratio_;
    bool any_ = false;
};

}  // namespace reluflow::layered
