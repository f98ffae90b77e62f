#include "proof/sigmoid.hpp"

#include <cmath>
#include <limits>

#include "proof/rounding.hpp"

namespace reluflow::proof {
namespace {

// ln 2 = high + low: `high` has 32 bits, so that k * high is exact for |k| < 2^21.
constexpr double kLn2High = 0x1.62e42feep-1;
constexpr double kLn2Low = 0x1.a39ef35793c76p-33;
constexpr double kInverseLn2 = 0x1.71547652b82fep+0;

}  // namespace

// The bound, in units u = 2^-53. With q = k ln 2 + r: k high is exact, q - k high is exact or rounded once, so r has an
// error of 0.36 u at most, and |r| < 0.35. The sum is 1 + (r + r² g), g = Σ_{2..14} r^(k-2) / k! by Horner's rule: the
// rest of the series is below 0.002 u; g, at most 0.57, has an error of at most 26 u * 0.57 = 14.8 u, so r² g has one
// of at most 0.1225 * 14.8 u + 3 u * 0.07 < 2.1 u; the two last additions round by at most 0.42 u and 1.42 u. With
// e^0.35 * 0.36 u of r that is 4.5 u, relative to e^-0.35 > 0.704 less than 6.5 u. Scaling by 2^k is exact.
double exponential(double q) noexcept {
    const double k = std::floor(q * kInverseLn2 + 0.5);
    const double r = (q - k * kLn2High) - k * kLn2Low;
    double g = 0.0;
    constexpr double kInverseFactorials[] = {
        1.0 / 87178291200.0, 1.0 / 6227020800.0, 1.0 / 479001600.0, 1.0 / 39916800.0, 1.0 / 3628800.0,
        1.0 / 362880.0,      1.0 / 40320.0,      1.0 / 5040.0,      1.0 / 720.0,      1.0 / 120.0,
        1.0 / 24.0,          1.0 / 6.0,          1.0 / 2.0};
    for (const double c : kInverseFactorials) g = g * r + c;
    return std::ldexp(1.0 + (r + r * r * g), static_cast<int>(k));
}

double exponential_up(double x) noexcept {
    return x <= kLargestMargin ? exponential(x) * kUp : std::numeric_limits<double>::infinity();
}

// With E = e^-|q| both forms of the logistic weight have |d log p / d log E| ≤ 1, one addition and one division.
double margin_weight(LossKind loss, double q) noexcept {
    if (loss == LossKind::exponential) return exponential(-q);
    const double small = exponential(-std::abs(q));
    return q >= 0.0 ? small / (1.0 + small) : 1.0 / (1.0 + small);
}

}  // namespace reluflow::proof
