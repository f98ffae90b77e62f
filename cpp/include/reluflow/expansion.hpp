/// The common series of a step, order by order: λ drives the neurons, the neurons return margins, the margins correct
/// λ.
#pragma once

#include <cstdint>
#include <vector>

#include "reluflow/dataset.hpp"
#include "reluflow/defect.hpp"
#include "reluflow/drive.hpp"
#include "reluflow/groups.hpp"
#include "reluflow/held.hpp"
#include "reluflow/network.hpp"
#include "reluflow/pattern.hpp"
#include "reluflow/pool.hpp"
#include "reluflow/series.hpp"
#include "reluflow/settings.hpp"
#include "reluflow/types.hpp"
#include "reluflow/waveform.hpp"

namespace reluflow {

/// Owns the waveform and the neurons' series. Neurons of one group share a gradient and its projection.
class Expansion {
  public:
    Expansion(const Dataset& data, Objective objective, const Settings& settings, const NetworkState& state,
              Pool& pool);

    /// Order 0: groups, slopes, margins and weights at the state. `held` has one set per neuron.
    void start(const NetworkState& state, const Pattern& pattern, const std::vector<HeldSet>& held);
    /// All orders for a step of about `step`; returns how much of u in (0, 1] the truncation allows. Below
    /// kLeastAllowed the orders may be missing, and the step is to be made anew.
    double expand(double step);
    /// What the weights of the step missed until `end`, relative to the size of the neurons; see Defect.
    double defect(double end) { return defect_.measure(waveform_, end, series_.square()); }
    /// What the last Taylor terms of a step may be, relative to the size of a neuron.
    double tolerance() const noexcept { return present_tolerance_; }
    /// What the steps before may have done to the weights, as a part of their sum.
    double weight_error() const noexcept;

    bool is_by_sector() const noexcept { return series_.is_by_sector(); }
    /// The step ends at u and its neurons are not moved yet; see NeuronSeries.
    void carry(double u) { series_.carry(u); }
    bool is_carrying() const noexcept { return series_.is_carrying(); }
    void settle() { series_.settle(); }

    /// Back to order 0 of the same step, for another try.
    void restart();
    /// The same after a step that ends in the middle: all is as after start().
    void give_up();
    /// One more order of the neurons under given signed weights y_i p_i of that order (null: all zero); with
    /// `beside_start` they come on top of those of the start, whose gradients are added after projection.
    void drive(const double* signed_weights, double step, bool beside_start = false);
    /// The newest order of the moments Σ a_j w_j of the groups, (r, groups).
    const Matrix& moments() const noexcept { return moments_; }
    /// Margins that moments of the groups give.
    void margins_of(const Matrix& moments, Vector& q) { drive_.margins(moments, q); }
    double slope(Index sample, Index group) const noexcept { return drive_.slope(sample, group); }
    /// v becomes its part that a group can move along.
    void project(Index group, double* v) const noexcept;
    Waveform& waveform() noexcept { return waveform_; }

    const Waveform& waveform() const noexcept { return waveform_; }
    NeuronSeries& series() noexcept { return series_; }
    const NeuronSeries& series() const noexcept { return series_; }
    const Groups& groups() const noexcept { return groups_; }
    /// At the start of the step, less the offsets.
    const Vector& margins() const noexcept { return q_; }
    /// Taken from the margins before they make weights, (n,): zero but for a state that is held smaller than it is.
    const Vector& offsets() const noexcept { return offsets_; }
    void set_offsets(const Vector& offsets) { offsets_ = offsets; }
    /// What projection took from a group's gradient, (order, r), or null when the group holds nothing.
    const Matrix* held_part(Index group) const noexcept;
    /// Gradient of the samples that are not held, at the start of the step.
    void gradient_at_start(Index neuron, double* g) const noexcept;
    /// Projected gradient of a neuron at the start of the step, along a direction (r,).
    template <class Direction>
    double start_rate(Index neuron, const Direction& direction) const {
        return start_gradients_.col(groups_.of(neuron)).dot(direction);
    }
    /// A neuron was put to zero, or woke.
    void forget_live() noexcept { live_version_ = ~std::uint64_t{0}; }
    /// |θ'|² at the start of the step, of all neurons.
    double speed_square(const NetworkState& state) const noexcept;
    /// Largest |g| over the groups at the start of the step; 0 when nothing moves.
    double fastest() const noexcept { return fastest_; }

  private:
    void find_live(const NetworkState& state, const Pattern& pattern);
    void project(int order);

    const Dataset& data_;
    double tolerance_;
    double present_tolerance_;
    double floor_;
    bool leaks_;
    Groups groups_;
    Drive drive_;
    Waveform waveform_;
    Defect defect_;
    NeuronSeries series_;
    const std::vector<HeldSet>* held_ = nullptr;
    Matrix gradients_, moments_;  // (r, groups)
    Matrix start_gradients_;      // of the start, projected
    Vector q_, q_next_, column_, offsets_;
    std::vector<int> slot_of_group_;  // index into held_parts_, -1 when nothing is held
    std::vector<Matrix> held_parts_;
    Matrix start_held_;                // (slots, r), what projection took at the start
    std::vector<char> live_, moving_;  // of the samples, of the groups
    std::uint64_t live_version_ = ~std::uint64_t{0};
    double fastest_ = 0.0;
};

}  // namespace reluflow
