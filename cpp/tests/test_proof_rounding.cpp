/// What the proofs assume of the compiler, and parts that are worth a closed form.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "proof/combination.hpp"
#include "proof/rounding.hpp"
#include "proof/sigmoid.hpp"

using namespace reluflow;
using namespace reluflow::proof;

namespace {

/// With x = 1 + 2^-30 the square is rounded before the subtraction, unless the compiler fuses both.
void products_are_rounded_before_they_are_added() {
    volatile double source = 1.0 + 0x1p-30;
    const double x = source;
    const double y = -(1.0 + 0x1p-29);
    CHECK(x * x + y == 0.0);
    CHECK(std::fma(x, x, y) == 0x1p-60);
}

/// 1e16 + 1 - 1e16 is 0 in this order; a compiler that reassociates finds 1.
void sums_keep_their_order() {
    volatile double one = 1.0;
    const double v = one;
    CHECK((1e16 + v) - 1e16 == 0.0);
    const std::vector<double> ones(4, v);
    const std::vector<double> terms{1e16, 0.0, v, -1e16};
    CHECK(dot(ones.data(), terms.data(), 4) == (1e16 + 0.0) + (v + -1e16));
}

/// Tiles of every size give the sums in the order of rows.
void combinations_are_plain_sums() {
    constexpr Index kWidth = 47;  // one large tile, three small ones, three single entries
    constexpr Index kRows = 5;
    std::vector<double> rows;
    for (Index k = 0; k < kRows * kWidth; ++k) rows.push_back(1.0 / static_cast<double>(k + 3));
    const std::vector<double> factors{0.1, -2.0, 0.7, 1e8, -1e-9};
    std::vector<double> out(kWidth);
    combine(factors.data(), kRows, rows.data(), kWidth, kWidth, out.data());
    for (Index c = 0; c < kWidth; ++c) {
        double sum = 0.0;
        for (Index k = 0; k < kRows; ++k)
            sum += factors[static_cast<std::size_t>(k)] * rows[static_cast<std::size_t>(k * kWidth + c)];
        CHECK(out[static_cast<std::size_t>(c)] == sum);
    }
    // Chosen rows, in the order in which they are named.
    const std::vector<Index> chosen{4, 0, 3};
    std::vector<double> few(kWidth);
    combine(std::vector<double>(factors.begin(), factors.begin() + 3), chosen, rows.data(), kWidth, few.data());
    for (std::size_t c = 0; c < few.size(); ++c)
        CHECK(few[c] == (0.1 * rows[4 * kWidth + c] + -2.0 * rows[c]) + 0.7 * rows[3 * kWidth + c]);
}

/// Without the low words 1 + 2^-60 - 1 is 0, and e^q at q = 2^-60 is 1.
void numbers_of_two_words_keep_both() {
    const DoubleDouble x = exact_sum(1.0, 0x1p-60);
    CHECK(x.high == 1.0);
    CHECK((x - 1.0).high == 0x1p-60);
    CHECK((x * x - 1.0).high == 0x1p-59 + 0x1p-120);
    CHECK((1.0 / 3.0 - DoubleDouble(1.0) / 3.0).high == (0x1p-53 / 3.0) * -0.5);
    CHECK(exponential(DoubleDouble(0x1p-60)).low == 0x1p-60);
    CHECK(exponential(DoubleDouble(0.0)) == DoubleDouble(1.0));
    CHECK(difference<DoubleDouble>(1.0, 0x1p-70).low == -0x1p-70);
}

void bounds_are_above() {
    const std::vector<double> v{3.0, 4.0};
    CHECK(norm_up(v.data(), 2) >= 5.0);
    CHECK(norm_up(v.data(), 2) <= 5.0 * (1.0 + 1e-8));
    CHECK(hypot_up(3.0, 4.0) >= 5.0);
    CHECK(proof::gamma(10.0) >= 10.0 * kUnit / (1.0 - 10.0 * kUnit));
    CHECK(exponential_up(0.0) >= 1.0);
    CHECK(std::isinf(exponential_up(701.0)));
    CHECK(exponential(0.0) == 1.0);
}

}  // namespace

int main() {
    products_are_rounded_before_they_are_added();
    sums_keep_their_order();
    combinations_are_plain_sums();
    bounds_are_above();
    numbers_of_two_words_keep_both();
    return tests::failures();
}
