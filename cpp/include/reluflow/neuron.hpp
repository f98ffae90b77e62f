/// One neuron under a given waveform: the pieces of its motion between its own events inside one step.
#pragma once

#include <vector>

#include "reluflow/dataset.hpp"
#include "reluflow/groups.hpp"
#include "reluflow/held.hpp"
#include "reluflow/network.hpp"
#include "reluflow/pattern.hpp"
#include "reluflow/polynomial.hpp"
#include "reluflow/series.hpp"
#include "reluflow/types.hpp"
#include "reluflow/waveform.hpp"

namespace reluflow {

/// A polynomial piece of one neuron: valid from `begin` to the begin of the next piece, in u - begin.
struct Piece {
    int neuron = -1;
    int next = -1;
    double begin = 0.0;
    std::size_t offset = 0;
    double path_before = 0.0;  ///< no further has the neuron moved from the start of the step to `begin`
};

/// The pieces of a step, of the neurons in a range. Storage is kept from step to step, so a step allocates nothing once
/// the largest has been seen.
class NeuronMotion {
  public:
    NeuronMotion(const Dataset& data, const Waveform& waveform, const NeuronSeries& series, double leak, Range neurons);

    /// Forgets the pieces of the last step. Precondition: the series of the new step are complete.
    void begin_step();

    /// The piece of a neuron that starts with the step: copied from the common series when first asked for.
    /// `held_part` (order, rank) is what projection took from the gradient, or null for a neuron that holds nothing.
    int open(int neuron, const Matrix* held_part);
    /// The piece that follows `piece` at u, where the neuron stands at (w, a) and its gradient series is `gradient()`.
    int follow(int piece, double u, const HeldSet& held, const double* w, double a);

    bool is_open(int neuron) const noexcept { return first(neuron) >= 0; }
    int first(int neuron) const noexcept { return first_[neuron - neurons_.begin]; }
    int last(int neuron) const noexcept { return last_[neuron - neurons_.begin]; }
    const Piece& piece(int index) const noexcept { return pieces_[index]; }
    const std::vector<int>& touched() const noexcept { return touched_; }
    /// Drops the pieces of a neuron that begin after u; returns the one in force at u.
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
    /// Gradient series of the samples that are not held, unprojected; orders 0 .. order() - 1.
    const double* g(int piece, int k = 0) const noexcept { return a(piece) + order_ + 1 + k * rank_; }
    /// |w^(k)| of every order: no order of any w·normal is larger.
    const double* sizes(int piece) const noexcept { return g(piece, order_); }

    /// State of a piece at u (absolute in the step).
    void evaluate(int piece, double u, double* w, double& a) const noexcept;
    /// Σ_{k>=1} |w^(k)| v^k: how far the piece can move within v.
    double path_bound(int piece, double v) const noexcept { return tail_bound(sizes(piece), order_, 1, v); }
    /// The same from the start of the step to u.
    double path_to(int index, double u) const noexcept {
        return pieces_[index].path_before + path_bound(index, u - pieces_[index].begin);
    }
    /// Series of w·normal over a piece.
    void wall_series(int piece, const double* normal, double* c) const noexcept;

    /// Copies the gradient series of a piece into `gradient()`, about u.
    void load_gradient(int piece, double u);
    double* gradient() noexcept { return gradient_.data(); }
    /// What a wall adds to the gradient along its normal on side μ: base + μ range, as series about u.
    void contribution_series(int wall, double u, double* base, double* range) const noexcept;
    /// Its value at u.
    void contribution_at(int wall, double u, double& base, double& range) const noexcept;
    /// gradient() += (the contribution on side `after` - that on side `before`) · normal; a held side counts nothing.
    void move_contribution(int wall, double u, std::int8_t before, std::int8_t after);

  private:
    int allocate(int neuron, double begin);
    double* data_of(int piece) noexcept { return store_.data() + pieces_[piece].offset; }
    void expand(int piece, const HeldSet& held);

    const Dataset& data_;
    const Waveform& waveform_;
    const NeuronSeries& series_;
    double leak_;
    Range neurons_;
    Index rank_;
    int order_ = 0;
    std::vector<Piece> pieces_;
    std::vector<double> store_;
    std::size_t used_ = 0;
    std::vector<int> first_, last_, touched_;
    std::vector<double> gradient_, projected_;
};

}  // namespace reluflow
