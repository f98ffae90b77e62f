/// The callback of a long run, and Ctrl-C in it. The run releases the GIL; the gate takes it back now and then.
#pragma once

#include <pybind11/pybind11.h>

#include <chrono>
#include <utility>

#include "reluflow/observer.hpp"

namespace reluflow::bindings {

namespace py = pybind11;

class HookGate {
  public:
    /// Often enough for a progress bar and for Ctrl-C, seldom enough to cost nothing.
    static constexpr double kPeriod = 0.1;

    /// `hook` is None or callable(report) -> truthy to stop.
    /// It is called at most once in `period` seconds.
    explicit HookGate(py::object hook, double period = kPeriod)
        : hook_(std::move(hook)), period_(period), last_(Clock::now()), start_(last_) {}

    /// Seconds since the gate was made.
    double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

    /// To be called often and without the GIL. Every period it looks for Ctrl-C and gives the hook `make_report()`,
    /// which runs with the GIL held. An exception of the hook goes through; a KeyboardInterrupt becomes a request.
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
        try {
            if (PyErr_CheckSignals() != 0) throw py::error_already_set();
            if (hook_.is_none()) return Request::go_on;
            return py::bool_(hook_(make_report())) ? Request::stop : Request::go_on;
        } catch (py::error_already_set& error) {
            if (error.matches(PyExc_KeyboardInterrupt)) return Request::interrupt;
            throw;
        }
    }

    py::object hook_;
    double period_;
    Clock::time_point last_;
    Clock::time_point start_;
};

}  // namespace reluflow::bindings
