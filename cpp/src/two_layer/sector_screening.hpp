/// Bounds for whole sectors which show that none of their neurons reaches a boundary; the neurons then need not be
/// moved.
#pragma once

#include <vector>

#include "problem/dataset.hpp"
#include "two_layer/bounds.hpp"
#include "two_layer/expansion.hpp"

namespace reluflow {

/// The state of deferred neurons is that of an earlier step; distances are counted from there. A neuron with output
/// sign σ moves towards a boundary with normal e, on its side s, by at most ∫ H |a| max(0, -s σ g·e), and |a| <= |θ|
/// e^R with the rapidity R = ∫ H |g|. Relative to |θ| both bounds are the same for all neurons of a sector.
class SectorScreening {
  public:
    SectorScreening(const Dataset& data, const State& state);

    /// True when no neuron meets a boundary in the step and its motion may be deferred.
    bool is_clear(const Expansion& expansion, const GroupBounds& bounds);
    /// The step of the last is_clear() was accepted and its motion deferred.
    void carried();
    /// The neurons have been moved to the start of the step, and will be moved in it.
    void settled();
    /// R of a group since its neurons were last moved.
    double rapidity(Index group) const noexcept { return of_group_[group].rapidity; }

  private:
    /// Neurons of one group with one output sign, per boundary and relative to |θ|: bounds of their motion so far and
    /// after the step, and the distance of the nearest of them.
    struct Half {
        double sign = 0.0;
        bool present = false;
        Numbers moved, next, nearest;
    };
    struct Entry {
        bool is_moving = false;
        double rapidity = 0.0;
        double next_rapidity = 0.0;
        double largest_rapidity = 0.0;
        Half halves[2];
    };

    void meet_mode(const Groups& groups);
    bool is_growing(int neuron, double sign) const;
    bool add_step(const Expansion& expansion, const GroupBounds& bounds, bool& approaches);
    void measure_distances(const Groups& groups);
    bool stays_away() const;

    const Dataset& data_;
    const State& state_;
    std::vector<Entry> of_group_;
    Index groups_ = 0;
    std::uint64_t version_ = ~std::uint64_t{0};
    bool weights_change_sign_ = false;  // as those of a loss of errors may
    bool can_carry_ = false;
    bool distances_known_ = false;
    int carried_ = 0;  // steps since the distances were measured
    int pause_ = 0;    // steps until they are measured again
    int next_pause_ = 0;
    Matrix columns_, z_;
};

}  // namespace reluflow
