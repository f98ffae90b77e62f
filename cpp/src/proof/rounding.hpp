/// What is assumed of the arithmetic, and how bounds are rounded up. docs/proof.md, "Arithmetic".
#pragma once

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <cstddef>
#include <limits>

#include "proof/double_double.hpp"

namespace reluflow::proof {

static_assert(std::numeric_limits<double>::is_iec559, "proofs need IEEE doubles");
static_assert(FLT_EVAL_METHOD == 0, "proofs need each operation rounded to double");
#ifdef __FAST_MATH__
#error "proofs need IEEE arithmetic: compile without -ffast-math"
#endif

/// Half the distance from 1 to the next double: a sum, product, quotient or root has a relative error of at most this.
inline constexpr double kUnit = 0x1p-53;

/// The same of the type of the centres. Each operation of two `DoubleDouble` has a relative error of at most 8 u², but
/// for a division by one, of 16 u²; double_double.hpp.
template <class Real>
inline constexpr double kUnitOf = kUnit;
template <>
inline constexpr double kUnitOf<DoubleDouble> = 0x1p-103;

/// A sum of at most 2^22 non-negative products, in any order of operations, is within a factor 1 ± 2^-30 of the exact
/// one: so a bound that is made of non-negative terms and multiplied by this is an upper bound.
inline constexpr double kUp = 1.0 + 0x1p-30;

/// Added to every bound of an error: more than all underflows of a step together, each of at most 2^-1075, with any
/// factor below 1e30.
inline constexpr double kTiny = 1e-280;

/// Added to roots of sums of squares: entries below 1e-162 vanish when they are squared.
inline constexpr double kTinyNorm = 1e-150;

/// |computed - exact| ≤ gamma(k) Σ |terms| for a sum whose terms each meet at most k roundings [Higham 2002, Lemma
/// 3.1: k u / (1 - k u)]; for k < 2^31.
template <class Real = double>
constexpr double gamma(double k) {
    return k * kUnitOf<Real> * (1.0 + 0x1p-20);
}

/// An upper bound of sqrt(a² + b²) of upper bounds a, b.
inline double hypot_up(double a, double b) {
    return std::sqrt(a * a + b * b) * kUp + kTinyNorm;
}

/// The inner product, as four sums so that the additions need not wait for each other; the order is fixed.
template <class First, class Second>
auto dot(const First* v, const Second* w, std::ptrdiff_t size) {
    using Real = decltype(v[0] * w[0]);
    Real sums[4] = {};
    std::ptrdiff_t k = 0;
    for (; k + 4 <= size; k += 4)
        for (int c = 0; c < 4; ++c) sums[c] += v[k + c] * w[k + c];
    for (; k < size; ++k) sums[0] += v[k] * w[k];
    return (sums[0] + sums[1]) + (sums[2] + sums[3]);
}

/// An inner product to more digits than its terms have, rounded once, with a bound of its error.
template <class Real>
struct Dot {
    Real value;
    double error;
};

/// Dot2 of [Ogita, Rump & Oishi 2005]: |value - exact| ≤ u |exact| + γ_n² Σ |terms|; `fma` gives the rounding of a
/// product exactly.
inline Dot<double> exact_dot(const double* v, const double* w, std::ptrdiff_t size) {
    double sum = 0.0;
    double rest = 0.0;
    double sizes = 0.0;
    for (std::ptrdiff_t k = 0; k < size; ++k) {
        const DoubleDouble product = exact_product(v[k], w[k]);
        const DoubleDouble next = exact_sum(sum, product.high);
        sum = next.high;
        rest += product.low + next.low;
        sizes += std::abs(product.high);
    }
    const double value = sum + rest;
    const double relative = gamma(static_cast<double>(size + 1));
    return {value, (2.0 * kUnit * std::abs(value) + relative * relative * sizes) * kUp + kTiny};
}

/// The same to three times the digits of a double. N = 4 size exact terms, of sizes S, are added; what each addition
/// misses, at most u S (1 + N u), is added in the same way, and what that misses, N u² S (1 + N u)² in each of N
/// additions, plainly: γ_N³ S. The last two additions round by at most 2 u² of the value and u² of a part that is
/// below γ_N² S.
inline Dot<DoubleDouble> exact_dot(const double* v, const DoubleDouble* w, std::ptrdiff_t size) {
    double sum = 0.0;
    double second = 0.0;
    double third = 0.0;
    double sizes = 0.0;
    const auto add = [&](double term) {
        const DoubleDouble first = exact_sum(sum, term);
        const DoubleDouble rest = exact_sum(second, first.low);
        sum = first.high;
        second = rest.high;
        third += rest.low;
        sizes += std::abs(term);
    };
    for (std::ptrdiff_t k = 0; k < size; ++k)
        for (const double part : {w[k].high, w[k].low}) {
            const DoubleDouble product = exact_product(v[k], part);
            add(product.high);
            add(product.low);
        }
    const DoubleDouble value = exact_sum(sum, second) + third;
    const double relative = gamma(static_cast<double>(4 * size + 4));
    return {value, (4.0 * kUnit * kUnit * std::abs(value.high) + relative * relative * relative * sizes) * kUp + kTiny};
}

/// An upper bound of the norm of `size` numbers.
inline double norm_up(const double* v, std::ptrdiff_t size) {
    return std::sqrt(dot(v, v, size)) * kUp + kTinyNorm;
}
inline double norm_up(const DoubleDouble* v, std::ptrdiff_t size) {
    double squares = 0.0;
    double largest = 0.0;
    for (std::ptrdiff_t k = 0; k < size; ++k) {
        squares += v[k].high * v[k].high;
        largest = std::max(largest, std::abs(v[k].high));
    }
    // Coefficients of high order may be smaller than what is added for squares that vanish.
    const double small = std::sqrt(static_cast<double>(size)) * largest * kUp + kTiny;
    return std::min(small, std::sqrt(squares) * kUp + kTinyNorm);
}

}  // namespace reluflow::proof
