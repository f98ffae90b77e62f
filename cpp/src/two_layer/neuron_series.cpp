#include "two_layer/neuron_series.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

namespace {

/// Numbers are multiplied by this before they are squared: rates of 1e-250 (a loss that stalls at log t = 500) must not
/// underflow, those of 1e50 not overflow.
constexpr double kLift = 1e100;

/// The order that the first step is expected to need.
constexpr int kFirstOrder = 12;

/// Neurons that are processed together in registers.
constexpr Index kStrip = 16;

/// One coordinate and order for `Count` neurons: the sums below over l = 0 .. k. Consecutive orders of a series are
/// `order` apart, those of the outputs `outputs`.
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
    void move(double* w_next, double* a_sum, double* moment, double* square) const noexcept {
        double speed[Count] = {};
        double rate[Count] = {};
        double product[Count] = {};
        for (int l = 0; l <= k; ++l) {
            const double* wl = w + l * order;
            const double* gl = g + (k - l) * order;
            const double* al = a + l * outputs;
            for (Index j = 0; j < Count; ++j) speed[j] += al[j] * gl[j];
            for (Index j = 0; j < Count; ++j) rate[j] += wl[j] * gl[j];
            if (l == 0) continue;
            const double* later = a + (k + 1 - l) * outputs;
            for (Index j = 0; j < Count; ++j) product[j] += later[j] * wl[j];
        }
        for (Index j = 0; j < Count; ++j) {
            const double value = factor * speed[j];
            w_next[j] = value;
            a_sum[j] += rate[j];
            moment[j] = product[j] + a[j] * value;
            square[j] += (kLift * value) * (kLift * value);
        }
    }
};

}  // namespace

NeuronSeries::NeuronSeries(Index neurons, Index rank, Pool& pool)
    : neurons_(neurons),
      rank_(rank),
      pool_(pool),
      sectors_(neurons, rank, pool),
      w_(new double[(kMaxOrder + 2) * rank * neurons]),
      g_(new double[(kMaxOrder + 2) * rank * neurons]),
      a_(new double[(kMaxOrder + 2) * neurons]),
      moment_(rank * neurons),
      motion_(kMaxOrder + 2, neurons),
      scale_(neurons),
      largest_((neurons + kPiece - 1) / kPiece) {}

void NeuronSeries::start(const NetworkState& state, double floor, const Groups& groups, Matrix& moments) {
    if (is_carrying()) return restart(groups, moments);
    state_ = &state;
    floor_ = floor;
    by_sector_ = sectors_.is_worth(groups.count(), order_ > 0 ? order_ : kFirstOrder);
    order_ = 0;
    measure_state();
    if (by_sector_) return sectors_.start(state, floor, groups, moments);
    restart(groups, moments);
}

void NeuronSeries::restart(const Groups& groups, Matrix& moments) {
    order_ = 0;
    if (by_sector_) return sectors_.restart(moments);
    pool_.run_pieces(neurons_, kPiece, 4.0 * static_cast<double>(rank_ * neurons_), [&](Index begin, Index end) {
        std::copy(state_->a.data() + begin, state_->a.data() + end, a_.get() + begin);
        for (Index x = 0; x < rank_; ++x) {
            const double* w = state_->w.row(x).data();
            std::copy(w + begin, w + end, w_.get() + at(0, x, begin));
            for (Index j = begin; j < end; ++j) moment_[x * neurons_ + j] = a_[j] * w[j];
        }
    });
    gather_moments(groups, moments);
}

void NeuronSeries::measure_state() {
    pool_.run_pieces(neurons_, kPiece, 2.0 * static_cast<double>(rank_ * neurons_),
                     [&](Index begin, Index end) { measure_state(begin, end); });
}

/// |w| and the scale of the neurons of [begin, end).
void NeuronSeries::measure_state(Index begin, Index end) {
    double* square = motion_.row(0).data();
    std::fill(square + begin, square + end, 0.0);
    for (Index x = 0; x < rank_; ++x) {
        const double* w = state_->w.row(x).data();
        for (Index j = begin; j < end; ++j) square[j] += (kLift * w[j]) * (kLift * w[j]);
    }
    for (Index j = begin; j < end; ++j) {
        square[j] = std::sqrt(square[j]) / kLift;
        const double rest = state_->at_rest(j);
        const double size = std::sqrt(square[j] * square[j] + state_->a[j] * state_->a[j] + rest * rest) + floor_;
        scale_[j] = size > 0.0 ? 1.0 / size : 0.0;
    }
}

double NeuronSeries::work(int order) const noexcept {
    const double k = order;
    return by_sector_ ? sectors_.work(order) : 1.5 * k * k * static_cast<double>(rank_ * neurons_);
}

void NeuronSeries::settle() {
    sectors_.settle();
    measure_state();
}

double NeuronSeries::square() const noexcept {
    if (by_sector_) return sectors_.square();
    return state_->w.squaredNorm() + state_->a.squaredNorm();
}

void NeuronSeries::push(const Matrix& gradients, double step, const Groups& groups, Matrix& moments) {
    step_ = step;
    if (by_sector_) {
        sectors_.push(gradients, step, moments);
        ++order_;
        return;
    }
    const int next = order_ + 1;
    const double work = 6.0 * static_cast<double>(next * rank_ * neurons_);
    pool_.run_pieces(neurons_, kPiece, work, [&](Index begin, Index end) {
        expand(gradients, groups, begin, end);
        multiply(step, begin, end);
        measure(next, begin, end);
    });
    order_ = next;
    relative_size_[next] = *std::max_element(largest_.begin(), largest_.end());
    gather_moments(groups, moments);
}

/// Computes one more order of w, a and a w, and the squares of w (scaled by kLift) in motion_.
void NeuronSeries::multiply(double step, Index begin, Index end) {
    const int k = order_;
    const Index m = neurons_;
    const double factor = step / (k + 1);
    double* a_next = a_.get() + (k + 1) * m;
    double* square = motion_.row(k + 1).data();
    std::fill(a_next + begin, a_next + end, 0.0);
    std::fill(square + begin, square + end, 0.0);
    for (Index x = 0; x < rank_; ++x) {
        double* w_next = w_.get() + at(k + 1, x, 0);
        double* moment = moment_.data() + x * m;
        const auto move = [&]<Index Count>(Index j) {
            const Strip strip{w_.get() + at(0, x, j), g_.get() + at(0, x, j), a_.get() + j, rank_ * m, m, k, factor};
            strip.move<Count>(w_next + j, a_next + j, moment + j, square + j);
            return j + Count;
        };
        Index j = begin;
        while (j + kStrip <= end) j = move.operator()<kStrip>(j);
        while (j + 4 <= end) j = move.operator()<4>(j);
        while (j < end) j = move.operator()<1>(j);
    }
    for (Index j = begin; j < end; ++j) a_next[j] *= factor;
    for (Index x = 0; x < rank_; ++x) {
        const double* w = w_.get() + at(0, x, 0);
        double* moment = moment_.data() + x * m;
        for (Index j = begin; j < end; ++j) moment[j] += a_next[j] * w[j];
    }
}

void NeuronSeries::expand(const Matrix& gradients, const Groups& groups, Index begin, Index end) {
    const int* of = groups.of();
    for (Index x = 0; x < rank_; ++x) {
        const double* from = gradients.row(x).data();
        double* to = g_.get() + at(order_, x, 0);
        if (groups.is_identity())
            std::copy_n(from + begin, end - begin, to + begin);
        else
            for (Index j = begin; j < end; ++j) to[j] = from[of[j]];
    }
}

void NeuronSeries::gather_moments(const Groups& groups, Matrix& moments) const {
    const int* of = groups.of();
    pool_.run(rank_, 4.0 * static_cast<double>(rank_ * neurons_), [&](Index x) {
        const double* from = moment_.data() + x * neurons_;
        double* to = moments.row(x).data();
        if (groups.is_identity()) {
            std::copy_n(from, neurons_, to);
            return;
        }
        std::fill_n(to, groups.count(), 0.0);
        for (Index j = 0; j < neurons_; ++j) to[of[j]] += from[j];
    });
}

/// Turns the squares in motion_ into |w^(k)|, and finds the largest term of the order.
void NeuronSeries::measure(int order, Index begin, Index end) {
    auto squares = motion_.row(order).segment(begin, end - begin).array();
    const Eigen::Map<const Eigen::RowVectorXd> a(a_.get() + order * neurons_ + begin, end - begin);
    const auto scales = scale_.segment(begin, end - begin).transpose().array();
    largest_[begin / kPiece] = ((squares + (kLift * a.array()).square()).sqrt() * scales).maxCoeff() / kLift;
    squares = squares.sqrt() / kLift;
}

double NeuronSeries::bend(Index neuron) const noexcept {
    if (by_sector_) return sectors_.of(neuron).path(size(neuron), state_->a[neuron], 2, 1.0);
    double sum = 0.0;
    for (int k = 2; k <= order_; ++k) sum += motion_(k, neuron);
    return sum;
}

void NeuronSeries::path_bounds(double u, Index begin, Index end, Vector& bounds) const {
    if (by_sector_) {
        for (Index j = begin; j < end; ++j) bounds[j] = sectors_.of(j).path(size(j), state_->a[j], 1, u);
        return;
    }
    auto piece = bounds.segment(begin, end - begin);
    piece = motion_.row(order_).segment(begin, end - begin).transpose();
    for (int k = order_ - 1; k >= 1; --k) piece = piece * u + motion_.row(k).segment(begin, end - begin).transpose();
    piece *= u;
}

void NeuronSeries::copy_rates(std::span<const int> neurons, MatrixRef rates) const noexcept {
    const Index count = std::ssize(neurons);
    if (by_sector_) {
        for (Index i = 0; i < count; ++i)
            rates.row(i) = step_ * state_->a[neurons[i]] * sectors_.of(neurons[i]).start_gradient();
        return;
    }
    for (Index x = 0; x < rank_; ++x) {
        const double* rate = w_.get() + at(1, x, 0);
        for (Index i = 0; i < count; ++i) rates(i, x) = rate[neurons[i]];
    }
}

double NeuronSeries::g(int k, Index coordinate, Index neuron) const noexcept {
    return by_sector_ ? sectors_.of(neuron).g(k, coordinate) : g_[at(k, coordinate, neuron)];
}

void NeuronSeries::copy(Index neuron, double* w, double* a, double* g) const noexcept {
    for (int k = 0; k < order_; ++k)
        for (Index x = 0; x < rank_; ++x) g[k * rank_ + x] = this->g(k, x, neuron);
    if (by_sector_) {
        for (Index x = 0; x < rank_; ++x) w[x] = state_->w(x, neuron);
        a[0] = state_->a[neuron];
        sectors_.of(neuron).expand(w, a);
        return;
    }
    for (int k = 0; k <= order_; ++k) {
        for (Index x = 0; x < rank_; ++x) w[k * rank_ + x] = w_[at(k, x, neuron)];
        a[k] = a_[k * neurons_ + neuron];
    }
}

void NeuronSeries::evaluate(double u, Matrix& w, Vector& a) const {
    if (by_sector_) return sectors_.evaluate(u, w, a);
    const double work = 2.0 * static_cast<double>(order_ * (rank_ + 1) * neurons_);
    pool_.run(rank_ + 1, work, [&](Index x) {
        double* value = x < rank_ ? w.data() + x * neurons_ : a.data();
        for (int k = order_; k >= 0; --k) {
            const double* term = x < rank_ ? w_.get() + at(k, x, 0) : a_.get() + k * neurons_;
            if (k == order_)
                std::copy_n(term, neurons_, value);
            else
                for (Index j = 0; j < neurons_; ++j) value[j] = value[j] * u + term[j];
        }
    });
}

}  // namespace reluflow
