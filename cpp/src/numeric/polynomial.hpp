/// Polynomials in the monomial basis, c[0] + c[1] u + ... + c[order] u^order. No allocation.
#pragma once

#include "base/tolerances.hpp"

namespace reluflow {

/// Coefficients of one polynomial of order at most kMaxOrder + 1 (an integral gains one).
using Coefficients = double[kMaxOrder + 2];

/// Value at u (Horner).
double evaluate(const double* c, int order, double u) noexcept;

/// Derivative at u.
double evaluate_derivative(const double* c, int order, double u) noexcept;

/// Σ_{k >= from} |c_k| u^k: a bound of the terms from `from` on over [0, u].
double tail_bound(const double* c, int order, int from, double u) noexcept;

/// Σ_{k >= 1} max(-c_k, 0) u^k: c falls below c_0 by at most this on [0, u].
double fall_bound(const double* c, int order, double u) noexcept;

/// Bounds of c over [0, 1] from its Bernstein coefficients: tight where terms of large size and changing sign cancel.
void range_on_unit(const double* c, int order, double& low, double& high) noexcept;

/// Rewrites c(u) as a polynomial in u - shift, in place.
void shift_origin(double* c, int order, double shift) noexcept;

/// The first u in (0, end] at which c passes from c >= 0 to c < 0, or a value > end if there is none. Precondition:
/// c[0] >= 0, and if c[0] = 0 the first non-zero coefficient decides: a negative one gives the root 0. A touching root
/// is not a crossing. Nothing is sampled: an interval is dropped only when a bound, in floating point, keeps the
/// polynomial positive there (Taylor bound, then signs of Bernstein coefficients).
double first_descent(const double* c, int order, double end) noexcept;

/// What first_descent returns when there is no crossing.
inline constexpr double kNoRoot = std::numeric_limits<double>::infinity();

}  // namespace reluflow
