/// All partitions of a step on the threads of a run, and what they find, put together in one order.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/pool.hpp"
#include "two_layer/bounds.hpp"
#include "two_layer/partition.hpp"
#include "two_layer/sector_screening.hpp"

namespace reluflow {

class Partitions {
  public:
    Partitions(const Dataset& data, const NetworkState& state, Pattern& pattern, std::vector<SlidingSet>& held,
               const Expansion& expansion, BranchPolicy policy, Pool& pool);
    ~Partitions();

    /// Before the events of a run's start.
    void begin_run();
    /// Decides the boundaries that are zero at the start of a run, neuron after neuron; false at one that has no
    /// decision.
    bool decide_start(bool pattern_was_given);
    /// What groups share in the new step.
    void prepare();
    /// True when the new step meets no boundary, by a proof for whole sectors.
    bool is_clear() { return reach_.is_clear(expansion_, bounds_); }
    /// A step without events: there is nothing to scan, and none of what was found in the one before is left.
    void skip();
    /// It was taken, and its neurons were left behind.
    void carried() { reach_.carried(); }
    /// Those neurons are about to be moved: how far each may have gone.
    void settle();
    /// First hits on (0, 1] of the new step, partition by partition.
    const std::vector<FirstHit>& scan();
    /// Takes all neurons through their events up to `end`, and returns how far they came; the events after the first of
    /// each neuron are added to `disturbances`.
    double follow(double end, std::vector<Disturbance>& disturbances);
    /// Whether follow() met any event.
    bool follows_events() const noexcept;
    /// Undoes what happened after u, and puts the rest in the order of time.
    void cut(double u);
    /// Puts the neurons that have had events where they stand at u.
    void place(double u, Matrix& w, Vector& a) const;
    /// The step was taken up to u.
    void commit(double u);

    /// A neuron stands elsewhere than its last step led, or in other units; and all of them.
    void forget_distance(int neuron);
    void forget_distances();

    const std::vector<WallEvent>& events() const noexcept { return events_; }
    const std::vector<BranchPoint>& branches() const noexcept { return branches_; }
    /// The earliest of those met.
    const UnresolvedEvent& unresolved() const noexcept { return unresolved_; }
    double worst_inconsistency() const noexcept;
    /// Path bounds of the whole step, for what did not move at all.
    const Vector& paths() const noexcept { return paths_; }

  private:
    template <class Body>
    void for_all(double work, const Body& body) const;
    void follow_all(double end, double work);
    void gather();

    const Dataset& data_;
    const NetworkState& state_;
    const Expansion& expansion_;
    Pool& pool_;
    GroupBounds bounds_;
    SectorScreening reach_;
    std::unique_ptr<Spread> spread_;
    Releases releases_;
    Vector paths_;
    Index size_;  // neurons of a partition
    std::vector<std::unique_ptr<Partition>> partitions_;
    std::vector<FirstHit> hits_;
    std::vector<WallEvent> events_;
    std::vector<BranchPoint> branches_;
    UnresolvedEvent unresolved_;
};

}  // namespace reluflow
