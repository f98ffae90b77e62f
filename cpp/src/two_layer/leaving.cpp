#include "two_layer/leaving.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

namespace {

/// What a late step leaves of an excess that it takes back, and at how many points the excess is looked at. One for
/// which a neuron leaves grows.
constexpr double kTakenBack = 0.75;
constexpr int kLooks = 16;

}  // namespace

KnownFall known_fall(const double* gap, int order, double noise, double end) noexcept {
    Coefficients c{};
    std::copy_n(gap, order + 1, c);
    c[0] += noise;
    if (c[0] < 0.0) return {0.0, 0.0};
    const double beyond = first_descent(c, order, end);
    if (beyond > end) return {};
    shift_origin(c, order, beyond);  // the last zero before that is the first one on the way back
    for (int k = 2; k <= order; k += 2) c[k] = -c[k];
    c[0] = noise;
    const double back = first_descent(c, order, beyond);
    return {back <= beyond ? beyond - back : 0.0, beyond};
}

double jump_on_leaving(const double* gap, int order, double u) noexcept {
    const double rate = std::abs(evaluate_derivative(gap, order, u));
    return rate / 3.0 + (u > 0.0 ? 0.0 : std::max(0.0, -gap[0]));
}

bool is_taken_back(const NeuronMotion& motion, int piece, const double* gap, int order, double unknown,
                   double length) noexcept {
    if (!motion.waveform().is_prescribed()) return false;
    double least = gap[0];
    for (int i = 1; i <= kLooks; ++i) least = std::min(least, evaluate(gap, order, i * length / kLooks));
    const double output = std::abs(motion.a(piece)[0]);
    const double moved = motion.state_error() * std::hypot(motion.size(piece), output);
    if (-least * output * motion.step() * length > moved) return false;
    return evaluate(gap, order, length) >= std::min(-unknown, kTakenBack * least);
}

}  // namespace reluflow
