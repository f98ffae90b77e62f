/// Sums of rows with coefficients: every product with X of the prover. Each entry is summed in the order of the rows,
/// so that the bits do not depend on how many entries the processor takes at a time.
#pragma once

#include "base/types.hpp"
#include "proof/double_double.hpp"

namespace reluflow::proof {

/// out[c] = Σ_k coefficients[k] rows[k stride + c] for c < width.
void combine(const double* coefficients, Index count, const double* rows, Index stride, Index width, double* out);

/// The same within 8 (count + 1) u² Σ_k |coefficients[k] rows[k stride + c]|; coefficients that are zero cost nothing.
void combine(const DoubleDouble* coefficients, Index count, const double* rows, Index stride, Index width,
             DoubleDouble* out);

}  // namespace reluflow::proof
