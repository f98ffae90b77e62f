/// Products of directions in single precision: they tell what is far away, with half the work and half the memory of a
/// product in double precision.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace reluflow {

/// Memory of numbers in single precision; see Numbers.
using RoughNumbers = std::vector<float, Eigen::aligned_allocator<float>>;

/// The fixed factor of such products, packed once for all of them.
class RoughProduct {
  public:
    /// Rows of unit length, (n, r).
    explicit RoughProduct(const MatrixView& rows);

    /// What a row of a product takes: n, rounded up to whole registers.
    Index columns() const noexcept { return columns_; }
    /// out(i, k) = directions_i · row_k, for `count` directions of unit length or less, (count, r) one after the other;
    /// out (count, columns()). Columns beyond n are zero. Each product goes through the same operations in the same
    /// order wherever it stands.
    void multiply(const float* directions, Index count, float* out) const noexcept;
    /// No product differs from that of the directions in double precision by more, the rounding of what it is compared
    /// with included.
    double error() const noexcept { return error_; }

  private:
    Index rank_;
    Index columns_;
    double error_;
    RoughNumbers packed_;  // strips of columns, each (r, strip)
};

}  // namespace reluflow
