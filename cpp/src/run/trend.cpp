#include "run/trend.hpp"

#include <cmath>

namespace reluflow {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// |θ|² grows by this factor between snapshots.
constexpr double kSpan = 2.0;
/// Bounds of the power of 1/|θ|² in the fit: neurons at rest shrink like 1/|θ|, the rest of the direction settles like
/// 1/|θ|². A slower decay than the first is not accepted, a faster one than the second not relied on.
constexpr double kSlowest = 0.3;
constexpr double kFastest = 1.0;
constexpr int kHalvings = 40;

/// (newer^-k - now^-k) / (older^-k - newer^-k), which decreases with k.
double foretold_ratio(double older, double newer, double now, double k) {
    return (std::pow(newer, -k) - std::pow(now, -k)) / (std::pow(older, -k) - std::pow(newer, -k));
}
/// A decrease of the rate by this factor is taken as real; a smaller one could be noise.
constexpr double kFall = 4.0;
/// Rest is confirmed if, this many time constants later, the rate has fallen to kConfirmedPart or to rounding. What an
/// event or the tolerance of a step excites decays too, but only down to the rate of the rest of the network.
constexpr double kConfirm = 3.0;
constexpr double kConfirmedPart = 0.25;
/// A time constant of at least this part of the whole duration indicates a power law in time.
constexpr double kPowerPart = 0.2;
/// A rate that fell exponentially falls by kFall again within 1.4 time constants; after this many it does not.
constexpr double kOverdue = 5.0;
/// Rates below this may be rounding: the rest of O(1) weights that cancel, and its tolerance.
constexpr double kNoise = 1e-10;
/// Of noise, which is some thousand roundings, the part that is a few tens.
constexpr double kRounding = 1e-2;

}  // namespace

void DirectionTrend::keep(Snapshot& snapshot, const Matrix& w, const Vector& a, double square) {
    snapshot.square = square;
    snapshot.w = w;
    snapshot.a = a;
}

double DirectionTrend::distance(const Snapshot& snapshot, const Matrix& w, const Vector& a, double square) {
    const double now = 1.0 / std::sqrt(square);
    const double then = 1.0 / std::sqrt(snapshot.square);
    return std::sqrt((now * w - then * snapshot.w).squaredNorm() + (now * a - then * snapshot.a).squaredNorm());
}

bool DirectionTrend::wants_state(double square, bool separated) const noexcept {
    return separated && (square < newer_.square || square >= kSpan * newer_.square);
}

void DirectionTrend::add(const Matrix& w, const Vector& a, double square, bool separated) {
    remaining_ = kInfinity;
    if (!separated || square < newer_.square) {
        older_.square = newer_.square = 0.0;
        if (separated) keep(newer_, w, a, square);
        return;
    }
    if (newer_.square == 0.0) return keep(newer_, w, a, square);
    if (square < kSpan * newer_.square) return;
    const double moved = distance(newer_, w, a, square);
    if (older_.square > 0.0) {
        double low = kSlowest;
        double high = kFastest;
        const double ratio = moved / between_;
        if (ratio <= foretold_ratio(older_.square, newer_.square, square, low)) {
            for (int pass = 0; pass < kHalvings; ++pass) {
                const double middle = 0.5 * (low + high);
                (ratio <= foretold_ratio(older_.square, newer_.square, square, middle) ? low : high) = middle;
            }
            remaining_ = moved / (std::pow(square / newer_.square, low) - 1.0);
        }
    }
    std::swap(older_, newer_);
    keep(newer_, w, a, square);
    between_ = moved;
}

void RestTrend::add(double rate, double duration) {
    if (first_ < 0.0) first_ = rate;
    elapsed_ += duration;
    since_ += duration;
    waited_ += duration;
    if (rate >= before_) remaining_ = kInfinity;
    if (rate < before_ && rate * kFall > before_) return;
    if (rate < before_) {
        time_constant_ = since_ / std::log(before_ / rate);
        remaining_ = rate > 0.0 ? rate * time_constant_ : 0.0;
    }
    before_ = rate;
    since_ = 0.0;
}

bool RestTrend::falls_like_a_power() const noexcept {
    return before_ > kNoise && time_constant_ > 0.0 && time_constant_ >= kPowerPart * elapsed_;
}

bool RestTrend::is_noise(double rate, double bound, double span) {
    if (rate > bound)
        quiet_since_ = -1.0;
    else if (quiet_since_ < 0.0)
        quiet_since_ = elapsed_;
    const bool falls = std::isfinite(remaining_) && since_ <= kOverdue * time_constant_;
    return quiet_since_ >= 0.0 && elapsed_ - quiet_since_ >= span && !falls;
}

bool RestTrend::is_at_rest(double rate, double distance, double noise, double left) {
    if (first_ <= noise && rate <= noise && (rate * left <= distance || rate <= kRounding * noise)) return true;
    if (candidate_ == 0.0) {
        if (remaining_ > distance) return false;
        if (rate <= noise) return true;
        candidate_ = rate;
        waited_ = 0.0;
        wait_ = kConfirm * time_constant_;
        return false;
    }
    if (waited_ < wait_) return false;
    const bool confirmed = rate <= kConfirmedPart * candidate_ || rate <= noise;
    candidate_ = 0.0;
    if (!confirmed) remaining_ = kInfinity;
    return confirmed;
}

}  // namespace reluflow
