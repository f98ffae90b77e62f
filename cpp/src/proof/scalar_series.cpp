#include "proof/scalar_series.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "numeric/bracket.hpp"
#include "proof/rounding.hpp"

namespace reluflow::proof {
namespace {

/// Halvings before giving up: 2^-40 of a piece is far below the width of any window.
constexpr int kHalvings = 40;
/// Newton steps from a root of doubles to one of more digits: one would do.
constexpr int kPolished = 2;

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

}  // namespace

template <class Real>
ScalarSeries<Real>::ScalarSeries(const Piece<Real>& piece, const double* x, Index order, Index d, double side)
    : z_(at(order + 1)) {
    for (Index k = 0; k <= order; ++k) z_[at(k)] = side * dot(piece.w_of(k, d), x, d);
}

template <class Real>
Real ScalarSeries<Real>::value(const Real& s) const {
    Real sum = 0.0;
    for (std::size_t k = z_.size(); k-- > 0;) sum = sum * s + z_[k];
    return sum;
}

template <class Real>
Real ScalarSeries<Real>::rate(const Real& s) const {
    Real sum = 0.0;
    for (std::size_t k = z_.size(); k-- > 1;) sum = sum * s + static_cast<double>(k) * z_[k];
    return sum;
}

template <class Real>
ScalarSeries<Real> ScalarSeries<Real>::derivative() const {
    std::vector<Real> rates;
    for (std::size_t k = 1; k < z_.size(); ++k) rates.push_back(static_cast<double>(k) * z_[k]);
    return ScalarSeries(std::move(rates));
}

template <class Real>
double ScalarSeries<Real>::curvature(double end) const {
    double sum = 0.0;
    double power = 1.0;
    for (std::size_t k = 2; k < z_.size(); ++k) {
        sum += static_cast<double>(k * (k - 1)) * magnitude(z_[k]) * power;
        power *= end;
    }
    return sum * kUp;
}

template <class Real>
bool ScalarSeries<Real>::rises(double value, const std::vector<double>& errors, const Real& end) const {
    const double slope = rounded(z_[1] - errors[1]);
    const double bend = rounded(z_[2] - errors[2]);
    const double last = rest_of(end) > 0.0 ? rounded(end) * kUp : rounded(end);  // at least the end
    if (!(value > 0.0)) return false;
    // Up to s the terms from the third, or the second, on are below half of those before.
    const auto rest = [&](std::size_t from, double s) {
        double sum = 0.0;
        double power = 1.0;
        for (std::size_t k = from; k < z_.size(); ++k) {
            power *= s;
            sum += (magnitude(z_[k]) + errors[k]) * power;
        }
        return sum * kUp;
    };
    double s = last;
    for (int k = 0; k < kHalvings && s > 0.0; ++k, s *= 0.5) {
        const bool straight = slope > 0.0 && rest(2, s) < slope * (1.0 - 4.0 * kUnit);
        // value + slope s + (bend / 2) s² has its least value where its rate is zero.
        const bool bent =
            bend > 0.0 && rest(3, s) < 0.5 * bend && (slope >= 0.0 || slope * slope * kUp < 1.9 * value * bend);
        if (straight || bent) break;
    }
    double error = 0.0;
    double power = 1.0;
    for (const double one : errors) {
        error += one * power;
        power *= last;
    }
    return s == last || (s > last * 0x1p-39 && stays_above(error * kUp, s, end));
}

template <class Real>
Real ScalarSeries<Real>::root(double guess, double end) const {
    if constexpr (std::is_same_v<Real, double>) {
        const double begin = guess > 0.0 && guess < end ? guess : 0.5 * end;
        const auto fall = [this](double s) { return std::pair{-value(s), -rate(s)}; };
        return newton_inside({0.0, end}, begin, fall, [=](double) { return kUnit * end; });
    } else {
        std::vector<double> z;
        for (const Real& coefficient : z_) z.push_back(rounded(coefficient));
        Real s = ScalarSeries<double>(std::move(z)).root(guess, end);
        for (int k = 0; k < kPolished; ++k) {
            const Real next = s - value(s) / rounded(rate(s));
            if (!(next > 0.0 && next <= end)) break;
            s = next;
        }
        return s;
    }
}

template <class Real>
bool ScalarSeries<Real>::stays_above(double bound, const Real& begin, const Real& end) const {
    if (!(begin <= end)) return false;
    double sizes = 0.0;
    double rates = 0.0;
    double curvature = 0.0;
    double power = 1.0;
    double second = 1.0;
    const double reach = std::max(magnitude(begin), rounded(end));
    for (std::size_t k = 0; k < z_.size(); ++k) {
        sizes += magnitude(z_[k]) * power;
        rates += static_cast<double>(k) * magnitude(z_[k]) * power;
        if (k >= 2) {
            curvature += static_cast<double>(k * (k - 1)) * magnitude(z_[k]) * second;
            second *= reach;
        }
        power *= reach;
    }
    // A value is rounded 2 K times; a rate, which a half length multiplies, 2 K + 2 times. A middle is rounded too:
    // that changes values by 2 u of the rates, and rates by that of the curvature, below K times them. Sums of the
    // rates are at most K of the sizes; this is coarse, and matters where many digits are wanted.
    const auto K = static_cast<double>(z_.size());
    const double slack =
        (std::is_same_v<Real, double> ? gamma<Real>(6.0 * K * K * K) * sizes
                                      : gamma<Real>(2.0 * K + 8.0) * sizes + gamma<Real>(4.0 * K + 8.0) * rates) *
            kUp +
        kTiny;
    return settled((bound + slack) * kUp, begin, end, curvature * kUp, slack, 0);
}

template <class Real>
bool ScalarSeries<Real>::settled(double bound, const Real& begin, const Real& end, double curvature, double slack,
                                 int depth) const {
    const Real middle = 0.5 * (begin + end);
    const double half = 0.5 * rounded(end - begin) * kUp;
    const Real z = value(middle);
    if (!(z > bound)) return false;
    const double change = magnitude(rate(middle)) * half;
    const double bend = curvature * half * half;
    if (z > (change + 0.5 * bend + slack + bound) * kUp) return true;
    // The rate has one sign: the least value is at an end.
    if (change > (bend + slack) * kUp) return value(begin) > bound && value(end) > bound;
    if (depth >= kHalvings) return false;
    return settled(bound, begin, middle, curvature, slack, depth + 1) &&
           settled(bound, middle, end, curvature, slack, depth + 1);
}

template class ScalarSeries<double>;
template class ScalarSeries<DoubleDouble>;

}  // namespace reluflow::proof
