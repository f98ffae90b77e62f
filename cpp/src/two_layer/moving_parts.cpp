#include "two_layer/moving_parts.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

/// Numbers are multiplied by this before they are squared: those that count beside others are above 1e-290.
constexpr double kLift = 1e140;

double lifted_square(double number) noexcept {
    return (kLift * number) * (kLift * number);
}

/// a² - |w_M|² of the norms, or of the difference of all and what rests, whichever rounding leaves more digits of; what
/// rounding leaves of zero is zero.
double difference_of(double a, double moving, double whole, double resting) noexcept {
    const double scale = std::max(std::abs(whole), resting * resting);
    const bool by_norms = a * a < scale;
    const double difference = by_norms ? (a - moving) * (a + moving) : whole + resting * resting;
    const double noise = kBalanceUlps * std::numeric_limits<double>::epsilon() * std::min(a * a, scale);
    return std::abs(difference) <= noise ? 0.0 : difference;
}

/// Rounding moves the part at rest by less than this part of the neuron, and other samples that act on it by more.
constexpr double kStill = 1e-10;

}  // namespace

MovingParts::MovingParts(Index rank, Index neurons)
    : rank_(rank),
      known_(neurons, Known::nothing),
      resting_(static_cast<std::size_t>(rank * neurons), 0),
      basis_(static_cast<std::size_t>(neurons)),
      difference_(Vector::Zero(neurons)) {}

bool MovingParts::rests(Index neuron, Index k, ConstColumn w, ConstColumn end) const noexcept {
    return resting_[neuron * rank_ + k] != 0 && w[k] == end[k];
}

void MovingParts::begin(Index neuron, ConstColumn w, double a, double whole,
                        const std::vector<std::uint8_t>& acts) noexcept {
    double resting = 0.0;
    double moving = 0.0;
    for (Index k = 0; k < rank_; ++k) {
        resting_[neuron * rank_ + k] = acts[k] == 0 ? 1 : 0;
        (acts[k] == 0 ? resting : moving) += lifted_square(w[k]);
    }
    known_[neuron] = resting > 0.0 ? Known::part : Known::whole;
    difference_[neuron] = difference_of(std::abs(a), std::sqrt(moving) / kLift, whole, std::sqrt(resting) / kLift);
}

Index MovingParts::shares_of(Index neuron, ConstColumn v, Shares& shares) const noexcept {
    const Numbers& basis = basis_[static_cast<std::size_t>(neuron)];
    const Index count = std::ssize(basis) / rank_;
    shares.fill(0.0);
    for (Index i = 0; i < count; ++i)
        for (Index k = 0; k < rank_; ++k) shares[i] += basis[i * rank_ + k] * v[k];
    return count;
}

/// Coordinate k of the vector with these shares.
double MovingParts::along(Index neuron, Index count, const Shares& shares, Index k) const noexcept {
    double sum = 0.0;
    for (Index i = 0; i < count; ++i) sum += shares[i] * basis_[static_cast<std::size_t>(neuron)][i * rank_ + k];
    return sum;
}

void MovingParts::begin_in_span(Index neuron, ConstColumn w, double a, std::span<const double> basis) {
    basis_[static_cast<std::size_t>(neuron)].assign(basis.begin(), basis.end());
    Shares shares;
    const Index count = shares_of(neuron, w, shares);
    double resting = 0.0;
    double whole = 0.0;
    for (Index k = 0; k < rank_; ++k) {
        resting = std::max(resting, std::abs(w[k] - along(neuron, count, shares, k)));
        whole = std::hypot(whole, w[k]);
    }
    constexpr double kEps = std::numeric_limits<double>::epsilon();
    known_[neuron] = resting > kRestingUlps * kEps * whole ? Known::span : Known::whole;
    const double moving = Eigen::Map<const Vector>(shares.data(), count).stableNorm();
    const double difference = (std::abs(a) - moving) * (std::abs(a) + moving);
    const double noise = kBalanceUlps * kEps * std::abs(a) * std::hypot(a, whole);  // w tells its part to that
    difference_[neuron] = std::abs(difference) <= noise ? 0.0 : difference;
}

/// False where other samples have moved the neuron since.
bool MovingParts::stays_in_span(Index neuron, ConstColumn w, ConstColumn end) const noexcept {
    Shares before;
    Shares after;
    const Index count = shares_of(neuron, w, before);
    shares_of(neuron, end, after);
    for (Index i = 0; i < count; ++i) after[i] -= before[i];
    double moved = 0.0;
    double largest = 0.0;
    for (Index k = 0; k < rank_; ++k) {
        moved = std::max(moved, std::abs(end[k] - w[k] - along(neuron, count, after, k)));
        largest = std::max({largest, std::abs(w[k]), std::abs(end[k])});
    }
    return moved <= kStill * largest;
}

bool MovingParts::restore_in_span(Index neuron, ConstColumn w, Column end, double& output) const noexcept {
    const ConstColumn moved{end.data, end.stride};
    if (!stays_in_span(neuron, w, moved)) return false;
    Shares shares;
    const Index count = shares_of(neuron, moved, shares);
    const double size = Eigen::Map<const Vector>(shares.data(), count).stableNorm();
    const double difference = difference_[neuron];
    if (difference >= 0.0) {
        output = std::copysign(std::hypot(size, std::sqrt(difference)), output);
    } else if (size > 0.0) {
        const double factor = std::hypot(output, std::sqrt(-difference)) / size;
        for (Index k = 0; k < rank_; ++k) end[k] += (factor - 1.0) * along(neuron, count, shares, k);
    }
    return true;
}

MovingParts::Part MovingParts::part_of(Index neuron, ConstColumn w, ConstColumn end) const noexcept {
    Part part;
    if (known_[neuron] != Known::part) return part;
    double after = 0.0;
    part.difference = difference_[neuron];
    for (Index k = 0; k < rank_; ++k) {
        if (rests(neuron, k, w, end)) {
            part.is_whole = part.is_whole && w[k] == 0.0;
            continue;
        }
        after += lifted_square(end[k]);
        if (resting_[neuron * rank_ + k] != 0) part.difference -= w[k] * w[k];
    }
    part.size = std::sqrt(after) / kLift;
    return part;
}

bool MovingParts::restore(Index neuron, ConstColumn w, Column end, double& output) const noexcept {
    if (known_[neuron] == Known::span) return restore_in_span(neuron, w, end, output);
    const ConstColumn moved{end.data, end.stride};
    const Part part = part_of(neuron, w, moved);
    if (part.is_whole) return false;
    if (part.difference >= 0.0) {
        output = std::copysign(std::hypot(part.size, std::sqrt(part.difference)), output);
    } else if (part.size > 0.0) {
        const double factor = std::hypot(output, std::sqrt(-part.difference)) / part.size;
        for (Index k = 0; k < rank_; ++k)
            if (!rests(neuron, k, w, moved)) end[k] *= factor;
    }
    return true;
}

void MovingParts::move(Index neuron, ConstColumn w, ConstColumn end) noexcept {
    if (known_[neuron] == Known::span && !stays_in_span(neuron, w, end)) known_[neuron] = Known::whole;
    if (known_[neuron] != Known::part) return;
    const Part part = part_of(neuron, w, end);
    for (Index k = 0; k < rank_; ++k) resting_[neuron * rank_ + k] = rests(neuron, k, w, end) ? 1 : 0;
    if (part.is_whole) known_[neuron] = Known::whole;
    difference_[neuron] = part.difference;
}

}  // namespace reluflow
