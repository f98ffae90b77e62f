#include "hybrid/clock.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reluflow {

namespace {

/// Beyond this log t the time is near the largest double (e^709); only its logarithm is kept.
constexpr double kLargestLog = 690.0;
/// Below this one it is near the smallest (e^-745), as where an exponential weight is e^1385; times that early are told
/// apart by their logarithms alone.
constexpr double kSmallestLog = -690.0;

/// Whether the later of two times is one that doubles hold.
bool fits(double log_t) noexcept {
    return kSmallestLog < log_t && log_t < kLargestLog;
}

double log_add(double a, double b) noexcept {
    const double high = std::max(a, b);
    const double low = std::min(a, b);
    return std::isinf(high) ? high : high + std::log1p(std::exp(low - high));
}

}  // namespace

Clock::Clock(double t) noexcept : t_(t), log_t_(std::log(t)) {}

Clock Clock::at_log(double log_t) noexcept {
    Clock clock(std::exp(log_t));
    clock.log_t_ = log_t;
    return clock;
}

Clock Clock::later(double amount, double log_unit) const noexcept {
    Clock next = *this;
    if (amount == 0.0) return next;
    const double log_amount = log_unit + std::log(amount);
    if (fits(std::max(log_t_, log_amount))) {
        const double sum = amount * std::exp(log_unit) + carry_;
        next.t_ = t_ + sum;
        next.carry_ = sum - (next.t_ - t_);
        next.log_t_ = std::log(next.t_);
        return next;
    }
    next.log_t_ = log_add(log_t_, log_amount);
    next.t_ = std::exp(next.log_t_);
    next.carry_ = 0.0;
    return next;
}

Clock Clock::later_by_log(double log_amount) const noexcept {
    return fits(log_amount) ? later(std::exp(log_amount), 0.0) : later(1.0, log_amount);
}

bool Clock::is_before(const Clock& other) const noexcept {
    return fits(std::max(log_t_, other.log_t_)) ? t_ < other.t_ : log_t_ < other.log_t_;
}

double Clock::amount_to(const Clock& target, double log_unit) const noexcept {
    if (std::isinf(target.log_t_) && target.log_t_ > 0.0) return target.log_t_;
    if (fits(std::max(target.log_t_, log_t_)) && -log_unit < kLargestLog)
        return ((target.t_ - t_) - carry_) * std::exp(-log_unit);
    if (target.log_t_ == log_t_) return 0.0;
    return std::exp(target.log_t_ - log_unit) * -std::expm1(log_t_ - target.log_t_);
}

}  // namespace reluflow
