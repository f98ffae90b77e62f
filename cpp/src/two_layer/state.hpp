/// The state of a run of two layers in one place: parameters, mode and clock.
#pragma once

#include <cstdint>

#include "hybrid/clock.hpp"
#include "hybrid/mode.hpp"
#include "two_layer/parameters.hpp"

namespace reluflow {

/// What a run goes on from. All else - groups, slopes, active samples, series, distances - is derived of it, and keeps
/// the version() that it is of. Where whole sectors are carried, the clock and the sums of the sectors go on while the
/// parameters stay those of an earlier step, until Stepper::settle(): ask is_current().
class State {
  public:
    State(const Dataset& data, const MatrixView& W, const VectorView& a, double leak, const Clock& start = Clock())
        : parameters(data, W, a, leak), mode(W.rows(), data), clock(start), offsets(data.targets()) {}

    Index neurons() const noexcept { return parameters.neurons(); }
    /// True when the parameters are those at the time of the clock.
    bool is_current() const noexcept { return steps_behind_ == 0; }
    /// Steps whose motion has been deferred.
    Index steps_behind() const noexcept { return steps_behind_; }
    /// The motion of a step is deferred; that of all deferred ones has been made.
    void defer() noexcept { ++steps_behind_; }
    void set_current() noexcept { steps_behind_ = 0; }

    /// Counts the changes of sides and of which neurons are at zero.
    std::uint64_t version() const noexcept { return mode.pattern().version() + parameters.sleep_changes(); }

    Parameters parameters;
    Mode mode;
    Clock clock;
    /// Subtracted from the stored margins before they make weights, (n,): the targets, and for labels zero unless the
    /// state is stored scaled (flow_scale.cpp).
    Vector offsets;

  private:
    Index steps_behind_ = 0;
};

}  // namespace reluflow
