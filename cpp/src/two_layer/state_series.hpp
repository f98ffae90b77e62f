/// The Taylor series of a state on one step, given the series of the gradients.
#pragma once

#include <span>

#include "base/pool.hpp"
#include "base/tolerances.hpp"
#include "base/types.hpp"
#include "two_layer/groups.hpp"
#include "two_layer/state.hpp"

namespace reluflow {

/// w' = H a g, a' = H w·g in the step variable u, with the projected gradient g of the neuron's group. There are two:
/// NeuronSeries expands neuron by neuron, SectorSeries whole sectors, where few of them hold many neurons.
class StateSeries {
  public:
    virtual ~StateSeries() = default;
    StateSeries(const StateSeries&) = delete;
    StateSeries& operator=(const StateSeries&) = delete;

    /// Order 0 at the state, whose parameters must stay until the next start; `moments` (r, groups) gets
    /// Σ_{j in c} a_j w_j.
    void start(Matrix& moments);
    /// Back to order 0 of the same state.
    virtual void restart(Matrix& moments) = 0;
    /// Takes order k of the group gradients (r, groups) and makes order k + 1 of w, a and the moments.
    virtual void push(const Matrix& gradients, double step, Matrix& moments) = 0;
    /// Measures |w_j| again, after deferred neurons have been moved.
    void measure_sizes();

    int order() const noexcept { return order_; }
    /// What is added to the sizes of neurons.
    double floor() const noexcept { return floor_; }
    /// max_j |(w, a)_j^(k)| / (|θ_j| + floor), or a bound of it.
    virtual double relative_size(int k) const noexcept = 0;
    /// |w_j| at the start.
    double size(Index neuron) const noexcept { return sizes_[neuron]; }
    /// Σ_{k>=2} |w_j^(k)|, or a bound of it.
    virtual double bend(Index neuron) const noexcept = 0;
    /// Σ_{k>=1} |w_j^(k)| u^k for the neurons of [begin, end): no pre-activation moves by more than this times its |x|.
    virtual void path_bounds(double u, Index begin, Index end, Vector& bounds) const = 0;
    /// w_j' at the start of some neurons, a row each.
    virtual void copy_rates(std::span<const int> neurons, MatrixRef rates) const noexcept = 0;
    /// Order k of the gradient.
    virtual double g(int k, Index coordinate, Index neuron) const noexcept = 0;
    /// One neuron, orders 0 .. order(): w (order + 1, r), a (order + 1), and the gradient (order, r).
    virtual void copy(Index neuron, double* w, double* a, double* g) const noexcept = 0;
    /// All neurons at u.
    virtual void evaluate(double u, Matrix& w, Vector& a) const = 0;
    /// About the operations of all orders up to `order`.
    virtual double work(int order) const noexcept = 0;
    /// Σ |θ|² at the start, in working coordinates.
    virtual double square() const noexcept = 0;
    /// Σ |a_j| |w_j| at the start: what the terms of an output over |x| add up to at most.
    double terms() const noexcept;

  protected:
    /// `floor` is added to the sizes that terms are compared with. State and groups must outlive the series.
    StateSeries(const State& state, const Groups& groups, double floor, Pool& pool);

    /// What start() reads of the state beside the sizes.
    virtual void read_state() = 0;

    const Parameters& parameters() const noexcept { return state_.parameters; }
    Index neurons() const noexcept { return sizes_.size(); }
    Index rank() const noexcept { return state_.parameters.rank(); }

    /// Numbers are multiplied by this before they are squared: rates of 1e-250 (a loss that stalls at log t = 500) must
    /// not underflow, those of 1e50 not overflow.
    static constexpr double kLift = 1e100;
    /// Neurons per task: enough for full vectors, few enough for the cache.
    static constexpr Index kPiece = 128;

    const State& state_;
    const Groups& groups_;
    Pool& pool_;
    double floor_;
    int order_ = 0;
    double step_ = 0.0;
    Vector sizes_;
};

}  // namespace reluflow
