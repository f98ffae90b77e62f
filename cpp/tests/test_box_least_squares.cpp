/// The bounded least-squares problem of a corner: its optimality conditions, on vectors that depend on each other.
#include "numeric/box_least_squares.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "base/generator.hpp"
#include "check.hpp"
#include "problem/settings.hpp"

namespace {

using namespace reluflow;

/// In [0, 1).
double unit(Generator& random) {
    return static_cast<double>(random.next() >> 11U) / 9007199254740992.0;
}

/// A whole number from -2 to 2.
double digit(Generator& random) {
    return std::floor(5.0 * unit(random)) - 2.0;
}

/// Unit vectors along small integers: repeats, opposites and sums of others are common.
void draw(BoxLeastSquares& fit, int count, int rank, Generator& random) {
    fit.resize(count, rank);
    for (int w = 0; w < count; ++w) {
        double square = 0.0;
        while (square == 0.0)
            for (int k = 0; k < rank; ++k) {
                fit.vector(w)[k] = digit(random);
                square += fit.vector(w)[k] * fit.vector(w)[k];
            }
        for (int k = 0; k < rank; ++k) fit.vector(w)[k] /= std::sqrt(square);
    }
    for (int k = 0; k < rank; ++k) fit.offset()[k] = digit(random) + unit(random);
}

bool is_optimal(const BoxLeastSquares& fit, const std::vector<double>& low, const std::vector<double>& high,
                double tolerance) {
    for (int w = 0; w < fit.count(); ++w) {
        const double c = fit.coefficient(w);
        if (c < low[w] || c > high[w]) return false;
        if (c > low[w] && fit.rate(w) > tolerance) return false;
        if (c < high[w] && fit.rate(w) < -tolerance) return false;
    }
    return true;
}

void the_least_residual_is_found(double widest) {
    Generator random(7);
    BoxLeastSquares fit;
    for (int round = 0; round < 300; ++round) {
        const int count = 1 + static_cast<int>(12.0 * unit(random));
        const int rank = 1 + static_cast<int>(5.0 * unit(random));
        draw(fit, count, rank, random);
        std::vector<double> low(count);
        std::vector<double> high(count);
        for (int w = 0; w < count; ++w) {
            low[w] = -unit(random);
            high[w] = low[w] + (w % 3 == 0 ? widest : 1.0) * unit(random);
            fit.set_interval(w, low[w], high[w]);
            fit.set_place(w, w % 2 == 0 ? BoxLeastSquares::Place::inside : BoxLeastSquares::Place::low);
        }
        CHECK(fit.solve(1.0));
        CHECK(is_optimal(fit, low, high, 1e-12));
    }
}

/// Ends, offset and vectors of whole numbers: coefficients take exactly the room they have, and sets inside lose and
/// get back the same vector.
void ties_between_ends_are_no_trap() {
    Generator random(5);
    BoxLeastSquares fit;
    for (int round = 0; round < 20000; ++round) {
        const int count = 2 + static_cast<int>(4.0 * unit(random));
        const int rank = 1 + static_cast<int>(3.0 * unit(random));
        draw(fit, count, rank, random);
        std::vector<double> low(count);
        std::vector<double> high(count);
        for (int k = 0; k < rank; ++k) fit.offset()[k] = digit(random);
        for (int w = 0; w < count; ++w) {
            double length = 1.0;  // of the whole vector, up to rounding
            for (int k = 0; k < rank; ++k)
                if (fit.vector(w)[k] != 0.0) length = std::max(length, 1.0 / std::abs(fit.vector(w)[k]));
            low[w] = digit(random) * length;
            high[w] = low[w] + std::abs(digit(random)) * length;
            fit.set_interval(w, low[w], high[w]);
            fit.set_place(w, static_cast<BoxLeastSquares::Place>(static_cast<int>(3.0 * unit(random))));
        }
        CHECK(fit.solve(1.0));
        CHECK(is_optimal(fit, low, high, 1e-12));
    }
}

/// Two vectors that end and a free one in their span: the free one takes the place of those, whichever comes first.
void a_free_vector_is_not_given_up_for_one_that_ends() {
    for (int free = 0; free < 3; ++free) {
        BoxLeastSquares fit;
        fit.resize(3, 2);
        const double vectors[3][2] = {{1.0, 0.0}, {0.0, 1.0}, {0.6, 0.8}};
        for (int w = 0; w < 3; ++w) {
            std::copy_n(vectors[w], 2, fit.vector(w));
            fit.set_interval(w, 0.0, 0.1);
            fit.set_place(w, BoxLeastSquares::Place::inside);
        }
        fit.set_interval(free, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity());
        fit.offset()[0] = -3.0;
        fit.offset()[1] = -5.0;
        CHECK(fit.solve(6.0));
        CHECK(std::abs(fit.rate(free)) <= fit.tolerance());
        for (int w = 0; w < 3; ++w) CHECK(w == free || fit.rate(w) <= fit.tolerance() || fit.coefficient(w) == 0.0);
    }
}

void a_free_vector_takes_all_that_is_along_it() {
    BoxLeastSquares fit;
    fit.resize(2, 2);
    const double vectors[2][2] = {{1.0, 0.0}, {0.6, 0.8}};
    for (int w = 0; w < 2; ++w) std::copy_n(vectors[w], 2, fit.vector(w));
    fit.offset()[0] = 3.0;
    fit.offset()[1] = 4.0;
    fit.set_interval(0, 0.0, 1.0);
    fit.set_interval(1, -100.0, 100.0);
    CHECK(fit.solve(5.0));
    CHECK(std::abs(fit.coefficient(1) + 5.0) < 1e-14);
    CHECK(std::abs(fit.residual()[0]) < fit.tolerance());
    double part = 0.0;
    CHECK(std::abs(fit.split(0, &part) - 0.8) < 1e-15);
    CHECK(std::abs(part - 0.6) < 1e-15);
}

/// Two vectors at an angle of 3e-9: what is left, 3e-10 along the second beside the first, has a rate of 1e-18.
void of_vectors_at_a_small_angle_the_right_one_is_inside() {
    BoxLeastSquares fit;
    fit.resize(2, 2);
    const double vectors[2][2] = {{1.0, 0.0}, {1.0, 3e-9}};
    for (int w = 0; w < 2; ++w) std::copy_n(vectors[w], 2, fit.vector(w));
    for (const double left : {-3e-10, 3e-10}) {
        fit.offset()[0] = -0.5;
        fit.offset()[1] = left;
        for (int w = 0; w < 2; ++w) fit.set_interval(w, 0.0, 1.0);
        fit.set_place(0, BoxLeastSquares::Place::inside);
        fit.set_place(1, BoxLeastSquares::Place::low);
        CHECK(fit.solve(1.0));
        std::int8_t signs[2];
        fit.signs(signs);
        CHECK(signs[0] == 0);
        CHECK(signs[1] == (left < 0.0 ? 0 : 1));
        CHECK(std::abs(fit.coefficient(1) - (left < 0.0 ? 0.1 : 0.0)) < 1e-6);
        CHECK((std::abs(fit.residual()[1]) <= fit.tolerance()) == (left < 0.0));
    }
}

/// Vectors of a plane but for 1e-9 to 1e-12: one that depends on those inside has a rate beyond rounding all the same,
/// and whether one depends on others depends on their order.
void vectors_that_almost_depend_on_each_other_do_not_go_in_circles() {
    Generator random(11);
    BoxLeastSquares fit;
    for (int round = 0; round < 20000; ++round) {
        const int count = 4 + static_cast<int>(4.0 * unit(random));
        const double off = std::pow(10.0, -9.0 - 3.0 * unit(random));
        fit.resize(count, 4);
        std::vector<double> low(count);
        const std::vector<double> high(count, 0.0);
        for (int w = 0; w < count; ++w) {
            double* vector = fit.vector(w);
            double square = 0.0;
            for (int k = 0; k < 4; ++k) {
                vector[k] = (k < 2 ? 1.0 : off) * (2.0 * unit(random) - 1.0);
                square += vector[k] * vector[k];
            }
            for (int k = 0; k < 4; ++k) vector[k] /= std::sqrt(square);
            low[w] = -unit(random);
            fit.set_interval(w, low[w], 0.0);
        }
        for (int k = 0; k < 4; ++k) fit.offset()[k] = unit(random);
        CHECK(fit.solve(1.0));
        CHECK(is_optimal(fit, low, high, 1e-8));
    }
}

}  // namespace

int main() {
    vectors_that_almost_depend_on_each_other_do_not_go_in_circles();
    of_vectors_at_a_small_angle_the_right_one_is_inside();
    the_least_residual_is_found(1.0);
    the_least_residual_is_found(1e100);  // a barrier beside what moves
    ties_between_ends_are_no_trap();
    a_free_vector_takes_all_that_is_along_it();
    a_free_vector_is_not_given_up_for_one_that_ends();
    return reluflow::tests::failures();
}
