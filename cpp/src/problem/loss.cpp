#include "problem/loss.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
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
    throw InvalidArgument("loss", "'" + std::string(name) + "'", "'logistic' or 'exponential'");
}

Reduction reduction(std::string_view name) {
    if (name == "sum") return Reduction::sum;
    if (name == "mean") return Reduction::mean;
    throw InvalidArgument("reduction", "'" + std::string(name) + "'", "'sum' or 'mean'");
}

double log_loss(LossKind kind, double q) noexcept {
    if (kind == LossKind::exponential || q > kTailMargin) return -q;
    return std::log(softplus(q));
}

double loss(LossKind kind, double q) noexcept {
    return kind == LossKind::exponential ? std::exp(-q) : softplus(q);
}

double weight(LossKind kind, double q) noexcept {
    if (kind == LossKind::exponential) return std::exp(-q);
    if (q < 0.0) return 1.0 / (1.0 + std::exp(q));
    const double tail = std::exp(-q);
    return tail / (1.0 + tail);
}

double log_weight(LossKind kind, double q) noexcept {
    return kind == LossKind::exponential ? -q : -softplus(-q);
}

double log_weight_change(LossKind kind, double q, double change) noexcept {
    if (kind == LossKind::exponential) return -change;
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
    return log_loss(kind, 0.0);
}

double curvature(LossKind kind, double q) noexcept {
    if (kind == LossKind::exponential) return std::exp(-q);
    const double tail = std::exp(-std::abs(q));
    return tail / ((1.0 + tail) * (1.0 + tail));
}

double log_curvature(LossKind kind, double q) noexcept {
    if (kind == LossKind::exponential) return -q;
    const double size = std::abs(q);
    return -size - 2.0 * std::log1p(std::exp(-size));
}

double log_loss_sum(LossKind kind, std::span<const double> q) noexcept {
    double smallest = std::numeric_limits<double>::infinity();
    for (const double margin : q) {
        if (std::isnan(margin)) return margin;
        smallest = std::min(smallest, margin);
    }
    // Both losses fall with q, so the smallest margin carries the largest term.
    const double largest = log_loss(kind, smallest);
    if (!std::isfinite(largest)) return largest;
    double sum = 0.0;
    for (const double margin : q) sum += std::exp(log_loss(kind, margin) - largest);
    return largest + std::log(sum);
}

double log_loss(LossKind kind, Reduction reduction, std::span<const double> q) noexcept {
    return log_loss_sum(kind, q) + std::log(reduction_factor(reduction, std::ssize(q)));
}

double reduction_factor(Reduction reduction, Index n) noexcept {
    return reduction == Reduction::mean ? 1.0 / static_cast<double>(n) : 1.0;
}

}  // namespace reluflow
