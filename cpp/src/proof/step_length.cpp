#include "proof/step_length.hpp"

#include <algorithm>
#include <cmath>

#include "proof/rounding.hpp"

namespace reluflow::proof {
namespace {

/// Lengths tried differ by this factor.
constexpr double kShorter = 0.85;
constexpr int kLengthsTried = 400;
/// An end this many windows away from an event is clear of it.
constexpr double kClear = 3.0;

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

/// Whether the last two terms of all polynomials are small at `length`.
template <class Real>
bool fits(const Samples& samples, const NetworkSeries<Real>& series, double length, double last_term) {
    const int K = series.order;
    double power = 1.0;
    for (int k = 1; k < K - 1; ++k) power *= length;  // to the power K - 2
    const double room = static_cast<double>(4 + samples.n) * last_term;
    const double duals = series.dual_sums[at(K - 2)] * power + series.dual_sums[at(K - 1)] * power * length;
    if (!(duals <= room * series.dual_sums[0])) return false;
    const auto m = static_cast<Index>(series.a_norm[0].size());
    for (Index j = 0; j < m; ++j) {
        const double size = series.w_norm[0][at(j)] + series.a_norm[0][at(j)];
        const double last = (series.w_norm[at(K - 1)][at(j)] + series.a_norm[at(K - 1)][at(j)]) * power * length +
                            (series.w_norm[at(K)][at(j)] + series.a_norm[at(K)][at(j)]) * power * length * length;
        if (!(last <= room * size)) return false;
    }
    return true;
}

}  // namespace

template <class Real>
double natural_length(const Samples& samples, const NetworkSeries<Real>& series, double longest, double last_term) {
    double length = longest;
    for (int k = 0; k < kLengthsTried && !fits(samples, series, length, last_term); ++k) length *= kShorter;
    return length;
}

double kink_cost(const std::vector<Ahead>& ahead, double end, double free) {
    double sum = 0.0;
    for (const Ahead& event : ahead) {
        const double rest = end - event.time - free;
        if (rest > 0.0) sum += (0.5 * event.kink + event.bend / 6.0 * rest) * rest * rest;
    }
    return sum;
}

namespace {

double end_in_gap(const std::vector<Ahead>& ahead, double longest, double budget, double grain) {
    if (ahead.empty()) return longest;
    const auto cost = [&](double end) { return kink_cost(ahead, end, 2.0 * grain); };
    const auto gap_end = [&](std::size_t k) {
        const double time = ahead[k].time;
        return k + 1 == ahead.size() ? longest : std::min(longest, time + 0.5 * (ahead[k + 1].time - time));
    };
    // From the last gap to the first: the longest end in it that is cheap enough, if it is clear of the event before.
    // Costs grow with time, so that gaps which begin too late are passed over at once.
    const auto in_reach = [&](const Ahead& event) { return event.time < longest && cost(event.time) <= budget; };
    const auto gaps = std::partition_point(ahead.begin(), ahead.end(), in_reach) - ahead.begin();
    for (auto k = static_cast<std::size_t>(gaps); k-- > 0;) {
        const double time = ahead[k].time;
        const double least = time + kClear * ahead[k].window + grain;
        double end = gap_end(k);
        while (end > least && cost(end) > budget) end = time + 0.5 * (end - time);
        if (end > least) return end;
    }
    // Before the first event, but not so close to it that the next step could not begin there.
    const double first = std::min(ahead.front().time, longest);
    const double near = 4.0 * kClear * ahead.front().window + grain;
    if (first > 2.0 * near) return first - near;
    // Soon after an event, whatever it costs: the window is wide because the error is.
    for (std::size_t k = 0; k < ahead.size() && ahead[k].time < longest; ++k) {
        const double least = ahead[k].time + 2.0 * kClear * ahead[k].window + grain;
        if (least < gap_end(k)) return least;
    }
    return 0.5 * first;
}

/// An end that leaves the next step room for the window of the event after it, if there is one.
double clear_of_next(const std::vector<Ahead>& ahead, double end, double grain) {
    double least = 0.0;
    for (const Ahead& event : ahead) {
        const double room = 4.0 * kClear * event.window + grain;
        if (event.time < end)
            least = event.time + kClear * event.window + grain;
        else if (event.time - end < room && event.time - room > least)
            return event.time - room;
    }
    return end;
}

}  // namespace

double end_between(const std::vector<Ahead>& ahead, double longest, double budget, double grain) {
    const double end = end_in_gap(ahead, longest, budget, grain);
    return grain > 0.0 ? clear_of_next(ahead, end, grain) : end;
}

template double natural_length(const Samples&, const NetworkSeries<double>&, double, double);
template double natural_length(const Samples&, const NetworkSeries<DoubleDouble>&, double, double);

}  // namespace reluflow::proof
