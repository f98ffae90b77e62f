/// When a flow is at rest, as its rates show: exponential falls end there, powers of time do not, whatever noise says.
#include <algorithm>
#include <cmath>
#include <limits>

#include "check.hpp"
#include "run/trend.hpp"

namespace {

using namespace reluflow;

constexpr double kDistance = 1e-10;
constexpr double kEndless = std::numeric_limits<double>::infinity();  // time that is left
constexpr RateNoise kNoise{1e-14, 1e-7};                              // what a flow with large weights allows for
constexpr double kGrowth = 1.2;                                       // of time from one step to the next
constexpr double kJitter = 1e-11;                                     // what a step leaves in the rate

/// Takes steps of these rates and returns whether any of them was taken as rest.
template <class Rate>
bool rests(RestTrend& trend, double begin, double end, Rate rate) {
    bool rest = false;
    double step = 0.05 * begin;
    for (double time = begin; time < end; time += step, step = std::min(step * kGrowth, 0.2 * time)) {
        trend.add(rate(time), step);
        rest |= trend.judge(rate(time), kDistance, kNoise, 0.0, kEndless) != RestVerdict::goes_on;
    }
    return rest;
}

/// A burst of short steps in which something fast falls back to `level`.
bool rests_in_burst(RestTrend& trend, double level, double height) {
    constexpr double kShort = 1e-2;
    bool rest = false;
    for (int k = 0; k < 40; ++k) {
        const double rate = level * (1.0 + height * std::exp(-0.7 * k));
        trend.add(rate, kShort);
        rest |= trend.judge(rate, kDistance, kNoise, 0.0, kEndless) != RestVerdict::goes_on;
    }
    return rest;
}

void an_exponential_fall_comes_to_rest() {
    for (const double constant : {1e-2, 1.0, 1e2}) {
        RestTrend trend;
        bool rest = false;
        for (int k = 0; k < 400 && !rest; ++k) {
            const double rate = std::exp(-0.1 * k) / constant;
            trend.add(rate, 0.1 * constant);
            rest = trend.judge(rate, kDistance, {}, 0.0, kEndless) != RestVerdict::goes_on;
        }
        CHECK(rest);
    }
}

void a_rate_that_falls_like_a_power_never_rests() {
    RestTrend trend;
    CHECK(!rests(trend, 1.0, 1e9, [](double time) { return 0.1 / time; }));
}

void noise_on_a_power_of_time_is_no_rest() {
    for (const double height : {3.0, 10.0, 100.0, 1e4}) {
        RestTrend trend;
        const auto rate = [](double time) { return 0.1 / time; };
        bool rest = false;
        for (const double begin : {1e0, 1e3, 1e6, 1e7, 1e8}) {
            rest |= rests(trend, begin, 10.0 * begin, rate);
            rest |= rests_in_burst(trend, rate(10.0 * begin), height);
        }
        CHECK(!rest);
    }
}

void an_exponential_fall_that_ends_in_noise_comes_to_rest() {
    RestTrend trend;
    bool rest = false;
    for (int k = 0; k < 2000 && !rest; ++k) {
        const double rate = std::exp(-0.1 * k) + kJitter * (2.0 + std::cos(2.0 * k));
        trend.add(rate, 10.0);
        rest = trend.judge(rate, kDistance, kNoise, 0.0, kEndless) != RestVerdict::goes_on;
        if (rest) CHECK(rate < 10.0 * kJitter);
    }
    CHECK(rest);
}

void a_new_fall_after_a_long_rise_counts() {
    RestTrend trend;
    CHECK(!rests(trend, 1.0, 1e3, [](double time) { return 1e-3 / time; }));
    for (int k = 0; k < 5000; ++k) trend.add(1.0, 1.0);  // longer than all that was before
    bool rest = false;
    for (int k = 0; k < 400 && !rest; ++k) {
        const double rate = std::exp(-0.1 * k);
        trend.add(rate, 0.1);
        rest = trend.judge(rate, kDistance, {}, 0.0, kEndless) != RestVerdict::goes_on;
    }
    CHECK(rest);
}

void what_starts_within_noise_rests_unless_it_is_seen_to_fall() {
    constexpr double kAge = 1e6;
    RestTrend still;
    RestTrend slow;
    bool rest = false;
    bool is_wrong = false;
    double time = kAge;
    for (double step = 1e4; time < 100.0 * kAge; time += step, step = std::min(step * kGrowth, 0.2 * time)) {
        still.add(kJitter, step);
        slow.add(1e-2 / time, step);
        rest |= still.judge(kJitter, kDistance, kNoise, kAge, kEndless) != RestVerdict::goes_on;
        is_wrong |= slow.judge(1e-2 / time, kDistance, kNoise, kAge, kEndless) != RestVerdict::goes_on;
    }
    CHECK(rest);
    CHECK(!is_wrong);
}

/// A network may be older than its run says: what it is at, many steps that grow show.
void what_starts_within_noise_without_an_age_is_watched() {
    RestTrend rounding;
    rounding.add(1e-15, 1.0);
    CHECK(rounding.judge(1e-15, kDistance, kNoise, 0.0, kEndless) == RestVerdict::at_rest);
    RestTrend still;
    CHECK(rests(still, 1.0, 1e12, [](double) { return kJitter; }));
    RestTrend slow;
    CHECK(!rests(slow, 1.0, 1e10, [](double time) { return 1e-3 / (1e6 + time); }));
    RestTrend layer;  // something fast falls first
    CHECK(!rests(layer, 1e-6, 1e4, [](double time) { return 1e-9 / (1.0 + time) + 1e-8 * std::exp(-1e5 * time); }));
    RestTrend short_of_time;
    short_of_time.add(kJitter, 1.0);
    CHECK(short_of_time.judge(kJitter, kDistance, kNoise, 0.0, 1e3) == RestVerdict::goes_on);
    CHECK(short_of_time.judge(kJitter, kDistance, kNoise, 0.0, 1.0) == RestVerdict::stays);
}

/// One neuron that goes to and fro, and `pace` a step besides.
Drift followed(double pace, int steps) {
    Drift drift;
    Matrix w = Matrix::Ones(1, 1);
    const Vector a = Vector::Zero(1);
    for (int k = 0; k <= steps; ++k) {
        w(0, 0) = 1.0 + kJitter * (k % 2 == 0 ? 1.0 : -1.0) + pace * k;
        drift.add(w, a, w.row(0).array().log(), 2.0 * kJitter + pace, 1.0);
    }
    return drift;
}

/// One that grows by a fifth of an e-folding a step; `asleep`: as it is stored it stands still.
Drift grown(int steps, bool asleep) {
    Drift drift;
    const double rate = 0.2;
    for (int k = 0; k <= steps; ++k) {
        const Matrix w = Matrix::Constant(1, 1, asleep ? 1.0 : std::exp(rate * k));
        drift.add(w, Vector::Zero(1), Vector::Constant(1, rate * k), rate, 1.0);
    }
    return drift;
}

void what_comes_back_is_told_from_what_drifts() {
    CHECK(followed(0.0, 90).comes_back(50));
    CHECK(!followed(0.0, 40).comes_back(50));
    CHECK(!followed(0.3 * kJitter, 90).comes_back(50));
    CHECK(!followed(100.0 * kJitter, 90).comes_back(50));
    CHECK(!followed(100.0 * kJitter, 2000).comes_back(50));
    CHECK(!grown(190, false).comes_back(50));
    CHECK(!grown(190, true).comes_back(50));
    const double foretold = followed(100.0 * kJitter, 80).foretold(10.0);
    CHECK(std::abs(foretold / (1000.0 * kJitter) - 1.0) < 0.1);
}

}  // namespace

int main() {
    an_exponential_fall_comes_to_rest();
    a_rate_that_falls_like_a_power_never_rests();
    noise_on_a_power_of_time_is_no_rest();
    an_exponential_fall_that_ends_in_noise_comes_to_rest();
    a_new_fall_after_a_long_rise_counts();
    what_starts_within_noise_rests_unless_it_is_seen_to_fall();
    what_starts_within_noise_without_an_age_is_watched();
    what_comes_back_is_told_from_what_drifts();
    return reluflow::tests::failures();
}
