/// Search inside a bracket, for what changes once along it.
#pragma once

#include <cmath>

namespace reluflow {

/// An interval at whose lower end something does not hold yet, and at whose upper end it does.
struct Bracket {
    double low = 0.0;
    double high = 0.0;
};

/// Halves the bracket so many times, or until no double lies inside. `is_before(u)`: the change is above u.
template <class IsBefore>
Bracket halved(Bracket bracket, const IsBefore& is_before, int times) {
    for (int pass = 0; pass < times; ++pass) {
        const double middle = 0.5 * (bracket.low + bracket.high);
        if (middle <= bracket.low || middle >= bracket.high) break;
        (is_before(middle) ? bracket.low : bracket.high) = middle;
    }
    return bracket;
}

/// Where a value that is negative below and positive above is zero: by Newton's method from u, with a halving where a
/// step would leave the bracket. `value_and_rate(u)` gives a pair. Ends when a step is at most `rounding(u)`.
template <class ValueAndRate, class Rounding>
double newton_inside(Bracket bracket, double u, const ValueAndRate& value_and_rate, const Rounding& rounding) {
    constexpr int kSteps = 100;  // halvings alone need about 60
    for (int step = 0; step < kSteps; ++step) {
        const auto [value, rate] = value_and_rate(u);
        if (value == 0.0) return u;
        (value < 0.0 ? bracket.low : bracket.high) = u;
        double next = u - value / rate;
        if (next == u) return u;
        if (!(next > bracket.low && next < bracket.high)) next = 0.5 * (bracket.low + bracket.high);
        if (next == bracket.low || next == bracket.high) return u;
        if (std::abs(next - u) <= rounding(next)) return next;
        u = next;
    }
    return u;
}

}  // namespace reluflow
