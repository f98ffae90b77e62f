/// Inside `dual_norm`: the vectors of a problem and its two inner problems.
#pragma once

#include <cstdint>
#include <vector>

#include "base/types.hpp"

namespace reluflow::detail {

/// b, p_1..p_k, q_1..q_l as rows. Sums are formed from the vectors themselves: terms can be a thousand times longer
/// than their sum, and inner products alone would lose twice as many digits.
struct DualNormVectors {
    Matrix rows;
    Matrix gram;  // all inner products, for the steps of the searches
    Matrix down;  // the rows q
    Index n_up;
    Index n_down;
    double scale2;  // Σ of all squared lengths

    /// Throws InvalidArgument unless there are rows for b and n_up vectors p.
    DualNormVectors(const MatrixView& vectors, Index n_up);

    /// Moves τ in [0,1]^l, the tail of `weights`, to the minimum of |Σ weights · rows|², to `tolerance` times scale2 or
    /// until no step helps; returns the sum.
    Vector respond(Vector& weights, double tolerance) const;
};

/// A bound of xᵀMx over x in {-1,1}^f, M symmetric with zero diagonal, and the first moments E[x_0 x_i] of the relaxed
/// solution. Row 0 of M is the linear part. Burer-Monteiro form of the semidefinite relaxation by the mixing method
/// (Wang, Chang & Kolter 2017); its multipliers d, shifted until diag(d) - M is positive semidefinite, give the bound.
struct SignBound {
    double value;
    Vector moments;
};
SignBound bound_signs(const Matrix& M);

}  // namespace reluflow::detail
