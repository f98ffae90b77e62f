/// Whether a neuron can stay on boundaries of which some repel: is zero in the hull of the gradients of the adjacent
/// cells?
#pragma once

#include <vector>

#include "hybrid/transition.hpp"

namespace reluflow {

/// `zero` are the boundaries that stay, `rest` is the gradient without them. Residuals below `tolerance` are rounding.
bool is_in_hull(const Corner& corner, const std::vector<int>& zero, const Numbers& rest, double tolerance);

}  // namespace reluflow
