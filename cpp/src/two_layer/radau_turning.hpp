/// The response of the weights of all samples in a Radau step within which the tangent kernel turns: through the
/// gradients of the groups, of which there are far fewer than samples.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "numeric/lu.hpp"
#include "numeric/radau_nodes.hpp"
#include "two_layer/expansion.hpp"

namespace reluflow {

/// Weights move the network through the gradients of its groups alone. So with p(q) the weights that margins q ask for,
/// at every node k of the step, Newton's method for p_k = p(q_k) has the unknowns γ_k = F δp_k, F with a column for
/// each sample, its part in the gradient of each group:
///
///     γ_k + G_k H Σ_l A_kl T_kl γ_l = F (p(q_k) - p_k),   G_k = F (diag(p c) - p (p c)ᵀ) Fᵀ at p(q_k),
///
/// T_kl what a change of the gradients at node l does to the moments Σ a w at node k, c = -d log|ℓ'|/dq; and δp
/// follows. The iterate is linear in p, so that nothing is added to gradients in which weights cancel. Where classes
/// cannot be separated, directions in which the loss is steep turn within a step that is short beside the neurons' time
/// constants, and a kernel that is constant there makes Newton's method slow.
class TurningResponse {
  public:
    /// `most`: unknowns at a node, for which memory is reserved; it stays untouched in a run that needs none.
    TurningResponse(const Dataset& data, Index neurons, Index most);

    /// Factors the system for the step that the expansion holds, under weights p(q) and responses c at the nodes,
    /// (stages, n) each; `mean`: the mean of p over the step. False if the groups have too many directions.
    bool prepare(Expansion& expansion, const Matrix& weights, const Matrix& answers, const Vector& mean, double step);
    /// Solves for δp, in place of p(q) - p, (stages, n).
    void solve(Matrix& r);
    /// Replaces changes r (n,) of the weights at the start by what is left of them over the step, on average: of those
    /// in a direction to which the margins respond at a rate far above 1/H next to nothing.
    void settle(Vector& r);
    /// |∂q_i|² at the first node; 0 for a sample that does not respond.
    double own(Index sample) const noexcept { return own_[sample]; }
    /// Operations of prepare(), about.
    double work() const noexcept;
    /// True if prepare() has failed since the groups have too many directions.
    bool is_full() const noexcept { return unknowns() > most_; }

  private:
    using Map = Eigen::Map<Matrix>;

    bool list_groups(Expansion& expansion, double step);
    void list_samples(double step);
    void fill_parts(const Expansion& expansion);
    void take_moments(Expansion& expansion, Index group, double u);
    void carry_moments(Index group, double step);
    void add_transfer(Index group, Index node, Index other, double step);
    void find_own(Index group);
    void fill_system();
    void fill_layer();
    void take_response(Index node, VectorRef r);
    Index unknowns() const noexcept { return static_cast<Index>(groups_.size()) * data_.rank(); }
    Map parts() noexcept { return {parts_.data(), unknowns(), data_.n()}; }
    Map heavy() noexcept { return {heavy_.data(), unknowns(), static_cast<Index>(samples_.size())}; }
    /// H A_kl T_kl of one group.
    Map transfer(Index node, Index other, Index group) noexcept {
        const Index rank = data_.rank();
        const Index at = (node * kStages + other) * static_cast<Index>(groups_.size()) + group;
        return {transfers_.data() + at * rank * rank, rank, rank};
    }

    const Dataset& data_;
    Index most_;
    Matrix p_, c_;  // (stages, n)
    double mass_ = 1.0;
    std::vector<int> groups_;   // those to which the weights respond
    std::vector<int> samples_;  // those that respond
    Vector size_;               // of the neurons' groups: Σ a² + |w|²
    Vector own_, mean_;
    Numbers parts_, heavy_;      // F, and its columns of samples_ times sqrt(p c)
    Numbers transfers_, steep_;  // H A T, and G at one node
    Vector drawn_, along_;       // of the unknowns at a node
    Vector seen_, sum_;          // of the samples
    Matrix w_;                   // the neurons at a node
    Vector a_;
    // Of one group at one node: Σ a², Σ a w, Σ w wᵀ; the gradient's direction and size.
    double square_ = 0.0;
    double length_ = 0.0;
    Vector moment_, turned_, change_, gradient_;
    Matrix second_, boosted_;
    LuFactors lu_, layer_;
    Vector right_;
};

}  // namespace reluflow
