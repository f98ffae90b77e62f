#include "problem/parallels.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace reluflow {

namespace {

/// Unit vectors that agree to this in every entry are parallel: a few roundings of a repeated or rescaled row.
constexpr double kParallelTol = 8.0 * std::numeric_limits<double>::epsilon();
/// The reference entry of a direction is the first that reaches this part of the largest, so that parallel rows agree
/// on it despite rounding.
constexpr double kReferencePart = 0.4999;

/// Unit direction of a row, and +1 or -1 by the sign of its reference entry.
int canonical_direction(const Eigen::Ref<const Vector>& row, Eigen::Ref<Vector> unit) {
    unit = row / row.stableNorm();
    const double largest = unit.cwiseAbs().maxCoeff();
    Index reference = 0;
    while (std::abs(unit[reference]) < kReferencePart * largest) ++reference;
    if (unit[reference] > 0.0) return 1;
    unit = -unit;
    return -1;
}

/// For each unit row the first row equal to it (itself if there is none before). Equal rows have keys within rounding
/// of each other, so that each is compared with its neighbours in the order of the keys only.
std::vector<int> first_equals(const Matrix& units) {
    const Index samples = units.rows();
    Vector key = Vector::Zero(samples);
    for (Index i = 0; i < samples; ++i)
        for (Index k = 0; k < units.cols(); ++k) key[i] += std::cos(static_cast<double>(k + 1)) * units(i, k);
    std::vector<int> order(samples);
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](int a, int b) { return key[a] < key[b] || (key[a] == key[b] && a < b); });

    const double window = kParallelTol * static_cast<double>(units.cols());
    std::vector<int> leader(samples);
    std::iota(leader.begin(), leader.end(), 0);
    for (Index p = 0; p < samples; ++p) {
        const int i = order[p];
        for (Index q = p; q-- > 0 && key[i] - key[order[q]] <= window;) {
            const int other = order[q];
            if ((units.row(i) - units.row(other)).cwiseAbs().maxCoeff() > kParallelTol) continue;
            leader[i] = leader[other] = std::min(leader[i], leader[other]);
        }
    }
    for (Index i = 0; i < samples; ++i)
        while (leader[leader[i]] != leader[i]) leader[i] = leader[leader[i]];
    return leader;
}

}  // namespace

Parallels find_parallels(const MatrixView& X) {
    Parallels found{std::vector<int>(X.rows()), std::vector<int>(X.rows())};
    Matrix units(X.rows(), X.cols());
    Vector unit(X.cols());
    for (Index i = 0; i < X.rows(); ++i) {
        found.side[i] = canonical_direction(X.row(i).transpose(), unit);
        units.row(i) = unit.transpose();
    }
    const std::vector<int> leader = first_equals(units);
    for (Index i = 0; i < X.rows(); ++i) found.boundary[i] = leader[i] == i ? found.count++ : found.boundary[leader[i]];
    return found;
}

}  // namespace reluflow
