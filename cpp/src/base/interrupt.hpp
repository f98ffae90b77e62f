/// A wish to end that is heard in the middle of a step: Ctrl-C, or a limit of time.
#pragma once

#include <chrono>
#include <functional>
#include <utility>

namespace reluflow {

/// Thrown out of a loop that is given up. It is no error: whoever began the step catches it.
struct Abandoned {};

/// Asks now and then whether to go on. One thread asks, that of the run.
class Interrupt {
  public:
    using Ask = std::function<bool()>;
    /// Seconds between two questions: a person at the keyboard waits no longer, and a question, which may have to wait
    /// for Python's lock, costs nothing beside it.
    static constexpr double kPeriod = 0.05;

    /// `ask` returns true when the step is to be given up; what it throws goes through the loop.
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
