/// How a run hears, inside a step too, that it is to end.
#include "run/flow.hpp"

namespace reluflow {

/// False when the run is over. A step that is given up leaves everything as the last accepted one left it.
bool Flow::attempt() {
    try {
        if (stepper_.attempt(largest_step())) return true;
        finish_non_finite();
    } catch (const Abandoned&) {  // ends_inside_step() has said why
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
