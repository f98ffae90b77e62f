/// How a run ended. Numerical outcomes are statuses with a message, not exceptions.
#pragma once

#include <string_view>

namespace reluflow {

enum class Status {
    running,
    reached_time,
    reached_log_time,
    reached_loss,
    reached_mean_loss,
    reached_direction,
    reached_log_norm,
    reached_events,
    reached_gradient,
    reached_steps,
    reached_seconds,
    stationary,
    stalled,
    max_events,
    branch,
    interrupted,
    stopped_by_callback,
    undecided_event,
    accuracy_not_reached,
    non_finite,
};

/// The name Python sees.
std::string_view status_name(Status status) noexcept;

/// A sentence that says it, for a run that has no more to say.
std::string_view status_sentence(Status status) noexcept;

/// True when the run ended the way the caller asked for, or at rest.
bool is_success(Status status) noexcept;

}  // namespace reluflow
