/// Where rounding hides what a flow still does: the part of LayeredFlow that ends a run that leads nowhere any more.
#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/tolerances.hpp"
#include "layered/dual_rounding.hpp"
#include "run/layered_flow.hpp"

namespace reluflow::layered {
namespace {

/// An explicit step that is shorter than this part of what truncation allows is limited by something else.
constexpr double kShortened = 0.75;
/// Steps between two looks at what rounding does, and looks, an even number, until a run may be lost.
constexpr int kStepsPerLook = 25;
constexpr int kLooks = 20;
/// So many fine steps count as one: they are far shorter for a while.
constexpr int kFineSteps = 8;
/// Rounding limits a step in which it may move θ by this part of the tolerance.
constexpr double kLimits = 0.01;
/// So many more steps of the same length are as good as never.
constexpr double kFarBeyond = 1e4;
/// By so much the logarithm of the velocity, as a part of its terms, has to change from the first half of the looks to
/// the second. With less it takes ten thousand steps to come from 1e-9 to rounding.
constexpr double kLeadsOn = 0.5;
/// The rounding of a velocity, as a part of the sum of its terms, and what rounding of outputs makes of that.
constexpr double kVelocityRounding = 4 * 2.2e-16;
constexpr double kRateRounding = 1e-14;
/// The part that is left of a velocity is seen down to this.
constexpr double kLeastPart = 1e-20;
/// A dual of the squared loss below so many times its rounding is nothing else.
constexpr double kFittedRoundings = 8.0;
/// An output is zero below this part of its terms, or rtol.
constexpr double kNothing = 1e-14;

}  // namespace

// Where the weights of samples cancel in the gradient its rounding limits steps: none may move θ by more than the
// tolerance by it. To a far time that takes steps without end. The run is over once several hundred of them in a row,
// with no event between, have changed hardly anything of how far velocities cancel.
void LayeredFlow::watch_rounding(double u, double longest) {
    if (is_late_ || jet_.duals().decays()) return;
    ++crawl_.steps;
    const bool is_short = is_implicit_ ? implicit_.is_limited_by_rounding() : u < kShortened * longest;
    crawl_.limited += is_short ? 1 : 0;
    if (is_short && crawl_.limited == 1 && is_lost_by_rounding(u * jet_.span()) && is_over()) {  // before θ drifts
        pending_ = Status::stationary;
        return;
    }
    if (crawl_.steps < (fine_ > 0 ? kFineSteps : 1) * kStepsPerLook) return;
    const bool is_limited = 2 * crawl_.limited >= crawl_.steps;
    crawl_.steps = crawl_.limited = 0;
    if (!is_limited || !is_lost_by_rounding(u * jet_.span())) {
        crawl_ = {};
        return;
    }
    const double part = probe_.theta(1).norm() / probe_.velocity_terms().norm();
    double& sum = crawl_.looks < kLooks / 2 ? crawl_.first : crawl_.second;
    sum += std::log(std::max(part, kLeastPart)) / (kLooks / 2);
    if (++crawl_.looks < kLooks) return;
    const bool leads_on = std::abs(crawl_.second - crawl_.first) > kLeadsOn;
    crawl_ = {};
    if (leads_on) return;
    finish(Status::stalled, "the loss stalls " + at_log_time() +
                                ": the weights of samples cancel in its gradient, and what is left of it is known to "
                                "so few digits that steps lead nowhere; ask for an earlier time");
}

// Whether the time that is left takes far too many steps of this length, and rounding may move θ in each by a part of
// the tolerance that matters. The probe is at the present state then.
bool LayeredFlow::is_lost_by_rounding(double length) {
    if (!(state_.clock.amount_to(time_stop(), jet_.duals().log_unit()) > kFarBeyond * length)) return false;
    probed_ = false;
    probe_.start(state_.theta, state_.activity, 1.0, false);
    if (!probe_.advance()) return false;
    sizes_of_units_.take(state_.theta);
    const Vector hidden = kVelocityRounding * probe_.velocity_terms() + DualRounding::of_velocity(probe_);
    return sizes_of_units_.part(hidden) * length >= kLimits * tolerance();
}

// Whether velocities are rounding, and all samples are fitted or all outputs zero: to rounding, or to such a part of
// their terms that θ hardly moves on the way there. Then they hide nothing. The probe is at the present state.
bool LayeredFlow::is_over() const {
    const Vector hidden = kRateRounding * probe_.velocity_terms() + DualRounding::of_velocity(probe_);
    if ((probe_.theta(1).cwiseAbs() - hidden).maxCoeff() > 0.0) return false;
    const DualSeries& duals = probe_.duals();
    if (duals.loss() == Loss::squared && are_below(duals.dual(0), kFittedRoundings * DualRounding::of_duals(probe_)))
        return true;
    const double part = std::max(kNothing, plan_.settings.rtol);
    return are_below(probe_.outputs(), part * DualRounding::terms_of_outputs(probe_));
}

// On all samples that move anything.
bool LayeredFlow::are_below(const Matrix& values, const Matrix& bounds) const {
    for (Index i = 0; i < values.rows(); ++i)
        if (!probe_.is_idle(i) && (values.row(i).cwiseAbs() - bounds.row(i)).maxCoeff() > 0.0) return false;
    return true;
}

}  // namespace reluflow::layered
