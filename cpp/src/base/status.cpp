#include "base/status.hpp"

namespace reluflow {

std::string_view status_name(Status status) noexcept {
    switch (status) {
        case Status::running: return "running";
        case Status::reached_time: return "reached_time";
        case Status::reached_log_time: return "reached_log_time";
        case Status::reached_loss: return "reached_loss";
        case Status::reached_direction: return "reached_direction";
        case Status::reached_log_norm: return "reached_log_norm";
        case Status::reached_events: return "reached_events";
        case Status::reached_gradient: return "reached_gradient";
        case Status::reached_steps: return "reached_steps";
        case Status::reached_seconds: return "reached_seconds";
        case Status::stationary: return "stationary";
        case Status::stalled: return "stalled";
        case Status::max_events: return "max_events";
        case Status::branch: return "branch";
        case Status::interrupted: return "interrupted";
        case Status::stopped_by_callback: return "stopped_by_callback";
        case Status::undecided_event: return "undecided_event";
        case Status::accuracy_not_reached: return "accuracy_not_reached";
        case Status::non_finite: return "non_finite";
    }
    return "unknown";
}

bool is_success(Status status) noexcept {
    switch (status) {
        case Status::reached_time:
        case Status::reached_log_time:
        case Status::reached_loss:
        case Status::reached_direction:
        case Status::reached_log_norm:
        case Status::reached_events:
        case Status::reached_gradient:
        case Status::reached_steps:
        case Status::reached_seconds:
        case Status::stationary: return true;
        default: return false;
    }
}

}  // namespace reluflow
