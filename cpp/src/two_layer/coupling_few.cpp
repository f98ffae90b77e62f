// The products of few groups: each sample is added to each group that it acts on.
#include <algorithm>

#include "two_layer/coupling.hpp"

namespace reluflow {

namespace {

using Map = Eigen::Map<Vector>;
using ConstMap = Eigen::Map<const Vector>;

/// So few coordinates are added up one by one: a vector of them takes longer to set up than to add.
constexpr Index kShort = 4;

}  // namespace

void Coupling::gradients_of_few(const double* weights, Matrix& G) {
    const Index r = data_.rank();
    for (Index c = 0; c < groups_; ++c) {
        double* g = column_.data() + c * r;
        std::fill(g, g + r, 0.0);
        for (Index i = 0; i < data_.n(); ++i) {
            const double factor = weights[i] * slope(i, c);
            if (factor == 0.0) continue;
            const double* x = data_.X().row(i).data();
            if (r < kShort)
                for (Index k = 0; k < r; ++k) g[k] += factor * x[k];
            else
                Map(g, r) += factor * ConstMap(x, r);
        }
        for (Index k = 0; k < r; ++k) G(k, c) = g[k];
    }
}

void Coupling::margins_of_few(const Matrix& M, Vector& q) {
    const Index r = data_.rank();
    for (Index c = 0; c < groups_; ++c)
        for (Index k = 0; k < r; ++k) column_[c * r + k] = M(k, c);
    for (Index i = 0; i < data_.n(); ++i) {
        const double* x = data_.X().row(i).data();
        double sum = 0.0;
        for (Index c = 0; c < groups_; ++c) {
            const double factor = slope(i, c);
            if (factor == 0.0) continue;
            const double* moments = column_.data() + c * r;
            if (r >= kShort) {
                sum += factor * ConstMap(x, r).dot(ConstMap(moments, r));
                continue;
            }
            double product = x[0] * moments[0];
            for (Index k = 1; k < r; ++k) product += x[k] * moments[k];
            sum += factor * product;
        }
        q[i] = data_.signs()[i] * sum;
    }
}

}  // namespace reluflow
