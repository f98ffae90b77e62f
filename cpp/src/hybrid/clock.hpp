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
    /// The time e^log_amount later.
    Clock later_by_log(double log_amount) const noexcept;
    bool is_before(const Clock& other) const noexcept;
    /// (target - now) / e^log_unit; +inf when it overflows.
    double amount_to(const Clock& target, double log_unit) const noexcept;

  private:
    double t_ = 0.0;
    double carry_ = 0.0;  // what rounding took from t, so that thousands of steps add up exactly
    double log_t_;
};

}  // namespace reluflow
