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
    if (known_[neuron] != Known::part) return;
    const Part part = part_of(neuron, w, end);
    for (Index k = 0; k < rank_; ++k) resting_[neuron * rank_ + k] = rests(neuron, k, w, end) ? 1 : 0;
    if (part.is_whole) known_[neuron] = Known::whole;
    difference_[neuron] = part.difference;
}

}  // namespace reluflow
