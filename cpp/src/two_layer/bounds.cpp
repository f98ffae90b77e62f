#include "two_layer/bounds.hpp"

#include <algorithm>
#include <cmath>

#include "base/tolerances.hpp"
#include "numeric/polynomial.hpp"
#include "numeric/products.hpp"

namespace reluflow {

namespace {

/// With at most this many groups, bounding every g·normal over the step costs less than examining the pairs that it
/// excludes.
constexpr Index kFewGroups = 6;

}  // namespace

GroupBounds::GroupBounds(const Dataset& data) : data_(data), series_((kMaxOrder + 2) * data.rank()) {
    fastest_.reserve(kFewGroups);
    lowest_.reserve(kFewGroups * data.n_boundaries());
    highest_.reserve(kFewGroups * data.n_boundaries());
    projections_.reserve((kMaxOrder + 2) * data.n_boundaries());
}

void GroupBounds::update(const Expansion& expansion) {
    const Index groups = expansion.groups().count();
    known_ = groups <= kFewGroups;
    if (!known_) return;
    const StateSeries& series = expansion.series();
    const int order = series.order() - 1;
    const Index rank = data_.rank();
    fastest_.assign(groups, 0.0);
    lowest_.resize(groups * data_.n_boundaries());
    highest_.resize(groups * data_.n_boundaries());
    Coefficients c{};
    for (Index group = 0; group < groups; ++group) {
        const int leader = expansion.groups().leader(group);
        double square = 0.0;
        for (Index x = 0; x < rank; ++x) {
            double low = 0.0;
            double high = 0.0;
            for (int k = 0; k <= order; ++k) series_[k * rank + x] = c[k] = series.g(k, x, leader);
            range_on_unit(c, order, low, high);
            square += std::max(low * low, high * high);
        }
        fastest_[group] = std::sqrt(square);
        const Eigen::Map<const Matrix> g(series_.data(), order + 1, rank);
        projections_.resize(data_.n_boundaries() * (order + 1));
        const Eigen::Map<Matrix> projections(projections_.data(), data_.n_boundaries(), order + 1);
        multiply_transposed(data_.normals(), g, projections);
        for (Index boundary = 0; boundary < data_.n_boundaries(); ++boundary) {
            const Index at = group * data_.n_boundaries() + boundary;
            range_on_unit(projections.row(boundary).data(), order, lowest_[at], highest_[at]);
        }
    }
}

}  // namespace reluflow
