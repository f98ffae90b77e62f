#include "proof/scalar_series.hpp"

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
    for (std::size_t k = 0; k < z_.size(); ++k) {
        sizes += std::abs(z_[k]) * power;
        if (k >= 2) {
            curvature += static_cast<double>(k * (k - 1)) * std::abs(z_[k]) * second;
            second *= end;
        }
        power *= end;
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
