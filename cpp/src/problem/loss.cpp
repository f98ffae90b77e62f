#include "problem/loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "base/errors.hpp"

namespace reluflow {
namespace {

/// Above this margin log(1 + e^-q) equals e^-q to the last bit: e^-37 is below half an ulp of 1.
constexpr double kTailMargin = 37.0;

/// log(1 + e^-q) without overflow.
double softplus(double q) noexcept {
    return q >= 0.0 ? std::log1p(std::exp(-q)) : -q + std::log1p(std::exp(q));
}

}  // namespace

LossKind loss_kind(std::string_view name) {
    if (name == "logistic") return LossKind::logistic;
    if (name == "exponential") return LossKind::exponential;
    if (name == "squared") return LossKind::squared;
    throw InvalidArgument("loss", "'" + std::string(name) + "'", "'logistic', 'exponential' or 'squared'");
}

Reduction reduction(std::string_view name) {
    if (name == "sum") return Reduction::sum;
    if (name == "mean") return Reduction::mean;
    throw InvalidArgument("reduction", "'" + std::string(name) + "'", "'sum' or 'mean'");
}

bool is_of_margins(LossKind kind) noexcept {
    return kind != LossKind::squared;
}

double log_loss(LossKind kind, double q) noexcept {
    if (kind == LossKind::squared) return 2.0 * std::log(std::abs(q)) - std::numbers::ln2;
    if (kind == LossKind::exponential || q > kTailMargin) return -q;
    return std::log(softplus(q));
}

double loss(LossKind kind, double q) noexcept {
    if (kind == LossKind::squared) return 0.5 * q * q;
    return kind == LossKind::exponential ? std::exp(-q) : softplus(q);
}

double weight(LossKind kind, double q) noexcept {
    if (kind == LossKind::squared) return -q;
    if (kind == LossKind::exponential) return std::exp(-q);
    if (q < 0.0) return 1.0 / (1.0 + std::exp(q));
    const double tail = std::exp(-q);
    return tail / (1.0 + tail);
}

double log_weight(LossKind kind, double q) noexcept {
    if (kind == LossKind::squared) return std::log(std::abs(q));
    return kind == LossKind::exponential ? -q : -softplus(-q);
}

double log_weight_change(LossKind kind, double q, double change) noexcept {
    if (kind == LossKind::exponential) return -change;
    // There a difference of logarithms would have the rounding of the margin.
    if (std::abs(change) > 1.0 && std::min(q, q + change) > kTailMargin) return -change;
    if (std::abs(change) > 1.0) return log_weight(kind, q + change) - log_weight(kind, q);
    return -std::log1p(weight(kind, -q) * std::expm1(change));
}

double weight_decay_rate(LossKind kind, double q) noexcept {
    return kind == LossKind::exponential ? 1.0 : 1.0 - weight(kind, q);
}

bool saturates(LossKind kind) noexcept {
    return kind == LossKind::logistic;
}

double log_separation(LossKind kind) noexcept {
    return log_loss(kind, 0.0);  // log 0 for the squared loss
}

double curvature(LossKind kind, double q) noexcept {
    if (kind == LossKind::squared) return 1.0;
    if (kind == LossKind::exponential) return std::exp(-q);
    const double tail = std::exp(-std::abs(q));
    return tail / ((1.0 + tail) * (1.0 + tail));
}

double log_curvature(LossKind kind, double q) noexcept {
    if (kind == LossKind::squared) return 0.0;
    if (kind == LossKind::exponential) return -q;
    const double size = std::abs(q);
    return -size - 2.0 * std::log1p(std::exp(-size));
}

double log_loss_sum(LossKind kind, std::span<const double> q, std::span<const double> counts) noexcept {
    const auto count = [&](std::size_t i) { return counts.empty() ? 1.0 : counts[i]; };
    double worst = is_of_margins(kind) ? std::numeric_limits<double>::infinity() : 0.0;  // q of the largest loss
    for (std::size_t i = 0; i < q.size(); ++i) {
        if (std::isnan(q[i])) return q[i];
        if (count(i) > 0.0) worst = is_of_margins(kind) ? std::min(worst, q[i]) : std::max(worst, std::abs(q[i]));
    }
    const double largest = log_loss(kind, worst);
    if (!std::isfinite(largest)) return largest;
    double sum = 0.0;
    for (std::size_t i = 0; i < q.size(); ++i)
        if (count(i) > 0.0) sum += count(i) * std::exp(log_loss(kind, q[i]) - largest);  // others may overflow
    return largest + std::log(sum);
}

double log_loss(LossKind kind, Reduction reduction, std::span<const double> q,
                std::span<const double> counts) noexcept {
    return log_loss_sum(kind, q, counts) + std::log(reduction_factor(reduction, std::ssize(q)));
}

double reduction_factor(Reduction reduction, Index n) noexcept {
    return reduction == Reduction::mean ? 1.0 / static_cast<double>(n) : 1.0;
}

}  // namespace reluflow
