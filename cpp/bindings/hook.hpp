/// The callback of a long run, its checkpoints, and Ctrl-C. The run releases the GIL and takes it back periodically.
#pragma once

#include <pybind11/pybind11.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/observer.hpp"

namespace reluflow::bindings {

namespace py = pybind11;

/// Handles pending signals, then calls `body`; with the GIL. A KeyboardInterrupt becomes a request; any other exception
/// propagates.
template <class Body>
Request heeding_signals(const Body& body) {
    try {
        if (PyErr_CheckSignals() != 0) throw py::error_already_set();
        return body();
    } catch (py::error_already_set& error) {
        if (error.matches(PyExc_KeyboardInterrupt)) return Request::interrupt;
        throw;
    }
}

/// Checks for Ctrl-C inside a step, and calls `is_over`, None or callable() -> truthy to end. To be called seldom and
/// without the GIL.
inline Request look_for_signals(const py::object& is_over) {
    const py::gil_scoped_acquire gil;
    return heeding_signals(
        [&] { return !is_over.is_none() && py::bool_(is_over()) ? Request::interrupt : Request::go_on; });
}

/// The same without anything to call. No Python object is touched before the GIL is held.
inline Request look_for_signals() {
    const py::gil_scoped_acquire gil;
    return heeding_signals([] { return Request::go_on; });
}

class HookGate {
  public:
    /// Often enough for a progress bar and for Ctrl-C, seldom enough to cost nothing.
    static constexpr double kPeriod = 0.1;

    /// `hook` is None or callable(report) -> truthy to stop.
    /// It is called at most once in `period` seconds, of which it has `waited` some already.
    explicit HookGate(py::object hook, double period = kPeriod, double waited = 0.0)
        : hook_(std::move(hook)),
          period_(period),
          last_(Clock::now() - std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(waited))),
          start_(Clock::now()) {}

    /// Seconds since the gate was made.
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

    /// To be called often and without the GIL. Once a period it checks for Ctrl-C and passes `make_report()` to the
    /// hook, with the GIL. An exception of the hook propagates; a KeyboardInterrupt becomes a request.
    template <class MakeReport>
    Request ask(const MakeReport& make_report) {
        const auto now = Clock::now();
        if (std::chrono::duration<double>(now - last_).count() < period_) return Request::go_on;
        const py::gil_scoped_acquire gil;
        const Request request = call(make_report);
        last_ = Clock::now();
        return request;
    }

  private:
    using Clock = std::chrono::steady_clock;

    template <class MakeReport>
    Request call(const MakeReport& make_report) {
        return heeding_signals([&] {
            if (hook_.is_none()) return Request::go_on;
            return py::bool_(hook_(make_report())) ? Request::stop : Request::go_on;
        });
    }

    py::object hook_;
    double period_;
    Clock::time_point last_;
    Clock::time_point start_;
};

/// Passes the run so far to `keep` every `period` seconds.
class Keeper {
  public:
    /// `keep` is None or callable(result).
    Keeper(py::object keep, double period) : keep_(std::move(keep)), period_(period), next_(after(period)) {}

    /// To be called without the GIL; `make_result()` is called without it, `translate` with it.
    template <class MakeResult, class Translate>
    Request offer(const MakeResult& make_result, const Translate& translate) {
        if (keep_.is_none()) return Request::go_on;
        const auto began = Clock::now();
        if (began < next_) return Request::go_on;
        auto result = make_result();
        const py::gil_scoped_acquire gil;
        const Request request = heeding_signals([&] {
            keep_(translate(std::move(result)));
            return Request::go_on;
        });
        const std::chrono::duration<double> taken = Clock::now() - began;
        next_ = after(std::max(period_, kShare * taken.count()));
        return request;
    }

  private:
    using Clock = std::chrono::steady_clock;
    /// Checkpoints take at most 1/20 of the time of a run.
    static constexpr double kShare = 20.0;

    static Clock::time_point after(double seconds) {
        return Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    }

    py::object keep_;
    double period_;
    Clock::time_point next_;
};

}  // namespace reluflow::bindings
