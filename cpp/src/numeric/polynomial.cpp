#include "numeric/polynomial.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "numeric/bracket.hpp"

namespace reluflow {

namespace {

/// Halvings after which an interval is as short as the rounding of its ends.
constexpr int kMaxDepth = 48;

/// If the higher terms add up to no more than this part of the first, plain bounds are sharp enough.
constexpr double kSmallTail = 0.25;

using Bernstein = std::array<double, kMaxOrder + 2>;

/// c(s v) for v in [0, 1], in the Bernstein basis of the same order.
void to_bernstein(const double* c, int order, double scale, Bernstein& b) noexcept {
    double power = 1.0;
    for (int k = 0; k <= order; ++k, power *= scale) b[k] = c[k] * power;
    // b_i = Σ_k C(i,k)/C(order,k) c_k: divide by the binomials once, then sum by differences.
    double binomial = 1.0;
    for (int k = 1; k <= order; ++k) {
        binomial *= static_cast<double>(order - k + 1) / k;
        b[k] /= binomial;
    }
    for (int j = 1; j <= order; ++j)
        for (int k = order; k >= j; --k) b[k] += b[k - 1];
}

/// Halves [0, 1]: `left` keeps the first half in place, `right` gets the second (de Casteljau).
void halve(Bernstein& left, Bernstein& right, int order) noexcept {
    right[order] = left[order];
    for (int j = 1; j <= order; ++j) {
        for (int k = order; k >= j; --k) left[k] = 0.5 * (left[k - 1] + left[k]);
        right[order - j] = left[order];
    }
}

int sign_changes(const Bernstein& b, int order) noexcept {
    int changes = 0;
    bool positive = true;
    for (int k = 0; k <= order; ++k) {
        if (b[k] == 0.0) continue;
        const bool now = b[k] > 0.0;
        if (now != positive) ++changes;
        positive = now;
    }
    return changes;
}

/// The one root of c in [low, high], where c(low) >= 0 > c(high).
double polish(const double* c, int order, double low, double high) noexcept {
    const auto fall = [&](double u) { return std::pair{-evaluate(c, order, u), -evaluate_derivative(c, order, u)}; };
    const auto rounding = [](double u) { return 0.5 * std::numeric_limits<double>::epsilon() * std::abs(u); };
    return newton_inside({low, high}, 0.5 * (low + high), fall, rounding);
}

/// First descent inside the interval [low, high] of the variable, whose Bernstein form is b and which starts at c >= 0.
double search(const double* c, int order, Bernstein b, double low, double high, int depth) noexcept {
    const int changes = sign_changes(b, order);
    if (changes == 0) return kNoRoot;
    if (changes == 1) return polish(c, order, low, high);
    const double middle = 0.5 * (low + high);
    if (depth == kMaxDepth || middle <= low || middle >= high)
        return b[order] < 0.0 ? polish(c, order, low, high) : kNoRoot;
    Bernstein right;
    halve(b, right, order);
    const double root = search(c, order, b, low, middle, depth + 1);
    if (root <= middle) return root;
    return search(c, order, right, middle, high, depth + 1);
}

}  // namespace

double evaluate(const double* c, int order, double u) noexcept {
    double value = c[order];
    for (int k = order - 1; k >= 0; --k) value = value * u + c[k];
    return value;
}

double evaluate_derivative(const double* c, int order, double u) noexcept {
    double value = order * c[order];
    for (int k = order - 1; k >= 1; --k) value = value * u + k * c[k];
    return order > 0 ? value : 0.0;
}

double tail_bound(const double* c, int order, int from, double u) noexcept {
    double sum = 0.0;
    for (int k = order; k >= from; --k) sum = sum * u + std::abs(c[k]);
    for (int k = 0; k < from; ++k) sum *= u;
    return sum;
}

double fall_bound(const double* c, int order, double u) noexcept {
    double sum = 0.0;
    for (int k = order; k >= 1; --k) sum = sum * u + std::max(-c[k], 0.0);
    return sum * u;
}

void range_on_unit(const double* c, int order, double& low, double& high) noexcept {
    const double tail = tail_bound(c, order, 1, 1.0);
    if (tail <= kSmallTail * std::abs(c[0])) {
        low = c[0] - tail;
        high = c[0] + tail;
        return;
    }
    Bernstein b;
    to_bernstein(c, order, 1.0, b);
    const auto [least, most] = std::minmax_element(b.begin(), b.begin() + order + 1);
    low = *least;
    high = *most;
}

void shift_origin(double* c, int order, double shift) noexcept {
    for (int i = 0; i < order; ++i)
        for (int k = order - 1; k >= i; --k) c[k] += shift * c[k + 1];
}

double first_descent(const double* c, int order, double end) noexcept {
    if (c[0] == 0.0) {
        int k = 1;
        while (k <= order && c[k] == 0.0) ++k;
        if (k > order) return kNoRoot;
        if (c[k] < 0.0) return 0.0;
        return first_descent(c + k, order - k, end);  // divide u^k out: the other roots stay
    }
    if (order == 0 || end == 0.0) return kNoRoot;
    // The bound: the least value of the tangent on [0, end], less the terms of order two and more.
    if (std::min(c[0], c[0] + c[1] * end) > tail_bound(c, order, 2, end)) return kNoRoot;
    Bernstein b;
    to_bernstein(c, order, end, b);
    return search(c, order, b, 0.0, end, 0);
}

}  // namespace reluflow
