/// The series of a step, order by order: weights drive the neurons, the neurons give margins, the margins give weights.
#pragma once

#include <cstdint>
#include <vector>

#include "base/pool.hpp"
#include "base/tolerances.hpp"
#include "base/types.hpp"
#include "hybrid/pattern.hpp"
#include "hybrid/sliding_set.hpp"
#include "problem/dataset.hpp"
#include "problem/settings.hpp"
#include "two_layer/coupling.hpp"
#include "two_layer/defect.hpp"
#include "two_layer/groups.hpp"
#include "two_layer/network.hpp"
#include "two_layer/neuron_series.hpp"
#include "two_layer/waveform.hpp"

namespace reluflow {

/// Owns the waveform and the neurons' series. Neurons of one group share a gradient and its projection.
class Expansion {
  public:
    Expansion(const Dataset& data, Objective objective, const Settings& settings, const NetworkState& state,
              Pool& pool);

    /// Order 0: groups, slopes, margins and weights at the state. `held` has one set per neuron.
    void start(const NetworkState& state, const Pattern& pattern, const std::vector<SlidingSet>& held);
    /// Computes all orders for a step of about `step` and returns the part of u in (0, 1] that truncation allows. If
    /// that is below kLeastAllowed, orders may be missing and the step has to be repeated.
    double expand(double step);
    /// The defect of the weights until `end`, relative to the size of the neurons; see Defect.
    double defect(double end) { return defect_.measure(waveform_, end, series_.square()); }
    /// Bound of the last Taylor terms, relative to the size of a neuron.
    double tolerance() const noexcept { return present_tolerance_; }
    /// What the steps before may have done to the weights, as a part of their sum.
    double weight_error() const noexcept;

    bool is_by_sector() const noexcept { return series_.is_by_sector(); }
    /// Ends the step at u and defers the motion of its neurons; see NeuronSeries.
    void carry(double u) { series_.carry(u); }
    bool is_carrying() const noexcept { return series_.is_carrying(); }
    void settle() { series_.settle(); }

    /// Back to order 0 of the same step, to expand it again.
    void restart();
    /// The same for a step that was abandoned: everything is as after start().
    void give_up();
    /// Adds one order of the neurons under given signed weights y_i p_i of that order (null: all zero). With
    /// `beside_start` these are added to the weights of the start; the two gradients are then projected separately.
    void drive(const double* signed_weights, double step, bool beside_start = false);
    /// The newest order of the moments Σ a_j w_j of the groups, (r, groups).
    const Matrix& moments() const noexcept { return moments_; }
    /// The margins that given moments of the groups produce.
    void margins_of(const Matrix& moments, Vector& q) { coupling_.margins(moments, q); }
    double slope(Index sample, Index group) const noexcept { return coupling_.slope(sample, group); }
    /// Projects v to the directions in which a group can move.
    void project(Index group, double* v) const noexcept;
    Waveform& waveform() noexcept { return waveform_; }

    const Waveform& waveform() const noexcept { return waveform_; }
    NeuronSeries& series() noexcept { return series_; }
    const NeuronSeries& series() const noexcept { return series_; }
    const Groups& groups() const noexcept { return groups_; }
    /// At the start of the step, minus the offsets.
    const Vector& margins() const noexcept { return q_; }
    /// Subtracted from the margins before they make weights, (n,): the targets, and for labels zero unless the state is
    /// stored scaled (flow_scale.cpp).
    const Vector& offsets() const noexcept { return offsets_; }
    void set_offsets(const Vector& offsets) { offsets_ = offsets; }
    /// What projection removed from a group's gradient, (order, r), or null if the group does not slide.
    const Matrix* held_part(Index group) const noexcept;
    /// Gradient at the start of the step of the samples on which the neuron does not slide.
    void gradient_at_start(Index neuron, double* g) const noexcept;
    /// Projected gradient of a neuron at the start of the step, along a direction (r,).
    template <class Direction>
    double start_rate(Index neuron, const Direction& direction) const {
        return start_gradients_.col(groups_.of(neuron)).dot(direction);
    }
    /// A neuron was set to zero or brought back: the active samples have to be found again.
    void forget_live() noexcept { live_version_ = ~std::uint64_t{0}; }
    /// |θ'|² at the start of the step, of all neurons.
    double speed_square(const NetworkState& state) const noexcept;
    /// With weight decay: |θ'| over |θ|, or the rate at which the neuron grows that grows fastest, if that is more. A
    /// neuron that vanishes has a rate of its own for ever; where all of them do, the rates at which they turn count.
    /// So does that of any neuron that may yet grow: it counts with the rate it will grow at where its gradient
    /// outweighs the decay, and with that at which it turns where it turns to other boundaries.
    double decaying_rate(const NetworkState& state, const Pattern& pattern) const noexcept;
    /// Largest |g| over the groups at the start of the step; 0 when nothing moves.
    double fastest() const noexcept { return fastest_; }

  private:
    void find_live(const NetworkState& state, const Pattern& pattern);
    void project(int order);
    /// Whether the direction that a neuron turns to is beyond one of its boundaries, or has the other sign of a.
    bool turns_out(const NetworkState& state, const Pattern& pattern, Index neuron) const noexcept;

    const Dataset& data_;
    double tolerance_;
    double present_tolerance_;
    double floor_;
    bool leaks_;
    Groups groups_;
    Coupling coupling_;
    Waveform waveform_;
    Defect defect_;
    NeuronSeries series_;
    const std::vector<SlidingSet>* held_ = nullptr;
    Matrix gradients_, moments_;  // (r, groups)
    Matrix start_gradients_;      // at the start, projected
    Vector q_, q_next_, column_, offsets_;
    double output_scale_;             // what outputs are compared with
    std::vector<int> slot_of_group_;  // index into held_parts_, -1 if the group does not slide
    std::vector<Matrix> held_parts_;
    Matrix start_held_;                // (slots, r), what projection removed at the start
    std::vector<char> live_, moving_;  // flags of the samples, of the groups
    std::uint64_t live_version_ = ~std::uint64_t{0};
    double fastest_ = 0.0;
};

}  // namespace reluflow
