#include "two_layer/hits.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

constexpr double kEps = std::numeric_limits<double>::epsilon();
using ConstMap = Eigen::Map<const Vector>;

void negate(double* c, int order) noexcept {
    for (int k = 0; k <= order; ++k) c[k] = -c[k];
}

/// A neuron that samples hold beside a boundary, no more than this many times what counts as zero away, crosses it only
/// where it is seen to be beyond it.
constexpr double kSomeRoundings = 100.0;
/// A neuron beside a boundary comes towards it by more than this part of what counts as zero, or not at all.
constexpr double kComesNearer = 0.25;

/// The interval of a multiplier is {0} from `root` on, and the neuron leaves by what others pull: where the multiplier,
/// with this sign, falls below what is unknown. `gap` becomes its distance from that end.
void wait_for_pull(const double* multiplier, int stride, double sign, Coefficients& gap, int order, double unknown,
                   double length, double& root, double& seen) noexcept {
    for (int k = 0; k <= order; ++k) gap[k] = sign * multiplier[k * stride];
    const KnownFall pulled = known_fall(gap, order, unknown, length);
    root = std::max(root, pulled.at);
    seen = std::max(seen, pulled.seen);
}

}  // namespace

HitFinder::HitFinder(const NeuronMotion& motion, bool stands)
    : motion_(motion),
      signs_(motion),
      stands_(stands),
      slide_(motion, signs_, stands),
      beside_(motion),
      multipliers_(motion.rank() * (kMaxOrder + 2)),
      work_(motion.rank() * (kMaxOrder + 2)) {
    tangents_.resize(motion.data().n_boundaries() + 1);
    met_.reserve(motion.data().n_boundaries());
}

double HitFinder::zero_tol(double size) const noexcept {
    return kZeroUlps * kEps * size;
}

double HitFinder::rate_tol(int piece) const noexcept {
    const double most = std::abs(motion_.a(piece)[0]) * motion_.step() * motion_.waveform().mean_norm();
    return (motion_.patience() * kRateUlps * kEps + motion_.weight_error()) * most;
}

/// With ŵ the direction of the neuron at the begin of a piece, z is z / |w| times the part of w along ŵ, so that growth
/// alone brings no boundary nearer, and what the part across ŵ adds. Of that the first order is known and the others
/// bend it by no more than their sum.
class HitFinder::Clearance {
  public:
    Clearance(const NeuronMotion& motion, int piece, double zero, double rate_zero)
        : along_(motion.along(piece)),
          across_(motion.across(piece)),
          order_(motion.order()),
          zero_(zero),
          rate_zero_(rate_zero) {}

    void set_limit(double limit) noexcept {
        limit_ = limit;
        kept_ = 1.0 - fall_bound(along_, order_, limit) / along_[0];
        bend_ = tail_bound(across_, order_, 2, limit) + zero_;
        lifted_ = limit * along_[1] / along_[0];
    }
    double limit() const noexcept { return limit_; }
    /// True for a boundary that stays away.
    bool rules_out(const Tangent& tangent) const noexcept {
        const double aside = limit_ * tangent.slope - lifted_ * tangent.value;
        return (tangent.value > zero_) & (kept_ * tangent.value + std::min(0.0, aside) > bend_);
    }
    /// True for a boundary that the neuron stands on and leaves for good.
    bool is_left(const Tangent& tangent) const noexcept {
        if (tangent.value > zero_ || tangent.slope <= rate_zero_ || along_[0] == 0.0) return false;
        const double growth = std::abs(tangent.value) / along_[0] * tail_bound(along_, order_, 2, limit_);
        return tangent.slope * limit_ > bend_ + growth;
    }

  private:
    const double* along_;
    const double* across_;
    int order_;
    double zero_;
    double rate_zero_;
    double limit_ = 0.0;
    double kept_ = 0.0;    // at least, of the part along, as a part of |w|
    double bend_ = 0.0;    // at most, by the higher orders across, and what counts as zero
    double lifted_ = 0.0;  // the first order along, as a part of |w|
};

Hit HitFinder::first_boundary(int piece, double end, std::span<const NearBoundary> candidates,
                              std::span<const std::int8_t> sides) {
    const double begin = motion_.piece(piece).begin;
    Clearance clearance(motion_, piece, zero_tol(motion_.size(piece)), rate_tol(piece));
    clearance.set_limit(end - begin);
    Hit hit;
    hit_piece_ = -1;
    Coefficients z;
    for (const auto& tangent : find_tangents(piece, candidates, sides, clearance)) {
        if (clearance.rules_out(tangent) || clearance.is_left(tangent)) continue;
        motion_.boundary_series(piece, motion_.data().normals().row(tangent.boundary).data(), z);
        const KnownFall root = first_descent_to(piece, tangent.boundary, z, sides, clearance.limit());
        if (root.at > clearance.limit()) continue;
        if (begin + root.at < hit.u || (begin + root.at == hit.u && tangent.boundary < hit.boundary)) {
            hit = {begin + root.at, HitKind::boundary, tangent.boundary, 0, 0.0, true, begin + root.seen, root.rests};
            hit_piece_ = piece;
            hit_boundary_ = tangent.boundary;
            std::copy_n(z, motion_.order() + 1, hit_series_);
        }
        clearance.set_limit(root.at);
    }
    return hit;
}

/// z and z' of the candidates that are not ruled out, towards the boundary; which are is not foretold by a branch. The
/// one that seems to come first goes first: it bounds the search for the others.
std::span<const HitFinder::Tangent> HitFinder::find_tangents(int piece, std::span<const NearBoundary> candidates,
                                                             std::span<const std::int8_t> sides,
                                                             const Clearance& clearance) {
    std::size_t count = 0;
    double least = 0.0;
    for (const auto& [boundary, z, slope] : candidates) {
        const double side = sides[boundary];
        Tangent& tangent = tangents_[count];
        tangent = {boundary, side * z, side * slope};
        least = std::min(least, tangent.value);
        count += clearance.rules_out(tangent) ? 0 : 1;
    }
    if (least < 0.0)
        worst_inconsistency_ =
            std::max(worst_inconsistency_, -least / (motion_.size(piece) + std::abs(motion_.a(piece)[0])));
    met_.clear();
    double soonest = std::numeric_limits<double>::infinity();
    const double zero = zero_tol(motion_.size(piece));
    for (std::size_t i = 0; i < count; ++i) {
        const Tangent tangent = tangents_[i];
        met_.push_back(tangent.boundary);
        if (tangent.value <= zero || tangent.slope >= 0.0 || tangent.value >= -tangent.slope * soonest) continue;
        soonest = tangent.value / -tangent.slope;
        std::swap(tangents_.front(), tangents_[i]);
    }
    return {tangents_.data(), count};
}

/// When the piece, with this series of z, reaches the boundary from the neuron's side of it, in time since its begin.
KnownFall HitFinder::first_descent_to(int piece, int boundary, const Coefficients& series,
                                      std::span<const std::int8_t> sides, double limit) const {
    Coefficients c;
    std::copy_n(series, motion_.order() + 1, c);
    if (sides[boundary] < 0) negate(c, motion_.order());
    const double zero = zero_tol(motion_.size(piece));
    const HeldBeside::Hold hold = beside_.hold(piece, boundary, sides, limit, zero);
    if (beside_.comes_to_rest(piece, boundary, c, hold)) return {0.0, 0.0, true};
    const double hardly_off = hold.noise > 0.0 ? kSomeRoundings * hold.zero : zero;
    if (c[0] <= hardly_off) {  // or on the boundary that it has just left
        const double known = c[0];
        if (known <= zero) c[0] = 0.0;
        // A rate within what is not known of it: back to the boundary it is none; away from it, the neuron comes back
        // later, if at all. Then higher orders may be rounding, too, and it crosses where it is beyond that.
        if (std::abs(c[1]) <= rate_tol(piece) && is_unknown(c[1], piece, boundary, sides)) {
            const KnownFall across = c[1] < 0.0 ? drift_across(piece, known, c, limit) : KnownFall{};
            c[1] = std::max(c[1], 0.0);
            // Truncation takes nothing across: it has to be beyond by more than what that may make of it.
            for (double beyond = hold.zero;; beyond = 2.0 * beyond + drifted(piece)) {
                const KnownFall fall = leave_boundary(c, beyond, limit);
                if (fall.at > std::min(limit, across.at)) return across;
                if (!beside_.is_unknown(c, fall.seen, beyond)) return fall;
            }
        }
    }
    const double root = first_descent(c, motion_.order(), limit);
    // A distance of some roundings that falls for ever, as a hold by samples makes it, comes to zero by rounding.
    if (root <= limit && c[0] > 0.0 && c[0] <= kSomeRoundings * hold.zero) return leave_boundary(c, hold.zero, limit);
    return {root, root};
}

/// When a neuron near a boundary is beyond it by more than what counts as zero. Where the series does not know that
/// well, it is not across before: it may never be.
KnownFall HitFinder::leave_boundary(const Coefficients& c, double zero, double limit) const {
    KnownFall descent = known_fall(c, motion_.order(), zero, limit);
    if (descent.at <= limit && beside_.is_unknown(c, descent.seen, zero)) descent.at = descent.seen;
    return descent;
}

/// When a neuron that goes back to the boundary it has just left, at a rate that counts as none, has come so far beyond
/// it over several steps, or one that is long, that it is across. Not before the series knows that: the last terms of a
/// step that is longer than a hold allows are rounding made large. `distance`: at the begin, which c has as zero.
KnownFall HitFinder::drift_across(int piece, double distance, const Coefficients& c, double limit) const {
    Coefficients drift;
    std::copy_n(c, motion_.order() + 1, drift);
    if (drift[0] == 0.0) drift[0] = std::min(distance, 0.0);
    const KnownFall fall = known_fall(drift, motion_.order(), drifted(piece), limit);
    return fall.at > limit || beside_.is_unknown(drift, fall.seen, drifted(piece)) ? KnownFall{} : fall;
}

/// What acts on the neuron may be far less than what acts on others: its own rates are compared with that. Where the
/// boundary is at a small angle to those that it slides along, what is unknown of the gradient shows in its rate by
/// that sine.
bool HitFinder::is_unknown(double rate, int piece, int boundary, std::span<const std::int8_t> sides) const {
    const double weight = motion_.acting_weight(sides, motion_.piece(piece).begin);
    const double sine = motion_.piece(piece).held->length_outside(motion_.data().normals().row(boundary).data());
    const double unknown =
        kRateUlps * kEps * weight + sine * (motion_.acting_error(weight) + motion_.missed_weight(sides));
    return std::abs(rate) <= unknown * std::abs(motion_.a(piece)[0]) * motion_.step();
}

Hit HitFinder::first_release(int piece, double end, const SlidingSet& held, std::span<const std::int8_t> sides,
                             bool output_positive) {
    if (held.dependent().empty()) return first_release_of_independent(piece, end, held, sides, output_positive);
    const double weight = motion_.acting_weight(sides, motion_.piece(piece).begin);
    const Leave leave = slide_.first_leave(piece, end, held, output_positive, weight);
    if (leave.boundary < 0) return {};
    return {leave.u, HitKind::release, leave.boundary, leave.side, leave.jump, false, leave.seen};
}

const WayOut& HitFinder::find_way_out(const Mode& mode, int neuron) {
    const int piece = motion_.last(neuron);
    const double weight = motion_.acting_weight(mode.pattern().row(neuron), motion_.piece(piece).begin);
    slide_.first_leave(piece, 1.0, mode.held(neuron), motion_.output_positive(piece), weight);
    return slide_.way_out();
}

/// The series of the multipliers of independent boundaries, one after another in each order.
void HitFinder::expand_multipliers(int piece, const SlidingSet& held) {
    std::copy_n(motion_.g(piece), motion_.order() * motion_.rank(), work_.data());
    held.project(work_.data(), motion_.order(), multipliers_.data());
    for (int k = 0; k < motion_.order(); ++k) held.multipliers(multipliers_.data() + k * held.size());
}

Hit HitFinder::first_release_of_independent(int piece, double end, const SlidingSet& held,
                                            std::span<const std::int8_t> sides, bool output_positive) {
    Hit hit;
    const int order = motion_.order() - 1;
    const double begin = motion_.piece(piece).begin;
    const int count = held.size();
    expand_multipliers(piece, held);
    PullNoise noise;  // asked for where a multiplier may leave
    const double length = end - begin;
    Coefficients below{}, above{}, range{}, gap{};
    for (int h = 0; h < count; ++h) {
        const int boundary = held.boundaries()[h];
        motion_.contribution_series(boundary, begin, below, above);
        for (int k = 0; k <= order; ++k) range[k] = above[k] - below[k];
        if (std::abs(range[0]) < std::abs(range[1]) * length && noise.rounding == 0.0)
            noise = pull_noise(count, sides, begin);
        const double sign = interval_sign(range, length, noise.rounding, output_positive);
        for (const std::int8_t side : {std::int8_t{-1}, std::int8_t{1}}) {
            for (int k = 0; k <= order; ++k)
                gap[k] = sign * side * ((side < 0 ? below[k] : above[k]) - multipliers_[k * count + h]);
            if (std::min(gap[0], gap[0] + gap[1] * length) > tail_bound(gap, order, 2, length)) continue;
            if (noise.rounding == 0.0) noise = pull_noise(count, sides, begin);
            const double answered = beside_.held_pull(piece, boundary, side, zero_tol(motion_.size(piece)));
            const double condition = held.condition(h, work_.data());
            const double unknown = condition * (noise.rounding + noise.weights) + answered;
            const double held_at = condition * (condition * noise.rounding + noise.weights);
            if (gap[0] < -unknown && gap[0] >= -held_at) gap[0] = 0.0;
            auto [root, seen, rests] = known_fall(gap, order, unknown, length);
            if (root <= length && is_taken_back(motion_, piece, gap, order, unknown, length)) continue;
            const bool is_shut = root <= length && is_closed(boundary, begin + seen, sign, unknown);
            if (is_shut && sign * signs_.of(boundary).value_or(-sign) >= 0.0)  // attracts, so that it cannot repel
                wait_for_pull(multipliers_.data() + h, count, -side * sign, gap, order, unknown, length, root, seen);
            if (motion_.waveform().is_prescribed()) root = known_leave(root, seen, length);
            if (begin + root >= hit.u) continue;
            // The rate on the side of a repelling boundary whose end is reached turns towards it: to the other one.
            const bool repels = sign == (output_positive ? 1.0 : -1.0);
            hit = {begin + root,
                   HitKind::release,
                   boundary,
                   repels ? static_cast<std::int8_t>(-side) : side,
                   repels ? kUnknownJump : jump_on_leaving(gap, order, root),
                   !repels && !is_closed(boundary, begin + root, sign, unknown),
                   begin + seen};
        }
    }
    if (hit.kind == HitKind::release && count > 1) hit.alone = hit.alone && is_alone(hit, held, begin, noise);
    return hit;
}

/// The sign with which μ in [0, 1] reads: an attracting boundary has a · range < 0, a repelling one that a policy
/// stays on has a · range > 0. Where the range begins at zero, to rounding, its sign is the one that it comes to have:
/// read from the value, the neuron left an interval that opens, again and again at one instant. Without that policy a
/// neuron slides on attracting boundaries alone, and on those whose range is too small to tell. Where it passes zero,
/// or comes to be known, the boundary may repel: the interval is then that of an attracting one, less than nothing.
double HitFinder::interval_sign(const Coefficients& range, double length, double rounding, bool output_positive) const {
    const double attracting = output_positive ? -1.0 : 1.0;
    if (!stands_) return attracting;
    const bool opens = std::abs(range[0]) <= rounding && std::abs(range[0]) < std::abs(range[1]) * length;
    const double begins = opens ? range[1] : range[0];
    if (begins == 0.0) return attracting;
    return begins > 0.0 ? 1.0 : -1.0;
}

/// True where the interval of a multiplier has shrunk to less than nothing, or to a point where what its samples add up
/// to can pass zero (errors, or both labels at one place): the boundary repels from then on.
bool HitFinder::is_closed(int boundary, double u, double sign, double unknown) const {
    const bool can_turn = motion_.waveform().is_linear() || motion_.data().samples_of(boundary).size() > 1;
    double below = 0.0;
    double above = 0.0;
    motion_.contribution_at(boundary, u, below, above);
    return sign * (above - below) <= (can_turn ? 2.0 * unknown : 0.0);
}

/// A corner that holds may leave twice its tolerance.
HitFinder::PullNoise HitFinder::pull_noise(int count, std::span<const std::int8_t> sides, double u) const {
    double taken = 0.0;
    for (int h = 0; h < count; ++h) taken += std::abs(multipliers_[h]);
    const double acting = motion_.acting_weight(sides, u);
    return {2.0 * kCornerUlps * kEps * (taken + acting), 2.0 * motion_.acting_error(acting)};
}

/// False when another multiplier is at an end of its interval at the instant of a release: they decide together.
bool HitFinder::is_alone(const Hit& release, const SlidingSet& held, double begin, const PullNoise& noise) {
    const int order = motion_.order() - 1;
    const int count = held.size();
    for (int h = 0; h < count; ++h) {
        const int boundary = held.boundaries()[h];
        if (boundary == release.boundary) continue;
        double beta = multipliers_[order * count + h];
        for (int k = order - 1; k >= 0; --k) beta = beta * (release.u - begin) + multipliers_[k * count + h];
        double below = 0.0;
        double above = 0.0;
        motion_.contribution_at(boundary, release.u, below, above);
        const double inside = std::min(beta - std::min(below, above), std::max(below, above) - beta);
        if (inside <= noise.rounding + held.condition(h, work_.data()) * noise.weights) return false;
    }
    return true;
}

/// What the rate of an output weight is known to until u: rounding of the pulls that add up to it.
double HitFinder::output_rate_noise(int piece, std::span<const std::int8_t> sides, double u) const {
    return kCornerUlps * kEps * motion_.acting_rate(piece, sides, u) * motion_.step();
}

/// Where its samples balance at a = 0 (both labels at one place) the output weight falls for ever, below what rounding
/// of their weights moves it by: one that passes zero at no known rate has not, until it is beyond by more than that.
Hit HitFinder::output_sign_change(int piece, double end, std::span<const std::int8_t> sides, bool waits) const {
    const int order = motion_.order();
    Coefficients c{};
    std::copy_n(motion_.a(piece), order + 1, c);
    if (waits) {
        const bool moves = std::any_of(c, c + order + 1, [](double one) { return one != 0.0; });
        return moves ? Hit{motion_.piece(piece).begin, HitKind::output_sign, -1, 0, 0.0, true} : Hit{};
    }
    if (c[0] < 0.0 || (c[0] == 0.0 && c[1] < 0.0)) negate(c, order);
    const double begin = motion_.piece(piece).begin;
    if (c[0] <= zero_tol(motion_.size(piece)) && c[1] > 0.0) c[0] = 0.0;
    double root = first_descent(c, order, end - begin);
    if (root > end - begin) return {};
    const double noise = output_rate_noise(piece, sides, end);
    if (std::abs(evaluate_derivative(c, order, root)) <= noise) {
        root = known_fall(c, order, noise * (end - begin), end - begin).seen;
        if (root > end - begin) return {};
    }
    return {begin + root, HitKind::output_sign, -1, 0, 0.0, true};
}

/// Directions tend to points where boundaries meet, and z / |w| falls below rounding beside all of them. When the flow
/// then takes the neuron across one, it is on its side of the others still: rounding alone makes a corner of them.
bool HitFinder::stays_beside(int piece, int boundary, std::int8_t side, const Hit& hit) const {
    const double begin = motion_.piece(piece).begin;
    if (side == 0 || hit.seen <= begin) return false;
    const int order = motion_.order();
    Coefficients c{};
    motion_.boundary_series(piece, motion_.data().normals().row(boundary).data(), c);
    const double zero = zero_tol(motion_.size(piece));
    if (side * c[0] > zero) return false;  // it has come from farther away
    c[0] = 0.0;
    return side * evaluate(c, order, hit.seen - begin) >= -kComesNearer * zero;
}

void HitFinder::boundaries_at_zero(const double* w, std::span<const int> candidates, std::span<const std::int8_t> sides,
                                   std::vector<int>& zero) const {
    const ConstMap weights(w, motion_.rank());
    const double tolerance = zero_tol(weights.norm());
    for (const int boundary : candidates) {
        if (sides[boundary] == 0) continue;
        const ConstMap normal(motion_.data().normals().row(boundary).data(), motion_.rank());
        if (std::abs(normal.dot(weights)) > tolerance) continue;
        if (std::find(zero.begin(), zero.end(), boundary) == zero.end()) zero.push_back(boundary);
    }
}

}  // namespace reluflow
