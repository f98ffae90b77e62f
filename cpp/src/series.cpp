#include "reluflow/series.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

namespace {

/// y += x ∘ z over the neurons.
inline void add_product(double* __restrict y, const double* __restrict x, const double* __restrict z,
                        Index m) noexcept {
    for (Index j = 0; j < m; ++j) y[j] += x[j] * z[j];
}

/// Squares are taken of lifted numbers: rates of 1e-250 (a loss that stalls at log t = 500) must not underflow, those
/// of 1e50 not overflow.
constexpr double kLift = 1e100;

inline void scale(double* y, double factor, Index m) noexcept {
    for (Index j = 0; j < m; ++j) y[j] *= factor;
}

}  // namespace

NeuronSeries::NeuronSeries(Index neurons, Index rank)
    : neurons_(neurons),
      rank_(rank),
      w_((kMaxOrder + 2) * rank * neurons),
      g_((kMaxOrder + 2) * rank * neurons),
      a_((kMaxOrder + 2) * neurons),
      moment_(rank * neurons),
      motion_(kMaxOrder + 2, neurons),
      scale_(neurons) {}

void NeuronSeries::start(const NetworkState& state, double floor, const Groups& groups, Matrix& moments) {
    order_ = 0;
    std::copy_n(state.w.data(), rank_ * neurons_, w_.data());
    std::copy_n(state.a.data(), neurons_, a_.data());
    measure();
    for (Index j = 0; j < neurons_; ++j) {
        const double rest = state.at_rest(j);
        const double size = std::sqrt(motion_(0, j) * motion_(0, j) + a_[j] * a_[j] + rest * rest) + floor;
        scale_[j] = size > 0.0 ? 1.0 / size : 0.0;
    }
    for (Index x = 0; x < rank_; ++x)
        for (Index j = 0; j < neurons_; ++j) moment_[x * neurons_ + j] = a_[j] * w_[at(0, x, j)];
    gather_moments(groups, moments);
}

void NeuronSeries::push(const Matrix& gradients, double step, const Groups& groups, Matrix& moments) {
    expand(gradients, groups);
    const int k = order_;
    const Index m = neurons_;
    const double factor = step / (k + 1);
    double* a_next = a_.data() + (k + 1) * m;
    std::fill_n(a_next, m, 0.0);
    for (Index x = 0; x < rank_; ++x) {
        double* w_next = w_.data() + at(k + 1, x, 0);
        std::fill_n(w_next, m, 0.0);
        for (int l = 0; l <= k; ++l) {
            const double* g = g_.data() + at(k - l, x, 0);
            add_product(w_next, a_.data() + l * m, g, m);
            add_product(a_next, w_.data() + at(l, x, 0), g, m);
        }
        scale(w_next, factor, m);
    }
    scale(a_next, factor, m);
    for (Index x = 0; x < rank_; ++x) {
        double* moment = moment_.data() + x * m;
        std::fill_n(moment, m, 0.0);
        for (int l = 0; l <= k + 1; ++l) add_product(moment, a_.data() + l * m, w_.data() + at(k + 1 - l, x, 0), m);
    }
    ++order_;
    measure();
    gather_moments(groups, moments);
}

void NeuronSeries::expand(const Matrix& gradients, const Groups& groups) {
    const int* of = groups.of();
    for (Index x = 0; x < rank_; ++x) {
        const double* from = gradients.row(x).data();
        double* to = g_.data() + at(order_, x, 0);
        if (groups.is_identity())
            std::copy_n(from, neurons_, to);
        else
            for (Index j = 0; j < neurons_; ++j) to[j] = from[of[j]];
    }
}

void NeuronSeries::gather_moments(const Groups& groups, Matrix& moments) const {
    const int* of = groups.of();
    for (Index x = 0; x < rank_; ++x) {
        const double* from = moment_.data() + x * neurons_;
        double* to = moments.row(x).data();
        if (groups.is_identity()) {
            std::copy_n(from, neurons_, to);
            continue;
        }
        std::fill_n(to, groups.count(), 0.0);
        for (Index j = 0; j < neurons_; ++j) to[of[j]] += from[j];
    }
}

void NeuronSeries::measure() {
    const int k = order_;
    double* squares = motion_.row(k).data();
    std::fill_n(squares, neurons_, 0.0);
    for (Index x = 0; x < rank_; ++x) {
        const double* w = w_.data() + at(k, x, 0);
        for (Index j = 0; j < neurons_; ++j) squares[j] += (kLift * w[j]) * (kLift * w[j]);
    }
    const double* a = a_.data() + k * neurons_;
    double largest = 0.0;
    for (Index j = 0; j < neurons_; ++j) {
        const double both = squares[j] + (kLift * a[j]) * (kLift * a[j]);
        if (k > 0) largest = std::max(largest, std::sqrt(both) / kLift * scale_[j]);
        squares[j] = std::sqrt(squares[j]) / kLift;
    }
    relative_size_[k] = largest;
}

void NeuronSeries::path_bounds(double u, Vector& bounds) const {
    bounds = motion_.row(order_).transpose();
    for (int k = order_ - 1; k >= 1; --k) bounds = bounds * u + motion_.row(k).transpose();
    bounds *= u;
}

void NeuronSeries::evaluate(double u, Matrix& w, Vector& a) const {
    const Index size = rank_ * neurons_;
    std::copy_n(w_.data() + order_ * size, size, w.data());
    std::copy_n(a_.data() + order_ * neurons_, neurons_, a.data());
    for (int k = order_ - 1; k >= 0; --k) {
        const double* wk = w_.data() + k * size;
        const double* ak = a_.data() + k * neurons_;
        for (Index i = 0; i < size; ++i) w.data()[i] = w.data()[i] * u + wk[i];
        for (Index j = 0; j < neurons_; ++j) a[j] = a[j] * u + ak[j];
    }
}

}  // namespace reluflow
