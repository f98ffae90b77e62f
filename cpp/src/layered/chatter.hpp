/// Places that come to their boundaries and leave them again and again.
#pragma once

#include <vector>

#include "layered/activity.hpp"

namespace reluflow::layered {

/// Looks at the last events of a run. Near the limit of their stability explicit steps keep alive what their tolerance
/// leaves of fast components, and where the flow itself hardly moves that sends units off their boundaries and back.
class Chatter {
  public:
    /// Takes the changes of one instant; true if so many of late were of a few places alone, which then count anew.
    bool takes(const std::vector<Change>& changes);

  private:
    std::vector<Place> last_;
};

}  // namespace reluflow::layered
