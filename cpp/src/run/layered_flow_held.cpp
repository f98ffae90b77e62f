/// What slides stays on its boundaries: the part of LayeredFlow that puts it back there.
#include <algorithm>
#include <cmath>

#include "run/layered_flow.hpp"

namespace reluflow::layered {
namespace {

/// What slides is put back on its boundary where z is more than this part of its terms. It matters from 1e-3 or so on.
constexpr double kOffBoundary = 1e-6;
/// Or more than this part of what velocities are of their terms: what is off a boundary drives what reads it for ever.
constexpr double kOffOfVelocity = 1e-2;
/// Some tens of roundings of a sum: z below this part of its terms is zero.
constexpr double kOffByRounding = 1e-14;

}  // namespace

// What slides is off its boundary by the tolerance, or by the rounding of its start. Where θ decays, or a unit by its
// samples, that would be more and more of it, and what pulls it off would be taken for a reason to leave. Where the
// terms of velocities cancel, what it sends on for the zero that it should be is all that is left of them.
void LayeredFlow::put_on_boundaries() {
    if (jet_.sliding().empty() || jet_.order() < 1) return;
    if (!jet_.duals().decays()) {
        if (!contacts_.empty()) return;
        const double off = off_boundaries();
        if (off <= kOffByRounding) return;
        if (off <= kOffBoundary && off * jet_.velocity_terms().norm() <= kOffOfVelocity * jet_.theta(1).norm()) return;
    }
    put_back(state_.theta);
}

// The largest z of what slides, as a part of its terms.
double LayeredFlow::off_boundaries() {
    pre_activations(*graph_, *X_, state_.theta, z_);
    double most = 0.0;
    for (int b = 0; b < jet_.sliding().count(); ++b) {
        const Member* carrier = jet_.sliding().carrier(b);
        if (carrier == nullptr) continue;
        const Place& p = carrier->place;
        const double z = std::abs(z_[p.node](p.sample, p.unit));
        if (z > 0.0) most = std::max(most, z / jet_.terms(p));
    }
    return most;
}

// Along the normals there: along those of the begin of the step what has fallen to a part since would fall short. What
// is off by more than steps may miss is so for other reasons, or its normals are all but nothing.
void LayeredFlow::put_back(Vector& theta) {
    pre_activations(*graph_, *X_, theta, z_);
    probed_ = false;
    probe_.start(theta, state_.activity, span_, false);
    if (!probe_.advance()) return;
    const SlidingSeries& sliding = probe_.sliding();
    Vector offsets = Vector::Zero(sliding.count());
    for (int b = 0; b < sliding.count(); ++b)
        if (const Member* carrier = sliding.carrier(b); carrier != nullptr)
            offsets[b] = carrier->carry * z_[carrier->place.node](carrier->place.sample, carrier->place.unit);
    const Vector shift = sliding.shift_by(offsets);
    if (largest(shift) <= plan_.settings.rtol * largest(theta)) theta -= shift;
}

}  // namespace reluflow::layered
