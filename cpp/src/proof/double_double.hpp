/// Numbers of about 32 digits as unevaluated sums of two doubles, with proved bounds of each operation's error.
#pragma once

#include <cmath>

namespace reluflow::proof {

/// high + low with high = high + low rounded. Every operation below is from [Joldes, Muller & Popescu 2017, *Tight and
/// rigorous error bounds for basic building blocks of double-word arithmetic*], whose proofs [Muller & Rideau 2022]
/// checked formally; with u = 2^-53 each has a relative error of at most what it says, underflow left out.
struct DoubleDouble {
    double high = 0.0;
    double low = 0.0;

    constexpr DoubleDouble() = default;
    constexpr DoubleDouble(double value) : high(value) {}  // NOLINT: a double is one of these
    constexpr DoubleDouble(double high_, double low_) : high(high_), low(low_) {}

    DoubleDouble& operator+=(const DoubleDouble& y);
    DoubleDouble& operator-=(const DoubleDouble& y);
    DoubleDouble& operator*=(const DoubleDouble& y);
    DoubleDouble& operator/=(double y);
};

/// a + b exactly [Knuth].
inline DoubleDouble exact_sum(double a, double b) {
    const double sum = a + b;
    const double part = sum - a;
    return {sum, (a - (sum - part)) + (b - part)};
}

/// a + b exactly, where |a| ≥ |b| or a = 0 [Dekker].
inline DoubleDouble exact_sum_of_ordered(double a, double b) {
    const double sum = a + b;
    return {sum, b - (sum - a)};
}

/// a b exactly.
inline DoubleDouble exact_product(double a, double b) {
    const double product = a * b;
    return {product, std::fma(a, b, -product)};
}

inline DoubleDouble operator-(const DoubleDouble& x) {
    return {-x.high, -x.low};
}

/// 2 u² (algorithm 4).
inline DoubleDouble operator+(const DoubleDouble& x, double y) {
    const DoubleDouble sum = exact_sum(x.high, y);
    return exact_sum_of_ordered(sum.high, x.low + sum.low);
}

inline DoubleDouble operator+(double x, const DoubleDouble& y) {
    return y + x;
}

/// 3 u² / (1 - 4 u) (algorithm 6).
inline DoubleDouble operator+(const DoubleDouble& x, const DoubleDouble& y) {
    const DoubleDouble highs = exact_sum(x.high, y.high);
    const DoubleDouble lows = exact_sum(x.low, y.low);
    const DoubleDouble sum = exact_sum_of_ordered(highs.high, highs.low + lows.high);
    return exact_sum_of_ordered(sum.high, lows.low + sum.low);
}

inline DoubleDouble operator-(const DoubleDouble& x, const DoubleDouble& y) {
    return x + -y;
}

/// 2 u² (algorithm 9).
inline DoubleDouble operator*(const DoubleDouble& x, double y) {
    const DoubleDouble product = exact_product(x.high, y);
    return exact_sum_of_ordered(product.high, std::fma(x.low, y, product.low));
}

inline DoubleDouble operator*(double x, const DoubleDouble& y) {
    return y * x;
}

/// 6 u² (algorithm 11).
inline DoubleDouble operator*(const DoubleDouble& x, const DoubleDouble& y) {
    const DoubleDouble product = exact_product(x.high, y.high);
    const double rest = std::fma(x.low, y.high, x.high * y.low);
    return exact_sum_of_ordered(product.high, product.low + rest);
}

/// 3 u² (algorithm 15).
inline DoubleDouble operator/(const DoubleDouble& x, double y) {
    const double quotient = x.high / y;
    const DoubleDouble product = exact_product(quotient, y);
    const double rest = (x.high - product.high) + (x.low - product.low);
    return exact_sum_of_ordered(quotient, rest / y);
}

/// 15 u² + 56 u³ (algorithm 17).
inline DoubleDouble operator/(const DoubleDouble& x, const DoubleDouble& y) {
    const double quotient = x.high / y.high;
    const DoubleDouble product = y * quotient;
    const double rest = (x.high - product.high) + (x.low - product.low);
    return exact_sum_of_ordered(quotient, rest / y.high);
}

inline DoubleDouble& DoubleDouble::operator+=(const DoubleDouble& y) {
    return *this = *this + y;
}
inline DoubleDouble& DoubleDouble::operator-=(const DoubleDouble& y) {
    return *this = *this - y;
}
inline DoubleDouble& DoubleDouble::operator*=(const DoubleDouble& y) {
    return *this = *this * y;
}
inline DoubleDouble& DoubleDouble::operator/=(double y) {
    return *this = *this / y;
}

inline bool operator<(const DoubleDouble& x, const DoubleDouble& y) {
    return x.high < y.high || (x.high == y.high && x.low < y.low);
}
inline bool operator>(const DoubleDouble& x, const DoubleDouble& y) {
    return y < x;
}
inline bool operator==(const DoubleDouble& x, const DoubleDouble& y) {
    return x.high == y.high && x.low == y.low;
}
inline bool operator<=(const DoubleDouble& x, const DoubleDouble& y) {
    return x < y || x == y;
}
inline bool operator>=(const DoubleDouble& x, const DoubleDouble& y) {
    return y <= x;
}

/// The nearest double: within a relative 2^-53.
inline double rounded(double x) {
    return x;
}
inline double rounded(const DoubleDouble& x) {
    return x.high;
}

/// |x| as a double, within a relative 2^-53, which every factor `kUp` covers.
inline double magnitude(double x) {
    return std::abs(x);
}
inline double magnitude(const DoubleDouble& x) {
    return std::abs(x.high);
}

/// A lower bound of |x|.
inline double least_magnitude(double x) {
    return std::abs(x);
}
inline double least_magnitude(const DoubleDouble& x) {
    return std::abs(x.high) * (1.0 - 0x1p-51);
}

/// What `rounded` leaves out.
inline double rest_of(double /*x*/) {
    return 0.0;
}
inline double rest_of(const DoubleDouble& x) {
    return x.low;
}

/// a - b without rounding, as far as the type goes: of doubles, if one is at most twice the other [Sterbenz].
template <class Real>
Real difference(double a, double b);
template <>
inline double difference<double>(double a, double b) {
    return a - b;
}
template <>
inline DoubleDouble difference<DoubleDouble>(double a, double b) {
    return exact_sum(a, -b);
}

}  // namespace reluflow::proof
