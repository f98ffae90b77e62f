/// Between which bounds the multiplier of a sliding boundary stays.
#pragma once

#include "layered/jet.hpp"

namespace reluflow::layered {

/// M⁺ (where w leaves upwards) and M⁻ of boundary b of what slides in `jet`, up to `order` < jet.order(). On either
/// side of the boundary an empty unit that it wakes has the side that it wakes on there.
void sliding_bounds(const Jet& jet, int b, int order, Row& up, Row& down);

}  // namespace reluflow::layered
