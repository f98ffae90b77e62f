#include "two_layer/bounds.hpp"

#include <algorithm>
#include <cmath>

#include "base/tolerances.hpp"
#include "numeric/polynomial.hpp"
#include "numeric/products.hpp"

namespace reluflow {

GroupBounds::GroupBounds(const Dataset& data) : data_(data), series_(kFewGroups * (kMaxOrder + 2) * data.rank()) {
    fastest_.reserve(kFewGroups);
    lowest_.reserve(kFewGroups * data.n_boundaries());
    highest_.reserve(kFewGroups * data.n_boundaries());
    projections_.reserve((kMaxOrder + 2) * data.n_boundaries());
}

void GroupBounds::update(const Expansion& expansion) {
    groups_ = expansion.groups().count();
    known_ = groups_ <= kFewGroups;
    if (!known_) return;
    const StateSeries& series = expansion.series();
    order_ = series.order() - 1;
    fastest_.assign(groups_, 0.0);
    Coefficients c{};
    for (Index group = 0; group < groups_; ++group) {
        const int leader = expansion.groups().leader(group);
        double* to = series_of(group);
        double square = 0.0;
        for (Index x = 0; x < data_.rank(); ++x) {
            double low = 0.0;
            double high = 0.0;
            for (int k = 0; k <= order_; ++k) to[k * data_.rank() + x] = c[k] = series.g(k, x, leader);
            range_on_unit(c, order_, low, high);
            square += std::max(low * low, high * high);
        }
        fastest_[group] = std::sqrt(square);
    }
}

GroupBounds::Interval GroupBounds::of(Index group, Index boundary) const noexcept {
    const double* g = series_of(group);
    const auto row = [&](std::size_t k) { return g + static_cast<Index>(k) * data_.rank(); };
    Coefficients c{};
    multiply_rows(static_cast<std::size_t>(order_) + 1, row, data_.normals().row(boundary).data(), data_.rank(), c);
    Interval found;
    range_on_unit(c, order_, found.lowest, found.highest);
    return found;
}

void GroupBounds::find_all() {
    const Index boundaries = data_.n_boundaries();
    lowest_.resize(groups_ * boundaries);
    highest_.resize(groups_ * boundaries);
    projections_.resize(boundaries * (order_ + 1));
    const Eigen::Map<Matrix> projections(projections_.data(), boundaries, order_ + 1);
    for (Index group = 0; group < groups_; ++group) {
        const Eigen::Map<const Matrix> g(series_of(group), order_ + 1, data_.rank());
        multiply_transposed(data_.normals(), g, projections);
        for (Index boundary = 0; boundary < boundaries; ++boundary) {
            const Index at = group * boundaries + boundary;
            range_on_unit(projections.row(boundary).data(), order_, lowest_[at], highest_[at]);
        }
    }
}

}  // namespace reluflow
