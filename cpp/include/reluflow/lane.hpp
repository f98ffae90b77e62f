/// The neurons of one range in a step: who reaches a wall, and what happens there. Ranges are worked on at one time.
#pragma once

#include <vector>

#include "reluflow/control.hpp"
#include "reluflow/hits.hpp"
#include "reluflow/local.hpp"
#include "reluflow/neuron.hpp"
#include "reluflow/settings.hpp"
#include "reluflow/watch.hpp"

namespace reluflow {

/// Given the waveform, neurons are independent: a lane writes to its own neurons only, and its results are the same
/// whatever the others do.
class Lane {
  public:
    Lane(const WatchedNetwork& network, Range neurons, BranchPolicy policy, Pattern& pattern,
         std::vector<HeldSet>& held);

    /// `largest_mean_norm` is that of the waveform, the same for all lanes.
    void begin_step(double largest_mean_norm);
    /// See NeuronMotion.
    void set_weight_error(double error) noexcept { motion_.set_weight_error(error); }
    /// A step in which nothing happens to its neurons.
    void skip();
    /// First hits of its neurons, by time; see Watch.
    void scan();
    /// Takes its neurons through their events up to `end`, or to the first that has no decision.
    void follow(double end);
    /// Undoes what happened after u.
    void cut(double u);
    /// Puts the neurons that have had events where they stand at u.
    void place(double u, Matrix& w, Vector& a);

    Watch& watch() noexcept { return watch_; }
    LocalEvents& local() noexcept { return local_; }
    const LocalEvents& local() const noexcept { return local_; }
    const std::vector<FirstHit>& hits() const noexcept { return hits_; }
    /// Events after the first of a neuron.
    const std::vector<Disturbance>& disturbances() const noexcept { return disturbances_; }
    /// How far follow() came.
    double end() const noexcept { return end_; }
    double worst_inconsistency() const noexcept { return finder_.worst_inconsistency(); }

  private:
    void follow(const FirstHit& first);

    NeuronMotion motion_;
    HitFinder finder_;
    Watch watch_;
    LocalEvents local_;
    std::vector<FirstHit> hits_;
    std::vector<Disturbance> disturbances_;
    double end_ = 0.0;
    Vector column_;
};

}  // namespace reluflow
