/// LU factors with partial pivoting that allocate nothing: in place, in blocks whose updates are tiled products.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace reluflow {

/// Factors of one square matrix at a time. Memory grows only for a system larger than all before it and than what was
/// reserved.
class LuFactors {
  public:
    /// Reserves memory for systems of up to so many rows.
    void reserve(Index size);
    /// The matrix to fill in, (size, size); its former contents are lost.
    Eigen::Map<Matrix> matrix(Index size);
    /// The matrix that was asked for last.
    Eigen::Map<Matrix> entries() noexcept { return {entries_.data(), size_, size_}; }
    /// Factors the matrix in place: P A = L U. For a singular matrix solve() gives values that are not finite.
    void factor() noexcept;
    /// b = A⁻¹ b; precondition: factor() was called, and b has as many entries as the matrix has rows.
    void solve(VectorRef b) const noexcept;

  private:
    void factor_panel(Index first, Index width) noexcept;
    void update_right(Index first, Index width) noexcept;
    double* row(Index i) noexcept { return entries_.data() + i * size_; }

    Index size_ = 0;
    Numbers entries_;
    std::vector<Index> swaps_;  // row i was exchanged with swaps_[i] >= i
};

}  // namespace reluflow
