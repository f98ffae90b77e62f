/// The losses ℓ(q) of a margin q: logistic log(1 + e^-q) and exponential e^-q, safe for every finite q. All that the
/// program knows of a loss stands here. Each function has a form in the log domain, because e^-q leaves the doubles at
/// |q| > 745 while log ℓ(q) does not. The weight of a sample is |λ| = -ℓ'(q).
#pragma once

#include <span>
#include <string_view>

#include "base/types.hpp"

namespace reluflow {

enum class LossKind { logistic, exponential };
enum class Reduction { sum, mean };

/// "logistic" or "exponential"; throws InvalidArgument.
LossKind loss_kind(std::string_view name);

/// "sum" or "mean"; throws InvalidArgument.
Reduction reduction(std::string_view name);

/// log ℓ(q), finite for every finite q.
double log_loss(LossKind kind, double q) noexcept;

/// ℓ(q); the exponential loss overflows to +inf below q = -709.
double loss(LossKind kind, double q) noexcept;

/// -ℓ'(q) >= 0; underflows to 0 above q = 745, and the exponential one overflows below q = -709.
double weight(LossKind kind, double q) noexcept;

/// log(-ℓ'(q)), finite for every finite q.
double log_weight(LossKind kind, double q) noexcept;

/// log(-ℓ'(q + change)) - log(-ℓ'(q)) to the relative accuracy of `change`, however small it is.
double log_weight_change(LossKind kind, double q, double change) noexcept;

/// -d log(-ℓ'(q)) / dq in [0, 1]: how fast a weight falls as its margin grows.
double weight_decay_rate(LossKind kind, double q) noexcept;

/// Whether a weight tends to a constant as its margin falls without bound, and has poles at q = ±iπ.
bool saturates(LossKind kind) noexcept;

/// log of the summed loss below which all margins are positive, and stay so: log ℓ(0).
double log_separation(LossKind kind) noexcept;

/// ℓ''(q) >= 0; underflows and overflows where weight does.
double curvature(LossKind kind, double q) noexcept;

/// log ℓ''(q), finite for every finite q.
double log_curvature(LossKind kind, double q) noexcept;

/// log Σ_i ℓ(q_i), by log-sum-exp; -inf for an empty span, NaN if a margin is NaN.
double log_loss_sum(LossKind kind, std::span<const double> q) noexcept;

/// log of the loss with its reduction; precondition: q is not empty.
double log_loss(LossKind kind, Reduction reduction, std::span<const double> q) noexcept;

/// The factor of every dual variable: 1 for the sum, 1/n for the mean.
double reduction_factor(Reduction reduction, Index n) noexcept;

}  // namespace reluflow
