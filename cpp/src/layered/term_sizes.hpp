/// What pre-activations are compared with to tell whether they are zero: the most that their unit has ever been summed
/// up from.
///
/// Units of one layer may differ in size by any number of digits, so none is compared with another. What has vanished
/// is compared with what it was: all terms of a unit may vanish at one instant, with those that it reads. What weight
/// decay alone has made small has not vanished: its size is forgotten as fast as it decays.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "layered/graph.hpp"

namespace reluflow::layered {

class TermSizes {
  public:
    TermSizes(const Graph& graph, const Matrix& X);

    /// Takes the units as they are at theta into account, and what each parameter has decayed by since the last time:
    /// `kept` of each, empty without decay. Costs one pass over the entries between the layers.
    void see(const Vector& theta, const Vector& kept = {});
    /// No less than the sum of the sizes of the terms of z of the unit, for any sample and any theta that was seen, as
    /// decay alone would have left it.
    double most(int node, Index unit) const { return most_[node][unit]; }

  private:
    void sum_up(int v, const Vector& theta);
    void fade(int v, const Vector& kept);

    const Graph* graph_;
    std::vector<Vector> most_, now_;  // by node
    std::vector<Vector> kept_;        // of all terms of a unit, that which decays least
};

}  // namespace reluflow::layered
