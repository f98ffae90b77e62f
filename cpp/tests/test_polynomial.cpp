/// Bounds and the first root of polynomials against exact arithmetic: what "no event in this step" rests on.
#include "numeric/polynomial.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/generator.hpp"
#include "check.hpp"
#include "exact.hpp"

namespace {

using namespace reluflow;
using tests::Exact;
using Numbers = std::vector<double>;

constexpr double kEps = std::numeric_limits<double>::epsilon();
/// Sums of 25 terms, each product rounded: no more than this part of the sum of their sizes.
constexpr double kRounding = 32.0 * kEps;

double uniform(Generator& random) {
    return 2.0 * (static_cast<double>(random.next() >> 11U) / 9007199254740992.0) - 1.0;
}

int order_of(const Numbers& c) {
    return static_cast<int>(c.size()) - 1;
}

double descent(const Numbers& c, double end) {
    return first_descent(c.data(), order_of(c), end);
}

/// c(u) (a + b u), rounded only where the numbers do not fit.
Numbers times(const Numbers& c, double a, double b) {
    Numbers product(c.size() + 1, 0.0);
    for (std::size_t k = 0; k < c.size(); ++k) {
        product[k] += a * c[k];
        product[k + 1] += b * c[k];
    }
    return product;
}

/// c(u) (1 + u^power).
Numbers spread(const Numbers& c, std::size_t power) {
    Numbers product = c;
    product.resize(c.size() + power, 0.0);
    for (std::size_t k = 0; k < c.size(); ++k) product[k + power] += c[k];
    return product;
}

/// Any order, terms that fall, stay or grow, some missing.
Numbers draw(Generator& random) {
    Numbers c(2 + random.next() % kMaxOrder);
    const double fall = std::exp2(4.0 * uniform(random));
    double scale = 1.0;
    for (double& term : c) {
        term = random.next() % 5 == 0 ? 0.0 : scale * uniform(random);
        scale *= fall;
    }
    return c;
}

bool is_within(double found, const Exact& expected, const Exact& room) {
    return (Exact(found) - expected).abs() <= room;
}

void values_and_bounds_are_those_of_exact_arithmetic() {
    Generator random(1);
    for (int round = 0; round < 400; ++round) {
        const Numbers c = draw(random);
        const int order = order_of(c);
        const double u = std::abs(uniform(random));
        const Exact room = tests::size_exactly(c, u) * kRounding;
        CHECK(is_within(evaluate(c.data(), order, u), tests::evaluate_exactly(c, u), room));
        Numbers slope;
        for (int k = 1; k <= order; ++k) slope.push_back(k * c[k]);
        CHECK(is_within(evaluate_derivative(c.data(), order, u), tests::evaluate_exactly(slope, u),
                        tests::size_exactly(slope, u) * kRounding));
        for (int from = 0; from <= order; ++from) {
            Numbers tail(c.size(), 0.0);
            std::copy(c.begin() + from, c.end(), tail.begin() + from);
            const Exact sum = tests::size_exactly(tail, u);
            CHECK(is_within(tail_bound(c.data(), order, from, u), sum, sum * kRounding));
        }
        Numbers falling(c.size(), 0.0);
        for (int k = 1; k <= order; ++k) falling[k] = std::min(c[k], 0.0);
        const Exact fall = tests::size_exactly(falling, u);
        CHECK(is_within(fall_bound(c.data(), order, u), fall, fall * kRounding));
    }
}

/// The smallest and the largest Bernstein coefficient: n! b_i = Σ_k i!/(i-k)! (n-k)! c_k.
void bernstein_range(const Numbers& c, long double& low, long double& high) {
    const int n = order_of(c);
    std::vector<Exact> factorial{Exact(1.0)};
    for (int k = 1; k <= n; ++k) factorial.push_back(factorial.back() * double(k));
    for (int i = 0; i <= n; ++i) {
        Exact sum;
        Exact falling = 1.0;
        for (int k = 0; k <= i; ++k) {
            sum = sum + falling * factorial[n - k] * c[k];
            falling = falling * double(i - k);
        }
        const long double b = tests::ratio(sum, factorial[n]);
        low = i == 0 ? b : std::min(low, b);
        high = i == 0 ? b : std::max(high, b);
    }
}

void a_range_holds_every_value_and_is_no_wider_than_it_need_be() {
    Generator random(2);
    for (int round = 0; round < 400; ++round) {
        Numbers c = draw(random);
        if (round % 3 == 0) c[0] *= 30.0;  // the higher terms are small beside the first
        double low = 0.0;
        double high = 0.0;
        range_on_unit(c.data(), order_of(c), low, high);
        const Exact room = tests::size_exactly(c, 1.0) * kRounding;
        for (int i = 0; i <= 64; ++i) {
            const Exact value = tests::evaluate_exactly(c, i / 64.0);
            CHECK(Exact(low) - room <= value);
            CHECK(value <= Exact(high) + room);
        }
        long double least = 0.0;
        long double most = 0.0;
        bernstein_range(c, least, most);
        const double size = static_cast<double>(tests::size_exactly(c, 1.0).value());
        const double tail = size - std::abs(c[0]);
        // Small terms may go into the range with their size, which a quarter of the first one bounds.
        const double loose = tail <= 0.25 * std::abs(c[0]) * (1.0 + kEps) ? 2.0 * tail : 0.0;
        CHECK(low <= static_cast<double>(least) + kRounding * size);
        CHECK(high >= static_cast<double>(most) - kRounding * size);
        CHECK(low >= static_cast<double>(least) - loose - kRounding * size);
        CHECK(high <= static_cast<double>(most) + loose + kRounding * size);
    }
}

void a_shifted_origin_changes_no_value() {
    Generator random(3);
    for (int round = 0; round < 200; ++round) {
        const Numbers c = draw(random);
        const double shift = std::abs(uniform(random));
        Numbers moved = c;
        shift_origin(moved.data(), order_of(c), shift);
        for (const double v : {0.0, 0.25, 0.5}) {
            const Exact u = Exact(shift) + v;
            Exact value;
            Exact size;
            for (std::size_t k = c.size(); k > 0; --k) {
                value = value * u + c[k - 1];
                size = size * u + std::abs(c[k - 1]);
            }
            CHECK((tests::evaluate_exactly(moved, v) - value).abs() <= size * kRounding);
        }
    }
}

/// The promise: nothing before the root is below zero by more than rounding, and just behind it something is.
void nothing_deeper_than_rounding_is_passed_over() {
    Generator random(4);
    int crossings = 0;
    for (int round = 0; round < 1500; ++round) {
        Numbers c = draw(random);
        c[0] = std::abs(c[0]) * std::exp2(6.0 * uniform(random) - 3.0);
        const double end = round % 2 == 0 ? 1.0 : 0.5 + 0.5 * std::abs(uniform(random));
        const double root = descent(c, end);
        const double last = std::min(root, end);
        for (int i = 0; i < 32; ++i) {
            const double u = last * (i / 32.0);
            CHECK(-(tests::size_exactly(c, u) * kRounding) <= tests::evaluate_exactly(c, u));
        }
        if (root > end) {
            CHECK(root == kNoRoot);
            continue;
        }
        ++crossings;
        CHECK(tests::evaluate_exactly(c, root).abs() <= tests::size_exactly(c, root) * kRounding);
    }
    CHECK(crossings > 500);
}

/// 1 - (1 + 2^-30) u^k with nothing between: any bound of the tail less than the whole of it says "none".
void a_fall_that_just_reaches_zero_is_found() {
    for (int order = 1; order <= kMaxOrder; ++order) {
        Numbers c(order + 1, 0.0);
        c[0] = 1.0;
        c[order] = -(1.0 + 0x1p-30);
        const double root = descent(c, 1.0);
        CHECK(root <= 1.0);
        CHECK(std::abs(root - std::pow(static_cast<double>(1.0L / (1.0L + 0x1p-30L)), 1.0 / order)) < 1e-15);
        c[order] = -(1.0 - 0x1p-30);
        CHECK(descent(c, 1.0) == kNoRoot);
        if (order < 2) continue;
        c[order] = -0.25;  // the tangent falls as well, and takes more than the half
        c[1] = -(0.75 + 0x1p-30) - (order == 1 ? 0.25 : 0.0);
        CHECK(descent(c, 1.0) <= 1.0);
        c[1] = -(0.75 - 0x1p-30);
        CHECK(descent(c, 1.0) == kNoRoot);
    }
}

/// Roots at r and r + gap of an exact parabola, alone and at order 24.
void two_crossings_close_together_are_found() {
    for (const double gap : {0x1p-4, 0x1p-12, 0x1p-20})
        for (const double r : {0.25, 0.3125, 0.6875, 1.0 - 0x1p-9}) {
            Numbers c{r * (r + gap), -(2.0 * r + gap), 1.0};
            const double room = 8.0 * kEps / gap;  // rounding of the value over the slope
            for (const Numbers& form : {c, spread(c, 22), times(spread(c, 21), 1.0, 1.0)})
                CHECK(std::abs(descent(form, 1.0) - r) < room);
        }
    // Off every point where intervals are halved, so that only the depth of the search parts them.
    const double r = 5461.0 / 16384.0;
    const double gap = 0x1p-23;
    const Numbers c{r * (r + gap), -(2.0 * r + gap), 1.0};
    CHECK(std::abs(descent(c, 1.0) - r) < 8.0 * kEps / gap);
    CHECK(std::abs(descent(spread(c, 22), 1.0) - r) < 16.0 * kEps / gap);
}

/// 2^-40 is 1e-12. Near the begin of the step numbers are small and resolve it.
void a_cluster_near_the_begin_is_found() {
    constexpr double kNear = 0x1p-40;
    const Numbers two{2.0 * kNear * kNear, -3.0 * kNear, 1.0};  // roots kNear and 2 kNear
    CHECK(std::abs(descent(two, 1.0) / kNear - 1.0) < 16.0 * kEps);
    CHECK(std::abs(descent(spread(two, 22), 1.0) / kNear - 1.0) < 16.0 * kEps);
    const Numbers three = times(two, 3.0 * kNear, -1.0);
    CHECK(std::abs(descent(three, 1.0) / kNear - 1.0) < 16.0 * kEps);
    const Numbers behind{kNear * kNear * 0x1p-60, -kNear * (1.0 + 0x1p-60),
                         1.0};  // 2^-100 and 2^-40: both off rounding
    CHECK(std::abs(descent(behind, 1.0) / (kNear * 0x1p-60) - 1.0) < 16.0 * kEps);
}

/// Three roots 1e-12 apart in the middle are one passage: it must be seen, wherever rounding puts it.
void a_passage_by_three_roots_is_not_lost() {
    const double gap = 0x1p-40;
    Numbers c{1.0};
    for (int i = 0; i < 3; ++i) c = times(c, 0.4375 + i * gap, -1.0);
    for (const Numbers& form : {c, spread(c, 21)}) {
        const double root = descent(form, 1.0);
        CHECK(std::abs(root - 0.4375) < 2e-5);  // the third root of rounding
    }
}

void a_touching_root_is_no_crossing() {
    for (const double r : {0.25, 0.4375, 0.75}) {
        const Numbers touch{r * r, -2.0 * r, 1.0};
        CHECK(descent(touch, 1.0) == kNoRoot);
        Numbers later = times(touch, 0.875, -1.0);  // and a crossing behind it
        later[0] += 0x1p-44;                        // above what the rounding of the search can pull below zero
        CHECK(std::abs(descent(later, 1.0) - 0.875) < 1e-11);
        Numbers raised = spread(touch, 22);
        raised[0] += 0x1p-40;
        CHECK(descent(raised, 1.0) == kNoRoot);
        raised[0] -= 0x1p-39;  // sinks in by 1e-12 for 2e-6
        CHECK(std::abs(descent(raised, 1.0) - (r - 0x1p-20)) < 1e-8);
    }
}

void a_root_at_the_begin_counts_only_if_the_curve_goes_down_there() {
    CHECK(descent({0.0, -1.0}, 1.0) == 0.0);
    CHECK(descent({0.0, 0.0, -1.0, 100.0}, 1.0) == 0.0);
    CHECK(descent({0.0, 1.0}, 1.0) == kNoRoot);
    CHECK(descent({0.0, 0.0, 0.0}, 1.0) == kNoRoot);
    CHECK(std::abs(descent({0.0, 1.0, -2.0}, 1.0) - 0.5) <= kEps);
    CHECK(std::abs(descent({0.0, 0.0, 0.0, 1.0, -4.0}, 1.0) - 0.25) <= kEps);
    CHECK(std::abs(descent({0.0, 0x1p-60, -1.0}, 1.0) - 0x1p-60) < 0x1p-60 * 1e-11);
    CHECK(std::abs(descent({0.0, 0.1875, -1.0, 1.0}, 1.0) - 0.25) < 4.0 * kEps);
    CHECK(descent({1.0, -1.0}, 0.0) == kNoRoot);
}

/// A crossing at the very end belongs to the next piece, where it is at the begin: found once, never lost.
void a_root_at_the_end_is_left_to_the_next_piece() {
    for (const double end : {1.0, 0.5, 0.75}) {
        const Numbers c{2.0 * end, -2.0 - end, 1.0};  // roots end and 2
        CHECK(descent(c, end) == kNoRoot);
        CHECK(std::abs(descent(c, end * (1.0 + 4.0 * kEps)) - end) <= 2.0 * kEps * end);
        Numbers next = c;
        shift_origin(next.data(), 2, end);
        CHECK(descent(next, end) == 0.0);
    }
    // Before the end by two units in the last place it is of this piece.
    const double r = 1.0 - 2.0 * kEps;
    CHECK(std::abs(descent({r, -1.0}, 1.0) - r) <= kEps);
}

void a_single_root_is_found_to_the_last_bits() {
    Generator random(5);
    for (int round = 0; round < 500; ++round) {
        const double r = std::exp2(-30.0 * std::abs(uniform(random)));
        Numbers c{r, -1.0};
        c = spread(c, 1 + random.next() % 22);  // one root beside those of 1 + u^k
        CHECK(std::abs(descent(c, 1.5) - r) <= 4.0 * kEps * r);
    }
}

}  // namespace

int main() {
    values_and_bounds_are_those_of_exact_arithmetic();
    a_range_holds_every_value_and_is_no_wider_than_it_need_be();
    a_shifted_origin_changes_no_value();
    nothing_deeper_than_rounding_is_passed_over();
    a_fall_that_just_reaches_zero_is_found();
    two_crossings_close_together_are_found();
    a_cluster_near_the_begin_is_found();
    a_passage_by_three_roots_is_not_lost();
    a_touching_root_is_no_crossing();
    a_root_at_the_begin_counts_only_if_the_curve_goes_down_there();
    a_root_at_the_end_is_left_to_the_next_piece();
    a_single_root_is_found_to_the_last_bits();
    return reluflow::tests::failures();
}
