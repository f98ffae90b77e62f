/// Twins: units that read alike and are read alike, to the last bit. They are one unit to the flow, and stay so.
///
/// Where a unit stands among others decides in which lane of a product its sums are made, and in which order: rounding
/// parts twins, and where they are unstable that grows. So the state of one is given to all after every step.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "layered/activity.hpp"
#include "layered/graph.hpp"

namespace reluflow::layered {

/// True if one of two units of a node is the other times a positive factor, in all that it reads and that reads it: the
/// flow keeps it so. Of units that share parameters it is not asked.
bool are_multiples(const Graph& graph, int node, Index one, Index other, const Vector& theta);

class Twins {
  public:
    /// Those at θ. Decays are empty or one a parameter.
    Twins(const Graph& graph, const Vector& theta, const Vector& decay);

    bool empty() const noexcept { return sets_.empty(); }
    /// Makes those equal that act alike and that rounding alone has parted; true if that changed θ.
    bool join(const Activity& activity, Vector& theta) const;
    /// Those that are further apart, as they went on in different ways from a branch, are twins no more.
    void part(const Vector& theta);

  private:
    struct Unit {
        Index number = 0;
        std::vector<Index> parameters;  ///< in one order for all units of a set
    };
    static bool are_near(const Unit& one, const Unit& other, const Vector& theta);

    struct Set {
        int node = 0;
        std::vector<Unit> units;  ///< the first is the one that counts
    };

    std::vector<Set> sets_;
};

}  // namespace reluflow::layered
