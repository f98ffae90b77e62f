/// One neuron under a given waveform: the pieces of its motion between its own events inside one step.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "hybrid/pattern.hpp"
#include "hybrid/sliding_set.hpp"
#include "numeric/polynomial.hpp"
#include "problem/dataset.hpp"
#include "two_layer/state_series.hpp"
#include "two_layer/waveform.hpp"

namespace reluflow {

/// A polynomial piece of one neuron in the variable u - begin, valid until the begin of the next piece.
struct Piece {
    int neuron = -1;
    int next = -1;
    double begin = 0.0;
    std::size_t offset = 0;
    double turn_before = 0.0;          ///< by no more has the neuron turned from the start of the step to `begin`
    const SlidingSet* held = nullptr;  ///< the boundaries it holds
    bool holds = false;                ///< any, while the piece lasts; `held` may have changed since
};

/// The pieces of a step for the neurons of a range. Storage is kept from step to step, so a step allocates only if it
/// needs more than any before.
class NeuronMotion {
  public:
    NeuronMotion(const Dataset& data, const Waveform& waveform, double leak, Range neurons);

    /// Drops the pieces of the last step. Precondition: the series of the new step are complete.
    void begin_step(const StateSeries& series);

    /// The piece of a neuron that starts with the step: copied from the common series when first asked for.
    /// `held_part` (order, rank) is what projection took from the gradient, or null for a neuron that holds nothing.
    /// `own` is its projected gradient at the start without what is owed, and `owed` that; null where nothing is.
    int open(int neuron, const SlidingSet& held, const Matrix* held_part, const double* own = nullptr,
             const double* owed = nullptr);
    /// The piece that follows `piece` at u, where the neuron stands at (w, a) and its gradient series is `gradient()`.
    int follow(int piece, double u, const SlidingSet& held, const double* w, double a);

    bool is_open(int neuron) const noexcept { return first(neuron) >= 0; }
    int first(int neuron) const noexcept { return first_[neuron - neurons_.begin]; }
    int last(int neuron) const noexcept { return last_[neuron - neurons_.begin]; }
    const Piece& piece(int index) const noexcept { return pieces_[index]; }
    const std::vector<int>& touched() const noexcept { return touched_; }
    /// Drops the pieces of a neuron that begin after u; returns the one valid at u.
    int truncate(int neuron, double u) noexcept;
    int in_force(int neuron, double u) const noexcept;

    int order() const noexcept { return order_; }
    Index rank() const noexcept { return rank_; }
    double step() const noexcept { return waveform_.step(); }
    double leak() const noexcept { return leak_; }
    const Dataset& data() const noexcept { return data_; }
    const Waveform& waveform() const noexcept { return waveform_; }
    const double* w(int piece, int k = 0) const noexcept { return store_.data() + pieces_[piece].offset + k * rank_; }
    const double* a(int piece) const noexcept { return w(piece, order_ + 1); }
    /// Each order of w split with respect to ŵ = w / |w| at the begin of the piece: the part along ŵ (|w| itself for
    /// order 0; zero if w is zero), which scales all w·normal by a common factor, and the norm of the part across.
    const double* along(int piece) const noexcept { return a(piece) + order_ + 1; }
    const double* across(int piece) const noexcept { return along(piece) + order_ + 1; }
    /// |w| at the begin of the piece.
    double size(int piece) const noexcept { return along(piece)[0]; }
    /// Whether a is positive at the begin of the piece; of an a that is zero there, just behind it.
    bool output_positive(int piece) const noexcept;
    /// Gradient series of the samples on which the neuron does not slide, not projected; orders 0 .. order() - 1.
    /// Stored for each neuron's first piece and for the piece made last.
    const double* g(int piece) const noexcept {
        return piece == newest_ ? gradient_.data() : across(piece) + order_ + 1;
    }

    /// State of a piece at u (absolute in the step).
    void evaluate(int piece, double u, double* w, double& a) const noexcept;
    /// What a piece that ends at `end` leaves out beyond its order, about, relative to the neuron.
    double series_rest(int piece, double end) const noexcept;
    /// Until where, at most `end`, a piece leaves out no more than that: behind an event a neuron may be far faster
    /// than all that the step was made for.
    double known_until(int piece, double error, double end) const noexcept;
    /// The sum of the norms of the terms of w at u: the scale of its rounding.
    double terms(int piece, double u) const noexcept {
        const double v = u - pieces_[piece].begin;
        return tail_bound(along(piece), order_, 0, v) + tail_bound(across(piece), order_, 1, v);
    }
    /// Bound of the rotation of w (radians) from the start of the step to u; infinite if there is none.
    double turn_to(int piece, double u) const noexcept;
    /// Series of w·normal over a piece.
    void boundary_series(int piece, const double* normal, double* c) const noexcept;

    /// Loads the gradient series of a piece that has one into `gradient()`, expanded about u; to be followed by
    /// follow().
    void load_gradient(int piece, double u);
    /// Whether a neuron is driven by what is owed, and how fast at most.
    bool is_owed(int neuron) const noexcept { return owed_part_[neuron - neurons_.begin] != 0; }
    double owed_norm(int neuron) const noexcept {
        return Eigen::Map<const Vector>(owed_.data() + (neuron - neurons_.begin) * rank_, rank_).norm();
    }
    /// Until the end of the step the neuron is driven by the weights alone.
    void owe_nothing(int neuron) noexcept { owed_part_[neuron - neurons_.begin] = 0; }
    double* gradient() noexcept { return gradient_.data(); }
    /// Contribution of a boundary to the gradient along its normal on its negative and on its positive side, as series
    /// about u. Each is a sum of its own: beside an idle sample that acts on one side alone, the difference of both
    /// would lose what the others do on the other.
    void contribution_series(int boundary, double u, double* below, double* above) const noexcept;
    /// Their values at u.
    void contribution_at(int boundary, double u, double& below, double& above) const noexcept;
    /// Σ p_i |x_i| at u over what acts on a neuron with these sides: the scale of the rounding of its gradient. Sliding
    /// samples count, since they may have acted before; samples that drive no neuron do not.
    double acting_weight(std::span<const std::int8_t> sides, double u) const;
    /// The same of what a prescribed step misses of the weights where it begins: those of tiny samples grow by far more
    /// than its polynomials can follow.
    double missed_weight(std::span<const std::int8_t> sides) const;
    /// Σ p_i |x_i|·|w| over the same, coordinate by coordinate and at most until u: the scale of the rounding of the
    /// rate of the output weight, and no more than acting_weight() |w|. A sample in coordinates in which w is zero adds
    /// none, however far its rounding is above the pulls of tiny samples in others.
    double acting_rate(int piece, std::span<const std::int8_t> sides, double u) const;
    /// Factor on all rounding tolerances, included in acting_weight(): 1, and more while events of a neuron follow each
    /// other at one instant, because what decides them is then noise.
    double patience() const noexcept { return patience_; }
    void set_patience(double patience) noexcept { patience_ = patience; }
    /// What is known of weights, beside rounding: pulls that a neuron has taken up may be off by this part of
    /// acting_weight().
    double weight_error() const noexcept { return weight_error_; }
    /// What is not known of what acts on a neuron, from acting_weight(). Errors are known as well as all of them are,
    /// however large their targets, which acting_weight() counts for the sake of rounding.
    double acting_error(double acting) const noexcept {
        return weight_error_ * (waveform_.is_linear() ? std::min(acting, waveform_.mean_norm()) : acting);
    }
    void set_weight_error(double error) noexcept { weight_error_ = error; }
    /// By what part of itself a step may move a neuron by mistake.
    double state_error() const noexcept { return state_error_; }
    void set_state_error(double error) noexcept { state_error_ = error; }
    /// Σ a², of all neurons.
    double outputs_square() const noexcept { return outputs_square_; }
    void set_outputs_square(double square) noexcept { outputs_square_ = square; }
    /// gradient() += (the contribution on side `after` - that on side `before`) · normal; a held side counts nothing.
    void move_contribution(int boundary, double u, std::int8_t before, std::int8_t after);

  private:
    double term(int piece, int k) const noexcept {
        return std::hypot(along(piece)[k], across(piece)[k]) + std::abs(a(piece)[k]);
    }
    bool side_series(int boundary, double u, std::int8_t side, double* c) const noexcept;
    int allocate(int neuron, double begin, bool with_gradient);
    double* owed(int neuron) noexcept { return owed_.data() + (neuron - neurons_.begin) * rank_; }
    void move_owed(int boundary, std::int8_t before, std::int8_t after);
    void measure(int piece) noexcept;
    bool feels(Index sample, std::span<const std::int8_t> sides) const;
    double acting_part(Index sample, std::span<const std::int8_t> sides) const;
    double* data_of(int piece) noexcept { return store_.data() + pieces_[piece].offset; }
    void expand(int piece, const SlidingSet& held);

    const Dataset& data_;
    const Waveform& waveform_;
    const StateSeries* series_ = nullptr;  // of the step
    double leak_;
    Range neurons_;
    Index rank_;
    int order_ = 0;
    std::vector<Piece> pieces_;
    Numbers store_;
    std::size_t used_ = 0;
    std::vector<int> first_, last_, touched_;
    int newest_ = -1;              // the piece whose gradient series is in gradient_
    int at_hand_ = -1;             // the neuron whose gradient was loaded last
    std::vector<char> owed_part_;  // whether a neuron is driven by what is owed
    Numbers owed_;                 // (neurons, rank), its gradient of that
    Numbers gradient_, projected_;
    mutable Vector unit_;
    double patience_ = 1.0;
    double weight_error_ = 0.0;
    double state_error_ = 0.0;
    double outputs_square_ = 0.0;
    mutable Vector weights_;  // of the samples, at one instant
};

}  // namespace reluflow
