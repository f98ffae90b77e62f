#include "two_layer/held_beside.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

namespace {

/// A hold counts if the distance would fall by e^-1 until the hit: a slower one keeps no neuron beside a boundary.
constexpr double kHolds = 1.0;
/// What a step may be off by in the distance, as a part of what a hold leaves of it until the hit; with the whole
/// distance in its place, truncation took a neuron across whose distance falls exponentially for ever.
constexpr double kPart = 0.01;
/// An explicit step covers hardly more time constants of a hold.
constexpr double kLongest = 10.0;
/// The same of a distance that counts as zero: the neuron has to be beyond its boundary by that.
constexpr double kZeroPart = 0.25;

}  // namespace

Doubt HeldBeside::doubt(int piece, int boundary, std::int8_t side, double u, double zero) const {
    const double begin = motion_.piece(piece).begin;
    const double held = hold_rate(piece, boundary, side) * (u - begin);
    if (held < kHolds) return {};
    Coefficients z{};
    motion_.boundary_series(piece, motion_.data().normals().row(boundary).data(), z);
    double farthest = 0.0;
    for (const double part : {0.0, 0.25, 0.5, 0.75})
        farthest = std::max(farthest, std::abs(evaluate(z, motion_.order(), part * (u - begin))));
    const double left = std::exp(-std::min(held, kLongest));
    const double error = std::max(kPart * left * farthest, kZeroPart * zero);
    const double known = known_until(z, u - begin, error);
    const double size = std::hypot(motion_.size(piece), motion_.a(piece)[0]);
    return {u, known < u - begin ? begin + known : kNoRoot, error / size, farthest / size, true};
}

bool HeldBeside::is_unknown(int piece, int boundary, std::int8_t side, const Coefficients& z, double v,
                            double zero) const {
    return hold_rate(piece, boundary, side) * v >= kHolds && known_until(z, v, kZeroPart * zero) < v;
}

/// Until when, before v, the last terms of the series are below an error.
double HeldBeside::known_until(const Coefficients& z, double v, double error) const {
    for (const int k : {motion_.order() - 1, motion_.order()})
        if (std::abs(z[k]) * std::pow(v, k) > error) v = std::pow(error / std::abs(z[k]), 1.0 / k);
    return v;
}

/// By how many e-foldings the distance would fall in a step, if nothing but the boundary's samples answered to it.
double HeldBeside::hold_rate(int piece, int boundary, std::int8_t side) const {
    const Waveform& waveform = motion_.waveform();
    double sum = 0.0;
    for (const int sample : motion_.data().samples_of(boundary)) {
        const double coefficient = motion_.data().coefficient(sample);
        const double slope = coefficient * side > 0.0 ? 1.0 : motion_.leak();
        if (waveform.is_live(sample)) sum += waveform.response(sample) * slope * slope * coefficient * coefficient;
    }
    const double output = motion_.a(piece)[0];
    return motion_.step() * output * output * sum;
}

}  // namespace reluflow
