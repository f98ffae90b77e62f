/// Taylor series of all neurons on one step, given the series of their gradients.
#pragma once

#include <vector>

#include "reluflow/groups.hpp"
#include "reluflow/network.hpp"
#include "reluflow/pool.hpp"
#include "reluflow/settings.hpp"
#include "reluflow/types.hpp"

namespace reluflow {

/// w' = H a g, a' = H w·g in the step variable u, with the projected gradient g of the neuron's group.
/// Order k of every quantity is a block; inside it the neuron index runs fastest.
class NeuronSeries {
  public:
    NeuronSeries(Index neurons, Index rank, Pool& pool);

    /// Order 0: the state; `moments` (r, groups) gets Σ_{j in c} a_j w_j.
    void start(const NetworkState& state, double floor, const Groups& groups, Matrix& moments);
    /// Takes order k of the group gradients (r, groups) and makes order k + 1 of w, a and the moments.
    void push(const Matrix& gradients, double step, const Groups& groups, Matrix& moments);

    int order() const noexcept { return order_; }
    /// max_j |(w, a)_j^(k)| / (|θ_j| + floor).
    double relative_size(int k) const noexcept { return relative_size_[k]; }
    /// |w_j^(k)|.
    double motion(int k, Index neuron) const noexcept { return motion_(k, neuron); }
    /// Σ_{k>=1} |w_j^(k)| u^k for the neurons of [begin, end): no pre-activation moves further than this times its |x|.
    void path_bounds(double u, Index begin, Index end, Vector& bounds) const;

    double w(int k, Index coordinate, Index neuron) const noexcept { return w_[at(k, coordinate, neuron)]; }
    double g(int k, Index coordinate, Index neuron) const noexcept { return g_[at(k, coordinate, neuron)]; }
    double a(int k, Index neuron) const noexcept { return a_[k * neurons_ + neuron]; }

    /// All neurons at u.
    void evaluate(double u, Matrix& w, Vector& a) const;

  private:
    std::size_t at(int k, Index coordinate, Index neuron) const noexcept {
        return (k * rank_ + coordinate) * neurons_ + neuron;
    }
    /// Neurons of one piece of work: enough for full vectors, few enough for the cache.
    static constexpr Index kPiece = 128;

    // Each of these for the neurons of [begin, end).
    void expand(const Matrix& gradients, const Groups& groups, Index begin, Index end);
    void multiply(double step, Index begin, Index end);
    void measure(int order, Index begin, Index end);
    void gather_moments(const Groups& groups, Matrix& moments) const;

    Index neurons_;
    Index rank_;
    Pool& pool_;
    int order_ = 0;
    std::vector<double> w_, g_;    // (order, r, m)
    std::vector<double> a_;        // (order, m)
    std::vector<double> moment_;   // (r, m), newest order of a w
    Matrix motion_;                // (order, m)
    Vector scale_;                 // 1 / (|θ_j| + floor)
    std::vector<double> largest_;  // of each piece
    double relative_size_[kMaxOrder + 2] = {};
};

}  // namespace reluflow
