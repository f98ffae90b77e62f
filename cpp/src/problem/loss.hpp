/// The losses ℓ(q), safe for every finite q. All that the program knows of a loss stands here.
///
/// Of a margin q = y f(x), for labels y = ±1: logistic log(1 + e^-q) and exponential e^-q. Their weights -ℓ'(q) are
/// positive and fall over hundreds of e-foldings, so each function has a form in the log domain.
/// Of an error q = f(x) - y, for real targets y: squared ½ q². Its weight -ℓ'(q) = -q has either sign.
/// A network's dual variable is λ = sign · weight · (what the sample counts), with the sign y of a margin or 1.
#pragma once

#include <span>
#include <string_view>

#include "base/types.hpp"

namespace reluflow {

enum class LossKind { logistic, exponential, squared };
enum class Reduction { sum, mean };

/// "logistic", "exponential" or "squared"; throws InvalidArgument.
LossKind loss_kind(std::string_view name);

/// "sum" or "mean"; throws InvalidArgument.
Reduction reduction(std::string_view name);

/// True for a loss of margins, with labels ±1; false for a loss of errors, with real targets.
bool is_of_margins(LossKind kind) noexcept;

/// log ℓ(q), finite for every finite margin; -inf for an error of zero.
double log_loss(LossKind kind, double q) noexcept;

/// ℓ(q); the exponential loss overflows to +inf below q = -709.
double loss(LossKind kind, double q) noexcept;

/// -ℓ'(q); of margins it is not negative, underflows to 0 above q = 745, and the exponential one overflows below -709.
double weight(LossKind kind, double q) noexcept;

/// log |ℓ'(q)|, finite for every finite margin.
double log_weight(LossKind kind, double q) noexcept;

/// log(-ℓ'(q + change)) - log(-ℓ'(q)) to the relative accuracy of `change`, however small it is; for margins.
double log_weight_change(LossKind kind, double q, double change) noexcept;

/// -d log(-ℓ'(q)) / dq in [0, 1]: how fast a weight falls as its margin grows; for margins.
double weight_decay_rate(LossKind kind, double q) noexcept;

/// Whether a weight tends to a constant as its margin falls without bound, and has poles at q = ±iπ.
bool saturates(LossKind kind) noexcept;

/// log of the summed loss below which all margins are positive, and stay so: log ℓ(0); -inf for a loss of errors.
double log_separation(LossKind kind) noexcept;

/// ℓ''(q) >= 0; underflows and overflows where weight does.
double curvature(LossKind kind, double q) noexcept;

/// log ℓ''(q), finite for every finite q.
double log_curvature(LossKind kind, double q) noexcept;

/// log Σ_i c_i ℓ(q_i), by log-sum-exp, with what the samples count, c >= 0 (empty: one each); -inf for an empty span,
/// NaN if a q is NaN.
double log_loss_sum(LossKind kind, std::span<const double> q, std::span<const double> counts = {}) noexcept;

/// log of the loss with its reduction; precondition: q is not empty.
double log_loss(LossKind kind, Reduction reduction, std::span<const double> q,
                std::span<const double> counts = {}) noexcept;

/// The factor of every dual variable: 1 for the sum, 1/n for the mean.
double reduction_factor(Reduction reduction, Index n) noexcept;

}  // namespace reluflow
