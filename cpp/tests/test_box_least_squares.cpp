/// The bounded least-squares problem of a corner: its optimality conditions, on vectors that depend on each other.
#include "numeric/box_least_squares.hpp"

#include <algorithm>
#include <cmath>
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

}  // namespace

int main() {
    the_least_residual_is_found(1.0);
    the_least_residual_is_found(1e100);  // a barrier beside what moves
    a_free_vector_takes_all_that_is_along_it();
    return reluflow::tests::failures();
}
