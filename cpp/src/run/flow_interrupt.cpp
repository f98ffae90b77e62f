/// Ending a run inside a step.
#include "run/flow.hpp"

namespace reluflow {

/// Tries a step; false if the run is over. An abandoned step leaves everything as after the last accepted one.
bool Flow::attempt() {
    try {
        if (stepper_.attempt(largest_step())) return true;
        finish_non_finite();
    } catch (const Abandoned&) {  // ends_inside_step() has set the status
    }
    return false;
}

bool Flow::ends_inside_step() {
    if (seconds() >= plan_.stop.seconds) {
        finish(Status::reached_seconds, "");
        return true;
    }
    return plan_.urgent && end_by(plan_.urgent());
}

bool Flow::end_by(Request request) {
    if (request == Request::stop) finish(Status::stopped_by_callback, "the callback asked to stop");
    if (request == Request::interrupt) finish(Status::interrupted, "interrupted; this is the solution so far");
    return request != Request::go_on;
}

}  // namespace reluflow
