/// Time along a run: t while it fits a double, log t always.
#pragma once

namespace reluflow {

class Clock {
  public:
    explicit Clock(double t = 0.0) noexcept;
    static Clock at_log(double log_t) noexcept;

    double t() const noexcept { return t_; }
    double log_t() const noexcept { return log_t_; }

    /// The time `amount` · e^log_unit later.
    Clock later(double amount, double log_unit) const noexcept;
    /// (target - now) / e^log_unit; +inf when it overflows.
    double amount_to(double target, double log_unit) const noexcept;
    double amount_to_log(double log_target, double log_unit) const noexcept;

  private:
    double t_ = 0.0;
    double carry_ = 0.0;  // what rounding took from t, so that thousands of steps add up exactly
    double log_t_;
};

}  // namespace reluflow
