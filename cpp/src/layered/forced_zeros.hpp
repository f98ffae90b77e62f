/// Which pre-activations vanish together with others because of what slides.
///
/// What slides on a sample holds linear relations between the units below it. Where some of these units reach zero the
/// relations can leave the others nothing but zero: a unit that slides and reads two others makes them vanish at one
/// instant.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "layered/activity.hpp"

namespace reluflow::layered {

/// Places of one sample that move, are not among `zero` and must be zero where `zero` is. What reads nothing but zeros
/// is not listed: it follows.
std::vector<Place> forced_zeros(const Activity& activity, const Vector& theta, Index sample,
                                const std::vector<Place>& zero);

}  // namespace reluflow::layered
