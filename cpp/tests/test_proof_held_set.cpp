/// What a neuron slides on: the bounds of its projection hold, against sums in extended precision.
#include <cmath>
#include <vector>

#include "check.hpp"
#include "proof/claims.hpp"
#include "proof/held_set.hpp"
#include "proof/rounding.hpp"

using namespace reluflow;
using namespace reluflow::proof;

namespace {

/// Numbers in [-1, 1) with all their digits, always the same.
class Source {
  public:
    double next() {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return static_cast<double>(state_ >> 11U) * 0x1p-52 - 1.0;
    }

  private:
    unsigned long long state_ = 1;
};

using Long = std::vector<long double>;

Long row(const Samples& samples, Index i) {
    return {samples.row(i), samples.row(i) + samples.d};
}

long double product(const Long& v, const Long& w) {
    long double sum = 0.0L;
    for (std::size_t c = 0; c < v.size(); ++c) sum += v[c] * w[c];
    return sum;
}

/// v less its part along the rows, by Gram-Schmidt twice.
Long projected(const Samples& samples, const std::vector<Index>& rows, Long v) {
    std::vector<Long> basis;
    for (const Index i : rows) {
        Long b = row(samples, i);
        for (int twice = 0; twice < 2; ++twice)
            for (const Long& other : basis) {
                const long double along = product(b, other);
                for (std::size_t c = 0; c < b.size(); ++c) b[c] -= along * other[c];
            }
        const long double size = std::sqrt(product(b, b));
        for (long double& entry : b) entry /= size;
        basis.push_back(b);
    }
    for (int twice = 0; twice < 2; ++twice)
        for (const Long& b : basis) {
            const long double along = product(v, b);
            for (std::size_t c = 0; c < v.size(); ++c) v[c] -= along * b[c];
        }
    return v;
}

Samples samples_of(Index n, Index d, double apart, Source& source) {
    Matrix X(n, d);
    for (Index i = 0; i < n; ++i)
        for (Index c = 0; c < d; ++c) X(i, c) = source.next() * (i == 1 ? apart : 1.0) + (i == 1 ? X(0, c) : 0.0);
    const Vector y = Vector::Ones(n);
    return Samples(X, y, 0.0, LossKind::logistic, false);
}

/// `apart`: how far the second row is from the first.
void the_bounds_of_a_projection_hold(Index d, const std::vector<Index>& rows, double apart) {
    Source source;
    const Samples samples = samples_of(5, d, apart, source);
    const HeldSet held(samples, rows);
    CHECK(held.independent());
    std::vector<double> v(static_cast<std::size_t>(d));
    for (double& entry : v) entry = source.next();
    std::vector<double> out(v.size());
    std::vector<double> multipliers(rows.size());
    const double error = held.project(v.data(), out.data(), multipliers.data());
    const Long exact = projected(samples, rows, Long(v.begin(), v.end()));
    long double squares = 0.0L;
    long double off = 0.0L;
    const Long again = projected(samples, rows, Long(out.begin(), out.end()));
    for (std::size_t c = 0; c < v.size(); ++c) {
        squares += (out[c] - exact[c]) * (out[c] - exact[c]);
        off += (out[c] - again[c]) * (out[c] - again[c]);
    }
    CHECK(std::sqrt(squares) <= error);
    CHECK(error <= 1e-13 / apart);
    CHECK(squares > 0.0L);                                  // a bound of zero would be wrong
    CHECK(std::sqrt(off) <= held.off(out.data()) + 1e-19);  // the rounding of this test
    // out = v + Xᵀ μ.
    for (std::size_t c = 0; c < v.size(); ++c) {
        long double sum = v[c];
        for (std::size_t k = 0; k < rows.size(); ++k) sum += multipliers[k] * row(samples, rows[k])[c];
        CHECK(std::abs(static_cast<double>(sum - out[c])) <= error + 1e-15 / apart);
    }
    // |K⁻¹ X| ≥ |K⁻¹ X e| for each unit vector e; with one row it is 1 / |x|.
    if (rows.size() == 1)
        CHECK(held.inverse() * std::sqrt(static_cast<double>(product(row(samples, rows[0]), row(samples, rows[0])))) >=
              1.0);
}

/// To 32 digits: what is left of the heights is below the bound, and out = v + Xᵀ μ.
void projections_to_more_digits_end_on_the_boundaries(Index d, const std::vector<Index>& rows, double apart) {
    Source source;
    const Samples samples = samples_of(5, d, apart, source);
    const HeldSet held(samples, rows);
    std::vector<DoubleDouble> v;
    for (Index c = 0; c < d; ++c) v.push_back(exact_sum(source.next(), source.next() * 0x1p-54));
    std::vector<DoubleDouble> out(v.size());
    std::vector<DoubleDouble> multipliers(rows.size());
    const double error = held.project(v.data(), out.data(), multipliers.data());
    CHECK(error <= 1e-28 / apart);
    CHECK(error > 0.0);
    for (const Index i : rows) {
        const auto height = exact_dot(samples.row(i), out.data(), d);
        CHECK(magnitude(height.value) + height.error <= samples.size[static_cast<std::size_t>(i)] * error);
    }
    double squares = 0.0;
    for (std::size_t c = 0; c < v.size(); ++c) {
        DoubleDouble sum = v[c];
        for (std::size_t k = 0; k < rows.size(); ++k) sum += multipliers[k] * samples.row(rows[k])[c];
        squares += magnitude(sum - out[c]) * magnitude(sum - out[c]);
    }
    CHECK(std::sqrt(squares) <= error);
}

void parallel_rows_are_not_independent() {
    Matrix X(3, 2);
    X << 1.0, 2.0, -2.0, -4.0, 1.0, 2.0 + 1e-15;
    const Vector y = Vector::Ones(3);
    const Samples samples(X, y, 0.0, LossKind::logistic, false);
    CHECK(!HeldSet(samples, {0, 1}).independent());
    CHECK(!HeldSet(samples, {0, 2}).independent());  // as far as doubles tell
    CHECK(HeldSet(samples, {0}).independent());
    CHECK(HeldSet(samples, {}).off(X.data()) == 0.0);
}

void exact_dots_see_what_cancels() {
    const std::vector<double> v{1e16, 1.0, -1e16};
    const std::vector<double> w{1.0, 1.0, 1.0};
    const Dot product = exact_dot(v.data(), w.data(), 3);
    CHECK(std::abs(product.value - 1.0) <= product.error);
    CHECK(product.error < 1e-12);
    CHECK(dot(v.data(), w.data(), 3) != 1.0);
}

}  // namespace

int main() {
    the_bounds_of_a_projection_hold(5, {0}, 1.0);
    the_bounds_of_a_projection_hold(64, {3, 0, 2}, 1.0);
    the_bounds_of_a_projection_hold(7, {0, 1}, 1e-5);
    the_bounds_of_a_projection_hold(7, {4, 0, 1, 2, 3}, 1e-3);
    projections_to_more_digits_end_on_the_boundaries(5, {0}, 1.0);
    projections_to_more_digits_end_on_the_boundaries(64, {3, 0, 2}, 1.0);
    projections_to_more_digits_end_on_the_boundaries(7, {0, 1}, 1e-5);
    projections_to_more_digits_end_on_the_boundaries(7, {4, 0, 1, 2, 3}, 1e-3);
    parallel_rows_are_not_independent();
    exact_dots_see_what_cancels();
    return tests::failures();
}
