#include "run/trend.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/bracket.hpp"

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
/// A rate that goes up and down this often, and that for this many time constants has not fallen, is noise.
constexpr int kNoisyRises = 10;
constexpr double kNoisyTime = 20.0;
/// A rate that falls like 1/t falls by kFall within three times its age; this leaves room for slower powers.
constexpr double kSeenAges = 8.0;
/// So many steps within this part of the whole duration, where the rate has not fallen for kStandsStill of that, follow
/// noise: in Radau steps a slow flow takes some tens.
constexpr int kCrawlSteps = 1000;
constexpr double kCrawlPart = 0.01;
constexpr double kStandsStill = 0.1;
/// A rate that was known to rounding within this part of the whole duration was no noise, and is none now.
constexpr double kCleanPart = 0.1;
/// Rates below this may be rounding: the rest of O(1) weights that cancel, and its tolerance.
constexpr double kNoise = 1e-10;
/// A rate that starts below the bound of noise is noise if it stays within this factor for so many steps and goes up in
/// a quarter of them or more: that of a slow flow falls at each.
constexpr double kStill = 2.0;
constexpr int kStillSteps = 100;
constexpr double kFallsPart = 0.75;
/// Noise moves the state by a rate times a time constant at most, however long it lasts. In this part of the way a slow
/// flow beside noise that makes most of the rate is told from it.
constexpr double kDriftPart = 0.05;
/// The state is compared with one that was this many steps before, twice as many then, and so on.
constexpr int kDriftSteps = 100;

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
        const double ratio = moved / between_;
        const auto is_above = [&](double k) {
            return ratio <= foretold_ratio(older_.square, newer_.square, square, k);
        };
        if (is_above(kSlowest)) {
            const double power = halved({kSlowest, kFastest}, is_above, kHalvings).low;
            remaining_ = moved / (std::pow(square / newer_.square, power) - 1.0);
        }
    }
    std::swap(older_, newer_);
    keep(newer_, w, a, square);
    between_ = moved;
}

void Drift::note(const Matrix& w, const Vector& a, const Vector& log_sizes) {
    w_ = w;
    a_ = a;
    log_sizes_ = log_sizes;
    steps_ = 0;
    elapsed_ = path_ = distance_ = 0.0;
}

/// A step counts by the smaller of the rates at its ends: what falls within it moves the state by no more.
/// A neuron that grows moves by no more than its size, however far that is: its logarithm says how far.
void Drift::add(const Matrix& w, const Vector& a, const Vector& log_sizes, double rate, double duration) {
    if (steps_ < 0) {
        most_ = kDriftSteps;
        note(w, a, log_sizes);
    } else if (steps_ == most_) {
        most_ *= 2;
        note(w, a, log_sizes);
    } else {
        if (steps_ > 0) path_ += std::min(rate_, rate) * duration_;
        ++steps_;
        elapsed_ += duration;
        distance_ = 0.0;
        for (Index j = 0; j < a.size(); ++j) {
            const double size = std::hypot(w.col(j).stableNorm(), a[j]);
            const double moved = std::hypot((w.col(j) - w_.col(j)).stableNorm(), a[j] - a_[j]);
            if (size > 0.0) distance_ = std::max({distance_, moved / size, std::abs(log_sizes[j] - log_sizes_[j])});
        }
    }
    rate_ = rate;
    duration_ = duration;
}

bool Drift::comes_back(int steps) const noexcept {
    return steps_ >= steps && distance_ <= kDriftPart * path_;
}

/// What the tolerance of a step or an event excites rises above the rate of the network and falls back to it, often in
/// a moment. Such a fall says nothing of the slow motion that was there before and goes on: the rate before the rise
/// remains the reference, until the rise has lasted for as long as that was known.
void RestTrend::add(double rate, double duration, bool clean) {
    if (first_ < 0.0) first_ = rate;
    elapsed_ += duration;
    if (clean) clean_at_ = elapsed_;
    since_ += duration;
    waited_ += duration;
    ++crawl_steps_;
    if (elapsed_ > (1.0 + kCrawlPart) * crawl_begin_) {
        crawl_begin_ = elapsed_;
        crawl_steps_ = 0;
    }
    watch_still(rate);
    if (rate > last_) ++rises_;
    last_ = rate;
    if (rate >= before_) {
        above_ += duration;
        if (above_ < std::max(time_constant_, since_ - above_)) return;
        remaining_ = kInfinity;
    } else {
        above_ = 0.0;
        if (rate * kFall > before_) return;
        time_constant_ = since_ / std::log(before_ / rate);
        remaining_ = rate > 0.0 ? rate * time_constant_ : 0.0;
        fell_at_ = elapsed_;
    }
    before_ = rate;
    since_ = 0.0;
    above_ = 0.0;
    rises_ = 0;
}

void RestTrend::watch_still(double rate) noexcept {
    if (rate * kStill < still_from_ || rate > kStill * still_from_) {
        still_from_ = rate;
        still_steps_ = still_falls_ = 0;
        return;
    }
    ++still_steps_;
    if (rate < last_) ++still_falls_;
}

/// True when the rate neither falls nor tends to.
bool RestTrend::stands_still() const noexcept {
    return still_steps_ > kStillSteps && still_falls_ < kFallsPart * still_steps_;
}

bool RestTrend::falls_like_a_power() const noexcept {
    return before_ > kNoise && time_constant_ > 0.0 && time_constant_ >= kPowerPart * elapsed_;
}

bool RestTrend::crawls() const noexcept {
    return crawl_steps_ > kCrawlSteps && before_ > kNoise && since_ >= kStandsStill * elapsed_;
}

/// True when an exponential fall has ended in a rate that goes up and down.
bool RestTrend::has_become_noise() const noexcept {
    return rises_ >= kNoisyRises && since_ >= kNoisyTime * time_constant_ && time_constant_ < kPowerPart * fell_at_;
}

RestVerdict RestTrend::judge(double rate, double distance, const RateNoise& bounds, double age, double left) {
    const double noise = clean_at_ > kCleanPart * elapsed_ ? bounds.rounding : bounds.most;
    const bool nothing = rate <= noise && (rate <= bounds.rounding || rate * left <= distance);
    if (first_ <= noise) {  // no decrease can be seen; but what falls like a power of time does so within its age
        if (rate > bounds.rounding && rate <= noise && rate * left <= distance) return RestVerdict::stays;
        if (rate <= noise && rate * left <= distance) return RestVerdict::at_rest;
        if (elapsed_ < kSeenAges * age) return RestVerdict::goes_on;
        if (nothing) return RestVerdict::at_rest;
        if (rate <= noise && (age == 0.0 ? stands_still() : time_constant_ == 0.0)) return RestVerdict::seems_noise;
    }
    return confirm(rate, distance, left, noise, nothing);
}

/// Whether the rate has fallen to where less than `distance` remains, and has gone on falling.
RestVerdict RestTrend::confirm(double rate, double distance, double left, double noise, bool nothing) {
    if (candidate_ == 0.0) {
        if (rate <= noise && has_become_noise()) return RestVerdict::seems_noise;
        if (remaining_ > distance || rate >= std::max(before_, noise)) return RestVerdict::goes_on;
        if (nothing) return RestVerdict::at_rest;
        candidate_ = rate;
        waited_ = 0.0;
        wait_ = kConfirm * time_constant_;
        return RestVerdict::goes_on;
    }
    if (waited_ < wait_) return RestVerdict::goes_on;
    const bool confirmed = rate <= kConfirmedPart * candidate_ || nothing;
    candidate_ = 0.0;
    if (!confirmed) {
        remaining_ = kInfinity;
        return RestVerdict::goes_on;
    }
    return nothing || rate * left <= distance ? RestVerdict::at_rest : RestVerdict::seems_noise;
}

}  // namespace reluflow
