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

// To 137 bits: the first two have 42 bits, so that their products with k are exact.
constexpr double kLn2Parts[] = {0x1.62e42fefa3800p-1, 0x1.ef35793c76000p-45, 0x1.cc01f97b57a08p-87};
// 0.35^25 / 25! is below 1e-36.
constexpr int kTermsOfDoubleDouble = 24;

template <class Real>
Real logistic_weight(const Real& small, bool positive) noexcept {
    return (positive ? small : Real(1.0)) / (Real(1.0) + small);
}

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

// The bound, in units u² = 2^-106. Each of the three subtractions rounds by at most 2 of what is left, below 0.35, so r
// has an error of 2.1; the product of the last part of ln 2 is rounded by less than 2^-20. Horner's rule is
// s_k = 1 + r s_(k+1) / k, with r s_(k+1) / k at most 0.22 of s_k for k ≥ 2 (where s_k > 0.84 and r s_(k+1) / k < 0.21)
// and 0.42 of s_1 = e^r: a product, a division by a double and an addition of one round by 6, 3 and 2. So for k ≥ 2 the
// error of s_k is at most e = 0.25 (e + 9) + 2 = 5.7, and that of s_1 is 0.42 (e + 9) + 2 < 8.3; with r's less than
// 10.5 of the 16 that are promised. Scaling by 2^k is exact, for the low word is above 2^-1000.
DoubleDouble exponential(const DoubleDouble& q) noexcept {
    const double k = std::floor(q.high * kInverseLn2 + 0.5);
    DoubleDouble r = q;
    for (const double part : kLn2Parts) r = r + -(k * part);
    DoubleDouble sum = 1.0;
    for (int l = kTermsOfDoubleDouble; l >= 1; --l) sum = (r * sum) / static_cast<double>(l) + 1.0;
    return {std::ldexp(sum.high, static_cast<int>(k)), std::ldexp(sum.low, static_cast<int>(k))};
}

double exponential_up(double x) noexcept {
    return x <= kLargestMargin ? exponential(x) * kUp : std::numeric_limits<double>::infinity();
}

// With E = e^-|q| both forms of the logistic weight have |d log p / d log E| ≤ 1, one addition and one division; in
// units u² these add 2 + 15 to the 10.5 of E, of the 32 that are promised.
double margin_weight(LossKind loss, double q) noexcept {
    if (loss == LossKind::exponential) return exponential(-q);
    return logistic_weight(exponential(-std::abs(q)), q >= 0.0);
}

DoubleDouble margin_weight(LossKind loss, const DoubleDouble& q) noexcept {
    if (loss == LossKind::exponential) return exponential(-q);
    const bool positive = q >= 0.0;
    return logistic_weight(exponential(positive ? -q : q), positive);
}

}  // namespace reluflow::proof
