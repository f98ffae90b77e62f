#include "proof/boundaries.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "proof/rounding.hpp"

namespace reluflow::proof {
namespace {

/// Products below this may have lost digits to underflow: such rows count as different.
constexpr double kSmallest = 1e-250;
/// Keys of parallel rows differ by rounding only.
constexpr double kNear = 1e-11;

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

/// a b == c e without rounding: equal products that are rounded differ by what `fma` returns.
bool equal_products(double a, double b, double c, double e) {
    const double left = a * b;
    const double right = c * e;
    if (left != right) return false;
    if (left == 0.0) return (a == 0.0 || b == 0.0) && (c == 0.0 || e == 0.0);
    return std::abs(left) > kSmallest && std::fma(a, b, -left) == std::fma(c, e, -right);
}

/// Position of the largest entry.
Index pivot_of(const double* x, Index d) {
    return std::max_element(x, x + d, [](double a, double b) { return std::abs(a) < std::abs(b); }) - x;
}

/// A number that parallel rows share up to rounding.
double key_of(const double* x, Index d) {
    double size = 0.0;
    double along = 0.0;
    double sign = 0.0;
    double factor = 1.0;
    for (Index c = 0; c < d; ++c) {
        if (sign == 0.0 && x[c] != 0.0) sign = x[c] > 0.0 ? 1.0 : -1.0;
        size = std::max(size, std::abs(x[c]));
    }
    if (size == 0.0) return 0.0;
    for (Index c = 0; c < d; ++c) {
        along += factor * (x[c] / size);
        factor = std::fmod(factor * 1.618 + 0.3, 2.0);
    }
    return sign * along;
}

}  // namespace

bool parallel(const double* x, const double* v, Index d, double& ratio) {
    const Index pivot = pivot_of(x, d);
    if (x[pivot] == 0.0 || v[pivot] == 0.0) return false;
    for (Index c = 0; c < d; ++c)
        if (!equal_products(x[pivot], v[c], v[pivot], x[c])) return false;
    ratio = v[pivot] / x[pivot];
    return true;
}

bool exactly_orthogonal(const double* x, const double* v, Index d) {
    double sum = 0.0;
    for (Index c = 0; c < d; ++c) {
        const double product = x[c] * v[c];
        const bool exact = product == 0.0 ? x[c] == 0.0 || v[c] == 0.0
                                          : std::abs(product) > kSmallest && std::fma(x[c], v[c], -product) == 0.0;
        const double next = sum + product;
        // The roundings of the sum, as in `exact_dot`.
        const double part = next - sum;
        if (!exact || (sum - (next - part)) + (product - part) != 0.0) return false;
        sum = next;
    }
    return sum == 0.0;
}

Boundaries::Boundaries(const double* X, Index n, Index d) : first(at(n)), members(at(n)) {
    std::vector<double> keys(at(n));
    for (Index i = 0; i < n; ++i) keys[at(i)] = key_of(X + i * d, d);
    std::vector<Index> order(at(n));
    std::iota(order.begin(), order.end(), Index{0});
    std::sort(order.begin(), order.end(),
              [&](Index i, Index k) { return keys[at(i)] < keys[at(k)] || (keys[at(i)] == keys[at(k)] && i < k); });
    std::iota(first.begin(), first.end(), Index{0});
    for (std::size_t p = 0; p < order.size(); ++p) {
        const Index i = order[p];
        for (std::size_t before = p; before-- > 0;) {
            const Index k = order[before];
            if (keys[at(i)] - keys[at(k)] > kNear * (static_cast<double>(d) + std::abs(keys[at(i)]))) break;
            double ratio = 0.0;
            if (!parallel(X + k * d, X + i * d, d, ratio)) continue;
            first[at(i)] = first[at(k)];
            break;
        }
    }
    // The first of a boundary is that of the lowest number.
    std::vector<Index> lowest(at(n), n);
    for (Index i = 0; i < n; ++i) lowest[at(first[at(i)])] = std::min(lowest[at(first[at(i)])], i);
    for (Index i = 0; i < n; ++i) first[at(i)] = lowest[at(first[at(i)])];
    for (Index i = 0; i < n; ++i) {
        double ratio = 1.0;
        if (first[at(i)] != i) parallel(X + first[at(i)] * d, X + i * d, d, ratio);
        members[at(first[at(i)])].push_back({i, ratio});
    }
}

template <>
double Boundaries::ratio(const double* /*X*/, Index /*d*/, const Member& member) const {
    return member.ratio;
}

template <>
DoubleDouble Boundaries::ratio(const double* X, Index d, const Member& member) const {
    const double* row = X + member.sample * d;
    const Index pivot = pivot_of(row, d);
    return DoubleDouble(row[pivot]) / X[first[at(member.sample)] * d + pivot];
}

double Boundaries::side(Index sample) const {
    for (const Member& member : of(sample))
        if (member.sample == sample) return member.side(1.0);
    return 1.0;
}

double Boundaries::spread(Index sample) const {
    double sum = 0.0;
    for (const Member& member : of(sample)) sum += std::abs(member.ratio);
    return sum * kUp;
}

}  // namespace reluflow::proof
