// Crossings of one boundary at which nothing has to be decided: nearly all events.
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"
#include "two_layer/local_events.hpp"

namespace reluflow {

namespace {

using ConstMap = Eigen::Map<const Vector>;
/// Rates are above rounding by this factor at a crossing without a decision, so that one with it is the same.
constexpr double kFarFromRounding = 8.0;

}  // namespace

/// True, and the neuron is beyond the boundary, if it holds none, meets this one alone, and moves from one of its sides
/// to the other by the rates of both. `w_`, `a_` and the gradient are those at the hit.
bool LocalEvents::crosses(int neuron, const Hit& hit, std::span<const int> candidates) {
    if (hit.kind != HitKind::boundary || hit.rests || mode_.pattern().zeros(neuron) > 0 || data_.rank() == 1)
        return false;
    if (std::abs(a_) <= finder_.zero_tol(w_.norm())) return false;
    boundaries_.assign(1, hit.boundary);
    finder_.boundaries_at_zero(w_.data(), candidates, mode_.pattern().row(neuron), boundaries_);
    if (boundaries_.size() > 1) return false;

    const std::int8_t before = mode_.side(neuron, hit.boundary);
    const ConstMap normal(data_.normals().row(hit.boundary).data(), data_.rank());
    double below = 0.0;
    double above = 0.0;
    motion_.contribution_at(hit.boundary, hit.u, below, above);
    const double range = above - below;
    const double towards = a_ > 0.0 ? -before : before;
    const double rate = towards * normal.dot(ConstMap(motion_.gradient(), data_.rank()));
    const double rate_beyond = rate - towards * before * range;
    const double acting = motion_.patience() * largest_mean_norm_ + std::abs(below) + std::abs(range);
    const double rounding = kCornerUlps * std::numeric_limits<double>::epsilon() * acting;
    if (!(std::min({rate, rate_beyond, std::abs(range)}) > kFarFromRounding * rounding)) return false;
    if (motion_.is_owed(neuron) && !(std::min(rate, rate_beyond) > motion_.owed_norm(neuron))) return false;

    gradient_ = normal / std::sqrt(normal.dot(normal));  // what rounding left of z is removed
    w_ -= gradient_.dot(w_) * gradient_;
    const auto after = static_cast<std::int8_t>(-before);
    motion_.move_contribution(hit.boundary, hit.u, before, after);
    set_side(neuron, hit.boundary, hit.u, after, kind_of_change(before, after, false));
    parameters_.restore_invariant(neuron, w_.data(), a_);
    motion_.follow(motion_.last(neuron), hit.u, mode_.held(neuron), w_.data(), a_);
    return true;
}

}  // namespace reluflow
