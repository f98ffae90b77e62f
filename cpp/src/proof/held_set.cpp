#include "proof/held_set.hpp"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "proof/rounding.hpp"

namespace reluflow::proof {
namespace {

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

/// The inverse of a symmetric (k, k) matrix by Gauss-Jordan steps with the largest pivots; empty where it has none.
/// What it is worth is checked afterwards.
std::vector<double> inverse_of(std::vector<double> K, Index k) {
    std::vector<double> inverse(at(k * k), 0.0);
    for (Index c = 0; c < k; ++c) inverse[at(c * k + c)] = 1.0;
    for (Index c = 0; c < k; ++c) {
        Index pivot = c;
        for (Index r = c; r < k; ++r)
            if (std::abs(K[at(r * k + c)]) > std::abs(K[at(pivot * k + c)])) pivot = r;
        const double value = K[at(pivot * k + c)];
        if (!(std::abs(value) > 0.0)) return {};
        for (Index l = 0; l < k; ++l) {
            std::swap(K[at(c * k + l)], K[at(pivot * k + l)]);
            std::swap(inverse[at(c * k + l)], inverse[at(pivot * k + l)]);
        }
        for (Index l = 0; l < k; ++l) {
            K[at(c * k + l)] /= value;
            inverse[at(c * k + l)] /= value;
        }
        for (Index r = 0; r < k; ++r) {
            const double factor = K[at(r * k + c)];
            if (r == c || factor == 0.0) continue;
            for (Index l = 0; l < k; ++l) {
                K[at(r * k + l)] -= factor * K[at(c * k + l)];
                inverse[at(r * k + l)] -= factor * inverse[at(c * k + l)];
            }
        }
    }
    return inverse;
}

}  // namespace

HeldSet::HeldSet(const Samples& samples, std::vector<Index> rows) : d_(samples.d), rows_(std::move(rows)) {
    const Index k = size();
    if (k == 0) return;
    for (const Index i : rows_) {
        X_.insert(X_.end(), samples.row(i), samples.row(i) + d_);
        sizes_.push_back(samples.size[at(i)]);
    }
    std::vector<double> K(at(k * k));
    for (Index r = 0; r < k; ++r)
        for (Index c = 0; c < k; ++c) K[at(r * k + c)] = dot(X_.data() + r * d_, X_.data() + c * d_, d_);
    inverted_ = inverse_of(K, k);
    independent_ = false;
    if (inverted_.empty()) return;
    // |I - K M|₂ < 1 proves that K has an inverse, of a norm of at most |M| / (1 - |I - K M|).
    double squares = 0.0;
    double residuals = 0.0;
    for (Index r = 0; r < k; ++r)
        for (Index c = 0; c < k; ++c) {
            double sum = r == c ? -1.0 : 0.0;
            double sizes = r == c ? 1.0 : 0.0;
            for (Index l = 0; l < k; ++l) {
                sum += K[at(r * k + l)] * inverted_[at(l * k + c)];
                sizes += sizes_[at(r)] * sizes_[at(l)] * std::abs(inverted_[at(l * k + c)]);
            }
            const double residual = std::abs(sum) + gamma(static_cast<double>(d_ + 2 * k + 4)) * sizes;
            residuals += residual * residual;
            squares += inverted_[at(r * k + c)] * inverted_[at(r * k + c)];
        }
    const double residual = std::sqrt(residuals) * kUp + kTinyNorm;
    independent_ = residual < 0.5;
    // |K⁻¹ X|₂ is the root of |K⁻¹|₂.
    inverse_ = std::sqrt((std::sqrt(squares) * kUp + kTinyNorm) / (1.0 - residual)) * kUp;
}

Index HeldSet::find(Index i) const {
    const auto found = std::find(rows_.begin(), rows_.end(), i);
    return found == rows_.end() ? -1 : found - rows_.begin();
}

template <class Real>
void HeldSet::solve(const Real* right, Real* out) const {
    const Index k = size();
    for (Index r = 0; r < k; ++r) {
        Real sum = 0.0;
        for (Index c = 0; c < k; ++c) sum += inverted_[at(r * k + c)] * right[c];
        out[r] = sum;
    }
}

template <class Real>
double HeldSet::project(const Real* v, Real* out, Real* multipliers) const {
    const Index k = size();
    std::vector<Real> products(at(k));
    std::vector<Real> change(at(k));
    std::copy(v, v + d_, out);
    std::fill(multipliers, multipliers + k, 0.0);
    double taken = 0.0;
    // The inverse is one of doubles. The last round takes what rounding has left of those before.
    constexpr int kRounds = std::is_same_v<Real, double> ? 2 : 6;
    for (int round = 0; round < kRounds; ++round) {
        for (Index r = 0; r < k; ++r) products[at(r)] = exact_dot(X_.data() + r * d_, out, d_).value;
        solve(products.data(), change.data());
        for (Index r = 0; r < k; ++r) {
            multipliers[r] -= change[at(r)];
            taken += sizes_[at(r)] * magnitude(change[at(r)]);
            for (Index c = 0; c < d_; ++c) out[c] -= change[at(r)] * X_[at(r * d_ + c)];
        }
    }
    // out = v + Xᵀ μ + r with the roundings r, of which P keeps at most |r|; the rest of out - P v is (I - P) out.
    const double rounding = gamma<Real>(static_cast<double>(2 * kRounds * k + 4)) * (norm_up(v, d_) + taken);
    return (off(out) + rounding) * kUp + kTiny;
}

template <class Real>
double HeldSet::off(const Real* w) const {
    double squares = 0.0;
    for (Index r = 0; r < size(); ++r) {
        const auto product = exact_dot(X_.data() + r * d_, w, d_);
        const double height = magnitude(product.value) + product.error;
        squares += height * height;
    }
    return empty() ? 0.0 : (std::sqrt(squares) * kUp + kTinyNorm) * inverse_ * kUp;
}

std::vector<double> HeldSet::with_heights(const std::vector<double>& heights) const {
    std::vector<double> factors(at(size()));
    solve(heights.data(), factors.data());
    std::vector<double> v(at(d_), 0.0);
    for (Index r = 0; r < size(); ++r)
        for (Index c = 0; c < d_; ++c) v[at(c)] += factors[at(r)] * X_[at(r * d_ + c)];
    return v;
}

template double HeldSet::project(const double*, double*, double*) const;
template double HeldSet::project(const DoubleDouble*, DoubleDouble*, DoubleDouble*) const;
template double HeldSet::off(const double*) const;
template double HeldSet::off(const DoubleDouble*) const;

}  // namespace reluflow::proof
