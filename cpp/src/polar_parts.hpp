/// Inside the room polar: the two inner problems of a node.
#pragma once

#include <cstdint>
#include <vector>

#include "reluflow/types.hpp"

namespace reluflow::detail {

/// Throws InvalidArgument unless `gram` is square and has room for b and n_up vectors p.
void check_polar(const MatrixView& gram, Index n_up);

/// Improves τ in [0,1]^l towards the least of τᵀHτ + 2 linearᵀτ until the duality gap is at most `tolerance`, or no
/// step helps. H is positive semidefinite. Any τ it leaves is in the box.
void minimise_in_box(const Matrix& H, const Vector& linear, double tolerance, Vector& tau);

/// A bound of xᵀMx over x in {-1,1}^f, M symmetric with zero diagonal, and the first moments E[x_0 x_i] of the relaxed
/// solution. Row 0 of M is the linear part. Burer-Monteiro form of the semidefinite relaxation by the mixing method
/// (Wang, Chang & Kolter 2017); its multipliers d, shifted until diag(d) - M is positive semidefinite, give the bound.
struct SignBound {
    double value;
    Vector moments;
};
SignBound bound_signs(const Matrix& M);

}  // namespace reluflow::detail
