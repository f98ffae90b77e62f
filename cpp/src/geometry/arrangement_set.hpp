/// Inside `arrangement`: points with their sign vectors, each sign vector once.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"
#include "geometry/arrangement_boundaries.hpp"

namespace reluflow::detail {

/// A hash set of cells of one arrangement, in the order of insertion.
class CellSet {
  public:
    explicit CellSet(const Boundaries& boundaries);

    /// Adds the cell of `point` (norm 1) unless it is there, or the point lies on a hyperplane within kInside.
    void insert(const Vector& point);

    Index size() const { return count_; }
    Index dim() const { return boundaries_.dim(); }
    /// The interior point of cell c.
    Eigen::Map<const Vector> point(Index c) const {
        return {points_.data() + c * boundaries_.dim(), boundaries_.dim()};
    }
    std::vector<double>&& release_points() { return std::move(points_); }

  private:
    /// Writes the signs of `point` to scratch_; false if it lies on a hyperplane.
    bool read_signs(const Vector& point);
    std::uint64_t hash(const std::uint64_t* words) const;
    /// Where the signs in scratch_ are in table_, or the empty place for them.
    std::size_t slot() const;
    void grow();

    const Boundaries& boundaries_;
    std::size_t n_words_;
    Index count_ = 0;
    std::vector<double> points_;
    std::vector<std::uint64_t> signs_;    // n_words_ a cell, bit i is the sign at hyperplane i
    std::vector<std::uint64_t> scratch_;  // the signs of the point at hand
    Vector heights_;                      // its distances from the hyperplanes
    std::vector<Index> table_;            // open addressing; -1 is empty
};

}  // namespace reluflow::detail
