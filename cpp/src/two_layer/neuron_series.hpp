/// The series of a state neuron by neuron.
#pragma once

#include "two_layer/state_series.hpp"

namespace reluflow {

class NeuronSeries final : public StateSeries {
  public:
    NeuronSeries(const State& state, const Groups& groups, double floor, Pool& pool);

    void restart(Matrix& moments) override;
    void push(const Matrix& gradients, double step, Matrix& moments) override;
    double relative_size(int k) const noexcept override { return relative_size_[k]; }
    double bend(Index neuron) const noexcept override;
    void path_bounds(double u, Index begin, Index end, Vector& bounds) const override;
    void copy_rates(std::span<const int> neurons, MatrixRef rates) const noexcept override;
    double g(int k, Index coordinate, Index neuron) const noexcept override { return g_[at(k, coordinate, neuron)]; }
    void copy(Index neuron, double* w, double* a, double* g) const noexcept override;
    void evaluate(double u, Matrix& w, Vector& a) const override;
    double work(int order) const noexcept override { return work(neurons(), rank(), order); }
    /// The same for a state of any size.
    static double work(Index neurons, Index rank, int order) noexcept;
    double square() const noexcept override;

  private:
    void read_state() override;
    std::size_t at(int k, Index coordinate, Index neuron) const noexcept {
        return (k * rank() + coordinate) * neurons() + neuron;
    }
    // Each of these for the neurons of [begin, end).
    void expand(const Matrix& gradients, Index begin, Index end);
    void multiply(double step, Index begin, Index end);
    void measure(int order, Index begin, Index end);
    void gather_moments(Matrix& moments) const;

    // The neuron index runs fastest. Unused memory is not touched.
    Vector w_, g_;     // (order, r, m)
    Vector a_;         // (order, m)
    Numbers moment_;   // (r, m), newest order of a w
    Matrix motion_;    // (order, m), |w_j^(k)| from order 1 on
    Vector scale_;     // 1 / (|θ_j| + floor)
    Numbers largest_;  // of each piece
    double relative_size_[kMaxOrder + 2] = {};
};

}  // namespace reluflow
