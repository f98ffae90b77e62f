/// Whether a neuron can stay on boundaries of which some repel: zero in the hull of the pulls of the cells beside the
/// point.
#pragma once

#include <vector>

#include "hybrid/transition.hpp"

namespace reluflow {

/// `zero` are the boundaries that stay, `rest` the pull of everything else. Residuals below `tolerance` are rounding.
bool is_in_hull(const Corner& corner, const std::vector<int>& zero, const std::vector<double>& rest, double tolerance);

}  // namespace reluflow
