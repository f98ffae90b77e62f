/// A proof that nothing moves, without a look at cells: pulls that balance the velocity.
#pragma once

#include <vector>

#include "layered/local_form.hpp"

namespace reluflow::layered {

/// True if the best direction of all is zero in what the normals span, shown by pulls of all places between bounds.
/// `kept`: one a place, whether only directions count in which it is at zero. False says nothing.
bool proves_rest(const LocalForm& form, const std::vector<char>& kept);

}  // namespace reluflow::layered
