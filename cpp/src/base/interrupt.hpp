/// A request to end the run that takes effect in the middle of a step: Ctrl-C, or a time limit.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace reluflow {

/// Thrown out of a loop that is interrupted. Not an error: whoever began the step catches it.
struct Abandoned {};

/// Asks periodically whether to go on. Only the thread of the run asks.
class Interrupt {
  public:
    using Ask = std::function<bool()>;
    /// Seconds between two calls of `ask`: short for a person at the keyboard, long beside the cost of the call, which
    /// may have to wait for Python's lock.
    static constexpr double kPeriod = 0.05;

    /// `ask` returns true when the step is to be abandoned; what it throws propagates through the loop.
    explicit Interrupt(Ask ask, double period = kPeriod) : ask_(std::move(ask)), period_(period), last_(Clock::now()) {}

    bool is_wanted() {
        const auto now = Clock::now();
        if (std::chrono::duration<double>(now - last_).count() < period_) return false;
        last_ = now;
        return ask_();
    }

  private:
    using Clock = std::chrono::steady_clock;

    Ask ask_;
    double period_;
    Clock::time_point last_;
};

}  // namespace reluflow
