/// The products of the coupling against their definition: crossed, held and leaking samples, many groups and few.
#include <cmath>
#include <cstdint>
#include <random>
#include <utility>
#include <vector>

#include "check.hpp"
#include "two_layer/coupling.hpp"

using namespace reluflow;

namespace {

double slope(const Dataset& data, const Pattern& pattern, Index neuron, Index i, double leak) {
    const int sign = sample_sign(data, i, pattern.side(neuron, data.boundary_of(i)));
    return sign > 0 ? 1.0 : (sign < 0 ? leak : 0.0);
}

/// Products of the samples whose number is a multiple of `every` are those of all, and other margins do not matter.
void selection_gives_the_same(Coupling& coupling, const Dataset& data, Index groups, int every) {
    std::vector<int> selected;
    Vector weights = Vector::Zero(data.n());
    for (Index i = 0; i < data.n(); i += every) {
        selected.push_back(static_cast<int>(i));
        weights[i] = 1.0 / static_cast<double>(i + 3);
    }
    const Matrix M = Matrix::Random(data.rank(), groups);
    Matrix G_all(data.rank(), groups), G(data.rank(), groups);
    Vector q_all(data.n()), q(data.n());
    coupling.gradients(weights.data(), G_all);
    coupling.margins(M, q_all);
    for (int again = 0; again < 2; ++again) {
        coupling.select(selected);
        coupling.gradients(weights.data(), G);
        coupling.margins(M, q);
        CHECK((G - G_all).cwiseAbs().maxCoeff() < 1e-13);
        for (const int i : selected) CHECK(std::abs(q[i] - q_all[i]) < 1e-12);
        coupling.select_all();
        coupling.margins(M, q);
        CHECK((q - q_all).cwiseAbs().maxCoeff() == 0.0);
    }
}

/// Both products of the groups of a pattern, and the largest difference from the sums that define them.
void products_are_their_sums(Coupling& coupling, const Dataset& data, const Pattern& pattern, double leak) {
    Groups groups(pattern.neurons());
    groups.update(pattern);
    coupling.set_slopes(pattern, groups);
    const Vector weights = Vector::LinSpaced(data.n(), -1.0, 2.0);
    const Matrix M = Matrix::Random(data.rank(), pattern.neurons());
    Matrix G(data.rank(), pattern.neurons());
    Vector q(data.n());
    coupling.gradients(weights.data(), G);
    coupling.margins(M, q);
    Vector expected_q = Vector::Zero(data.n());
    double miss = 0.0;
    for (Index c = 0; c < groups.count(); ++c) {
        Vector g = Vector::Zero(data.rank());
        for (Index i = 0; i < data.n(); ++i) {
            const double s = slope(data, pattern, groups.leader(c), i, leak);
            CHECK(coupling.slope(i, c) == s);
            g += weights[i] * s * data.X().row(i).transpose();
            expected_q[i] += data.signs()[i] * s * data.X().row(i).dot(M.col(c));
        }
        miss = std::max(miss, (G.col(c) - g).cwiseAbs().maxCoeff());
    }
    CHECK(miss < 1e-12);
    CHECK((q - expected_q).cwiseAbs().maxCoeff() < 1e-12);
    for (const int every : {2, 3, 7}) selection_gives_the_same(coupling, data, groups.count(), every);
}

void check(Index n, Index d, Index m, double leak) {
    std::mt19937 random(static_cast<unsigned>(n + 7 * d + 31 * m));
    std::uniform_int_distribution<int> side(-1, 1);
    std::normal_distribution<double> normal;
    Matrix X(n, d);
    for (Index i = 0; i < X.size(); ++i) X.data()[i] = normal(random);
    X.row(n - 1) = -2.0 * X.row(0);  // two samples, one boundary, opposite sides
    Vector y(n);
    for (Index i = 0; i < n; ++i) y[i] = i % 2 ? -1.0 : 1.0;
    const Dataset data(X, y);
    Pool pool(2);
    Coupling coupling(data, m, leak, pool);
    Pattern pattern(m, data.n_boundaries());
    for (int pass = 0; pass < 3;
         ++pass) {  // a few boundaries of few neurons change; then many neurons become one group
        for (Index j = 0; j < m; ++j)
            for (Index boundary = 0; boundary < data.n_boundaries(); ++boundary)
                if (pass == 0 || (boundary % 7 == 0 && j % 3 == 0))
                    pattern.set(j, boundary, static_cast<std::int8_t>(side(random)));
        products_are_their_sums(coupling, data, pattern, leak);
    }
    for (Index j = m / 2; j < m; ++j)
        for (Index boundary = 0; boundary < data.n_boundaries(); ++boundary) pattern.set(j, boundary, 1);
    products_are_their_sums(coupling, data, pattern, leak);
}

/// Samples of few classes: most groups have equal slopes on them, some slide on one of its boundaries.
void few_classes(Index n, Index d, Index m, Index classes, double leak) {
    std::mt19937 random(static_cast<unsigned>(n + 7 * d + 31 * m));
    std::uniform_int_distribution<int> coin(0, 1);
    std::normal_distribution<double> normal;
    Matrix X(n, d);
    for (Index i = 0; i < X.size(); ++i) X.data()[i] = normal(random);
    Vector y(n);
    for (Index i = 0; i < n; ++i) y[i] = i % 2 ? -1.0 : 1.0;
    const Dataset data(X, y);
    Pool pool(2);
    Coupling coupling(data, m, leak, pool);
    Pattern pattern(m, data.n_boundaries());
    for (int pass = 0; pass < 3; ++pass) {
        for (Index j = 0; j < m; ++j) {
            std::vector<int> sides(static_cast<std::size_t>(classes));
            for (int& side : sides) side = pass == 1 && j % 2 == 0 ? -1 : 2 * coin(random) - 1;  // some act on none
            for (Index i = 0; i < n; ++i) {
                const int sign = i == j && pass == 2 ? 0 : sides[static_cast<std::size_t>(i * i % classes)];
                pattern.set(j, data.boundary_of(i), static_cast<std::int8_t>(sign * data.orientation(i)));
            }
        }
        products_are_their_sums(coupling, data, pattern, leak);
    }
}

/// Wherever a group stands and whatever others there are, equal slopes give equal sums to the last bit.
void a_sum_is_that_of_its_own_slopes() {
    const Index n = 40;
    const Index d = 11;
    Matrix X = Matrix::Random(n, d);
    const Vector y = Vector::Ones(n);
    const Dataset data(X, y);
    Pool pool(1);
    Pattern few(3, data.n_boundaries());
    Pattern turned(3, data.n_boundaries());
    for (Index j = 0; j < 3; ++j)
        for (int boundary = 0; boundary < data.n_boundaries(); ++boundary) {
            const auto side = static_cast<std::int8_t>((boundary + j) % 4 == 0 ? -1 : 1);
            few.set(j, boundary, side);
            turned.set(2 - j, boundary, side);
        }
    const Vector weights = Vector::Random(n);
    Matrix first(data.rank(), 3);
    Matrix second(data.rank(), 3);
    for (auto& [pattern, into] : {std::pair{&few, &first}, std::pair{&turned, &second}}) {
        Groups groups(3);
        groups.update(*pattern);
        Coupling coupling(data, 3, 0.0, pool);
        coupling.set_slopes(*pattern, groups);
        coupling.gradients(weights.data(), *into);
    }
    for (Index j = 0; j < 3; ++j) CHECK(first.col(j) == second.col(2 - j));
}

}  // namespace

int main() {
    for (const double leak : {0.0, 0.3}) {
        check(13, 3, 4, leak);
        check(50, 20, 33, leak);
        check(41, 35, 130, leak);
        for (const Index d : {5, 12, 15, 16, 25}) check(62, d, 30, leak);  // every width of a table
    }
    for (const double leak : {0.0, 0.3})
        for (const Index d : {3, 16, 31}) {
            few_classes(60, d, 5, 4, leak);
            few_classes(300, d, 40, 9, leak);
        }
    a_sum_is_that_of_its_own_slopes();
    return reluflow::tests::failures();
}
