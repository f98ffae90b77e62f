#include "proof/dual_bounds.hpp"

#include <algorithm>
#include <cmath>

#include "proof/rounding.hpp"
#include "proof/sigmoid.hpp"

namespace reluflow::proof {
namespace {

std::size_t at(Index k) {
    return static_cast<std::size_t>(k);
}

/// Errors of margins, each to be multiplied by |x_i|.
struct MarginErrors {
    double value = 0.0;  // at the start
    double rate = 0.0;   // of q̃' against the computed coefficients, on the whole step
};

/// Coefficients below `order` are computed, with a relative error of gamma; the others are left out.
template <class Real>
MarginErrors margin_errors(const Samples& samples, const NetworkSeries<Real>& series, Index m, double h, Terms terms) {
    const Index K = series.order;
    const double relative = gamma<Real>(static_cast<double>(m + samples.d + 2 * K + 10));
    MarginErrors errors{terms(Term::rounding, relative * series.products[0]) + kTiny, kTiny};
    double power = 1.0;
    for (Index k = 1; k <= 2 * K; ++k, power *= h) {
        const double term = static_cast<double>(k) * series.products[at(k)] * power;
        errors.rate += k < K ? terms(Term::rounding, relative * term) : terms(Term::tail, term);
    }
    errors.rate *= kUp;
    return errors;
}

/// One sample's coefficients times powers of the length, all absolute.
template <class Real>
class SampleResidual {
  public:
    SampleResidual(const NetworkSeries<Real>& series, Index i, double h, bool logistic)
        : order_(series.order), p_(at(order_)), slope_(at(2 * order_)), rate_(at(order_)) {
        double power = 1.0;
        for (Index k = 0; k < order_; ++k, power *= h) {
            p_[at(k)] = magnitude(series.p[at(k)][at(i)]) * power;
            p_sum += p_[at(k)];
            if (k + 1 < order_) {
                rate_[at(k)] = static_cast<double>(k + 1) * magnitude(series.q[at(k + 1)][at(i)]) * power;
                p_rate += static_cast<double>(k + 1) * magnitude(series.p[at(k + 1)][at(i)]) * power;
                rate += rate_[at(k)];
            }
        }
        for (Index k = 0; k < order_; ++k) slope_[at(k)] += p_[at(k)];
        if (logistic)
            for (Index k = 0; k < order_; ++k)
                for (Index l = 0; l < order_; ++l) slope_[at(k + l)] += p_[at(k)] * p_[at(l)];
        slope = p_sum + (logistic ? p_sum * p_sum : 0.0);
    }

    /// Σ of the coefficients of p̃ (1 - p̃) q̃' from order - 1 on, which p̃' does not have.
    double tail() const {
        double sum = 0.0;
        for (Index l = 0; l + 1 < order_; ++l) {
            double rest = 0.0;
            for (Index k = order_ - 1 - l; k < 2 * order_; ++k) rest += slope_[at(k)];
            sum += rate_[at(l)] * rest;
        }
        return sum;
    }

    double p_sum = 0.0;   // sup |p̃|
    double p_rate = 0.0;  // sup |p̃'|
    double rate = 0.0;    // sup |q̃'|, of the computed coefficients
    double slope = 0.0;   // sup |p̃ (1 - p̃)|

  private:
    Index order_;
    std::vector<double> p_, slope_, rate_;
};

}  // namespace

template <class Real>
bool bound_duals(const Samples& samples, const NetworkSeries<Real>& series, Index n_neurons, double length, Terms terms,
                 DualBounds& bounds) {
    const double h = length;
    const bool logistic = samples.loss == LossKind::logistic;
    const MarginErrors margins = margin_errors(samples, series, n_neurons, h, terms);
    const double relative = gamma<Real>(static_cast<double>(4 * series.order + 10));
    bounds = DualBounds{};
    bounds.length = h;
    bounds.weight.resize(at(samples.n));
    bounds.dual_rate.resize(at(samples.n));
    double squares = 0.0;
    double residuals = 0.0;
    for (Index i = 0; i < samples.n; ++i) {
        const SampleResidual<Real> sample(series, i, h, logistic);
        const double size = samples.size[at(i)];
        const double rate = (sample.rate + size * margins.rate) * kUp;
        const double residual = terms(Term::tail, terms(Term::residual, sample.tail())) +
                                terms(Term::rounding, relative * (sample.rate * sample.slope + sample.p_rate)) +
                                sample.slope * size * margins.rate;
        // |d log p / dq| ≤ 1 for both losses.
        const double moved = size * margins.value * kUp;
        const double of_margin = moved * exponential_up(moved);
        const double start = (terms(Term::weight, kWeightError<Real>) + of_margin) * rounded(series.p[0][at(i)]) * kUp;
        const double exponent = 2.0 * h * rate * kUp;
        if (!(exponent <= 4.0)) return false;
        const double error = (start + h * residual + kTiny) * exponential_up(exponent) * kUp;
        if (!(error <= 0.5)) return false;
        // λ̃ = y p̃ share is rounded twice, the share once.
        const double total = error + terms(Term::rounding, 4.0 * kUnitOf<Real> * sample.p_sum);
        squares += total * total;
        residuals += residual * residual;
        bounds.margin_rate = std::max(bounds.margin_rate, rate);
        bounds.weight[at(i)] = (sample.p_sum + total) * kUp;
        bounds.dual_rate[at(i)] = sample.p_rate * samples.share * kUp;
        bounds.largest_weight = std::max(bounds.largest_weight, bounds.weight[at(i)]);
        bounds.dual_sum += bounds.weight[at(i)] * samples.share * size * kUp;
    }
    bounds.error = std::sqrt(squares) * samples.share * kUp + kTinyNorm;
    bounds.residual = std::sqrt(residuals) * samples.share * kUp + kTinyNorm;
    return true;
}

template bool bound_duals(const Samples&, const NetworkSeries<double>&, Index, double, Terms, DualBounds&);
template bool bound_duals(const Samples&, const NetworkSeries<DoubleDouble>&, Index, double, Terms, DualBounds&);

}  // namespace reluflow::proof
