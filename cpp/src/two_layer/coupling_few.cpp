// The products of few groups: each sample is added to each group that it acts on.
#include <algorithm>

#include "two_layer/coupling.hpp"

namespace reluflow {

namespace {

using Map = Eigen::Map<Vector>;
using ConstMap = Eigen::Map<const Vector>;

/// So few coordinates are added up one by one: a vector of them takes longer to set up than to add.
constexpr Index kShort = 4;

/// Calls body<Rank>() with a rank below kShort, which the compiler knows then.
template <Index Rank = 1, class Body>
void with_rank(Index rank, const Body& body) {
    if constexpr (Rank + 1 < kShort)
        if (rank > Rank) return with_rank<Rank + 1>(rank, body);
    body.template operator()<Rank>();
}

}  // namespace

void Coupling::gradients_of_few(const double* weights, Matrix& G) {
    const Index r = data_.rank();
    const auto add_up = [&](Index c, double* g, const auto& add) {
        for (Index i = 0; i < data_.n(); ++i)
            if (const double factor = weights[i] * slope(i, c); factor != 0.0) add(g, factor, data_.X().row(i).data());
        for (Index k = 0; k < r; ++k) G(k, c) = g[k];
    };
    if (r < kShort)
        return with_rank(r, [&]<Index Rank>() {
            for (Index c = 0; c < groups_; ++c) {
                double g[Rank] = {};
                add_up(c, g, [](double* sum, double factor, const double* x) {
                    for (Index k = 0; k < Rank; ++k) sum[k] += factor * x[k];
                });
            }
        });
    for (Index c = 0; c < groups_; ++c) {
        double* g = column_.data() + c * r;
        std::fill(g, g + r, 0.0);
        add_up(c, g, [r](double* sum, double factor, const double* x) { Map(sum, r) += factor * ConstMap(x, r); });
    }
}

void Coupling::margins_of_few(const Matrix& M, Vector& q) {
    const Index r = data_.rank();
    for (Index c = 0; c < groups_; ++c)
        for (Index k = 0; k < r; ++k) column_[c * r + k] = M(k, c);
    const auto add_up = [&](const auto& dot) {
        for (Index i = 0; i < data_.n(); ++i) {
            const double* x = data_.X().row(i).data();
            double sum = 0.0;
            for (Index c = 0; c < groups_; ++c)
                if (const double factor = slope(i, c); factor != 0.0) sum += factor * dot(x, column_.data() + c * r);
            q[i] = data_.signs()[i] * sum;
        }
    };
    if (r < kShort)
        return with_rank(r, [&]<Index Rank>() {
            add_up([](const double* x, const double* moments) {
                double product = x[0] * moments[0];
                for (Index k = 1; k < Rank; ++k) product += x[k] * moments[k];
                return product;
            });
        });
    add_up([r](const double* x, const double* moments) { return ConstMap(x, r).dot(ConstMap(moments, r)); });
}

}  // namespace reluflow
