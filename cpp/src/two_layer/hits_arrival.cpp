// How a neuron comes to a hit that has been found.
#include <algorithm>
#include <cmath>

#include "base/tolerances.hpp"
#include "two_layer/hits.hpp"
#include "two_layer/step_control.hpp"

namespace reluflow {

bool HitFinder::is_there(int piece, const Hit& hit, double u) const {
    if (hit.kind != HitKind::boundary || hit.rests) return false;
    Coefficients c{};
    motion_.boundary_series(piece, motion_.data().normals().row(hit.boundary).data(), c);
    const double zero = zero_tol(motion_.size(piece));
    return std::abs(c[0]) > zero && std::abs(evaluate(c, motion_.order(), u - motion_.piece(piece).begin)) <= zero;
}

/// By what part of a neuron one event of another may move it unseen.
double HitFinder::neglected() const noexcept {
    return kCouplingPart / kLatePart * motion_.state_error();
}

/// The series of the hit that was found last is still known. When a multiplier passes its end is known as well as the
/// weights are at that instant, and nothing makes up for it later.
Arrival HitFinder::arrival(int piece, const Hit& hit, std::span<const std::int8_t> sides) const {
    if (hit.kind == HitKind::output_sign)
        return {kNoRoot, beside_.doubt_of_output(piece, hit.u, output_rate_noise(piece, sides, hit.u))};
    if (hit.kind == HitKind::release && motion_.waveform().can_owe())
        return {kNoRoot, {.u = hit.u, .moved = neglected(), .distance = kNoRoot, .present = true}};
    if (hit.kind != HitKind::boundary || hit.rests) return {};
    Coefficients z;
    if (piece == hit_piece_ && hit.boundary == hit_boundary_)
        std::copy_n(hit_series_, motion_.order() + 1, z);
    else
        motion_.boundary_series(piece, motion_.data().normals().row(hit.boundary).data(), z);
    return {rate_across(piece, z, hit.u),
            beside_.doubt(piece, hit.boundary, sides[hit.boundary], z, hit.u, zero_tol(motion_.size(piece)))};
}

double HitFinder::rate_across(int piece, const Coefficients& z, double u) const {
    double moved = neglected();  // by what events of others do, at most
    if (motion_.waveform().can_owe()) moved = crowded(moved, kMostCrowd);
    if (std::abs(z[0]) > 2.0 * moved * (motion_.size(piece) + std::abs(motion_.a(piece)[0]))) return kNoRoot;
    const double size = std::hypot(motion_.size(piece), motion_.a(piece)[0]);  // a root that is seldom asked for
    if (std::abs(z[0]) > moved * size) return kNoRoot;
    return std::abs(evaluate_derivative(z, motion_.order(), u - motion_.piece(piece).begin)) / size;
}

}  // namespace reluflow
