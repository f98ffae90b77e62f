/// Implicit steps: the part of LayeredFlow that takes them where curvature alone limits explicit steps.
#include <cmath>

#include "run/layered_flow.hpp"

namespace reluflow::layered {
namespace {

/// A step to the time of the stop is a little longer, so that the stop is inside.
constexpr double kBeyond = 1e-9;
/// Modes of more parameters take too long to find.
constexpr Index kMostParameters = 1000;
/// A pre-activation may be on the wrong side by this part of its layer's largest.
constexpr double kMisplaced = 1e-5;

}  // namespace

bool LayeredFlow::may_go_implicit() const {
    return status_ == Status::running && implicit_pace_.wants() && state_.theta.size() <= kMostParameters &&
           state_.activity.zeros().empty();
}

// Takes the place of an explicit expansion: true if the jet holds an implicit step, which ends at u.
bool LayeredFlow::go_implicit(double& u) {
    is_implicit_ = false;
    if (!may_go_implicit()) return false;
    if (!implicit_.start(state_.theta, state_.activity)) return leave_implicit();
    const double plain = implicit_pace_.plain(1.0);
    if (implicit_.velocity() * plain > LatePace::kStiffLength * state_.theta.norm()) return leave_implicit();
    try {
        const bool is_stiff = implicit_.is_stiff(plain, interrupt_);
        // Rounding may keep explicit steps shorter than any direction does.
        if (implicit_.stands(interrupt_)) return stand(u);
        if (!is_stiff) {
            implicit_pace_.put_off();
            return leave_implicit();
        }
        while (implicit_pace_.wants()) {
            is_implicit_ = implicit_.expand(jet_, implicit_pace_.propose(plain), false, interrupt_);
            const double order = std::max(plain_order_, 1);
            implicit_pace_.tried(is_implicit_, implicit_.next_length(), implicit_.work() / (order * order), plain);
            if (is_implicit_) break;
        }
        if (is_implicit_ && cut_implicit(u)) {
            // What is nearer to a boundary than such steps know cuts all of them: explicit ones know more.
            if (contacts_.empty() && pending_ == Status::running && u * implicit_.length() < plain) {
                implicit_pace_.put_off();
                return leave_implicit();
            }
            if (is_accurate_implicit(u)) return true;
        }
    } catch (const Abandoned&) {
        is_implicit_ = false;
        return false;
    }
    if (is_implicit_) implicit_pace_.leave();
    return leave_implicit();
}

// At rest the time of the stop is one step away; without one, or with decay, the run is over. Events would be those of
// rounding.
bool LayeredFlow::stand(double& u) {
    if (finish_unseen()) return false;
    const double left = state_.clock.amount_to(time_stop(), jet_.duals().log_unit());
    if (!std::isfinite(left) || jet_.duals().decays()) {
        rest();
        return false;
    }
    implicit_.stand(jet_, left * (1.0 + kBeyond));
    is_implicit_ = true;
    contacts_.clear();
    pending_ = Status::running;
    u = end_by_time(1.0);
    is_accurate_implicit(u);
    return true;
}

bool LayeredFlow::leave_implicit() {
    is_implicit_ = false;
    return leave_long_step();
}

// What ends the step may be what slides being let go, which is decided by what is left of duals: it is solved again as
// well as it can be.
bool LayeredFlow::cut_implicit(double& u) {
    return cut_long_step(
        u, [this] { return end_of_step(1.0); },
        [this](double part) { return implicit_.expand(jet_, implicit_.length() * part, true, interrupt_); });
}

// The step's own check has compared its polynomials with velocities. Here its end meets the network: sides and loss.
bool LayeredFlow::is_accurate_implicit(double u) {
    jet_.theta_at(u, end_);
    probed_ = false;
    if (!end_.allFinite()) return false;
    balance_.restore(end_, clock_at(u).t());
    if (!balance_.are_followed(state_.theta, end_, {})) return false;
    rate_at_start_ = implicit_.velocity() * jet_.span();
    probe_.start(end_, state_.activity, jet_.span(), false);
    if (probe_.misplaced() > kMisplaced) return false;
    log_loss_at_end_ = probe_.duals().log_loss(probe_.outputs());
    return has_fallen() || !rises_within();
}

void LayeredFlow::commit_implicit(double u) {
    implicit_.taken();
    implicit_pace_.taken(u * implicit_.length());
    pace_.other_step_taken(u * implicit_.length() * implicit_.velocity() / state_.theta.norm());
}

}  // namespace reluflow::layered
