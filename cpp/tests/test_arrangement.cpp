/// Cells of arrangements whose number is known.
#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "base/errors.hpp"
#include "base/generator.hpp"
#include "check.hpp"
#include "geometry/arrangement.hpp"

namespace {

using namespace reluflow;

const ArrangementHook kNoHook = [](Index) { return Request::go_on; };

Matrix random_rows(Index n, Index d, std::uint64_t seed) {
    Generator generator(seed);
    Matrix X(n, d);
    for (Index i = 0; i < X.size(); ++i)
        X.data()[i] = static_cast<double>(generator.next() >> 11U) * 0x1.0p-52 - 1.0;  // uniform in [-1, 1)
    return X;
}

ArrangementResult cells(const Matrix& X, Index max_count = 1000000) {
    return enumerate_cells(X, {.max_count = max_count}, kNoHook);
}

/// 2 Σ_{k<d} C(n-1, k)
Index in_general_position(Index n, Index d) {
    double sum = 0, term = 1;
    for (Index k = 0; k < d && k < n; ++k) {
        sum += term;
        term *= static_cast<double>(n - 1 - k) / static_cast<double>(k + 1);
    }
    return static_cast<Index>(std::llround(2 * sum));
}

void random_rows_have_the_cells_of_general_position() {
    for (Index d = 1; d <= 6; ++d)
        for (const Index n : {1, 2, 5, 11}) {
            const ArrangementResult found = cells(random_rows(n, d, static_cast<std::uint64_t>(100 * d + n)));
            CHECK(found.status == ArrangementStatus::complete);
            CHECK(found.count == in_general_position(n, d));
        }
}

void every_point_has_the_signs_of_its_pattern_and_no_pattern_comes_twice() {
    const Matrix X = random_rows(12, 4, 1);
    const ArrangementResult found = cells(X);
    std::set<std::vector<std::uint8_t>> seen;
    for (Index c = 0; c < found.count; ++c) {
        const Eigen::Map<const Vector> point(found.points.data() + c * 4, 4);
        const auto* row = found.patterns.data() + c * 12;
        CHECK(std::abs(point.norm() - 1) < 1e-12);
        for (Index i = 0; i < 12; ++i) CHECK((X.row(i).dot(point) > 0) == (row[i] == 1));
        seen.emplace(row, row + 12);
    }
    CHECK(static_cast<Index>(seen.size()) == found.count);
}

void parallel_rows_are_one_boundary_and_zero_rows_none() {
    Matrix X(5, 2);
    X << 1, 2, -2, -4, 0, 0, 0.5, 1, 3, -1;
    CHECK(count_boundaries(X) == 2);
    CHECK(cells(X).count == 4);
}

void three_lines_through_one_ray_make_six_cells() {
    Matrix X(3, 3);  // x_3 = x_1 + x_2: general position would have 8
    X << 1, 0, 0.3, 0, 1, 0.7, 1, 1, 1;
    CHECK(cells(X).count == 6);
}

void a_limit_ends_the_run() {
    const ArrangementResult found = cells(random_rows(30, 4, 2), 100);
    CHECK(found.status == ArrangementStatus::over_limit);
    CHECK(found.count < 100 + 2 * in_general_position(29, 3));
}

void a_hook_can_stop_the_run() {
    const ArrangementHook stop = [](Index) { return Request::stop; };
    const ArrangementResult found = enumerate_cells(random_rows(40, 5, 3), {.max_count = 1000000}, stop);
    CHECK(found.status == ArrangementStatus::stopped);
}

void an_empty_matrix_is_refused() {
    bool refused = false;
    try {
        cells(Matrix(0, 3));
    } catch (const InvalidArgument& error) {
        refused = error.name() == "X";
    }
    CHECK(refused);
}

}  // namespace

int main() {
    random_rows_have_the_cells_of_general_position();
    every_point_has_the_signs_of_its_pattern_and_no_pattern_comes_twice();
    parallel_rows_are_one_boundary_and_zero_rows_none();
    three_lines_through_one_ray_make_six_cells();
    a_limit_ends_the_run();
    a_hook_can_stop_the_run();
    an_empty_matrix_is_refused();
    return reluflow::tests::failures();
}
