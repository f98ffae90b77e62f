#include "two_layer/let_go.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reluflow {

namespace {

constexpr double kNone = -std::numeric_limits<double>::infinity();
/// Beyond this factor of weights the lighter one does not matter.
constexpr double kLargestLog = 600.0;

/// The same for one boundary, and the neurons of an output sign that slide on it. As the mass falls, the interval of
/// their multiplier moves away or turns round, or the boundary comes to repel that was taken to do nothing.
double log_let_go(const Dataset& data, const Waveform& waveform, int boundary, double output, double leak) {
    double heaviest = kNone;
    for (const int sample : data.samples_of(boundary))
        if (waveform.drives_nobody(sample)) heaviest = std::max(heaviest, waveform.log_weight_by_margin(sample));
    if (heaviest == kNone) return kNone;

    double below = 0.0;  // of those that drive nobody, in units of the heaviest
    double above = 0.0;
    double range = 0.0;  // of the others
    for (const int sample : data.samples_of(boundary)) {
        const double coefficient = data.coefficient(sample);
        const bool is_idle = waveform.drives_nobody(sample);
        const double weight = is_idle
                                  ? data.signs()[sample] * std::exp(waveform.log_weight_by_margin(sample) - heaviest)
                                  : waveform.signed_weights(0)[sample];
        const double at_lower = coefficient * weight * (coefficient > 0.0 ? leak : 1.0);
        const double at_upper = coefficient * weight * (coefficient > 0.0 ? 1.0 : leak);
        if (is_idle) {
            below += at_lower;
            above += at_upper;
        } else {
            range += at_upper - at_lower;
        }
    }
    range *= std::exp(std::min(-heaviest, kLargestLog));
    const double sign = range + (above - below) < 0.0 ? -1.0 : 1.0;
    const bool is_let_go = sign * below > 0.0 || sign * above < 0.0 || output * (above - below) > 0.0;
    return is_let_go ? heaviest : kNone;
}

}  // namespace

double log_let_go(const Dataset& data, const Waveform& waveform, const State& state) {
    double heaviest = kNone;
    const Parameters& neurons = state.parameters;
    for (Index j = 0; j < neurons.neurons(); ++j) {
        const SlidingSet& held = state.mode.held(j);
        const auto look_at = [&](int boundary) {
            heaviest = std::max(heaviest, log_let_go(data, waveform, boundary, neurons.a[j], neurons.leak()));
        };
        std::ranges::for_each(held.boundaries(), look_at);
        std::ranges::for_each(held.dependent(), look_at);
    }
    return heaviest;
}

}  // namespace reluflow
