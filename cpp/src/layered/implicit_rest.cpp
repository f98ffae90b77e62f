/// Whether a state stands: the part of ImplicitStep that tells rest from motion.
#include "layered/dual_rounding.hpp"
#include "layered/implicit_step.hpp"

namespace reluflow::layered {
namespace {

/// What grows more slowly than this part of the fastest decay does not grow.
constexpr double kFlat = 1e-8;

}  // namespace

// What slides shares the rounding of its multipliers with its block.
bool ImplicitStep::stands() {
    if (!has_modes_ || growth() > kFlat * fastest() || !evaluate(without_what_falls(), false)) return false;
    const Vector velocity = jet_.theta(1);
    const Vector rounding = rounding_of_velocity();
    const Vector moved = largest_by_block(velocity);
    if ((moved - largest_by_block(rounding)).maxCoeff() <= 0.0) return true;
    const Vector hidden = rounding + DualRounding::of_velocity(jet_);
    return (moved - largest_by_block(hidden)).maxCoeff() <= 0.0 && is_near(velocity);
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
