/// An upper bound of the spectral norm of a matrix.
#pragma once

#include "base/types.hpp"

namespace reluflow::proof {

/// An upper bound of |X|₂, within a percent for up to 1,000 columns: |B|₂ ≤ |B^(2^k)|_F^(1/2^k), rounding included.
double spectral_norm_up(MatrixView X);

}  // namespace reluflow::proof
