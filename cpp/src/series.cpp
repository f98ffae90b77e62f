#include "reluflow/series.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

namespace {

/// Squares are taken of lifted numbers: rates of 1e-250 (a loss that stalls at log t = 500) must not underflow, those
/// of 1e50 not overflow.
constexpr double kLift = 1e100;

/// Neurons that move together in registers.
constexpr Index kStrip = 16;

/// One coordinate of one order, for `count` neurons: the sums below over l = 0 .. k. All series have the stride `order`
/// from order to order, but those of the outputs, `outputs`.
struct Strip {
    const double* w;
    const double* g;
    const double* a;
    Index order;
    Index outputs;
    int k;
    double factor;

    /// w_next = factor Σ_l a_l g_{k-l}, a_sum += Σ_l w_l g_{k-l}, moment = Σ_{l<=k} a_l w_{k+1-l}, square += w_next².
    template <Index Count>
    void move(Index count, double* w_next, double* a_sum, double* moment, double* square) const noexcept {
        const Index size = Count > 0 ? Count : count;
        double speed[kStrip] = {};
        double rate[kStrip] = {};
        double product[kStrip] = {};
        for (int l = 0; l <= k; ++l) {
            const double* wl = w + l * order;
            const double* gl = g + (k - l) * order;
            const double* al = a + l * outputs;
            for (Index j = 0; j < size; ++j) speed[j] += al[j] * gl[j];
            for (Index j = 0; j < size; ++j) rate[j] += wl[j] * gl[j];
            if (l == 0) continue;
            const double* later = a + (k + 1 - l) * outputs;
            for (Index j = 0; j < size; ++j) product[j] += later[j] * wl[j];
        }
        for (Index j = 0; j < size; ++j) {
            const double value = factor * speed[j];
            w_next[j] = value;
            a_sum[j] += rate[j];
            moment[j] = product[j] + a[j] * value;
            square[j] += (kLift * value) * (kLift * value);
        }
    }
};

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
    double* square = motion_.row(0).data();
    std::fill_n(square, neurons_, 0.0);
    for (Index x = 0; x < rank_; ++x) {
        const double* w = w_.data() + at(0, x, 0);
        for (Index j = 0; j < neurons_; ++j) square[j] += (kLift * w[j]) * (kLift * w[j]);
    }
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
    double* square = motion_.row(k + 1).data();
    std::fill_n(a_next, m, 0.0);
    std::fill_n(square, m, 0.0);
    for (Index x = 0; x < rank_; ++x) {
        double* w_next = w_.data() + at(k + 1, x, 0);
        double* moment = moment_.data() + x * m;
        for (Index j = 0; j < m; j += kStrip) {
            const Strip strip{w_.data() + at(0, x, j), g_.data() + at(0, x, j), a_.data() + j, rank_ * m, m, k, factor};
            if (j + kStrip <= m)
                strip.move<kStrip>(kStrip, w_next + j, a_next + j, moment + j, square + j);
            else
                strip.move<0>(m - j, w_next + j, a_next + j, moment + j, square + j);
        }
    }
    for (Index j = 0; j < m; ++j) a_next[j] *= factor;
    for (Index x = 0; x < rank_; ++x) {
        const double* w = w_.data() + at(0, x, 0);
        double* moment = moment_.data() + x * m;
        for (Index j = 0; j < m; ++j) moment[j] += a_next[j] * w[j];
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

/// From the lifted squares in motion_: |w^(k)|, and the size of the order.
void NeuronSeries::measure() {
    const int k = order_;
    double* squares = motion_.row(k).data();
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
