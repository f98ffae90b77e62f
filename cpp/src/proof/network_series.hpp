/// The Taylor polynomials of a network from one instant, on fixed signs, and the norms of their coefficients.
#pragma once

#include <cstdint>
#include <vector>

#include "proof/claims.hpp"
#include "proof/held_set.hpp"

namespace reluflow::proof {

/// One neuron: its computed state, in doubles or to more digits, the bound of its distance to the true one, and its
/// signs, which are exact.
template <class Real>
struct ProvedNeuron {
    std::vector<Real> w;
    Real a = 0.0;
    double radius = 0.0;
    std::vector<std::int8_t> signs;
    bool resting = false;         // it never moves again
    std::vector<double> slopes;   // (n): 1, the leak, or 0 on a boundary
    std::vector<Index> pulling;   // samples of a slope that is not zero
    HeldSet held;                 // what it slides on
    std::vector<Index> starting;  // samples on whose boundaries it is at the start, and which it leaves at once
    std::size_t next = 0;         // position of its next claim

    void find_slopes(double leak);
};

/// What the series of a neuron that slides have beside the others, by order.
template <class Real>
struct HeldSeries {
    std::vector<Real> raw;          // (order, d): Σ s λ x before the projection
    std::vector<Real> multipliers;  // (order, held): μ in g = raw + Xᵀ μ
    std::vector<double> errors;     // (order): of the projection
};

/// Coefficients by order; each vector holds all neurons, or all samples. They are rounded like any others: what the
/// polynomials miss of the flow is bounded elsewhere, from the norms.
template <class Real>
class NetworkSeries {
  public:
    NetworkSeries(const Samples& samples, Index n_neurons);

    /// Expands to `order`: w, a to that degree, duals and gradients one less. False where a margin is out of range.
    bool expand(const std::vector<ProvedNeuron<Real>>& neurons, int order);

    int order = 0;
    std::vector<std::vector<Real>> w, a, g;                   // (m d), (m), (m d)
    std::vector<std::vector<Real>> q, p, dual;                // (n): margins, weights, λ
    std::vector<std::vector<double>> w_norm, a_norm, g_norm;  // (m), upper bounds
    std::vector<HeldSeries<Real>> held;                       // (m): empty where the neuron does not slide
    std::vector<double> products;   // Σ_j Σ_l |a_l| |w_(k-l)|, k = 0 ... 2 order: what margins are made of
    std::vector<double> dual_sums;  // Σ_i |λ_k| |x_i|

  private:
    void products_of(Index k);
    void margins(const std::vector<ProvedNeuron<Real>>& neurons, Index k);
    bool weights(Index k);
    void gradients(const std::vector<ProvedNeuron<Real>>& neurons, Index k);
    void project(const HeldSet& held, Index j, Index k);
    void parameters(const std::vector<ProvedNeuron<Real>>& neurons, Index k);
    void reserve(int order);
    void sum_products();

    const Samples& samples_;
    Index m_;
    Real share_;                            // of a sample in the loss
    std::vector<Real> aw_;                  // (m d): coefficient k of a w
    std::vector<Real> outputs_;             // (n): of one neuron
    std::vector<Real> pulls_;               // s_ji λ_i of one neuron, for the samples that pull it
    std::vector<std::vector<Real>> slope_;  // (n): p (1 - p), or p
};

}  // namespace reluflow::proof
