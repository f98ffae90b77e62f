/// Whether a state stands: the part of ImplicitStep that tells rest from motion.
#include <cmath>
#include <limits>
#include <utility>

#include "layered/dual_rounding.hpp"
#include "layered/implicit_step.hpp"

namespace reluflow::layered {
namespace {

/// What grows more slowly than this part of the fastest decay does not grow.
constexpr double kFlat = 1e-8;
/// Modes that were found where the flow was this much faster may tell of growth that is over.
constexpr double kSlower = 0.1;
/// What is near its end still comes nearer if its velocity falls by such a factor from one look to the next.
constexpr double kFalls = 2.0;
constexpr double kNever = std::numeric_limits<double>::infinity();

}  // namespace

// What slides shares the rounding of its multipliers with its block.
bool ImplicitStep::stands(Interrupt& interrupt) {
    if (!has_modes_) return false;
    const bool is_old = velocity_.norm() < kSlower * scale_ * modes_.speed;
    if (growth() > kFlat * fastest() && !(is_old && find_modes(theta_, interrupt))) return false;
    if (growth() > kFlat * fastest() || !evaluate(without_what_falls(), false)) return false;
    const Vector velocity = jet_.theta(1);
    const Vector rounding = rounding_of_velocity();
    const Vector moved = largest_by_block(velocity);
    if ((moved - largest_by_block(rounding)).maxCoeff() <= 0.0) return true;
    const Vector hidden = rounding + DualRounding::of_velocity(jet_);
    if ((moved - largest_by_block(hidden)).maxCoeff() <= 0.0 && is_near(velocity)) return true;
    const bool is_near_its_end = has_come(velocity, hidden);
    const double speed = std::exp(-log_unit_) * velocity_.norm();
    const double before = std::exchange(come_at_, is_near_its_end ? speed : kNever);
    return is_near_its_end && before <= kFalls * speed;
}

// Whether each direction that decays ends nearer than the tolerance of its block, and what moves along the others is
// rounding. Steps leave the former errors, which decay and are made again: velocities fall no longer, and never are
// rounding.
bool ImplicitStep::has_come(const Vector& velocity, const Vector& rounding) const {
    const double flat = kFlat * fastest();
    const Vector hidden = modes_.all.vectors.cwiseAbs().transpose() * rounding;
    Vector left = modes_.all.vectors.transpose() * velocity;
    for (Index m = 0; m < left.size(); ++m) {
        const double rate = -scale_ * modes_.all.values[m];
        if (rate <= flat && std::abs(left[m]) > hidden[m]) return false;
        left[m] = rate > flat ? left[m] / rate : 0.0;
    }
    const Vector nearest = largest_by_block(modes_.all.vectors * left);
    return (nearest - tolerance_ * largest_by_block(theta_)).maxCoeff() <= 0.0;
}

// A block that cannot be seen beside the others and falls in all directions does so for ever: without it they may
// stand. With weight decay all falls that nothing holds, and a run is over when nothing does.
Vector ImplicitStep::without_what_falls() const {
    if (jet_.duals().decays()) return theta_;
    const Vector sizes = largest_by_block(theta_);
    std::vector<char> falls(static_cast<std::size_t>(modes_.blocks), 1);
    for (Index g = 0; g < theta_.size(); ++g)
        if (scale_ * modes_.all.values[g] > -kFlat * fastest()) falls[modes_.block[g]] = 0;
    Vector rest = theta_;
    for (Index g = 0; g < rest.size(); ++g)
        if (falls[modes_.block[g]] != 0 && sizes[modes_.block[g]] <= tolerance_ * size_) rest[g] = 0.0;
    return rest;
}

// Whether what a velocity leads to, as each direction decays, is nearer than the tolerance. The rounding of duals is a
// bound, which is far above what a velocity that has come to it is made of.
bool ImplicitStep::is_near(const Vector& velocity) const {
    const double flat = kFlat * fastest();
    Vector left = modes_.all.vectors.transpose() * velocity;
    for (Index m = 0; m < left.size(); ++m) {
        const double rate = scale_ * std::abs(modes_.all.values[m]);
        left[m] = rate > flat ? left[m] / rate : 0.0;
    }
    return largest(modes_.all.vectors * left) <= tolerance_ * size_;
}

void ImplicitStep::stand(Jet& jet, double length) const {
    jet.start(theta_, *activity_, length);
    jet.follow({theta_}, {start_duals_}, {start_multipliers_}, 1, {});
}

}  // namespace reluflow::layered
