/// Which samples share a boundary: those that are parallel, up to rounding.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace reluflow {

/// The boundary of each sample, numbered by their first samples, and the side of its normal on which the sample points.
struct Parallels {
    std::vector<int> boundary;
    std::vector<int> side;  ///< +1 or -1
    int count = 0;
};

/// Precondition: no row of X is zero.
Parallels find_parallels(const MatrixView& X);

}  // namespace reluflow
