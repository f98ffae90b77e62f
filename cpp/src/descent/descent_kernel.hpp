/// The arithmetic of one descent step, with its buffers. Private to `descent`.
#pragma once

#include <span>
#include <vector>

#include "base/generator.hpp"
#include "descent/descent.hpp"

namespace reluflow {

/// Visits the samples in a new order every epoch; the last batch of an epoch is shorter when batch_size does not divide
/// n.
class EpochSampler {
  public:
    EpochSampler(Index n, Index batch_size, std::uint64_t seed);
    std::span<const Index> next() noexcept;

  private:
    std::vector<Index> order_;
    std::size_t batch_size_;
    std::size_t position_;
    Generator generator_;
};

/// Sums the velocity of (W, a) over tiles of samples. A tile is as many samples as its buffers hold.
class DescentKernel {
  public:
    /// Samples per tile: with 64 the pre-activations of a few hundred neurons stay in the second-level cache.
    static constexpr Index kSamples = 64;

    DescentKernel(Index n, Index m, Index d, const DescentSettings& settings);

    /// Clears the velocity summed so far.
    void reset();

    /// Adds at most kSamples samples with the factor `scale` on their dual variables.
    void add(const DescentSamples& samples, const Matrix& W, const Vector& a, double scale);

    /// Gathers the rows `batch` of the samples, and adds them.
    void add_rows(std::span<const Index> batch, const DescentSamples& samples, const Matrix& W, const Vector& a,
                  double scale);

    /// W, a <- one Euler step; false, with both as they were, if the result is not finite.
    bool move(Matrix& W, Vector& a, double step, double decay);

    /// The margins y_i f(x_i), or the errors f(x_i) - y_i, of at most kSamples samples, written to q.
    void margins(const DescentSamples& samples, const Matrix& W, const Vector& a, double* q);

    EpochSampler& sampler() noexcept { return sampler_; }
    std::vector<double>& all_margins() noexcept { return all_margins_; }

  private:
    void slopes_of_row(Index neuron, Index n_samples) noexcept;

    LossKind loss_;
    double leak_;
    EpochSampler sampler_;
    Matrix velocity_W_;                // (m, d): Σ_i λ_i s_ji x_i, without the factor a_j
    Vector velocity_a_;                // (m,)
    Matrix Z_;                         // (m, kSamples): pre-activations of the tile
    Matrix S_;                         // (m, kSamples): λ_i s_ji
    Vector q_;                         // (kSamples,): margins of the tile
    Vector dual_;                      // (kSamples,): λ_i
    Vector leaked_dual_;               // (kSamples,): α λ_i
    Matrix gathered_X_;                // (kSamples, d)
    Vector gathered_y_;                // (kSamples,)
    Vector gathered_counts_;           // (kSamples,)
    std::vector<double> all_margins_;  // (n,)
};

}  // namespace reluflow
