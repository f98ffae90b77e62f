/// Late steps: the part of LayeredFlow that takes them where explicit steps follow weights alone.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "numeric/bracket.hpp"
#include "numeric/polynomial.hpp"
#include "run/layered_flow.hpp"

namespace reluflow::layered {
namespace {

/// A step that is cut is solved again so that its end is a node, where its unknowns are those of the network; a little
/// beyond, so that the cut stays inside.
constexpr double kBeyond = 1e-9;
constexpr int kMostCuts = 3;
/// A cut so near the end is at the end.
constexpr double kAtEnd = 1e-6;
/// A late or implicit step with an event before this part of it is left to explicit steps.
constexpr double kLeastPart = 1e-6;
/// Rounding of the logarithm of a loss.
constexpr double kLossRounding = 1e-12;
/// A pre-activation may be on the wrong side by this part of its layer's largest.
constexpr double kMisplacedLate = 1e-5;

}  // namespace

// Late steps need a clock of their own and weights that fall for ever; a stop by the gradient, which is read where
// steps begin, needs short ones.
bool LayeredFlow::may_go_late() const {
    const DualSeries& duals = jet_.duals();
    return duals.has_own_clock() && !duals.decays() && plan_.stop.gradient <= 0.0 && pace_.wants();
}

// Takes the place of an explicit expansion: true if the jet holds a late step, which ends at u.
bool LayeredFlow::go_late(double& u) {
    is_late_ = false;
    if (!may_go_late()) return false;
    if (!late_.start(jet_, state_.theta, state_.activity)) return leave_late();
    const double plain = pace_.plain(late_.stiffness());
    contacts_.clear();
    pending_ = Status::running;
    try {
        while (pace_.wants()) {
            is_late_ = late_.expand(jet_, pace_.propose(plain), interrupt_);
            const double order = std::max(plain_order_, 1);
            pace_.tried(is_late_, late_.next_length(), late_.work() / (order * order), plain);
            if (is_late_) break;
        }
        if (is_late_ && cut_late(u) && is_accurate_late(u)) return true;
    } catch (const Abandoned&) {
        is_late_ = false;
        return false;
    }
    if (is_late_) pace_.leave();
    return leave_late();
}

bool LayeredFlow::leave_late() {
    is_late_ = false;
    late_.interrupt();
    return leave_long_step();
}

// An explicit expansion comes next. Always false.
bool LayeredFlow::leave_long_step() {
    contacts_.clear();
    pending_ = Status::running;
    jet_.start(state_.theta, state_.activity, span_);
    return false;
}

double LayeredFlow::end_of_late_step() {
    contacts_.clear();
    pending_ = Status::running;
    const double event = search_.find(jet_, 1.0, joint_, contacts_);
    const double first = std::min(event, 1.0);
    const double end = end_by_norm(end_by_loss(end_by_time(first)));
    if (end < event) contacts_.clear();
    return end;
}

bool LayeredFlow::cut_late(double& u) {
    return cut_long_step(
        u, [this] { return end_of_late_step(); },
        [this](double part) { return late_.shorten(jet_, part, interrupt_); });
}

// Where `end` says that the step ends before it is over, it is taken `again` for this part. What an event passes by
// more than errors of the step may do so behind this part alone: it is met at the end then.
bool LayeredFlow::cut_long_step(double& u, const std::function<double()>& end,
                                const std::function<bool(double)>& again) {
    u = end();
    std::vector<Contact> met;
    for (int cut = 0; cut < kMostCuts && u < 1.0 - kAtEnd; ++cut) {
        met = contacts_;
        if (u < kLeastPart || !again(u * (1.0 + kBeyond))) return false;
        u = end();
    }
    if (u >= 1.0 && contacts_.empty() && pending_ == Status::running) contacts_ = std::move(met);
    return u >= kLeastPart;
}

// The step's own check has compared its weights with those of its margins. Here the series meets the network: the
// velocity with these weights at the end, the sides there, and the loss.
bool LayeredFlow::is_accurate_late(double u) {
    jet_.theta_at(u, end_);
    probed_ = false;
    if (!end_.allFinite()) return false;
    balance_.restore(end_, clock_at(u).t());
    if (!balance_.are_followed(state_.theta, end_, {})) return false;
    jet_.rate_at(u, rate_);
    multipliers_.clear();
    for (int b = 0; b < jet_.sliding().count(); ++b)
        multipliers_.push_back(evaluate(jet_.sliding().multiplier(b).data(), jet_.order() - 1, u));
    probe_.start(end_, state_.activity, jet_.span(), false);
    if (probe_.misplaced() > kMisplacedLate) return false;
    log_loss_at_end_ = probe_.duals().log_loss(probe_.outputs());
    late_.weights_at(u, late_weights_);
    probe_.prescribe(late_weights_);
    velocity_.resize(end_.size());
    probe_.velocity(multipliers_.data(), velocity_);
    log_gradient_at_end_ = std::log(velocity_.norm() / jet_.span()) + late_.log_mass_at(u) - jet_.duals().log_factor();
    const double defect = (rate_ - velocity_).cwiseAbs().maxCoeff();
    if (!(defect <= plan_.settings.rtol * largest(end_) + 1e-14 * largest(velocity_))) return false;
    return log_loss_at_end_ <= log_loss_ + kLossRounding * std::max(1.0, std::abs(log_loss_));
}

Clock LayeredFlow::late_clock_at(double u) {
    return u == 0.0 ? state_.clock : state_.clock.later_by_log(late_.log_time_at(u));
}

double LayeredFlow::reach_late(const Clock& target, double end) {
    if (!state_.clock.is_before(target)) return 0.0;
    if (late_clock_at(end).log_t() < target.log_t()) return kNoRoot;
    const auto miss = [&](double u) {  // d log t / du = H / (D t)
        const double now = late_clock_at(u).log_t();
        const double rate = std::log(late_.span()) + jet_.duals().log_factor() - late_.log_mass_at(u) - now;
        return std::pair{now - target.log_t(), std::exp(rate)};
    };
    const double rounding = 4.0 * std::numeric_limits<double>::epsilon() * end;
    return newton_inside({0.0, end}, 0.5 * end, miss, [=](double) { return rounding; });
}

// Behind a late step explicit steps are shorter as weights answer faster, like |∇q|².
void LayeredFlow::commit_late(double u, double log_loss_before, double size_before) {
    log_gradient_ = log_gradient_at_end_;
    pace_.taken(u * late_.length());
    const double norm = state_.theta.norm() / size_before;
    const double loss = log_loss_ / log_loss_before;
    if (std::isfinite(loss) && loss > 1.0) span_ *= norm * norm / (loss * loss);
    if (u < 1.0 - kAtEnd || !contacts_.empty() || pending_ != Status::running) late_.interrupt();
}

// Explicit steps say how long truncation lets them be.
void LayeredFlow::report_plain(double u, double size_before) {
    const double longest = allowed(jet_.order());
    const double length = std::isfinite(longest) ? longest : u;
    pace_.plain_step_taken(rate_at_start_ * length / size_before);
    implicit_pace_.plain_step_taken(length * jet_.span());
    plain_order_ = jet_.order();
}

}  // namespace reluflow::layered
