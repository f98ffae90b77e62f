#include "base/status.hpp"

namespace reluflow {

std::string_view status_name(Status status) noexcept {
    switch (status) {
        case Status::running: return "running";
        case Status::reached_time: return "reached_time";
        case Status::reached_log_time: return "reached_log_time";
        case Status::reached_loss: return "reached_loss";
        case Status::reached_mean_loss: return "reached_mean_loss";
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

std::string_view status_sentence(Status status) noexcept {
    switch (status) {
        case Status::running: return "a checkpoint of a run under way";
        case Status::reached_time: return "the time of the stop was reached";
        case Status::reached_log_time: return "the log time of the stop was reached";
        case Status::reached_loss: return "the loss of the stop was reached";
        case Status::reached_mean_loss: return "the mean loss of the stop was reached";
        case Status::reached_direction: return "the direction turns less than the stop asks for";
        case Status::reached_log_norm: return "the norm of the stop was reached";
        case Status::reached_events: return "the number of events of the stop was reached";
        case Status::reached_gradient: return "the gradient has fallen to that of the stop";
        case Status::reached_steps: return "the number of steps of the stop was reached";
        case Status::reached_seconds: return "the wall-clock time of the stop was reached";
        case Status::stationary: return "nothing moves any more";
        case Status::max_events: return "max_events was reached";
        case Status::interrupted: return "interrupted; this is the solution so far";
        case Status::stopped_by_callback: return "the callback asked to stop";
        default: return status_name(status);
    }
}

bool is_success(Status status) noexcept {
    switch (status) {
        case Status::reached_time:
        case Status::reached_log_time:
        case Status::reached_loss:
        case Status::reached_mean_loss:
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
