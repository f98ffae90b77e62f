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

}  // namespace

MovingParts::MovingParts(Index rank, Index neurons)
    : rank_(rank),
      known_(neurons, Known::nothing),
      resting_(static_cast<std::size_t>(rank * neurons), 0),
      difference_(Vector::Zero(neurons)) {}

bool MovingParts::rests(Index neuron, Index k, ConstColumn w, ConstColumn end) const noexcept {
    return w[k] == end[k] && (known_[neuron] == Known::nothing || resting_[neuron * rank_ + k] != 0);
}

MovingParts::Part MovingParts::part_of(Index neuron, ConstColumn w, double a, double whole,
                                       ConstColumn end) const noexcept {
    Part part;
    if (known_[neuron] == Known::whole) return part;
    double resting = 0.0;
    double before = 0.0;
    double after = 0.0;
    double joined = 0.0;  // what has rested until now
    for (Index k = 0; k < rank_; ++k) {
        if (rests(neuron, k, w, end)) {
            resting += lifted_square(w[k]);
            continue;
        }
        before += lifted_square(w[k]);
        after += lifted_square(end[k]);
        if (known_[neuron] == Known::part && resting_[neuron * rank_ + k] != 0) joined += w[k] * w[k];
    }
    if (resting == 0.0) return part;
    part.is_whole = false;
    part.size = std::sqrt(after) / kLift;
    part.difference = known_[neuron] == Known::part
                          ? difference_[neuron] - joined
                          : difference_of(std::abs(a), std::sqrt(before) / kLift, whole, std::sqrt(resting) / kLift);
    return part;
}

bool MovingParts::restore(Index neuron, ConstColumn w, double a, double whole, Column end,
                          double& output) const noexcept {
    const ConstColumn moved{end.data, end.stride};
    const Part part = part_of(neuron, w, a, whole, moved);
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

void MovingParts::move(Index neuron, ConstColumn w, double a, double whole, ConstColumn end) noexcept {
    if (known_[neuron] == Known::whole) return;
    const Part part = part_of(neuron, w, a, whole, end);
    for (Index k = 0; k < rank_; ++k) resting_[neuron * rank_ + k] = rests(neuron, k, w, end) ? 1 : 0;
    known_[neuron] = part.is_whole ? Known::whole : Known::part;
    difference_[neuron] = part.difference;
}

}  // namespace reluflow
