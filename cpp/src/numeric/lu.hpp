/// Dense linear systems that are solved without asking for memory: LU factors with partial pivoting, in place, in
/// blocks whose updates are tiled products.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace reluflow {

/// Factors of one square matrix at a time. A system no larger than one before it, or than what was reserved,
/// allocates nothing.
class LuFactors {
  public:
    /// Memory for systems of up to so many rows.
    void reserve(Index size);
    /// The matrix to fill in, (size, size); what it held is gone.
    Eigen::Map<Matrix> matrix(Index size);
    /// Factors the matrix in place: P A = L U. A singular one leaves values that are not finite in a solution.
    void factor() noexcept;
    /// b = A⁻¹ b; precondition: factor() was called, and b has as many entries as the matrix has rows.
    void solve(VectorRef b) const noexcept;

  private:
    void factor_panel(Index first, Index width) noexcept;
    void update_right(Index first, Index width) noexcept;
    double* row(Index i) noexcept { return entries_.data() + i * size_; }

    Index size_ = 0;
    std::vector<double> entries_;
    std::vector<Index> swaps_;  // row i was exchanged with swaps_[i] >= i
};

}  // namespace reluflow
