#include "reluflow/drive.hpp"

#include <algorithm>

#include "reluflow/products.hpp"

namespace reluflow {

namespace {

using Block = Eigen::Map<Matrix>;
using Map = Eigen::Map<Vector>;
using ConstMap = Eigen::Map<const Vector>;

}  // namespace

Drive::Drive(const Dataset& data, Index neurons, double leak)
    : data_(data),
      leak_(leak),
      slopes_(data.n() * neurons),
      work_(data.n() * neurons),
      column_(kFewGroups * data.rank()) {}

void Drive::set_slopes(const Pattern& pattern, const Groups& groups) {
    groups_ = groups.count();
    for (Index c = 0; c < groups_; ++c) {
        const auto sides = pattern.row(groups.leader(c));
        for (Index i = 0; i < data_.n(); ++i) {
            const int sign = slope_sign(data_, i, sides[data_.wall_of(i)]);
            slopes_[i * groups_ + c] = sign > 0 ? 1.0 : (sign < 0 ? leak_ : 0.0);
        }
    }
}

void Drive::gradients(const double* weights, Matrix& G) {
    if (groups_ <= kFewGroups) return gradients_of_few(weights, G);
    const Index n = data_.n();
    for (Index i = 0; i < n; ++i) {
        const double weight = weights[i];
        const double* slopes = slopes_.data() + i * groups_;
        double* row = work_.data() + i * groups_;
        for (Index c = 0; c < groups_; ++c) row[c] = weight * slopes[c];
    }
    transposed_multiply(data_.X(), Block(work_.data(), n, groups_), G.leftCols(groups_));
}

void Drive::gradients_of_few(const double* weights, Matrix& G) {
    const Index r = data_.rank();
    for (Index c = 0; c < groups_; ++c) {
        double* g = column_.data() + c * r;
        std::fill(g, g + r, 0.0);
        for (Index i = 0; i < data_.n(); ++i) {
            const double factor = weights[i] * slopes_[i * groups_ + c];
            if (factor == 0.0) continue;
            Map(g, r) += factor * ConstMap(data_.X().row(i).data(), r);
        }
        for (Index k = 0; k < r; ++k) G(k, c) = g[k];
    }
}

void Drive::margins(const Matrix& M, Vector& q) {
    if (groups_ <= kFewGroups) return margins_of_few(M, q);
    const Index n = data_.n();
    multiply(data_.X(), M.leftCols(groups_), Block(work_.data(), n, groups_));
    for (Index i = 0; i < n; ++i) {
        const double* slopes = slopes_.data() + i * groups_;
        const double* z = work_.data() + i * groups_;
        double sum = 0.0;
        for (Index c = 0; c < groups_; ++c) sum += slopes[c] * z[c];
        q[i] = data_.y()[i] * sum;
    }
}

void Drive::margins_of_few(const Matrix& M, Vector& q) {
    const Index r = data_.rank();
    for (Index c = 0; c < groups_; ++c)
        for (Index k = 0; k < r; ++k) column_[c * r + k] = M(k, c);
    for (Index i = 0; i < data_.n(); ++i) {
        const double* x = data_.X().row(i).data();
        double sum = 0.0;
        for (Index c = 0; c < groups_; ++c) {
            const double slope = slopes_[i * groups_ + c];
            if (slope == 0.0) continue;
            sum += slope * ConstMap(x, r).dot(ConstMap(column_.data() + c * r, r));
        }
        q[i] = data_.y()[i] * sum;
    }
}

}  // namespace reluflow
