/// The series of all neurons against their definition, one by one, and the bounds of what drives their groups.
#include "two_layer/neuron_series.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/pool.hpp"
#include "check.hpp"
#include "numeric/polynomial.hpp"
#include "problem.hpp"
#include "two_layer/bounds.hpp"
#include "two_layer/expansion.hpp"
#include "uniform.hpp"

namespace {

using namespace reluflow;
using tests::Uniform;

constexpr Index kRank = 11;                 // more than one block of coordinates
constexpr Index kNeurons = 16 + 4 + 2 + 1;  // every width of a strip
constexpr Index kKinds = 3;                 // neuron j is the same as neuron j mod 3
constexpr int kOrders = 6;
constexpr double kStep = 0.3;

struct Network {
    Dataset data;
    State state;

    explicit Network(Index samples) : Network(samples, Uniform(static_cast<std::uint64_t>(samples))) {}
    Network(Index samples, Uniform number)
        : data(drawn(samples, kRank, number), Vector::Ones(samples)), state(data, copies(number), ones(), 0.0) {
        tests::take_sides(data, state);
    }

    static Matrix drawn(Index rows, Index columns, Uniform& number) {
        Matrix made(rows, columns);
        for (Index i = 0; i < made.size(); ++i) made.data()[i] = number();
        return made;
    }
    static Matrix copies(Uniform& number) {
        Matrix made = drawn(kNeurons, kRank, number);
        for (Index j = 0; j < kKinds; ++j) made.row(j).normalize();
        for (Index j = kKinds; j < kNeurons; ++j) made.row(j) = made.row(j % kKinds);
        return made;
    }
    static Vector ones() { return Vector::Ones(kNeurons); }
};

void every_neuron_has_the_series_of_its_definition() {
    const Network net(40);
    Pool pool(1);
    Groups groups(kNeurons);
    groups.update(net.state.mode.pattern());
    CHECK(groups.count() == kKinds);
    NeuronSeries series(net.state, groups, 0.0, pool);
    Matrix moments(kRank, kNeurons);
    series.start(moments);
    std::vector<Matrix> g;
    Uniform number(9);
    for (int k = 0; k < kOrders; ++k) {
        g.push_back(Network::drawn(kRank, kNeurons, number));
        series.push(g.back(), kStep, moments);
    }
    Matrix expected = Matrix::Zero(kRank, kKinds);
    std::vector<Numbers> w(kKinds, Numbers((kOrders + 1) * kRank));
    std::vector<Numbers> a(kKinds, Numbers(kOrders + 1));
    Numbers gradient(kOrders * kRank);
    for (int j = 0; j < static_cast<int>(kNeurons); ++j) {
        Numbers own_w((kOrders + 1) * kRank);
        Numbers own_a(kOrders + 1);
        series.copy(j, own_w.data(), own_a.data(), gradient.data());
        const int kind = j % static_cast<int>(kKinds);
        if (j < static_cast<int>(kKinds)) {
            w[kind] = own_w;
            a[kind] = own_a;
        }
        CHECK(own_w == w[kind] && own_a == a[kind]);
        const auto term = [&](int k) { return Eigen::Map<const Vector>(own_w.data() + k * kRank, kRank); };
        for (int k = 0; k < kOrders; ++k) {
            Vector speed = Vector::Zero(kRank);
            double rate = 0.0;
            for (int l = 0; l <= k; ++l) {
                speed += own_a[l] * g[k - l].col(kind);
                rate += term(l).dot(g[k - l].col(kind));
            }
            CHECK((term(k + 1) - kStep / (k + 1) * speed).norm() < 1e-13);
            CHECK(std::abs(own_a[k + 1] - kStep / (k + 1) * rate) < 1e-13);
        }
        for (int l = 0; l <= kOrders; ++l) expected.col(kind) += own_a[l] * term(kOrders - l);
    }
    CHECK((moments.leftCols(kKinds) - expected).cwiseAbs().maxCoeff() < 1e-12);
}

/// Of one boundary as of all together, and no value of the series is outside.
void bounds_of_a_group_hold_its_gradient() {
    const Network net(40);
    Pool pool(1);
    Expansion expansion(net.data, {}, {}, net.state, pool);
    expansion.start();
    CHECK(expansion.expand(0.05) > 0.0);
    GroupBounds bounds(net.data);
    bounds.update(expansion);
    CHECK(bounds.are_known());
    bounds.find_all();
    const int order = expansion.series().order() - 1;
    for (Index group = 0; group < expansion.groups().count(); ++group)
        for (Index boundary = 0; boundary < net.data.n_boundaries(); ++boundary) {
            const auto [lowest, highest] = bounds.of(group, boundary);
            const double rounding = 1e-14 * bounds.fastest(group);
            CHECK(std::abs(lowest - bounds.lowest(group, boundary)) <= rounding);
            CHECK(std::abs(highest - bounds.highest(group, boundary)) <= rounding);
            for (const double u : {0.0, 0.3, 0.7, 1.0}) {
                double value = 0.0;
                for (Index x = 0; x < kRank; ++x) {
                    Coefficients c{};
                    for (int k = 0; k <= order; ++k)
                        c[k] = expansion.series().g(k, x, expansion.groups().leader(group));
                    value += net.data.normals()(boundary, x) * evaluate(c, order, u);
                }
                CHECK(value >= lowest - rounding && value <= highest + rounding);
                CHECK(std::abs(value) <= bounds.fastest(group) + rounding);
            }
        }
}

}  // namespace

int main() {
    every_neuron_has_the_series_of_its_definition();
    bounds_of_a_group_hold_its_gradient();
    return tests::failures();
}
