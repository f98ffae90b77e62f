/// How the weights of all samples answer at once in a Radau step that is short beside the neurons' time constants: the
/// tangent kernel stands still, and where samples are many it has far fewer directions that count than samples.
#pragma once

#include <complex>
#include <vector>

#include "base/types.hpp"
#include "numeric/lu.hpp"
#include "two_layer/expansion.hpp"

namespace reluflow {

/// Newton's equations of a Radau step (see radau_step.hpp) with one kernel K for all pairs of nodes:
///
///     δ_ki + c_i H Σ_l A_kl Σ_j K_ij p_j δ_lj + μ_k = r_ki,   Σ_i p_i δ_ki = s_k,
///
/// δ the changes of log p, μ those of log D, c = -d log|ℓ'|/dq. In z = δ sqrt(p/c) the kernel is H sqrt(pc) K sqrt(pc),
/// symmetric and positive. A pivoted Cholesky factor L replaces it, of as many columns as it takes for the rest of its
/// trace not to count, and the eigenvectors of A take the nodes apart. Storage is kept and reserved, so that a step
/// allocates nothing.
class SteadyResponse {
  public:
    /// `integration`: A, (stages, stages).
    SteadyResponse(const Dataset& data, Index neurons, const Matrix& integration);

    /// The kernel at the start of the step that the expansion holds, under weights p and answers c (n,). Samples of
    /// weight zero do not answer. False when the kernel has too many directions that count.
    bool prepare(Expansion& expansion, const Vector& weights, const Vector& answers, double step);
    /// r (stages, n) becomes δ, and s (stages,) becomes μ.
    void solve(Matrix& r, Vector& s);
    /// |∂q_i|² at the start of the step; 0 of a sample that does not answer.
    double own(Index sample) const noexcept { return own_[sample]; }

    /// Operations of prepare(), about.
    double work() const noexcept;

  private:
    /// Aligned: how a sum is rounded depends on where its memory begins.
    using Numbers = std::vector<double, Eigen::aligned_allocator<double>>;
    using Map = Eigen::Map<Matrix>;
    using Complex = std::complex<double>;

    /// One eigenvalue of A, or a pair of them, with its eigenvector and its row of the inverse.
    struct Mode {
        Complex value;
        Eigen::VectorXcd right, left;
        double share = 1.0;           // 2 of a pair
        LuFactors lu;                 // of I + value LᵀL, as a real matrix of twice the size
        Vector border_re, border_im;  // what the kernel takes from the answer to μ = 1, of the samples that answer
        Complex border;               // Σ p of that answer
    };

    void list_samples(const Vector& weights, const Vector& answers, double step, double square);
    void take_neurons(Expansion& expansion);
    void find_own(const Expansion& expansion);
    bool factor_kernel(const Expansion& expansion, double step);
    void find_column(const Expansion& expansion, Index pivot, double step);
    void factor_mode(Mode& mode);
    void apply_kernel(const Mode& mode, Vector& real, Vector& imaginary);
    double weight(Index sample) const noexcept { return root_[sample] * border_[sample]; }
    Index count() const noexcept { return static_cast<Index>(samples_.size()); }
    Map rows() noexcept { return {rows_.data(), count(), data_.rank()}; }
    Map outputs() noexcept { return {outputs_.data(), count(), neurons_}; }
    Map slopes() noexcept { return {slopes_.data(), count(), groups_}; }
    /// L by rows that are its columns, (modes, samples).
    Map factor() noexcept { return {factor_.data(), rank_, count()}; }

    const Dataset& data_;
    Index neurons_;
    Index groups_ = 0;
    Index rank_ = 0;  // columns of L
    std::vector<Mode> modes_;
    std::vector<int> samples_;  // that answer
    Vector own_;                // of all samples
    Vector root_, border_;      // sqrt(pc) and sqrt(p/c) of all samples
    Vector answers_;
    double mass_ = 0.0;  // Σ p
    Matrix w_;
    Vector a_;
    // Of the samples that answer: x with its label, its pre-activations with label and slope, its slopes.
    Numbers rows_, outputs_, slopes_, factor_;
    Vector squares_;              // Σ a² of the groups
    std::vector<char> holds_;     // of the groups
    Numbers gram_;                // LᵀL
    Vector rest_;                 // the diagonal that L has not taken up
    Vector new_, product_;        // over the samples that answer
    Vector direction_, drawn_;    // (r,), (neurons,)
    Vector part_;                 // of L, real and imaginary parts
    Vector real_, imaginary_;     // a mode of the right-hand side, over all samples
    Vector taken_re_, taken_im_;  // what the kernel takes from it
    Matrix sum_;
    Vector mass_sum_;
};

}  // namespace reluflow
