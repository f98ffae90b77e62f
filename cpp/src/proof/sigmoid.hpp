/// The exponential function and the weights of a loss with a proved bound of their error: the C library promises none.
#pragma once

#include "problem/loss.hpp"
#include "proof/rounding.hpp"

namespace reluflow::proof {

/// Largest |q| the functions below take: everything, low words too, stays far from overflow and underflow.
inline constexpr double kLargestMargin = 700.0;
template <class Real>
inline constexpr double kLargestMarginOf = kLargestMargin;
template <>
inline constexpr double kLargestMarginOf<DoubleDouble> = 600.0;

/// Relative error of `exponential` and of `margin_weight`.
template <class Real>
inline constexpr double kExponentialError = 8 * kUnitOf<Real>;
template <class Real>
inline constexpr double kWeightError = 12 * kUnitOf<Real>;
template <>
inline constexpr double kExponentialError<DoubleDouble> = 2 * kUnitOf<DoubleDouble>;
template <>
inline constexpr double kWeightError<DoubleDouble> = 4 * kUnitOf<DoubleDouble>;

/// e^q within kExponentialError, for |q| ≤ kLargestMarginOf.
double exponential(double q) noexcept;
DoubleDouble exponential(const DoubleDouble& q) noexcept;

/// An upper bound of e^x, for 0 ≤ x; infinity beyond kLargestMargin.
double exponential_up(double x) noexcept;

/// -ℓ'(q) within kWeightError, for |q| ≤ kLargestMarginOf: 1 / (1 + e^q) of the logistic loss, e^-q of the exponential.
double margin_weight(LossKind loss, double q) noexcept;
DoubleDouble margin_weight(LossKind loss, const DoubleDouble& q) noexcept;

}  // namespace reluflow::proof
