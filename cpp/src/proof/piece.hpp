/// The polynomial of one neuron between two of its events in a step, with bounds of what it misses.
#pragma once

#include <vector>

#include "proof/claims.hpp"
#include "proof/dual_bounds.hpp"
#include "proof/network_series.hpp"
#include "proof/rounding.hpp"

namespace reluflow::proof {

/// Polynomials in the time since `start`; bounds hold until the end of the step, beyond the piece's own `length`, for a
/// piece is compared with the one after it.
template <class Real>
struct Piece {
    Index neuron = 0;
    Real start = 0.0;    // since the start of the step
    Real length = 0.0;   // to the next event or the end of the step
    double reach = 0.0;  // to the end of the step, rounded
    bool resting = false;
    std::vector<Real> w, a, g;  // by order: (order + 1, d), (order + 1), (order, d)

    double w_size = 0.0, a_size = 0.0;  // sup |w|, |a|
    double size = 0.0;                  // sup |(w, a)|
    double motion = 0.0;                // sup |w - w(start)|
    double late_motion = 0.0;           // sup of the part of w of degree 3 and more
    double a_motion = 0.0;              // sup |a - a(start)|
    double g_size = 0.0, g_rate = 0.0;  // sup |g|, |g'| of the computed gradient
    double g_error = 0.0;               // sup |g - Σ s λ̃ x|
    double defect = 0.0;                // sup |(w, a)' - (a g, g·w)| with the gradient of λ̃
    double storage = 0.0;               // rounding of the state at the end, with that of the times

    // Of a neuron that slides; the bounds are about ũ with w̃ projected, which is within `off` of the polynomial.
    HeldSet held;
    std::vector<Real> raw;          // (order, d): Σ s λ̃ x, in the time since the start of the step
    std::vector<Real> multipliers;  // (order, held)
    double multiplier_error = 0.0;  // sup |μ̃ - the exact one of λ̃|
    double off = 0.0;               // sup |w̃ - P w̃|

    const Real* w_of(Index k, Index d) const { return w.data() + k * d; }
    const Real* g_of(Index k, Index d) const { return g.data() + k * d; }
};

/// Makes the pieces of one step.
template <class Real>
class PieceMaker {
  public:
    PieceMaker(const Samples& samples, const NetworkSeries<Real>& series, const DualBounds& bounds, Terms terms)
        : samples_(samples), series_(series), bounds_(bounds), terms_(terms) {}

    /// The piece of a neuron from the start of the step, by the series of the network.
    Piece<Real> first(Index j, const ProvedNeuron<Real>& neuron) const;

    /// The piece from `start` on of a neuron that is there at (w, a) and slides on `held`, with the gradient `raw`
    /// before the projection, (order, d), a polynomial in the time since the start of the step.
    Piece<Real> from(Index j, const Real& start, const std::vector<Real>& w, const Real& a,
                     const std::vector<Real>& raw, const HeldSet& held) const;

    /// A neuron that rests at (w, a) from `start` on.
    Piece<Real> at_rest(Index j, const Real& start, const std::vector<Real>& w, const Real& a) const;

    /// The state `time` after the start of the piece, each entry rounded as `storage` says.
    void state(const Piece<Real>& piece, const Real& time, std::vector<Real>& w, Real& a) const;

    /// Coefficients of the dual of sample i about `start`, and what they miss of it.
    std::vector<Real> dual_about(Index i, const Real& start, double& error) const;

    /// sup |λ̃_i| on the step.
    double largest_dual(Index i) const { return bounds_.weight[static_cast<std::size_t>(i)] * samples_.share * kUp; }

  private:
    double project(Piece<Real>& piece) const;
    void bound(Piece<Real>& piece, double shift_error) const;
    double tail(const std::vector<double>& w_terms, const std::vector<double>& a_terms,
                const std::vector<double>& g_terms) const;

    const Samples& samples_;
    const NetworkSeries<Real>& series_;
    const DualBounds& bounds_;
    Terms terms_;
};

}  // namespace reluflow::proof
