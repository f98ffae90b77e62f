/// The response of the weights of all samples at once, in a Radau step that is short beside the neurons' time
/// constants: the tangent kernel is then constant, and its numerical rank is far below the number of samples if these
/// are many.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "numeric/radau_nodes.hpp"
#include "numeric/tridiagonal.hpp"
#include "problem/settings.hpp"
#include "two_layer/expansion.hpp"

namespace reluflow {

/// Newton's equations of a Radau step (see radau_step.hpp) with one kernel K for all pairs of nodes:
///
///     δ_ki + c_i H Σ_l A_kl Σ_j K_ij p_j δ_lj + μ_k = r_ki,   Σ_i p_i δ_ki = s_k,
///
/// δ the changes of log p, μ those of log D, c = -d log|ℓ'|/dq. In z = δ sqrt(p/c) the kernel is H sqrt(pc) K sqrt(pc),
/// symmetric and positive. It is replaced by L Lᵀ, L a pivoted Cholesky factor with enough columns that the rest of its
/// trace is negligible, or all derivatives of the margins where most of them count, and the eigenvectors of A decouple
/// the nodes. Storage is kept and reserved, so a step allocates nothing.
///
/// Late in a run the network grows, at nearly the same rate r everywhere, and the kernel between nodes like
/// e^(r H (c_k + c_l)). That is a factor of the nodes alone: A is the integration under it.
class SteadyResponse {
  public:
    /// For a loss of errors the unknowns are the weights themselves (p = 1 above), and the mass is none (μ = 0). Beside
    /// samples at rest μ and the sum are those of the others.
    SteadyResponse(const Dataset& data, Index neurons, const Objective& objective);

    /// Factors the kernel at the start of the step that the expansion holds, under weights p and responses c (n,).
    /// Samples of weight zero do not respond. False if the rank is too large. Of a loss of errors the factors of an
    /// earlier call stay where the kernel is nearly the same but for H; see is_old().
    bool prepare(Expansion& expansion, const Vector& weights, const Vector& answers, double step);
    /// The kernel grows by e^growth over the step, in either argument; nothing has to be prepared for that again.
    void set_growth(double growth);
    /// Whether the weights of samples that are not at rest add up to one: not where the mass stands still.
    void share_mass(bool shares) noexcept { shares_mass_ = shares; }
    /// Whether the factors are those of an earlier state.
    bool is_old() const noexcept { return is_old_; }
    /// The next prepare() makes new factors.
    void forget() noexcept { step_ = 0.0; }
    /// Solves for δ, in place of r (stages, n), and μ, in place of s (stages,).
    void solve(Matrix& r, Vector& s);
    /// Replaces changes r (n,) of the unknowns by what is left of them over the step, on average: of those in a
    /// direction to which the margins respond at a rate far above 1/H next to nothing. It has an imaginary part; its
    /// size counts.
    void settle(Vector& r, Vector& imaginary);
    /// |∂q_i|² at the start of the step; 0 for a sample that does not respond.
    double own(Index sample) const noexcept { return own_[sample]; }

    /// Operations of prepare(), about.
    double work() const noexcept;

  private:
    /// Samples whose response to their own margin, H p c K, is below this follow by substitution.
    static constexpr double kAnswers = 1e-4;
    /// Part of the trace of the kernel that L may omit: substitution converges at least by this factor per iteration.
    static constexpr double kLeftOut = 0.05;
    /// Largest tables of pre-activations, and of what sliding takes from the samples; larger networks are left to the
    /// explicit series.
    static constexpr Index kMostOutputs = Index{1} << 24;
    /// Least response that is used: that of a saturated logistic weight may be zero, and sqrt(p/c) must be finite.
    static constexpr double kLeastAnswer = 1e-12;

    using Map = Eigen::Map<Matrix>;
    using Complex = std::complex<double>;

    using StageVector = Eigen::Matrix<Complex, kStages, 1>;

    /// One eigenvalue of A, or a conjugate pair, with its eigenvector and its row of the inverse.
    struct Mode {
        Complex value;
        StageVector right, left;
        double share = 1.0;           // 2 for a pair
        Vector border_re, border_im;  // what the kernel subtracts from the response to μ = 1
        Complex border;               // Σ p of that response
    };

    bool factor(Expansion& expansion, const Vector& weights, const Vector& answers, double step);
    bool still_holds(Expansion& expansion, const Vector& weights, const Vector& answers, double step);
    bool has_stayed(const Expansion& expansion) const noexcept;
    double response_bound(double step) const noexcept;
    void list_samples(const Vector& weights, const Vector& answers, double step, double square);
    bool take_neurons(Expansion& expansion);
    void take_held(const Expansion& expansion);
    void find_own();
    bool factor_kernel(const Expansion& expansion, double step);
    bool takes_features(const Expansion& expansion, double step);
    void reduce_gram();
    Index count_features(const Expansion& expansion) const noexcept;
    void take_features(const Expansion& expansion, double step);
    void span_motion(const Expansion& expansion, Index group, Index free);
    void find_column(Index pivot, double step);
    void find_border(Mode& mode);
    Complex take_mass(const Mode& mode, Complex wanted);
    void apply_kernel(const Mode& mode, Vector& real, Vector& imaginary);
    /// Whether a sample does not simply follow by substitution, where H |θ|² has this value.
    bool responds(Index sample, double square) const noexcept {
        return root_[sample] * root_[sample] * square * data_.X().row(sample).squaredNorm() > kAnswers;
    }
    double weight(Index sample) const noexcept { return root_[sample] * border_[sample]; }
    std::span<Mode> modes() noexcept { return {modes_, static_cast<std::size_t>(mode_count_)}; }
    Index count() const noexcept { return static_cast<Index>(samples_.size()); }
    Map rows() noexcept { return {rows_.data(), count(), data_.rank()}; }
    Map outputs() noexcept { return {outputs_.data(), count(), neurons_}; }
    Map slopes() noexcept { return {slopes_.data(), count(), groups_}; }
    Map held() noexcept { return {held_.data(), count(), held_count_}; }
    /// L transposed: row k is column k of L, (rank, samples).
    Map factor() noexcept { return {factor_.data(), rank_, count()}; }
    /// Of a group, (free, rank).
    Map motion(Index free) {
        motion_.resize(free * data_.rank());
        return {motion_.data(), free, data_.rank()};
    }

    const Dataset& data_;
    bool is_linear_;
    bool shares_mass_;
    Vector shares_;  // (n,): 1 of samples that share in the mass, 0 of others
    Index neurons_;
    Index groups_ = 0;
    Index rank_ = 0;  // columns of L
    Mode modes_[kStages];
    int mode_count_ = 0;
    std::vector<int> samples_;  // those that respond
    // What the factors are of: the length of the step (0: of none), the sides of all neurons, and their weights, which
    // are in w_ and a_. `since_`: the length of the present step over that one.
    double step_ = 0.0, since_ = 1.0;
    std::uint64_t version_ = 0;
    bool is_old_ = false;
    double left_out_ = 0.0;  // of the trace
    Vector own_;             // |∂q_i|² of all samples
    Vector root_, border_;   // sqrt(pc) and sqrt(p/c) of all samples
    double mass_ = 0.0;      // Σ p
    Matrix w_, w_now_;
    Vector a_, a_now_;
    // Of the responding samples: x times label, pre-activations times label and slope, slopes.
    Numbers rows_, outputs_, slopes_, factor_;
    Vector squares_, moving_;     // Σ a² of the groups; the same, but 0 where sliding takes all directions
    Numbers held_;                // coordinates of the samples that sliding takes from them, times slope and |a|
    Index held_count_ = 0;        // of all groups
    TridiagonalForm gram_;        // LᵀL
    Vector rest_;                 // the diagonal of the kernel minus that of L Lᵀ
    Vector new_, product_;        // over the responding samples
    Numbers motion_;              // orthonormal rows that span what a group can move in
    Vector direction_, left_;     // (r,)
    Vector drawn_, taken_;        // (neurons,), and of held_
    Vector part_;                 // of L, real and imaginary parts
    Vector real_, imaginary_;     // a mode of the right-hand side, over all samples
    Vector taken_re_, taken_im_;  // what the kernel subtracts from it
    Matrix sum_;
    Vector mass_sum_;
};

}  // namespace reluflow
