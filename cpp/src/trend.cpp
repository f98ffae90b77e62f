#include "reluflow/trend.hpp"

#include <cmath>

namespace reluflow {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// |θ|² grows by this between snapshots.
constexpr double kSpan = 2.0;
/// Powers of 1/|θ|² that the distances are fitted with: neurons at rest shrink like 1/|θ|, the rest of the direction
/// settles like 1/|θ|². A slower decay than the first is not believed, a faster one than the second not counted on.
constexpr double kSlowest = 0.3;
constexpr double kFastest = 1.0;
constexpr int kHalvings = 40;

/// (newer^-k - now^-k) / (older^-k - newer^-k), which falls with k.
double foretold_ratio(double older, double newer, double now, double k) {
    return (std::pow(newer, -k) - std::pow(now, -k)) / (std::pow(older, -k) - std::pow(newer, -k));
}
/// Steps in a row with a falling rate before the fall is believed.
constexpr int kFalling = 4;

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
    falling_ = rate < before_ ? falling_ + 1 : 0;
    remaining_ = falling_ >= kFalling && duration > 0.0 ? rate * duration / std::log(before_ / rate) : kInfinity;
    before_ = rate;
}

}  // namespace reluflow
