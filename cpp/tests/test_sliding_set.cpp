/// Projector and multipliers of a sliding set against Gram systems solved exactly, from orthogonal boundaries to
/// boundaries that depend on each other by the last digits.
#include "hybrid/sliding_set.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "base/generator.hpp"
#include "check.hpp"
#include "exact.hpp"

namespace {

using namespace reluflow;
using tests::Exact;
using Numbers = std::vector<double>;
using System = std::vector<std::vector<Exact>>;

constexpr double kEps = std::numeric_limits<double>::epsilon();
/// A few sums of at most five terms, made twice.
constexpr double kRounding = 40.0 * kEps;

double uniform(Generator& random) {
    return 2.0 * (static_cast<double>(random.next() >> 11U) / 9007199254740992.0) - 1.0;
}

/// A whole number from -2 to 2.
double digit(Generator& random) {
    return static_cast<double>(random.next() % 5) - 2.0;
}

Matrix unit_rows(const std::vector<Numbers>& rows) {
    Matrix normals(static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size()));
    for (Index i = 0; i < normals.rows(); ++i) {
        for (Index k = 0; k < normals.cols(); ++k) normals(i, k) = rows[i][k];
        normals.row(i) /= normals.row(i).norm();
    }
    return normals;
}

Exact dot(const Matrix& rows, int i, const double* v) {
    Exact sum;
    for (Index k = 0; k < rows.cols(); ++k) sum = sum + Exact(rows(i, k)) * v[k];
    return sum;
}

/// G = E Eᵀ of some rows, without rounding.
System gram(const Matrix& normals, std::span<const int> boundaries) {
    System made;
    for (const int i : boundaries) {
        made.emplace_back();
        for (const int k : boundaries) made.back().push_back(dot(normals, i, normals.row(k).data()));
    }
    return made;
}

/// G β = -E v by Cramer's rule: numerators and the determinant.
std::vector<Exact> exact_multipliers(const Matrix& normals, std::span<const int> boundaries, const Numbers& v,
                                     Exact& all) {
    const System system = gram(normals, boundaries);
    all = tests::determinant(system);
    std::vector<Exact> right;
    for (const int boundary : boundaries) right.push_back(-dot(normals, boundary, v.data()));
    return tests::cramer(system, right);
}

/// What is found of a set on v, and how far it is from what is exact.
struct Miss {
    double along = 0.0;        ///< |e · Pv| / |v|, the largest: what takes a neuron off its boundaries
    double projected = 0.0;    ///< |Pv - exact| / |v|
    double multipliers = 0.0;  ///< |β - exact| / |exact|
    double balance = 0.0;      ///< |Σ β e + what was taken from v| / (|β| + |v|)
};

Miss miss(const SlidingSet& set, const Matrix& normals, const Numbers& v) {
    const auto rank = static_cast<Index>(v.size());
    const auto count = static_cast<std::size_t>(set.size());
    const double size = Eigen::Map<const Vector>(v.data(), rank).norm();
    Numbers left = v;
    Numbers also = v;
    Numbers coordinates(count);
    set.project(left.data());
    set.project(also.data(), 1, coordinates.data());
    Numbers beta = coordinates;
    set.multipliers(beta.data());
    Exact all;
    const std::vector<Exact> exact = exact_multipliers(normals, set.boundaries(), v, all);
    Miss found;
    double largest = 0.0;
    for (std::size_t h = 0; h < count; ++h) {
        const auto wanted = static_cast<double>(tests::ratio(exact[h], all));
        largest = std::max(largest, std::abs(wanted));
        found.multipliers = std::max(found.multipliers, std::abs(beta[h] - wanted));
        found.along =
            std::max(found.along, std::abs(double(dot(normals, set.boundaries()[h], left.data()).value())) / size);
    }
    for (Index k = 0; k < rank; ++k) {
        Exact wanted = all * v[k];
        Exact balance = Exact(v[k]) - left[k];
        for (std::size_t h = 0; h < count; ++h) {
            wanted = wanted + exact[h] * normals(set.boundaries()[h], k);
            balance = balance + Exact(beta[h]) * normals(set.boundaries()[h], k);
        }
        found.projected =
            std::max(found.projected, static_cast<double>(std::abs(tests::ratio(all * left[k] - wanted, all))) / size);
        found.balance = std::max(found.balance, static_cast<double>(balance.abs().value()) / (largest + size));
        CHECK(std::abs(left[k] - also[k]) <= kRounding * size);
    }
    found.multipliers /= largest + size;
    return found;
}

Numbers drawn(Index rank, Generator& random) {
    Numbers v(rank);
    for (double& number : v) number = uniform(random);
    return v;
}

/// The first independent rows, by determinants that are zero or are not.
std::vector<int> independent_rows(const std::vector<Numbers>& rows, std::span<const int> order) {
    Matrix whole(static_cast<Index>(rows.size()), static_cast<Index>(rows[0].size()));
    for (Index i = 0; i < whole.rows(); ++i)
        for (Index k = 0; k < whole.cols(); ++k) whole(i, k) = rows[i][k];
    std::vector<int> chosen;
    for (const int row : order) {
        chosen.push_back(row);
        if (tests::determinant(gram(whole, chosen)).sign() == 0) chosen.pop_back();
    }
    return chosen;
}

void integer_boundaries_are_independent_exactly_when_their_gram_is_not_singular() {
    Generator random(1);
    for (int round = 0; round < 400; ++round) {
        const auto rank = static_cast<Index>(2 + random.next() % 4);
        std::vector<Numbers> rows;
        std::vector<int> order;
        for (int w = 0; w < 6; ++w) {
            Numbers row(rank, 0.0);
            while (std::all_of(row.begin(), row.end(), [](double x) { return x == 0.0; }))
                for (double& number : row) number = digit(random);
            rows.push_back(row);
            order.insert(order.begin() + static_cast<std::ptrdiff_t>(random.next() % (order.size() + 1)), w);
        }
        const Matrix normals = unit_rows(rows);
        SlidingSet set(rank);
        set.assign(order, normals);
        const std::vector<int> expected = independent_rows(rows, order);
        CHECK(std::equal(set.boundaries().begin(), set.boundaries().end(), expected.begin(), expected.end()));
        CHECK(set.boundaries().size() + set.dependent().size() == order.size());
        if (round % 4 != 0) continue;
        const Numbers v = drawn(rank, random);
        const Miss found = miss(set, normals, v);
        CHECK(found.along <= kRounding);
        CHECK(found.balance <= kRounding);
        CHECK(found.projected <= 30.0 * kRounding);  // the angles between such boundaries are no smaller than 1/30
        CHECK(found.multipliers <= 1000.0 * kRounding);
        for (const int boundary : set.dependent()) {
            Numbers left = v;
            set.project(left.data());
            CHECK(std::abs(double(dot(normals, boundary, left.data()).value())) <= 30.0 * kRounding);
        }
    }
}

/// e₁ and e₁ turned by `angle` in two planes, with another boundary beside them.
Matrix narrow_boundaries(double angle) {
    return unit_rows(
        {{1.0, 0.0, 0.0, 0.0}, {1.0, angle, 0.0, 0.0}, {1.0, 0.0, 2.0 * angle, 0.0}, {3.0, 1.0, -2.0, 2.0}});
}

/// At 1e-9 a boundary is one of its own: off it nothing goes, and its multiplier is that of the exact system, to as
/// many digits as the angle leaves.
void boundaries_a_billionth_apart_hold_each_by_itself() {
    Generator random(2);
    for (const double angle : {1e-3, 1e-6, 1e-9, 2e-10}) {
        Matrix normals = narrow_boundaries(angle);
        std::vector<int> order{0, 1, 2, 3};
        do {
            SlidingSet set(4);
            set.assign(std::span<const int>(order).first(3), normals);
            CHECK(set.size() == 3);
            CHECK(set.is_line());
            const Miss found = miss(set, normals, drawn(4, random));
            CHECK(found.along <= kRounding);
            CHECK(found.balance <= kRounding);
            CHECK(found.projected <= kRounding / angle);
            CHECK(found.multipliers <= kRounding / angle);
            const Vector line = set.line();
            CHECK(std::abs(line.norm() - 1.0) <= kRounding);
            for (const int boundary : set.boundaries())
                CHECK(std::abs(double(dot(normals, boundary, line.data()).value())) <= kRounding);
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

/// At 1e-11 two boundaries are one: the second is listed as dependent, whichever comes first, and the projector is that
/// of one of them.
void boundaries_a_hundred_billionth_apart_hold_as_one() {
    Generator random(3);
    for (const double angle : {4e-11, 1e-11, 1e-13, 0.0}) {
        const Matrix normals = narrow_boundaries(angle);
        std::vector<int> order{0, 1, 2, 3};
        do {
            SlidingSet set(4);
            set.assign(order, normals);
            CHECK(set.size() == 2);
            CHECK(set.dependent().size() == 2);
            const Numbers v = drawn(4, random);
            const Miss found = miss(set, normals, v);
            CHECK(found.along <= kRounding);
            CHECK(found.projected <= 10.0 * kRounding);
            CHECK(found.multipliers <= 10.0 * kRounding);
            Numbers left = v;
            set.project(left.data());
            for (const int boundary : set.dependent())
                CHECK(std::abs(double(dot(normals, boundary, left.data()).value())) <= 3.0 * angle + kRounding);
        } while (std::next_permutation(order.begin(), order.end()));
    }
}

/// Every subset in every order, one set used again and again: the projector depends on the boundaries alone.
void sets_that_grow_and_shrink_in_any_order_are_the_same() {
    Generator random(4);
    std::vector<Numbers> rows;
    for (int w = 0; w < 5; ++w) rows.push_back(drawn(5, random));
    const Matrix normals = unit_rows(rows);
    const Numbers v = drawn(5, random);
    SlidingSet set(5);
    for (unsigned chosen = 0; chosen < 32; ++chosen) {
        std::vector<int> order;
        for (int w = 0; w < 5; ++w)
            if ((chosen >> static_cast<unsigned>(w) & 1U) != 0) order.push_back(w);
        Numbers first;
        do {
            set.assign(order, normals);
            CHECK(set.boundaries().size() == order.size());
            CHECK(set.dependent().empty());
            Numbers left = v;
            set.project(left.data());
            if (first.empty()) {
                first = left;
                CHECK(miss(set, normals, v).projected <= 30.0 * kRounding);
            }
            for (std::size_t k = 0; k < v.size(); ++k) CHECK(std::abs(left[k] - first[k]) <= 60.0 * kRounding);
            if (order.size() == 5)
                for (const double number : left) CHECK(number == 0.0);
        } while (std::next_permutation(order.begin(), order.end()));
    }
    set.assign({}, normals);
    CHECK(set.empty());
    Numbers left = v;
    set.project(left.data());
    CHECK(left == v);
}

/// Where what is taken is a billion times what is left, as of gradients that cancel, that stays on the boundaries too,
/// to roundings of itself.
void what_little_is_left_stays_on_the_boundaries() {
    Generator random(5);
    for (const Index held : {1, 2, 3}) {
        std::vector<Numbers> rows;
        for (int w = 0; w < 5; ++w) rows.push_back(drawn(5, random));
        const Matrix normals = unit_rows(rows);
        std::vector<int> order(static_cast<std::size_t>(held));
        std::iota(order.begin(), order.end(), 0);
        SlidingSet set(5);
        set.assign(order, normals);
        for (int round = 0; round < 20; ++round) {
            Numbers v = drawn(5, random);
            for (double& number : v) number *= 1e-9;
            for (const int boundary : order) {
                const double part = uniform(random);
                for (Index k = 0; k < 5; ++k) v[k] += part * normals(boundary, k);
            }
            set.project_fully(v.data());
            const double size = Eigen::Map<const Vector>(v.data(), 5).norm();
            CHECK(size < 1e-8 && size > 1e-11);
            for (const int boundary : order)
                CHECK(std::abs(double(dot(normals, boundary, v.data()).value())) <= kRounding * size);
        }
    }
}

/// The orders of a series go four at a time, and those left one by one; so do the boundaries.
void vectors_taken_together_are_projected_as_each_alone() {
    Generator random(6);
    const Index rank = 9;
    std::vector<Numbers> rows;
    for (Index w = 0; w < rank; ++w) rows.push_back(drawn(rank, random));
    const Matrix normals = unit_rows(rows);
    std::vector<int> order(static_cast<std::size_t>(rank));
    std::iota(order.begin(), order.end(), 0);
    SlidingSet set(rank);
    for (int held = 0; held <= rank; ++held) {
        set.assign(std::span<const int>(order).first(held), normals);
        for (int count = 0; count <= 9; ++count) {
            const Numbers v = drawn(count * rank, random);
            Numbers together = v;
            Numbers without_parts = v;
            Numbers parts(static_cast<std::size_t>(count * held));
            set.project(together.data(), count, parts.data());
            set.project(without_parts.data(), count);
            CHECK(without_parts == together);
            for (int i = 0; i < count; ++i) {
                Numbers alone(v.begin() + i * rank, v.begin() + (i + 1) * rank);
                Numbers coordinates(static_cast<std::size_t>(held));
                set.coordinates(alone.data(), coordinates.data());
                set.project(alone.data());
                for (Index k = 0; k < rank; ++k) CHECK(std::abs(together[i * rank + k] - alone[k]) <= 4.0 * kRounding);
                for (int h = 0; h < held; ++h) CHECK(std::abs(parts[i * held + h] - coordinates[h]) <= 4.0 * kRounding);
            }
        }
    }
}

}  // namespace

int main() {
    integer_boundaries_are_independent_exactly_when_their_gram_is_not_singular();
    boundaries_a_billionth_apart_hold_each_by_itself();
    boundaries_a_hundred_billionth_apart_hold_as_one();
    sets_that_grow_and_shrink_in_any_order_are_the_same();
    what_little_is_left_stays_on_the_boundaries();
    vectors_taken_together_are_projected_as_each_alone();
    return reluflow::tests::failures();
}
