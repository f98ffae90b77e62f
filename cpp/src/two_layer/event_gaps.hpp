/// How far a Radau step may come before an event ends it.
#pragma once

#include <cstddef>

namespace reluflow {

/// The gaps between events that end Radau steps, as the last of them were.
class EventGaps {
  public:
    /// Reports a step of this length, in which so many events, one after the other, would have ended a Radau step.
    /// `plain`: the length of an explicit step, below which all gaps are alike.
    void went(double length, std::ptrdiff_t events, double plain) noexcept;
    /// What a Radau step from here may keep of its length: the mean of the last gaps, or the present one where that is
    /// longer already. Infinite before the first event.
    double expected() const noexcept;

  private:
    double mean_ = 0.0;  // geometric; 0 before the first event
    double open_ = 0.0;  // since the last event
};

}  // namespace reluflow
