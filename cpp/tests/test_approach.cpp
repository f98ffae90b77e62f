/// Descents to a boundary: series of distances that only tend to zero have roots where they no longer hold.
#include "layered/approach.hpp"

#include <cmath>

#include "check.hpp"

namespace {

using namespace reluflow;
using namespace reluflow::layered;

constexpr double kRounding = 1e-15;

/// The Taylor series of size · e^(-rate u) + shift.
Row exponential(double size, double rate, double shift, int order) {
    Row c{};
    double term = size;
    for (int k = 0; k <= order; ++k, term *= -rate / k) c[k] = term;
    c[0] += shift;
    return c;
}

// However small it is, and whatever the order, a step ends before such a distance is met, and where it is still known.
void exponential_falls_are_never_met() {
    for (const int order : {3, 5, 8, 13, 24})
        for (double size = 1.0; size > 1e-18; size *= 0.1)
            for (const double rate : {1.7, 5.0, 20.0}) {
                Row c = exponential(size, rate, 0.0, order);
                const Descent found = descend(c, order, 1.0, kRounding);
                CHECK(found.u > 1.0 || !found.is_known);
                if (found.is_known) continue;
                const Row again = exponential(size, rate, 0.0, order);
                double sum = 0.0;
                for (int k = order; k >= 0; --k) sum = sum * found.u + again[k];
                CHECK(found.u > 0.0);
                CHECK(std::abs(sum - size * std::exp(-rate * found.u)) <
                      0.02 * size * std::exp(-rate * found.u) + kRounding);
            }
}

// Nor is one that falls in two ways, the faster of which steps have left: few orders have a root near the tangent's.
void falls_of_two_speeds_are_never_met() {
    for (int order = 3; order <= 24; ++order)
        for (const double part : {0.1, 0.3, 0.8, 1.0}) {
            Row c = exponential(3e-13, 1.0, 0.0, order);
            const Row fast = exponential(part * 3e-13, 4.5, 0.0, order);
            for (int k = 0; k <= order; ++k) c[k] += fast[k];
            const Descent found = descend(c, order, 1.5, 1e-27);
            CHECK(found.u > 1.5 || !found.is_known);
        }
}

// One that tends to what is beyond the boundary meets it in time.
void falls_to_beyond_are_met() {
    for (double size = 1.0; size > 1e-10; size *= 0.1) {
        Row c = exponential(size, 3.0, -0.2 * size, 24);
        const Descent found = descend(c, 24, 1.0, kRounding);
        CHECK(found.is_known);
        CHECK(std::abs(found.u - std::log(5.0) / 3.0) < 1e-4);
    }
}

void straight_lines_are_met_at_any_order() {
    for (const double size : {1.0, 1e-8, 1e-14, 1e-16}) {
        Row c{};
        c[0] = size;
        c[1] = -2.0 * size - 1e-3;
        const Descent found = descend(c, 4, 1.0, kRounding);
        CHECK(found.is_known);
        CHECK(std::abs(found.u - size / (2.0 * size + 1e-3)) < 2e-12);
    }
}

void what_has_left_comes_back_where_its_series_says() {
    Row c{};
    c[1] = 1.0;
    c[2] = -2.0;
    const Descent found = descend(c, 4, 1.0, kRounding);
    CHECK(found.is_known);
    CHECK(std::abs(found.u - 0.5) < 1e-12);
}

// Zero and beyond by rounding, it stays where its rate is rounding, and goes where that is not.
void what_is_zero_crosses_by_more_than_rounding() {
    for (const double start : {0.0, -1e-16, 3e-16}) {
        Row c{};
        c[0] = start;
        c[1] = -2e-16;
        CHECK(descend(c, 4, 1.0, kRounding).u > 1.0);
        c[0] = start;
        c[1] = -1e-3;
        CHECK(descend(c, 4, 1.0, kRounding).u < 1e-11);
    }
    for (const int degree : {0, 6}) {  // and what rounding moves off and back
        Row c{};
        c[1] = 1e-31;
        c[2] = -1e-30;
        CHECK(descend(c, 6, 1.0, kRounding, degree).u > 1.0);
        c[2] = -1e-3;
        CHECK(descend(c, 6, 1.0, kRounding, degree).u < 2e-6);
    }
}

// Of an implicit step what is small beside the largest of θ is no better than its error: here all but 1.6e-17.
void roots_of_the_error_of_a_step_are_not_met() {
    const Row series{1.615e-17, -7.48e-18, 2.67e-16, -1.178e-15, 1.935e-15, -1.436e-15, 4.03e-16};
    for (const int order : {6, 12}) {
        Row c = series;
        const Descent found = descend(c, order, 1.0, 1e-31, 6);
        CHECK(!found.is_known);
        CHECK(found.u > 0.0 && found.u < 0.5);
        Row far = series;
        far[0] = 1e-3;
        far[1] = -2e-3;
        const Descent line = descend(far, order, 1.0, 1e-18, 6);
        CHECK(line.is_known);
        CHECK(std::abs(line.u - 0.5) < 1e-12);
    }
}

// The same where the polynomials are smooth: e^(-36 u) as a polynomial of six points follows it, below zero and back.
// What is far from its boundary or comes out well beyond it does cross.
void what_is_below_the_error_of_a_step_has_no_root() {
    constexpr double kError = 1e-7;
    for (const double size : {1e-7, 1e-30, 1e-128}) {
        Row c{};
        c[0] = size;
        c[1] = -1.4 / 0.9 * size;
        const Descent found = descend(c, 12, 1.0, 1e-290, 6, kError);
        CHECK(!found.is_known);
        CHECK(found.u > 0.0 && found.u < 0.65);
    }
    for (const double size : {1e-5, 1e-30}) {
        Row c{};
        c[0] = size;
        c[1] = -2.0 * std::max(size, kError);
        CHECK(descend(c, 12, 1.0, 1e-290, 6, kError).is_known);
    }
}

}  // namespace

int main() {
    what_is_below_the_error_of_a_step_has_no_root();
    roots_of_the_error_of_a_step_are_not_met();
    exponential_falls_are_never_met();
    falls_of_two_speeds_are_never_met();
    falls_to_beyond_are_met();
    straight_lines_are_met_at_any_order();
    what_has_left_comes_back_where_its_series_says();
    what_is_zero_crosses_by_more_than_rounding();
    return tests::failures();
}
