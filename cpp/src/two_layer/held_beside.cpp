#include "two_layer/held_beside.hpp"

#include <algorithm>
#include <cmath>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

/// A hold counts if the distance would fall by e^-1 until the hit: a slower one keeps no neuron beside a boundary.
constexpr double kHolds = 1.0;
/// A distance that would have come to zero so many times over at the rate it had falls ever slower, as that of a neuron
/// does that decays beside coordinates that rest: by those its series is measured, and its truncation takes it across.
constexpr double kSlows = 1.5;
/// What a step may be off by in the distance, as a part of what a hold leaves of it until the hit; with the whole
/// distance in its place, truncation took a neuron across whose distance falls exponentially for ever.
constexpr double kPart = 0.01;
/// An explicit step covers hardly more time constants of a hold.
constexpr double kLongest = 10.0;
/// The same of a distance that counts as zero: the neuron has to be beyond its boundary by that.
constexpr double kZeroPart = 0.25;
/// A neuron is put on a boundary from no farther than this part of itself, also where w is small beside a.
constexpr double kPartOfSize = 1e-3;
/// and not where that would move a margin by more than this: margins of 1e10 are not known to one.
constexpr double kMoved = 1e-6;
/// A neuron whose w is smaller beside a than this is about to vanish: what is left of it may be rounding of its pull.
constexpr double kVanishing = 1e-9;
constexpr double kEps = std::numeric_limits<double>::epsilon();

}  // namespace

Doubt HeldBeside::doubt(int piece, int boundary, std::int8_t side, const Coefficients& z, double u, double zero) const {
    const double begin = motion_.piece(piece).begin;
    const double fallen = -side * z[1] * (u - begin);
    double held = drive_rate(piece, boundary, side) * (u - begin);
    if (fallen >= kSlows * std::abs(z[0]) && z[0] != 0.0) held = std::max(held, fallen / std::abs(z[0]));
    const double distance = std::abs(z[0]);
    const auto is_slow = [&] {
        if (-side * z[1] > kLongest * std::max(distance, zero)) return false;
        return distance <= motion_.state_error() * std::hypot(motion_.size(piece), motion_.a(piece)[0]);
    };
    if (held < kHolds && !(feels_errors() && is_slow())) return {};
    Doubt found = doubt_of(piece, z, held, u, zero);
    if (held < kHolds) found.moved = Doubt{}.moved;  // where errors come to rest no other neuron has events
    return found;
}

Doubt HeldBeside::doubt_of_output(int piece, double u, double noise) const {
    const double* a = motion_.a(piece);
    const double length = u - motion_.piece(piece).begin;
    const double fallen = -a[1] * length * (a[0] < 0.0 ? -1.0 : 1.0);
    if (fallen < kHolds * std::abs(a[0]) || a[0] == 0.0) return {};
    Coefficients c{};
    std::copy_n(a, motion_.order() + 1, c);
    return doubt_of(piece, c, fallen / std::abs(a[0]), u, noise * length);
}

/// Of a zero at u of a series that falls by `held` e-foldings until then.
Doubt HeldBeside::doubt_of(int piece, const Coefficients& c, double held, double u, double zero) const {
    const double begin = motion_.piece(piece).begin;
    double farthest = 0.0;
    for (const double part : {0.0, 0.25, 0.5, 0.75})
        farthest = std::max(farthest, std::abs(evaluate(c, motion_.order(), part * (u - begin))));
    const double left = std::exp(-std::min(held, kLongest));
    const double error = std::max(kPart * left * farthest, kZeroPart * zero);
    const double known = known_until(c, u - begin, error);
    const double size = std::hypot(motion_.size(piece), motion_.a(piece)[0]);
    return {u, known < u - begin ? begin + known : kNoRoot, error / size, farthest / size, true};
}

double HeldBeside::known_beside(int piece, int boundary, std::int8_t side, double zero, double still) const {
    Coefficients z{};
    motion_.boundary_series(piece, motion_.data().normals().row(boundary).data(), z);
    const double distance = std::abs(z[0]);
    const bool stands = distance <= zero;
    if (stands && (zero == 0.0 || std::abs(z[1]) > still)) return kNoRoot;  // it comes or goes
    const double approach = stands ? 0.0 : -z[1] / z[0];  // a faster one than a step covers time constants is no hold
    const double held = std::max(hold_rate(piece, boundary, side), approach <= kLongest ? approach : 0.0);
    if (held < kHolds) return kNoRoot;
    const double known =
        known_until(z, 1.0, std::max(kPart * std::exp(-std::min(held, kLongest)) * distance, kZeroPart * zero));
    return known < 1.0 ? known : kNoRoot;
}

bool HeldBeside::is_unknown(const Coefficients& z, double v, double zero) const {
    return known_until(z, v, kZeroPart * zero) < v;
}

HeldBeside::Hold HeldBeside::hold(int piece, int boundary, std::span<const std::int8_t> sides, double limit,
                                  double rounding) const {
    const bool vanishes = motion_.size(piece) <= kVanishing * std::abs(motion_.a(piece)[0]);
    double rate = hold_rate(piece, boundary, sides[boundary]);
    if (vanishes) rate = std::max(rate, rate_to_origin(piece, sides));
    const bool holds = rate * limit >= kHolds;
    if (!holds && !vanishes) return {0.0, 0.0, rounding, rounding};
    const double weight = motion_.acting_weight(sides, motion_.piece(piece).begin);
    const double noise = kCornerUlps * kEps * weight * std::abs(motion_.a(piece)[0]) * motion_.step();
    return {holds ? rate : 0.0, noise, std::max(rounding, holds ? noise / rate : noise * limit), rounding};
}

bool HeldBeside::comes_to_rest(int piece, int boundary, const Coefficients& z, const Hold& hold) const {
    if (hold.rate == 0.0 || motion_.waveform().is_linear()) return false;
    if (motion_.first(motion_.piece(piece).neuron) != piece) return false;  // it may have left just now
    const double size = motion_.size(piece);
    const double output = motion_.a(piece)[0];
    const double distance = std::abs(z[0]);
    if (distance > std::min(kPartOfSize * size, motion_.state_error() * std::hypot(size, output))) return false;
    if (hold.zero > motion_.state_error() * size) return false;  // where w vanishes all directions are noise
    double below = 0.0;
    double above = 0.0;
    motion_.contribution_at(boundary, motion_.piece(piece).begin, below, above);
    if (z[1] - motion_.step() * output * (above - below) < -hold.noise) return false;  // drawn away on the other side
    double longest = 0.0;
    for (const int sample : motion_.data().samples_of(boundary))
        longest = std::max(longest, std::abs(motion_.data().coefficient(sample)));
    if (std::abs(output) * longest * distance > kMoved) return false;
    const double bend = hold.rate * distance * std::abs(output) * longest * distance;  // what is not linear in z
    const double drift = z[1] + hold.rate * z[0];
    // One that left at the end of the step before stands there, too, and what drives it away is only beginning to.
    if (2.0 * z[2] + hold.rate * z[1] > hold.noise + bend) return false;
    // Beyond the boundary it came at a rate that counts as none, and the other side sends it back: it slides, too.
    const bool is_beyond = z[0] < -hold.zero;
    return drift <= hold.noise + bend && (is_beyond || drift >= -(hold.noise + hold.rate * hold.rounding + bend));
}

/// Whether a slow hit from within what a step may be off by is in doubt. Where errors come to rest, weights
/// add up to zero on the near side of a boundary and to more beyond it, so that a neuron that has come across by an
/// error goes on, and terms that are small beside the neuron say nothing of its distance. A late step ends at such a
/// hit only for a loss of errors: of margins it goes on with the neurons that come one after the other to one place.
bool HeldBeside::feels_errors() const {
    return motion_.waveform().is_linear() || !motion_.waveform().is_prescribed();
}

/// Until when, before v, the last terms of the series are below an error.
double HeldBeside::known_until(const Coefficients& z, double v, double error) const {
    for (const int k : {motion_.order() - 1, motion_.order()})
        if (std::abs(z[k]) * std::pow(v, k) > error) v = std::pow(error / std::abs(z[k]), 1.0 / k);
    return v;
}

/// By how many e-foldings the distance would fall in a step, if nothing but the boundary's samples answered to it; zero
/// where that is certainly below kHolds.
double HeldBeside::hold_rate(int piece, int boundary, std::int8_t side) const {
    const double output = motion_.a(piece)[0];
    return answer(boundary, side, output * output);
}

/// The same of a neuron that is about to vanish, by what all samples on its side answer to its length: it comes to all
/// boundaries there, and where the samples balance at w = 0 it never does.
double HeldBeside::rate_to_origin(int piece, std::span<const std::int8_t> sides) const {
    const double size = motion_.size(piece);
    if (size == 0.0) return 0.0;
    const Eigen::Map<const Vector> w(motion_.w(piece), motion_.rank());
    double rate = 0.0;
    for (Index boundary = 0; boundary < motion_.data().n_boundaries(); ++boundary) {
        if (sides[boundary] == 0) continue;
        const double along = motion_.data().normals().row(boundary).dot(w) / size;
        rate += along * along * hold_rate(piece, static_cast<int>(boundary), sides[boundary]);
    }
    return rate;
}

/// The same of how fast what drives the neuron falls, at most. Where samples balance at z = 0, they answer to all
/// neurons beside their boundary: each moves at their rate together, and by itself may be held hardly at all.
double HeldBeside::drive_rate(int piece, int boundary, std::int8_t side) const {
    if (!balances(boundary, side)) return hold_rate(piece, boundary, side);
    return answer(boundary, side, motion_.outputs_square());
}

/// Whether what the samples pull on this side can be zero while they have weights.
bool HeldBeside::balances(int boundary, std::int8_t side) const {
    if (motion_.waveform().is_linear()) return true;
    const Dataset& data = motion_.data();
    double first = 0.0;
    for (const int sample : data.samples_of(boundary)) {
        if (motion_.leak() == 0.0 && data.coefficient(sample) * side < 0.0) continue;
        const double pull = data.signs()[sample] * data.orientation(sample);
        if (first * pull < 0.0) return true;
        first = pull;
    }
    return false;
}

/// The e-foldings of neurons whose a² add up to `square`.
double HeldBeside::answer(int boundary, std::int8_t side, double square) const {
    const Waveform& waveform = motion_.waveform();
    const double scale = motion_.step() * square;
    if (scale * waveform.mean_square() < kHolds) return 0.0;  // all samples together hold none
    return scale * response(boundary, side, true);
}

/// Of the contributions to a margin beside the boundary, over a z; of its live samples or of all.
double HeldBeside::response(int boundary, std::int8_t side, bool of_live) const {
    const Waveform& waveform = motion_.waveform();
    double sum = 0.0;
    for (const int sample : motion_.data().samples_of(boundary)) {
        const double coefficient = motion_.data().coefficient(sample);
        const double slope = coefficient * side > 0.0 ? 1.0 : motion_.leak();
        if (of_live && !waveform.is_live(sample)) continue;
        sum += waveform.response(sample) * slope * slope * coefficient * coefficient;
    }
    return sum;
}

/// Beyond its boundary a neuron wakes these samples: it stays where they answer to the pull.
double HeldBeside::held_pull(int piece, int boundary, std::int8_t side, double zero) const {
    if (motion_.waveform().is_linear() || !balances(boundary, side)) return 0.0;
    return zero * std::abs(motion_.a(piece)[0]) * response(boundary, side, false);
}

}  // namespace reluflow
