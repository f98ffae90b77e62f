/// The series of a step, order by order: weights drive the neurons, the neurons give margins, the margins give weights.
#pragma once

#include <cstdint>
#include <limits>
#include <vector>

#include "base/pool.hpp"
#include "base/tolerances.hpp"
#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "problem/settings.hpp"
#include "two_layer/coupling.hpp"
#include "two_layer/defect.hpp"
#include "two_layer/groups.hpp"
#include "two_layer/neuron_series.hpp"
#include "two_layer/sector_series.hpp"
#include "two_layer/state.hpp"
#include "two_layer/waveform.hpp"

namespace reluflow {

/// Owns the waveform and the series of the state. Neurons of one group share a gradient and its projection.
class Expansion {
  public:
    /// `state` must outlive the expansion.
    Expansion(const Dataset& data, Objective objective, const Settings& settings, const State& state, Pool& pool);

    /// Order 0: groups, slopes, margins and weights at the state.
    void start();
    /// Computes all orders for a step of about `step` and returns the part of u in (0, 1] that truncation allows. If
    /// that is below kLeastAllowed, orders may be missing and the step has to be repeated. With `fine` below 1 orders
    /// are added until the last terms are below that part of the tolerance, if there are as many.
    double expand(double step, double fine = 1.0);
    /// The defect of the weights until `end`, relative to the size of the neurons; see Defect.
    double defect(double end) { return defect_.measure(waveform_, end, series_->square(), series_->terms()); }
    /// Bound of the last Taylor terms, relative to the size of a neuron.
    double tolerance() const noexcept { return present_tolerance_; }
    /// What the steps before may have done to the weights, as a part of their sum.
    double weight_error() const noexcept;
    /// What the late step misses of its weights, as a part of their sum; until then what it may miss counts.
    void set_missed(double missed) noexcept { missed_ = missed; }
    /// By what part of themselves a step may move neurons by mistake, about: near the limit of their stability explicit
    /// steps keep several times their tolerance.
    double state_error() const noexcept;

    /// The sectors if the step is expanded by sectors, else null.
    SectorSeries* sectors() noexcept { return series_ == &sectors_ ? &sectors_ : nullptr; }
    const SectorSeries* sectors() const noexcept { return series_ == &sectors_ ? &sectors_ : nullptr; }
    /// Deferred neurons have been moved to the start of the step.
    void settle() { series_->measure_sizes(); }

    /// Back to order 0 of the same step, to expand it again.
    void restart();
    /// The same for a step that was abandoned: everything is as after start().
    void give_up();
    /// See Waveform.
    void leave_out_decay(bool leaves_out) noexcept { waveform_.leave_out_decay(leaves_out); }
    /// Adds one order of the neurons under given signed weights y_i p_i of that order (null: all zero). With
    /// `beside_start` these are added to the weights of the start; the two gradients are then projected separately.
    void drive(const double* signed_weights, double step, bool beside_start = false);
    /// The newest order of the moments Σ a_j w_j of the groups, (r, groups).
    const Matrix& moments() const noexcept { return moments_; }
    /// The margins that given moments of the groups produce.
    void margins_of(const Matrix& moments, Vector& q) { coupling_.margins(moments, q); }
    /// Until select_all() drive() and margins_of() are of these samples alone; see Coupling::select.
    void select(std::span<const int> samples) { coupling_.select(samples); }
    void select_all() noexcept { coupling_.select_all(); }
    double slope(Index sample, Index group) const noexcept { return coupling_.slope(sample, group); }
    /// Projects v to the directions in which a group can move.
    void project(Index group, double* v) const noexcept;
    /// The coordinates that the projection takes from it, one for each of held_count().
    void held_coordinates(Index group, const double* v, double* coordinates) const noexcept {
        held(group).coordinates(v, coordinates);
    }
    /// Dimensions that the projection takes from it.
    Index held_count(Index group) const noexcept { return held(group).size(); }
    Waveform& waveform() noexcept { return waveform_; }

    const Waveform& waveform() const noexcept { return waveform_; }
    const StateSeries& series() const noexcept { return *series_; }
    const Groups& groups() const noexcept { return groups_; }
    /// Of the state: equal only where sides and sliding are.
    std::uint64_t version() const noexcept { return state_.version(); }
    /// At the start of the step, minus the offsets of the state.
    const Vector& margins() const noexcept { return q_; }
    /// The projected gradient of a group at the start without what is owed, and what is, (r,); null if nothing is.
    const double* own_gradient(Index group) const noexcept {
        return waveform_.is_owed() ? own_gradients_.row(group).data() : nullptr;
    }
    const double* owed_gradient(Index group) const noexcept { return owed_rows_.row(group).data(); }
    /// What projection removed from a group's gradient, (order, r), or null if the group does not slide.
    const Matrix* held_part(Index group) const noexcept;
    /// Gradient at the start of the step of the samples on which the neuron does not slide.
    void gradient_at_start(Index neuron, double* g) const noexcept;
    /// Projected gradient of a neuron at the start of the step, along a direction (r,).
    template <class Direction>
    double start_rate(Index neuron, const Direction& direction) const {
        return start_gradients_.col(groups_.of(neuron)).dot(direction);
    }
    /// All of it, (r,), and its norm.
    auto start_gradient(Index neuron) const { return start_gradients_.col(groups_.of(neuron)); }
    double start_pull(Index neuron) const { return start_gradient(neuron).norm(); }
    /// |θ'|² at the start of the step, of all neurons.
    double speed_square() const noexcept;
    /// With weight decay: |θ'| over |θ|, or the rate at which the neuron grows that grows fastest, if that is more. A
    /// neuron that vanishes has a rate of its own for ever; where all of them do, the rates at which they turn count.
    /// So does that of any neuron that may yet grow: it counts with the rate it will grow at where its gradient
    /// outweighs the decay, and with that at which it turns where it turns to other boundaries.
    double decaying_rate() const noexcept;
    using GradientView = Eigen::Ref<const Vector, 0, Eigen::InnerStride<>>;
    /// The part of that of one neuron under a gradient (r,): the rate with which it is to grow, or turns to where it
    /// may; 0 of one that stands, that decays for ever, or that the decay takes away before it has turned. Nobody asks
    /// for a rate below `known`.
    double rate_to_come(Index neuron, const GradientView& g, double known = 0.0) const noexcept;
    /// True when no output of the network, as small as it is, changes a weight.
    bool vanishes() const noexcept;
    /// Largest |g| over the groups at the start of the step; 0 when nothing moves.
    double fastest() const noexcept { return fastest_; }
    /// How long a step may be for the times of events to have digits: no w grows to kOutgrown times its size.
    double longest() const noexcept;

  private:
    const SlidingSet& held(Index group) const noexcept { return state_.mode.held(groups_.leader(group)); }
    double known_time(double part) const;
    void add_owed();
    void find_live();
    void project(int order);
    double turn_of(Index neuron, const GradientView& g) const noexcept;
    /// Whether the direction that a neuron turns to is beyond one of its boundaries, or has the other sign of a.
    bool turns_out(Index neuron, const GradientView& g) const noexcept;

    const Dataset& data_;
    const State& state_;
    double tolerance_;
    double present_tolerance_;
    bool leaks_;
    Groups groups_;
    Coupling coupling_;
    Waveform waveform_;
    Defect defect_;
    NeuronSeries by_neuron_;
    SectorSeries sectors_;
    StateSeries* series_ = &by_neuron_;  // of the present step
    Matrix gradients_, moments_;         // (r, groups)
    Matrix start_gradients_;             // at the start, projected
    Matrix own_gradients_, owed_rows_;   // (groups, r), of the weights alone and of what is owed, projected
    Matrix owed_gradients_;              // that of all, (r, groups)
    Vector q_, q_next_, column_;
    double output_scale_;             // what outputs are compared with
    std::vector<int> slot_of_group_;  // index into held_parts_, -1 if the group does not slide
    std::vector<Matrix> held_parts_;
    Matrix start_held_;                // (slots, r), what projection removed at the start
    std::vector<char> live_, moving_;  // flags of the samples, of the groups
    std::uint64_t live_version_ = ~std::uint64_t{0};
    double fastest_ = 0.0;
    double missed_ = std::numeric_limits<double>::infinity();  // of the weights, by a late step: if measured
};

}  // namespace reluflow
