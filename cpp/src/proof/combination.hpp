/// Sums of rows with coefficients: every product with X of the prover. Each entry is summed in the order of the rows,
/// so that the bits do not depend on how many entries the processor takes at a time.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "proof/double_double.hpp"

namespace reluflow::proof {

/// out[c] = Σ_k coefficients[k] rows[k stride + c] for c < width. In `DoubleDouble` it is within
/// 8 (count + 1) u² Σ_k |coefficients[k] rows[k stride + c]|.
template <class Real>
void combine(const Real* coefficients, Index count, const double* rows, Index stride, Index width, Real* out);

/// The same for the chosen rows, coefficients[k] being the one of row chosen[k].
template <class Real>
void combine(const std::vector<Real>& coefficients, const std::vector<Index>& chosen, const double* rows, Index width,
             Real* out);

}  // namespace reluflow::proof
