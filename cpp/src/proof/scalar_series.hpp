/// Questions to the polynomial z = w · x of one pair: where it has a root, and that it stays on one side.
#pragma once

#include <utility>
#include <vector>

#include "base/types.hpp"
#include "proof/piece.hpp"

namespace reluflow::proof {

/// The pre-activation of one pair along a piece, as a polynomial in the time since the start of the piece.
template <class Real>
class ScalarSeries {
  public:
    /// Coefficients w_k · x; `side` = ±1 multiplies them.
    ScalarSeries(const Piece<Real>& piece, const double* x, Index order, Index d, double side);

    /// A polynomial with these coefficients.
    explicit ScalarSeries(std::vector<Real> coefficients) : z_(std::move(coefficients)) {}

    ScalarSeries derivative() const;
    /// sup |z''| where |s| ≤ end.
    double curvature(double end) const;
    /// Whether z > 0 on all of [0, end], for coefficients that are known up to `errors` each; `value` is a lower bound
    /// of z(0), as small as a rounding, and the rate there may be zero up to rounding.
    bool rises(double value, const std::vector<double>& errors, const Real& end) const;

    Real value(const Real& s) const;
    Real rate(const Real& s) const;

    /// A root in (0, end], by bisection and Newton's method, given that value(end) < 0. Only a guess: nothing rests on
    /// it.
    Real root(double guess, double end) const;

    /// Whether z > bound on all of [begin, end], proved by halving: mean value forms of first and second order. `bound`
    /// has to include the rounding of the coefficients; that of the evaluation is added here.
    bool stays_above(double bound, const Real& begin, const Real& end) const;

  private:
    bool settled(double bound, const Real& begin, const Real& end, double curvature, double slack, int depth) const;

    std::vector<Real> z_;
};

}  // namespace reluflow::proof
