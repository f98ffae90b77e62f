/// Sides that cannot be a way to go on, told from the loss to first order as numbers, at a part of what a series of the
/// whole network costs.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "layered/local_form.hpp"

namespace reluflow::layered {

class SideFilter {
  public:
    explicit SideFilter(const LocalForm& form);

    /// False if with these signs, one a place of the form and 0 for what stays at zero, something plainly moves
    /// against its sign, of what is `chosen`, or has plainly more to hold than its bounds allow, whichever way round
    /// these are. True also where normals of what stays depend on each other: bounds do not tell that.
    bool may_go(const std::vector<int>& signs, const std::vector<char>& chosen) const;

  private:
    LocalForm form_;  // in coordinates of what the normals span
};

}  // namespace reluflow::layered
