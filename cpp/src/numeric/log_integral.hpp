/// The integral of e^f where f grows by thousands: only the end of the interval counts.
#pragma once

#include <algorithm>
#include <cmath>

namespace reluflow {

/// An integral of `sum` times e^log_unit.
struct LogIntegral {
    double sum = 0.0;
    double log_unit = 0.0;
};

namespace panels {

/// Gauss-Legendre of 8 points on [0, 1]: exact to rounding for e^x over panels on which x grows by at most kPanel.
inline constexpr double kNodes[8] = {0.019855071751231884, 0.10166676129318664, 0.2372337950418355, 0.4082826787521751,
                                     0.5917173212478249,   0.7627662049581645,  0.8983332387068134, 0.9801449282487681};
inline constexpr double kWeights[8] = {0.05061426814518813, 0.11119051722668724, 0.15685332293894363,
                                       0.18134189168918100, 0.18134189168918100, 0.15685332293894363,
                                       0.11119051722668724, 0.05061426814518813};
inline constexpr double kPanel = 3.0;
/// Widest panel, in units of u: over a wider one the exponent is not nearly linear.
inline constexpr double kWidestPanel = 0.125;
inline constexpr double kLeastPanel = 1e-12;  // of the interval, about 1e4 times the spacing of doubles
/// Panels more than this many e-foldings before the end contribute less than rounding.
inline constexpr double kForgotten = 42.0;

}  // namespace panels

/// ∫_0^u e^f(v) dv for u in (0, 1] and an f that does not fall, summed by panels from the end backwards. Beyond its
/// maximum f is the error of a step that is too long and will be cut: the integral is that up to there.
template <class F>
LogIntegral log_integral(const F& f, double u) {
    using namespace panels;
    double end_value = f(u);
    double sum = 0.0;
    double right = u;
    double right_value = end_value;
    const double probe = 1e-4 * u;  // a first guess of the slope, to which the panels adapt
    double width = kPanel * probe / std::max(end_value - f(u - probe), kPanel * 1e-4);
    while (right > 0.0 && end_value - right_value < kForgotten) {
        width = std::min({width, right, kWidestPanel});
        const double left = right - width;
        const double left_value = f(left);
        if (left_value > right_value + kPanel) {
            sum = 0.0;
            end_value = left_value;
            right = left;
            right_value = left_value;
            continue;
        }
        // Values that are rounding can jump at any width, so a panel of the least width is accepted as it is.
        if (right_value - left_value > 2.0 * kPanel && width > kLeastPanel * u) {
            width *= 0.5;
            continue;
        }
        for (int i = 0; i < 8; ++i) sum += width * kWeights[i] * std::exp(f(left + width * kNodes[i]) - end_value);
        right = left;
        right_value = left_value;
        width *= 1.5;
    }
    return {sum, end_value};
}

}  // namespace reluflow
