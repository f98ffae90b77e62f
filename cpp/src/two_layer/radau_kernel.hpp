/// The response of the margins at one node of a Radau step to the weights at another: the tangent kernel between nodes.
#pragma once

#include <span>
#include <vector>

#include "base/types.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/parameters.hpp"
#include "two_layer/radau_step.hpp"

namespace reluflow {

/// Kernels, group by group, for the samples that Newton's method solves for. Storage is kept, so a step allocates
/// nothing.
class NodeKernels {
  public:
    NodeKernels(const Dataset& data, Index neurons, Index stages, Index most_active);

    /// Reads the neurons at the nodes of the step that the expansion holds.
    void start(Expansion& expansion, std::span<const double> nodes, std::span<const int> active);
    /// Adds step · K_kl of a group to the blocks (k, l) of the Jacobian, whose blocks have one row and column more than
    /// there are active samples. `mean_weights`: the active samples' weights over the step.
    void add_group(const Expansion& expansion, Index group, const Vector& mean_weights, double step,
                   Eigen::Map<Matrix>& jacobian);
    /// Turns kernels K(c_k, c_l) into responses ∫_0^{c_k} K(c_k, u) ℓ_l(u) du, ℓ_l the Lagrange polynomials of the
    /// nodes, with K as a polynomial of u. Factors of a quadrature, K(c_k, c_l) ∫ ℓ_l, miss half of some responses in a
    /// step of a time constant.
    void integrate(Eigen::Map<Matrix>& jacobian);
    /// |∂q_i|² of the active samples at the first node, summed over the groups so far.
    const Numbers& own() const noexcept { return own_; }

  private:
    using Block = Eigen::Map<Matrix>;
    using Column = Eigen::Map<Vector>;

    void prepare_group(const Expansion& expansion, Index group, const Vector& mean_weights);
    bool take_moments(Index node);
    bool take_sums(Sector& sector, Index node);
    void add_block(double rapidity, double factor, Eigen::Ref<Matrix> block);
    Block moving() noexcept { return {moving_.data(), data_.rank(), count()}; }
    Block products() noexcept { return {products_.data(), count(), count()}; }
    Block gram() noexcept { return {gram_.data(), count(), count()}; }
    Column along() noexcept { return {along_.data(), count()}; }
    Column with_output() noexcept { return {with_output_.data(), count()}; }
    Column with_gradient() noexcept { return {with_gradient_.data(), count()}; }
    Column change() noexcept { return {change_.data(), count()}; }
    Index count() const noexcept { return static_cast<Index>(active_.size()); }

    const Dataset& data_;
    Index neurons_;
    std::span<const double> nodes_;
    std::span<const int> active_;
    SectorSeries* sectors_ = nullptr;
    std::vector<Matrix> node_w_;
    std::vector<Vector> node_a_;
    Numbers own_;
    // Of one group: its members, the active samples projected to where it can move (r, active), their products, its
    // mean gradient.
    std::span<const int> members_;
    Numbers moving_, products_, along_;
    Vector mean_gradient_, column_;
    double length_ = 0.0;
    // M = Σ θ θᵀ over the members at one node.
    double square_ = 0.0;                  // Σ a²
    double along_square_ = 0.0;            // Σ a w·ĝ
    Numbers with_output_, with_gradient_;  // x·Σ a w, x·Σ w (w·ĝ)
    Numbers gram_;                         // x·Σ w wᵀ·x'
    Numbers change_, member_w_, z_;
    Numbers row_;  // one of the Jacobian's
    Vector moment_, turned_;
    Matrix second_;  // Σ w wᵀ at one node, and its product with the active samples
    Numbers seen_;
    Vector outputs_, turns_;
};

}  // namespace reluflow
