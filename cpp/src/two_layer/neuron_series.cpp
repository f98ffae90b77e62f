#include "two_layer/neuron_series.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

namespace {

/// Neurons that are processed together in registers.
constexpr Index kStrip = 16;
/// Coordinates whose moments are added up together: of one alone each sum would wait for the last.
constexpr Index kTogether = 8;

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
    double lift;

    /// w_next = factor Σ_l a_l g_{k-l}, a_sum += Σ_l w_l g_{k-l}, moment = Σ_{l<=k} a_l w_{k+1-l}, square += (lift
    /// w_next)².
    template <Index Count>
    void move(double* w_next, double* a_sum, double* moment, double* square) const noexcept {
        using Row =
            Eigen::Array<double, Count, 1>;  // as arrays of numbers the compiler keeps some in memory, one by one
        using In = Eigen::Map<const Row>;
        using Out = Eigen::Map<Row>;
        Row speed = Row::Zero();
        Row rate = Row::Zero();
        Row product = Row::Zero();
        for (int l = 0; l <= k; ++l) {
            const In wl(w + l * order);
            const In gl(g + (k - l) * order);
            speed += In(a + l * outputs) * gl;
            rate += wl * gl;
            if (l > 0) product += In(a + (k + 1 - l) * outputs) * wl;
        }
        const Row value = factor * speed;
        Out{w_next} = value;
        Out{a_sum} += rate;
        Out{moment} = product + In(a) * value;
        Out{square} += (lift * value).square();
    }
};

/// Calls body<Count>() with a count, at most kTogether, that the compiler knows.
template <Index Count = 1, class Body>
void with_count(Index count, const Body& body) {
    if constexpr (Count < kTogether)
        if (count > Count) return with_count<Count + 1>(count, body);
    body.template operator()<Count>();
}

}  // namespace

NeuronSeries::NeuronSeries(const State& state, const Groups& groups, double floor, Pool& pool)
    : StateSeries(state, groups, floor, pool),
      w_((kMaxOrder + 2) * rank() * neurons()),
      g_((kMaxOrder + 2) * rank() * neurons()),
      a_((kMaxOrder + 2) * neurons()),
      moment_(rank() * neurons()),
      motion_(kMaxOrder + 2, neurons()),
      scale_(neurons()),
      largest_((neurons() + kPiece - 1) / kPiece) {}

void NeuronSeries::read_state() {
    for (Index j = 0; j < neurons(); ++j) {
        const double rest = parameters().at_rest(j);
        const double output = parameters().a[j];
        const double size = std::sqrt(sizes_[j] * sizes_[j] + output * output + rest * rest) + floor_;
        scale_[j] = size > 0.0 ? 1.0 / size : 0.0;
    }
}

void NeuronSeries::restart(Matrix& moments) {
    order_ = 0;
    const double work = 4.0 * static_cast<double>(rank() * neurons());
    pool_.run_pieces(neurons(), kPiece, work, [&](Index begin, Index end) {
        const double* a = parameters().a.data();
        std::copy(a + begin, a + end, a_.data() + begin);
        for (Index x = 0; x < rank(); ++x) {
            const double* w = parameters().w.row(x).data();
            std::copy(w + begin, w + end, w_.data() + at(0, x, begin));
            for (Index j = begin; j < end; ++j) moment_[x * neurons() + j] = a_[j] * w[j];
        }
    });
    gather_moments(moments);
}

double NeuronSeries::work(Index neurons, Index rank, int order) noexcept {
    const double k = order;
    return 1.5 * k * k * static_cast<double>(rank * neurons);
}

double NeuronSeries::square() const noexcept {
    return parameters().w.squaredNorm() + parameters().a.squaredNorm();
}

void NeuronSeries::push(const Matrix& gradients, double step, Matrix& moments) {
    step_ = step;
    const int next = order_ + 1;
    const double work = 6.0 * static_cast<double>(next * rank() * neurons());
    pool_.run_pieces(neurons(), kPiece, work, [&](Index begin, Index end) {
        expand(gradients, begin, end);
        multiply(step, begin, end);
        measure(next, begin, end);
    });
    order_ = next;
    relative_size_[next] = *std::max_element(largest_.begin(), largest_.end());
    gather_moments(moments);
}

/// Computes one more order of w, a and a w, and the squares of w (scaled by kLift) in motion_.
void NeuronSeries::multiply(double step, Index begin, Index end) {
    const int k = order_;
    const Index m = neurons();
    const double factor = step / (k + 1);
    double* a_next = a_.data() + (k + 1) * m;
    double* square = motion_.row(k + 1).data();
    std::fill(a_next + begin, a_next + end, 0.0);
    std::fill(square + begin, square + end, 0.0);
    for (Index x = 0; x < rank(); ++x) {
        double* w_next = w_.data() + at(k + 1, x, 0);
        double* moment = moment_.data() + x * m;
        const auto move = [&]<Index Count>(Index j) {
            const Strip strip{
                w_.data() + at(0, x, j), g_.data() + at(0, x, j), a_.data() + j, rank() * m, m, k, factor, kLift};
            strip.move<Count>(w_next + j, a_next + j, moment + j, square + j);
            return j + Count;
        };
        Index j = begin;
        while (j + kStrip <= end) j = move.operator()<kStrip>(j);
        while (j + 8 <= end) j = move.operator()<8>(j);
        while (j + 4 <= end) j = move.operator()<4>(j);
        while (j + 2 <= end) j = move.operator()<2>(j);
        while (j < end) j = move.operator()<1>(j);
    }
    for (Index j = begin; j < end; ++j) a_next[j] *= factor;
    for (Index x = 0; x < rank(); ++x) {
        const double* w = w_.data() + at(0, x, 0);
        double* moment = moment_.data() + x * m;
        for (Index j = begin; j < end; ++j) moment[j] += a_next[j] * w[j];
    }
}

void NeuronSeries::expand(const Matrix& gradients, Index begin, Index end) {
    const int* of = groups_.of();
    for (Index x = 0; x < rank(); ++x) {
        const double* from = gradients.row(x).data();
        double* to = g_.data() + at(order_, x, 0);
        if (groups_.is_identity())
            std::copy_n(from + begin, end - begin, to + begin);
        else
            for (Index j = begin; j < end; ++j) to[j] = from[of[j]];
    }
}

void NeuronSeries::gather_moments(Matrix& moments) const {
    const int* of = groups_.of();
    const double work = 4.0 * static_cast<double>(rank() * neurons());
    pool_.run_pieces(rank(), kTogether, work, [&](Index begin, Index end) {
        const double* from = moment_.data() + begin * neurons();
        double* to = moments.row(begin).data();
        for (Index x = 0; x < end - begin; ++x) {
            if (groups_.is_identity())
                std::copy_n(from + x * neurons(), neurons(), to + x * moments.cols());
            else
                std::fill_n(to + x * moments.cols(), groups_.count(), 0.0);
        }
        if (groups_.is_identity()) return;
        with_count(end - begin, [&]<Index Count>() {
            for (Index j = 0; j < neurons(); ++j)
                for (Index x = 0; x < Count; ++x) to[x * moments.cols() + of[j]] += from[x * neurons() + j];
        });
    });
}

/// Turns the squares in motion_ into |w^(k)|, and finds the largest term of the order.
void NeuronSeries::measure(int order, Index begin, Index end) {
    auto squares = motion_.row(order).segment(begin, end - begin).array();
    const Eigen::Map<const Eigen::RowVectorXd> a(a_.data() + order * neurons() + begin, end - begin);
    const auto scales = scale_.segment(begin, end - begin).transpose().array();
    largest_[begin / kPiece] = ((squares + (kLift * a.array()).square()).sqrt() * scales).maxCoeff() / kLift;
    squares = squares.sqrt() / kLift;
}

double NeuronSeries::bend(Index neuron) const noexcept {
    double sum = 0.0;
    for (int k = 2; k <= order_; ++k) sum += motion_(k, neuron);
    return sum;
}

void NeuronSeries::path_bounds(double u, Index begin, Index end, Vector& bounds) const {
    auto piece = bounds.segment(begin, end - begin);
    piece = motion_.row(order_).segment(begin, end - begin).transpose();
    for (int k = order_ - 1; k >= 1; --k) piece = piece * u + motion_.row(k).segment(begin, end - begin).transpose();
    piece *= u;
}

void NeuronSeries::copy_rates(std::span<const int> neurons, MatrixRef rates) const noexcept {
    const Index count = std::ssize(neurons);
    for (Index x = 0; x < rank(); ++x) {
        const double* rate = w_.data() + at(1, x, 0);
        for (Index i = 0; i < count; ++i) rates(i, x) = rate[neurons[i]];
    }
}

void NeuronSeries::copy(Index neuron, double* w, double* a, double* g) const noexcept {
    for (int k = 0; k < order_; ++k)
        for (Index x = 0; x < rank(); ++x) g[k * rank() + x] = g_[at(k, x, neuron)];
    for (int k = 0; k <= order_; ++k) {
        for (Index x = 0; x < rank(); ++x) w[k * rank() + x] = w_[at(k, x, neuron)];
        a[k] = a_[k * neurons() + neuron];
    }
}

void NeuronSeries::evaluate(double u, Matrix& w, Vector& a) const {
    const double work = 2.0 * static_cast<double>(order_ * (rank() + 1) * neurons());
    pool_.run(rank() + 1, work, [&](Index x) {
        double* value = x < rank() ? w.data() + x * neurons() : a.data();
        for (int k = order_; k >= 0; --k) {
            const double* term = x < rank() ? w_.data() + at(k, x, 0) : a_.data() + k * neurons();
            if (k == order_)
                std::copy_n(term, neurons(), value);
            else
                for (Index j = 0; j < neurons(); ++j) value[j] = value[j] * u + term[j];
        }
    });
}

}  // namespace reluflow
