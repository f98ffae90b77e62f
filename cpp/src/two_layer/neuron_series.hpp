/// Taylor series of all neurons on one step, given the series of their gradients.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/pool.hpp"
#include "base/tolerances.hpp"
#include "base/types.hpp"
#include "two_layer/groups.hpp"
#include "two_layer/network.hpp"
#include "two_layer/sector_series.hpp"

namespace reluflow {

/// w' = H a g, a' = H w·g in the step variable u, with the projected gradient g of the neuron's group. Expanded neuron
/// by neuron, or by sectors where few of them hold many neurons.
class NeuronSeries {
  public:
    NeuronSeries(Index neurons, Index rank, Pool& pool);

    /// Order 0: the state, which must stay until the next start; `moments` (r, groups) gets Σ_{j in c} a_j w_j.
    void start(const NetworkState& state, double floor, const Groups& groups, Matrix& moments);
    /// Back to order 0 of the same state.
    void restart(const Groups& groups, Matrix& moments);
    /// Takes order k of the group gradients (r, groups) and makes order k + 1 of w, a and the moments.
    void push(const Matrix& gradients, double step, const Groups& groups, Matrix& moments);

    int order() const noexcept { return order_; }
    /// max_j |(w, a)_j^(k)| / (|θ_j| + floor), or a bound of it.
    double relative_size(int k) const noexcept { return by_sector_ ? sectors_.relative_size(k) : relative_size_[k]; }
    /// |w_j| at the start.
    double size(Index neuron) const noexcept { return motion_(0, neuron); }
    /// Σ_{k>=2} |w_j^(k)|, or a bound of it.
    double bend(Index neuron) const noexcept;
    /// Σ_{k>=1} |w_j^(k)| u^k for the neurons of [begin, end): no pre-activation moves by more than this times its |x|.
    void path_bounds(double u, Index begin, Index end, Vector& bounds) const;
    /// w_j' at the start of some neurons, a row each.
    void copy_rates(std::span<const int> neurons, MatrixRef rates) const noexcept;
    /// Order k of the gradient.
    double g(int k, Index coordinate, Index neuron) const noexcept;
    /// One neuron, orders 0 .. order(): w (order + 1, r), a (order + 1), and the gradient (order, r).
    void copy(Index neuron, double* w, double* a, double* g) const noexcept;

    /// All neurons at u.
    void evaluate(double u, Matrix& w, Vector& a) const;
    /// About the operations of all orders up to `order`.
    double work(int order) const noexcept;
    bool is_by_sector() const noexcept { return by_sector_; }
    /// Precondition of the two below: is_by_sector(). carry() defers the motion of the neurons and takes the sums of
    /// the sectors to u, where the next step starts; settle() rereads the state after evaluate(0) has moved the
    /// neurons.
    void carry(double u) { sectors_.carry(u); }
    bool is_carrying() const noexcept { return sectors_.is_carrying(); }
    void settle();
    /// Σ |θ|² at the start, in working coordinates.
    double square() const noexcept;
    /// The sectors if is_by_sector(), else null.
    SectorSeries* by_sector() noexcept { return by_sector_ ? &sectors_ : nullptr; }
    const SectorSeries* by_sector() const noexcept { return by_sector_ ? &sectors_ : nullptr; }

  private:
    std::size_t at(int k, Index coordinate, Index neuron) const noexcept {
        return (k * rank_ + coordinate) * neurons_ + neuron;
    }
    /// Neurons per task: enough for full vectors, few enough for the cache.
    static constexpr Index kPiece = 128;

    void measure_state();
    // Each of these for the neurons of [begin, end).
    void measure_state(Index begin, Index end);
    double w(int k, Index coordinate, Index neuron) const noexcept { return w_[at(k, coordinate, neuron)]; }
    void expand(const Matrix& gradients, const Groups& groups, Index begin, Index end);
    void multiply(double step, Index begin, Index end);
    void measure(int order, Index begin, Index end);
    void gather_moments(const Groups& groups, Matrix& moments) const;

    Index neurons_;
    Index rank_;
    Pool& pool_;
    int order_ = 0;
    bool by_sector_ = false;
    SectorSeries sectors_;
    const NetworkState* state_ = nullptr;
    double step_ = 0.0;
    double floor_ = 0.0;
    // Storage of the neuron-by-neuron form; the neuron index runs fastest. Unused memory is not touched.
    std::unique_ptr<double[]> w_, g_;  // (order, r, m)
    std::unique_ptr<double[]> a_;      // (order, m)
    std::vector<double> moment_;       // (r, m), newest order of a w
    Matrix motion_;                    // (order, m)
    Vector scale_;                     // 1 / (|θ_j| + floor)
    std::vector<double> largest_;      // of each piece
    double relative_size_[kMaxOrder + 2] = {};
};

}  // namespace reluflow
