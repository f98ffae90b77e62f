/// The neurons of one range in a step: which of them reach a boundary, and what happens there. Ranges run in parallel.
#pragma once

#include <vector>

#include "problem/settings.hpp"
#include "two_layer/hits.hpp"
#include "two_layer/local_events.hpp"
#include "two_layer/neuron_motion.hpp"
#include "two_layer/screening.hpp"
#include "two_layer/step_control.hpp"

namespace reluflow {

/// Given the waveform, neurons are independent: a partition writes to its own neurons only, and its results do not
/// depend on the other partitions.
class Partition {
  public:
    Partition(const ScreenedNetwork& network, State& state, Range neurons, BranchPolicy policy);

    /// `largest_mean_norm` is that of the waveform, the same for all partitions; for `known` see Screening.
    void begin_step(double largest_mean_norm, double known);
    /// See NeuronMotion.
    void set_weight_error(double error) noexcept { motion_.set_weight_error(error); }
    void set_state_error(double error) noexcept { motion_.set_state_error(error); }
    void set_outputs_square(double square) noexcept { motion_.set_outputs_square(square); }
    /// Begins a step in which its neurons have no events.
    void skip();
    /// First hits of its neurons, by time; see Screening.
    void scan();
    /// If the neuron of a hit after u is at its boundary at u already, to rounding, it meets it at u.
    bool meet_at(std::size_t number, double u);
    void sort_hits();
    /// Takes its neurons through their events up to `end`, or to the first one without a decision.
    void follow(double end);
    /// Undoes everything after u.
    void cut(double u);
    /// Writes the state at u of the neurons that have had events.
    void place(double u, Matrix& w, Vector& a);
    /// Adds what these events move a w by until u to the moments of the groups.
    void add_moved(double u, Matrix& moments);
    /// Adds the integral of that over [0, u], and that of what new sides add to the margins of samples.
    void integrate_moved(double u, Matrix& moments, Vector& margins);

    /// What the series of neurons that have had events leave out until u, about, relative to the neuron.
    double series_rest(double u) const noexcept;

    Screening& screening() noexcept { return screening_; }
    LocalEvents& local() noexcept { return local_; }
    const LocalEvents& local() const noexcept { return local_; }
    const std::vector<FirstHit>& hits() const noexcept { return hits_; }
    /// Effects on the others of events that are not the first hit of their neuron.
    const std::vector<Disturbance>& disturbances() const noexcept { return disturbances_; }
    /// Of the same hits, those in doubt.
    const std::vector<Doubt>& doubts() const noexcept { return doubts_; }
    /// How far follow() got.
    double end() const noexcept { return end_; }
    double worst_inconsistency() const noexcept { return finder_.worst_inconsistency(); }

  private:
    void follow(const FirstHit& first);
    void integrate_moved(std::span<const BoundaryEvent> events, double end, Matrix& moments, Vector& margins);
    bool outruns(int neuron) const;
    void keep_output_sign(int piece, double& a) const noexcept;
    void disturb_by_corner(int piece, const Hit& hit, std::size_t known);

    const Expansion& expansion_;
    NeuronMotion motion_;
    HitFinder finder_;
    Screening screening_;
    LocalEvents local_;
    std::vector<FirstHit> hits_;
    std::vector<Disturbance> disturbances_;
    std::vector<Doubt> doubts_;
    double end_ = 0.0;
    Vector column_, moved_, expected_;
    std::vector<int> chain_;
};

}  // namespace reluflow
