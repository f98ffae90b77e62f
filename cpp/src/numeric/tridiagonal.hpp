/// A symmetric matrix as Q T Qᵀ with T tridiagonal, for systems with many shifts. Allocates nothing.
#pragma once

#include <complex>

#include "base/types.hpp"

namespace reluflow {

/// Householder's reduction of one positive semidefinite matrix S at a time. It is an eighth of the work of factors of
/// I + value S for three complex values. Memory grows only for a matrix larger than all before it and than what was
/// reserved.
class TridiagonalForm {
  public:
    /// Reserves memory for matrices of up to so many rows.
    void reserve(Index size);
    /// The matrix to fill in, (size, size), both halves; its former contents are lost.
    Eigen::Map<Matrix> matrix(Index size);
    /// Reduces the matrix in place.
    void reduce() noexcept;
    /// x = (I + value S)⁻¹ x for x = real + i imaginary. Precondition: reduce() was called, and the real part of the
    /// value is not negative: then elimination needs no pivots, since I + Re(value) S is positive definite.
    void solve_shifted(std::complex<double> value, VectorRef real, VectorRef imaginary) noexcept;

  private:
    void take_off(Index k, const double* moved, Index i) noexcept;
    void reflect(Index k, VectorRef x) const noexcept;
    void eliminate(std::complex<double> value, VectorRef real, VectorRef imaginary) noexcept;
    /// Row k holds the normal of reflection k from column k + 1 on.
    double* row(Index i) noexcept { return entries_.data() + i * size_; }
    const double* row(Index i) const noexcept { return entries_.data() + i * size_; }

    Index size_ = 0;
    Numbers entries_;
    Numbers diagonal_, beside_;  // of T
    Numbers scale_;              // reflection k is I - scale v vᵀ
    Numbers moved_, last_moved_;
    Numbers ratio_re_, ratio_im_;  // of an elimination
};

}  // namespace reluflow
