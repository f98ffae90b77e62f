/// The exponential function and the weights of a loss with a proved bound of their error: the C library promises none.
#pragma once

#include "problem/loss.hpp"

namespace reluflow::proof {

/// Largest |q| the functions below take: everything stays far from overflow and underflow.
inline constexpr double kLargestMargin = 700.0;

/// Relative error of `exponential` and of `margin_weight`.
inline constexpr double kExponentialError = 8 * 0x1p-53;
inline constexpr double kWeightError = 12 * 0x1p-53;

/// e^q within kExponentialError, for |q| ≤ kLargestMargin.
double exponential(double q) noexcept;

/// An upper bound of e^x, for 0 ≤ x; infinity beyond kLargestMargin.
double exponential_up(double x) noexcept;

/// -ℓ'(q) within kWeightError, for |q| ≤ kLargestMargin: 1 / (1 + e^q) of the logistic loss, e^-q of the exponential.
double margin_weight(LossKind loss, double q) noexcept;

}  // namespace reluflow::proof
