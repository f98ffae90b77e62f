/// Samples at rest that come free, and rest again: in between the run is the flow itself (docs/design/resting.md).
#include <algorithm>
#include <cmath>

#include "run/flow.hpp"

namespace reluflow {

namespace {

/// Samples at rest are free once their margins move so many times as fast as the tails could move them. Such a pull has
/// to be this part of that before samples count as at rest again.
constexpr double kFreeMotion = 10.0;
constexpr double kStillMotion = 0.1;
/// Motions of a margin are seen from so many tolerances of its terms on: what a step is off by is taken back at once.
constexpr double kSeenPart = 10.0;
/// Nor do samples keep roles once what the tails weigh is so many times their share.
constexpr double kMostTails = 2.0;

}  // namespace

void Flow::watch_rests() {
    watched_ = stepper_->expansion().margins();
    watched_for_ = 0.0;
}

/// How samples with these roles have moved since the watch began: how far θ went, at least, where their margins did,
/// and how far the tails could take it at most.
Flow::RestMotion Flow::motion_at_rest(const Resting& roles) {
    const Waveform& waveform = stepper_->waveform();
    const double terms = waveform.largest_norm() * stepper_->square();
    const double seen = kSeenPart * plan_.settings.rtol * terms;
    const Vector moved = (stepper_->expansion().margins() - watched_).cwiseAbs();
    const auto moves = [&](Index i) { return waveform.is_live(i) && roles.rests(i) && moved[i] > seen; };
    RestMotion motion;
    bool is_any = false;
    for (Index i = 0; i < data_.n(); ++i) is_any = is_any || moves(i);
    if (!is_any) return motion;
    stepper_->settle();
    const Index size = state_.neurons() * (state_.parameters.rank() + 1);
    Vector pull = Vector::Zero(size), gradient(size);
    double tails = 0.0;
    for (Index i = 0; i < data_.n(); ++i) {
        const bool is_tail = waveform.is_live(i) && !roles.rests(i);
        if (!is_tail && !moves(i)) continue;
        margin_gradient(i, gradient);
        if (is_tail) {
            const double weight = std::abs(waveform.signed_weights(0)[i]);
            tails += weight;
            pull += weight * gradient;
        } else if (const double norm = gradient.norm(); norm > 0.0) {
            motion.seen = std::max(motion.seen, moved[i] / norm);
        }
    }
    if (tails > 0.0) motion.by_tails = roles.share * pull.norm() / tails * watched_for_;
    return motion;
}

/// Samples at rest are held by each other, so that the tails alone move anything, and time is theirs. A neuron that has
/// crossed a boundary may set them free: then they move at their own pace, to where they rest again or for good, and
/// hardly any time passes meanwhile. That is the flow itself, in which the tails weigh nothing. The same holds once
/// the tails weigh more than their share, or no sample rests.
bool Flow::are_rests_free() {
    const Resting& roles = plan_.objective.resting;
    const double scale = roles.scales.maxCoeff();
    const bool outweigh = scale == 0.0 || stepper_->waveform().log_mass() + std::log(scale) > std::log(kMostTails);
    if (is_beside_rest() && outweigh) return true;
    const RestMotion motion = motion_at_rest(roles);
    if (motion.seen > kFreeMotion * motion.by_tails) return true;
    if (motion.seen > 0.0) watch_rests();
    return false;
}

/// Behind a part of the run beside samples at rest: true where samples have come to rest again, and have new roles.
/// Then the tails weigh less than the share that they will have, and that moves θ farther than it still moves.
bool Flow::rests_again() {
    double true_share = 0.0;
    const Resting roles = roles_by_gap(true_share);
    const bool can_rest = !roles.is_empty() && true_share < roles.share;
    const double seen = kSeenPart * plan_.settings.rtol;
    // Too early to tell: what the tails could move would not be seen.
    if (can_rest && kStillMotion * roles.share * stepper_->waveform().largest_norm() * watched_for_ < seen)
        return false;
    const RestMotion motion = can_rest ? motion_at_rest(roles) : RestMotion{};
    watch_rests();
    return can_rest && motion.seen <= kStillMotion * motion.by_tails && go_beside_rest();
}

/// Gives samples roles, or takes them, as they come to rest or free. False where that ends a leg, whose roles are
/// given from outside.
bool Flow::follow_rests() {
    if (plan_.objective.resting.is_empty() && std::isinf(stall_log_t_)) return true;
    if (watched_.size() == 0) watch_rests();
    watched_for_ += taken_;
    if (plan_.objective.resting.is_empty()) {
        if (can_go_beside_rest() && !stepper_->is_separated()) rests_again();
        return true;
    }
    if (!are_rests_free()) return true;
    free_log_t_ = state_.clock.log_t();
    if (!is_beside_rest()) {
        finish_roles();
        return false;
    }
    stepper_->settle();
    state_.offsets.setZero();
    take_roles({}, 0.0);
    return true;
}

}  // namespace reluflow
