/// Lines along which a piecewise linear pull is positive, against all lines in which any boundaries meet.
#include "geometry/line_search.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <vector>

#include "base/generator.hpp"
#include "check.hpp"

namespace {

using namespace reluflow;

double unit(Generator& random) {
    return static_cast<double>(random.next() >> 11U) * 0x1.0p-53;
}

struct Problem {
    Eigen::MatrixXd normals;  // a column each
    Vector rest, below, above;

    double pull(const Vector& way) const {
        double sum = rest.dot(way);
        for (Index w = 0; w < normals.cols(); ++w) {
            const double z = normals.col(w).dot(way);
            sum += (z > 0.0 ? above[w] : below[w]) * z;
        }
        return sum;
    }
};

/// Normals of whole numbers, so that many lines are on more boundaries than they need. A few boundaries repel.
Problem problem(int rank, int count, double repelling, Generator& random) {
    Problem drawn{Eigen::MatrixXd(rank, count), Vector::Zero(rank), Vector(count), Vector(count)};
    for (int w = 0; w < count; ++w) {
        do
            for (int x = 0; x < rank; ++x) drawn.normals(x, w) = std::floor(5.0 * unit(random)) - 2.0;
        while (drawn.normals.col(w).isZero(0.0));
        drawn.normals.col(w).normalize();
        const bool repels = unit(random) < repelling;
        const double kink = repels ? unit(random) : -unit(random);
        drawn.below[w] = unit(random) - 0.5;
        drawn.above[w] = drawn.below[w] + kink;
        drawn.rest -= 0.5 * (drawn.below[w] + drawn.above[w]) * drawn.normals.col(w);
    }
    for (int x = 0; x < rank; ++x) drawn.rest[x] += 0.3 * (unit(random) - 0.5);
    return drawn;
}

/// The largest pull on a line in which any boundaries meet.
double largest_of_all(const Problem& problem) {
    const auto rank = static_cast<std::size_t>(problem.normals.rows());
    const auto count = static_cast<std::size_t>(problem.normals.cols());
    std::vector<int> chosen(count, 0);
    std::fill_n(chosen.begin(), rank - 1, 1);
    double largest = -1e300;
    do {
        Eigen::MatrixXd rows(rank, rank);
        rows.setZero();
        Index row = 0;
        for (std::size_t w = 0; w < count; ++w)
            if (chosen[w] != 0) rows.row(row++) = problem.normals.col(static_cast<Index>(w)).transpose();
        const Eigen::FullPivLU<Eigen::MatrixXd> factors(rows);
        if (factors.rank() + 1 < static_cast<Index>(rank)) continue;
        const Vector way = factors.kernel().col(0).normalized();
        largest = std::max({largest, problem.pull(way), problem.pull(-way)});
    } while (std::prev_permutation(chosen.begin(), chosen.end()));
    return largest;
}

LineSearch pose(const Problem& problem) {
    LineSearch search;
    search.resize(static_cast<int>(problem.normals.cols()), static_cast<int>(problem.normals.rows()));
    search.set_rest(problem.rest.data());
    for (int w = 0; w < static_cast<int>(problem.normals.cols()); ++w) {
        search.set_boundary(w, problem.normals.col(w).data(), problem.above[w] > problem.below[w]);
        search.set_pulls(w, problem.below[w], problem.above[w]);
    }
    return search;
}

bool spans(const Problem& problem) {
    Eigen::FullPivLU<Eigen::MatrixXd> factors(problem.normals);
    return factors.rank() == problem.normals.rows();
}

/// Lines of boundaries that do not repel are enough, and uphill is seen what is there.
void a_pull_is_positive_on_a_line_of_boundaries_that_do_not_repel() {
    Generator random(5);
    int positive = 0;
    int negative = 0;
    for (int round = 0; round < 3000; ++round) {
        const int rank = 1 + round % 5;
        const int count = rank + 1 + static_cast<int>(7.0 * unit(random));
        const Problem drawn = problem(rank, count, 0.6 * unit(random), random);
        if (!spans(drawn)) continue;
        const double largest = largest_of_all(drawn);
        if (std::abs(largest) < 1e-9) continue;
        LineSearch search = pose(drawn);
        const auto is_right = [&](const double* way) {
            const Vector found = Eigen::Map<const Vector>(way, rank);
            CHECK(std::abs(found.norm() - 1.0) < 1e-12);
            CHECK(drawn.pull(found) > 0.0);
            return true;
        };
        CHECK(search.look_at_all(0.0, is_right) == (largest > 0.0));
        (largest > 0.0 ? positive : negative) += 1;
        bool climbs = false;
        for (int w = 0; w < count && !climbs; ++w) {
            const Vector back = -drawn.normals.col(w);
            climbs = search.climb_from(drawn.normals.col(w).data(), 0.0, is_right) ||
                     search.climb_from(back.data(), 0.0, is_right);
        }
        CHECK(climbs == (largest > 0.0));
    }
    CHECK(positive > 200);
    CHECK(negative > 200);
}

void all_lines_are_visited_once_for_each_way() {
    Generator random(2);
    Problem drawn{Eigen::MatrixXd(4, 7), Vector::Zero(4), Vector::Constant(7, 0.5), Vector::Constant(7, -0.5)};
    for (int w = 0; w < 7; ++w) {
        for (int x = 0; x < 4; ++x) drawn.normals(x, w) = unit(random) - 0.5;
        drawn.normals.col(w).normalize();
    }
    LineSearch search = pose(drawn);
    int visits = 0;
    const auto count = [&](const double*) {
        ++visits;
        return false;
    };
    CHECK(!search.look_at_all(-1e9, count));
    CHECK(visits == 2 * 35);
    CHECK(search.cost() == 7.0 * 35.0);
    CHECK(search.largest() < 0.0);
    CHECK(!search.look_at_all(search.largest(), count));
    CHECK(visits == 2 * 35);
}

/// Contributions of 1e100 on the boundaries of a line are nothing along it.
void what_a_line_is_along_does_not_pull() {
    LineSearch search;
    search.resize(3, 3);
    const double diagonal = std::sqrt(0.5);
    const double normals[3][3] = {{diagonal, diagonal, 0.0}, {0.0, diagonal, diagonal}, {0.6, 0.0, 0.8}};
    const double rest[3] = {0.25, -0.5, 0.25};
    search.set_rest(rest);
    for (int w = 0; w < 3; ++w) {
        search.set_boundary(w, normals[w], false);
        search.set_pulls(w, w < 2 ? 1e100 : 1.0, w < 2 ? -1e100 : -1.0);
    }
    CHECK(!search.look_at_all(0.0, [](const double*) { return true; }));
    CHECK(search.largest() > -1.0);
}

}  // namespace

int main() {
    a_pull_is_positive_on_a_line_of_boundaries_that_do_not_repel();
    all_lines_are_visited_once_for_each_way();
    what_a_line_is_along_does_not_pull();
    return reluflow::tests::failures();
}
