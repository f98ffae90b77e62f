#include "proof/scalar_series.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/bracket.hpp"
#include "proof/rounding.hpp"

namespace reluflow::proof {
namespace {

/// Halvings before giving up: 2^-40 of a piece is far below the width of any window.
constexpr int kHalvings = 40;

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

}  // namespace

ScalarSeries::ScalarSeries(const Piece& piece, const double* x, Index order, Index d, double side) : z_(at(order + 1)) {
    for (Index k = 0; k <= order; ++k) z_[at(k)] = side * dot(piece.w_of(k, d), x, d);
}

double ScalarSeries::value(double s) const {
    double sum = 0.0;
    for (std::size_t k = z_.size(); k-- > 0;) sum = sum * s + z_[k];
    return sum;
}

double ScalarSeries::rate(double s) const {
    double sum = 0.0;
    for (std::size_t k = z_.size(); k-- > 1;) sum = sum * s + static_cast<double>(k) * z_[k];
    return sum;
}

ScalarSeries ScalarSeries::derivative() const {
    std::vector<double> rates;
    for (std::size_t k = 1; k < z_.size(); ++k) rates.push_back(static_cast<double>(k) * z_[k]);
    return ScalarSeries(std::move(rates));
}

double ScalarSeries::curvature(double end) const {
    double sum = 0.0;
    double power = 1.0;
    for (std::size_t k = 2; k < z_.size(); ++k) {
        sum += static_cast<double>(k * (k - 1)) * std::abs(z_[k]) * power;
        power *= end;
    }
    return sum * kUp;
}

bool ScalarSeries::rises(double value, const std::vector<double>& errors, double end) const {
    const double slope = z_[1] - errors[1];
    const double bend = z_[2] - errors[2];
    if (!(value > 0.0)) return false;
    // Up to s the terms from the third, or the second, on are below half of those before.
    const auto rest = [&](std::size_t from, double s) {
        double sum = 0.0;
        double power = 1.0;
        for (std::size_t k = from; k < z_.size(); ++k) {
            power *= s;
            sum += (std::abs(z_[k]) + errors[k]) * power;
        }
        return sum * kUp;
    };
    double s = end;
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
        power *= end;
    }
    return s == end || (s > end * 0x1p-39 && stays_above(error * kUp, s, end));
}

double ScalarSeries::root(double guess, double end) const {
    const double begin = guess > 0.0 && guess < end ? guess : 0.5 * end;
    const auto fall = [this](double s) { return std::pair{-value(s), -rate(s)}; };
    return newton_inside({0.0, end}, begin, fall, [=](double) { return kUnit * end; });
}

bool ScalarSeries::stays_above(double bound, double begin, double end) const {
    if (!(begin <= end)) return false;
    double sizes = 0.0;
    double curvature = 0.0;
    double power = 1.0;
    double second = 1.0;
    const double reach = std::max(std::abs(begin), end);
    for (std::size_t k = 0; k < z_.size(); ++k) {
        sizes += std::abs(z_[k]) * power;
        if (k >= 2) {
            curvature += static_cast<double>(k * (k - 1)) * std::abs(z_[k]) * second;
            second *= reach;
        }
        power *= reach;
    }
    // Values, rates times the half length, and curvature times its square: all are below k² Σ |z_k| end^k.
    const double slack = gamma(6.0 * static_cast<double>(z_.size() * z_.size() * z_.size())) * sizes * kUp + kTiny;
    return settled(bound + slack, begin, end, curvature * kUp, slack, 0);
}

bool ScalarSeries::settled(double bound, double begin, double end, double curvature, double slack, int depth) const {
    const double middle = 0.5 * (begin + end);
    const double half = 0.5 * (end - begin) * kUp;
    const double z = value(middle);
    if (!(z > bound)) return false;
    const double change = std::abs(rate(middle)) * half;
    const double bend = curvature * half * half;
    if (z - change - 0.5 * bend - slack > bound) return true;
    // The rate has one sign: the least value is at an end.
    if (change > bend * kUp + slack) return value(begin) > bound && value(end) > bound;
    if (depth >= kHalvings) return false;
    return settled(bound, begin, middle, curvature, slack, depth + 1) &&
           settled(bound, middle, end, curvature, slack, depth + 1);
}

}  // namespace reluflow::proof
