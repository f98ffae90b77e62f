#include "reluflow/hits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reluflow {

namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
using ConstMap = Eigen::Map<const Vector>;

void negate(double* c, int order) noexcept {
    for (int k = 0; k <= order; ++k) c[k] = -c[k];
}

}  // namespace

HitFinder::HitFinder(const NeuronMotion& motion)
    : motion_(motion),
      coordinates_(motion.rank() * (kMaxOrder + 2)),
      multipliers_(motion.rank() * (kMaxOrder + 2)),
      work_(motion.rank()) {
    tangents_.reserve(motion.data().n_walls());
}

double HitFinder::zero_tol(double size) const noexcept {
    return kZeroUlps * kEps * size;
}

double HitFinder::rate_tol(double output) const noexcept {
    return kRateUlps * kEps * std::abs(output) * motion_.step() * motion_.waveform().mean_norm();
}

Hit HitFinder::first_wall(int piece, double end, std::span<const int> candidates, std::span<const std::int8_t> sides) {
    const double zero = zero_tol(motion_.sizes(piece)[0]);
    const double begin = motion_.piece(piece).begin;
    const auto tail = [&](double v) { return tail_bound(motion_.sizes(piece), motion_.order(), 2, v); };
    find_tangents(piece, candidates, sides);
    Hit hit;
    double limit = end - begin;
    double bend = tail(limit);
    for (const auto& tangent : tangents_) {
        if (tangent.value > zero && std::min(tangent.value, tangent.value + tangent.slope * limit) > bend) continue;
        const double root = first_descent_to(piece, tangent.wall, sides[tangent.wall], limit);
        if (root > limit) continue;
        if (begin + root < hit.u || (begin + root == hit.u && tangent.wall < hit.wall))
            hit = {begin + root, HitKind::wall, tangent.wall, 0, 0.0};
        limit = std::min(limit, root);
        bend = tail(limit);
    }
    return hit;
}

/// z and z' of the candidates. The one that seems to come first goes first: it bounds the search for the others.
void HitFinder::find_tangents(int piece, std::span<const int> candidates, std::span<const std::int8_t> sides) {
    tangents_.clear();
    const ConstMap start(motion_.w(piece), motion_.rank());
    const ConstMap rate(motion_.w(piece, 1), motion_.rank());
    const double size = motion_.sizes(piece)[0];
    double soonest = std::numeric_limits<double>::infinity();
    for (const int wall : candidates) {
        if (is_zero(sides[wall])) continue;
        const ConstMap normal(motion_.data().normals().row(wall).data(), motion_.rank());
        const double value = sides[wall] * normal.dot(start);
        const double slope = sides[wall] * normal.dot(rate);
        if (value < 0.0)
            worst_inconsistency_ = std::max(worst_inconsistency_, -value / (size + std::abs(motion_.a(piece)[0])));
        tangents_.push_back({wall, value, slope});
        if (value <= zero_tol(size) || slope >= 0.0 || value >= -slope * soonest) continue;
        soonest = value / -slope;
        std::swap(tangents_.front(), tangents_.back());
    }
}

/// When the piece reaches the wall from `side`, in time since its begin.
double HitFinder::first_descent_to(int piece, int wall, std::int8_t side, double limit) const {
    const int order = motion_.order();
    Coefficients c{};
    motion_.wall_series(piece, motion_.data().normals().row(wall).data(), c);
    if (side < 0) negate(c, order);
    if (c[0] <= zero_tol(motion_.sizes(piece)[0])) {  // standing on the wall it has just left
        c[0] = 0.0;
        if (std::abs(c[1]) <= rate_tol(motion_.a(piece)[0])) c[1] = 0.0;
    }
    return first_descent(c, order, limit);
}

Hit HitFinder::first_release(int piece, double end, const HeldSet& held, bool output_positive) {
    Hit hit;
    const int order = motion_.order() - 1;
    const Index rank = motion_.rank();
    const double begin = motion_.piece(piece).begin;
    const int count = held.size();
    for (int k = 0; k <= order; ++k) {
        std::copy_n(motion_.g(piece, k), rank, work_.data());
        held.project(work_.data(), coordinates_.data());
        held.multipliers(coordinates_.data(), multipliers_.data() + k * count);
    }
    const double noise = kRateUlps * kEps * motion_.waveform().mean_norm();
    Coefficients base{};
    Coefficients range{};
    Coefficients gap{};
    for (int h = 0; h < count; ++h) {
        const int wall = held.walls()[h];
        motion_.contribution_series(wall, begin, base, range);
        // A valley has a · range < 0, a ridge that a policy stays on has a · range > 0: μ in [0, 1] reads with the sign
        // of range.
        const double sign = range[0] > 0.0 ? 1.0 : (range[0] < 0.0 ? -1.0 : (output_positive ? -1.0 : 1.0));
        for (const std::int8_t side : {std::int8_t{-1}, std::int8_t{1}}) {
            double largest = 0.0;
            for (int k = 0; k <= order; ++k) {
                const double beta = multipliers_[k * count + h];
                gap[k] = sign * (side < 0 ? beta - base[k] : base[k] + range[k] - beta);
                largest = std::max(largest, std::abs(gap[k]));
            }
            if (largest <= noise) continue;  // at rest on the wall with a multiplier at the end of the box: a stop
            if (gap[0] <= noise) gap[0] = 0.0;
            const double root = first_descent(gap, order, std::min(end, hit.u) - begin);
            if (begin + root < hit.u && begin + root <= end)
                hit = {begin + root, HitKind::release, wall, side, std::abs(evaluate_derivative(gap, order, root))};
        }
    }
    return hit;
}

Hit HitFinder::output_sign_change(int piece, double end) const {
    const int order = motion_.order();
    Coefficients c{};
    std::copy_n(motion_.a(piece), order + 1, c);
    if (c[0] < 0.0 || (c[0] == 0.0 && c[1] < 0.0)) negate(c, order);
    const double begin = motion_.piece(piece).begin;
    if (c[0] <= zero_tol(motion_.sizes(piece)[0]) && c[1] > 0.0) c[0] = 0.0;
    const double root = first_descent(c, order, end - begin);
    if (root > end - begin) return {};
    return {begin + root, HitKind::output_sign, -1, 0, 0.0};
}

void HitFinder::walls_at_zero(const double* w, std::span<const int> candidates, std::span<const std::int8_t> sides,
                              std::vector<int>& zero) const {
    const ConstMap weights(w, motion_.rank());
    const double tolerance = zero_tol(weights.norm());
    for (const int wall : candidates) {
        if (is_zero(sides[wall]) || std::find(zero.begin(), zero.end(), wall) != zero.end()) continue;
        const ConstMap normal(motion_.data().normals().row(wall).data(), motion_.rank());
        if (std::abs(normal.dot(weights)) <= tolerance) zero.push_back(wall);
    }
}

}  // namespace reluflow
