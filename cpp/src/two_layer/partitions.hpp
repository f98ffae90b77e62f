/// All partitions of a step, run on the threads of a run; their results are combined in a fixed order.
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
    Partitions(const Dataset& data, State& state, const Expansion& expansion, BranchPolicy policy, Pool& pool);
    ~Partitions();

    /// Prepares for the events at the start of a run.
    void begin_run();
    /// Decides the boundaries that are zero at the start of a run, neuron by neuron; false at the first without a
    /// decision.
    bool decide_start(KnownSides known);
    /// Computes what groups share in the new step.
    void prepare();
    /// True if a bound for whole sectors shows that the new step meets no boundary.
    bool is_clear();
    /// Begins a step without events: results of the step before are dropped.
    void skip();
    /// Records that the step was accepted without moving the neurons.
    void carried() { reach_.carried(); }
    /// Records that the deferred neurons are about to be moved, by at most paths().
    void settle();
    /// First hits on (0, 1] of the new step, partition by partition; for `known` see Screening. Hits that come
    /// together, to rounding, are at the same u: neurons that are multiples of each other cross boundaries at one
    /// instant, and what the first does to the others would come in between.
    const std::vector<FirstHit>& scan(double known);
    /// Takes all neurons through their events up to `end` and returns how far they got. Effects of events after the
    /// first of each neuron are appended to `disturbances`, and what is to be known of them to `doubts`.
    double follow(double end, std::vector<Disturbance>& disturbances, std::vector<Doubt>& doubts);
    /// Until when an explicit step knows the distances of all neurons that samples hold beside boundaries.
    double known_beside() const noexcept;
    /// Whether follow() met any event.
    bool follows_events() const noexcept;
    /// Undoes everything after u and sorts the events that remain by time.
    void cut(double u);
    /// Writes the state at u of the neurons that have had events.
    void place(double u, Matrix& w, Vector& a) const;
    /// Adds what all events before u move a w by until then to the moments Σ a w of the groups, (r, groups).
    void add_moved(double u, Matrix& moments) const;
    /// Adds the integral of that over [0, u], and that of what new sides add to the margins of samples, (n,).
    void integrate_moved(double u, Matrix& moments, Vector& margins) const;
    /// What the series of neurons that have had events leave out until u, about, relative to the neuron.
    double series_rest(double u) const noexcept;
    /// The step was taken up to u.
    void commit(double u);

    /// A neuron has been moved or rescaled outside the steps, so its distances are out of date; the second for all
    /// neurons.
    void forget_distance(int neuron);
    void forget_distances();

    const std::vector<BoundaryEvent>& events() const noexcept { return events_; }
    const std::vector<BranchPoint>& branches() const noexcept { return branches_; }
    /// The earliest unresolved event.
    const UnresolvedEvent& unresolved() const noexcept { return unresolved_; }
    double worst_inconsistency() const noexcept;
    /// Bounds of how far each neuron moves in the step; 0 for a neuron that does not move.
    const Vector& paths() const noexcept { return paths_; }

  private:
    template <class Body>
    void for_all(double work, const Body& body) const;
    void meet_together();
    void follow_all(double end, double work);
    void gather();

    const Dataset& data_;
    const State& state_;
    const Expansion& expansion_;
    Pool& pool_;
    GroupBounds bounds_;
    SectorScreening reach_;
    std::unique_ptr<Spread> spread_;
    RoughProduct rough_;  // of the normals
    Releases releases_;
    Vector paths_;
    Index size_;  // neurons per partition
    std::vector<std::unique_ptr<Partition>> partitions_;
    std::vector<FirstHit> hits_;
    struct Place {
        double u = 0.0;
        std::size_t partition = 0;
        std::size_t number = 0;  // of the hit in the partition
    };
    std::vector<Place> by_time_;
    std::vector<BoundaryEvent> events_;
    std::vector<BranchPoint> branches_;
    UnresolvedEvent unresolved_;
};

}  // namespace reluflow
