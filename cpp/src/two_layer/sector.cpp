#include "two_layer/sector.hpp"

#include <algorithm>
#include <cmath>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

/// Numbers are multiplied by this before they are squared: rates of 1e-200 must not underflow.
constexpr double kLift = 1e100;

constexpr Index kOrders = kMaxOrder + 2;

using Map = Eigen::Map<Vector>;
using ConstMap = Eigen::Map<const Vector>;

}  // namespace

Sector::Sector(Index rank)
    : rank_(rank),
      second_(rank, rank),
      added_(rank + 1, rank + 1),
      plain_(kOrders, rank),
      g_(kOrders, rank),
      moments_(kOrders, rank),
      products_(kOrders, kOrders),
      mixed_(kOrders, kOrders),
      answer_(kOrders, kOrders),
      output_(kOrders),
      lift_(kOrders),
      turn_(kOrders, kOrders),
      across_(rank, kOrders),
      from_weights_(kOrders, kOrders),
      work_(rank, kOrders),
      carried_(rank + 1, rank + 1),
      block_(rank + 1, kBlockColumns),
      block_work_(work_size(rank)) {}

void Sector::clear() noexcept {
    order_ = 0;
    at_zero_ = true;
    added_.setZero();
}

void Sector::add(const MatrixView& neurons) {
    add_transposed_product(neurons, neurons, added_);
    at_zero_ = at_zero_ && neurons.isZero(0.0);
}

void Sector::close() noexcept {
    second_ = added_.topLeftCorner(rank_, rank_);
    moments_.row(0) = added_.row(rank_).head(rank_);
    squares_[0] = added_(rank_, rank_);
    size_ = std::sqrt(added_.trace());
}

void Sector::push(const Eigen::Ref<const Vector, 0, Eigen::InnerStride<>>& gradient, double step) {
    const int k = order_;
    plain_.row(k) = gradient.transpose();
    g_.row(k) = step * gradient.transpose();
    lengths_[k] = (kLift * g_.row(k)).norm() / kLift;
    push_products(k);
    push_sums(k);
    push_bounds(k);
    order_ = k + 1;
}

void Sector::push_products(int k) {
    for (int i = 0; i <= k; ++i) {
        products_(i, k) = products_(k, i) = g_.row(i).dot(g_.row(k));
        mixed_(i, k) = moments_.row(i).dot(g_.row(k));
    }
    for (int i = 0; i < k; ++i) {
        double sum = 0.0;
        for (int l = i + 1; l <= k; ++l) sum += products_(l - 1 - i, k - l) / l;
        answer_(k, i) = sum;
    }
}

/// M' = a² g + (Σ w wᵀ) g and (Σ w wᵀ)' = g Mᵀ + M gᵀ, summed over the neurons; (a²)' = 2 g·M.
void Sector::push_sums(int k) {
    auto next = moments_.row(k + 1);
    next.noalias() = g_.row(k) * second_;
    for (int i = 0; i <= k; ++i) {
        double factor = squares_[k - i];
        for (int l = i + 1; l <= k; ++l) factor += mixed_(l - 1 - i, k - l) / l;
        next += factor * g_.row(i);
        if (i < k) next += answer_(k, i) * moments_.row(i);
    }
    next /= k + 1;
    double square = 0.0;
    for (int l = 0; l <= k; ++l) square += mixed_(k - l, l);
    squares_[k + 1] = 2.0 * square / (k + 1);
    for (int i = 0; i <= k; ++i) mixed_(k + 1, i) = next.dot(g_.row(i));
}

/// With |w| for w, |a| for a and |g_k| for g_k all terms are positive, so the series bounds every neuron's.
void Sector::push_bounds(int k) {
    odd_[0] = 0.0;
    even_[0] = 1.0;
    double odd = 0.0;
    double even = 0.0;
    for (int l = 0; l <= k; ++l) {
        odd += even_[l] * lengths_[k - l];
        even += odd_[l] * lengths_[k - l];
    }
    odd_[k + 1] = odd / (k + 1);
    even_[k + 1] = even / (k + 1);
}

double Sector::path(double weight, double output, int from, double u) const noexcept {
    return weight * tail_bound(even_, order_, from, u) + std::abs(output) * tail_bound(odd_, order_, from, u);
}

void Sector::expand(double* w, double* a) const noexcept {
    Coefficients along{};
    for (int k = 0; k < order_; ++k) along[k] = g_.row(k).dot(Map(w, rank_).transpose());
    for (int k = 0; k < order_; ++k) {
        double sum = along[k];
        for (int i = 0; i < k; ++i) sum += answer_(k, i) * a[i];
        a[k + 1] = sum / (k + 1);
        Map next(w + (k + 1) * rank_, rank_);
        next.setZero();
        for (int i = 0; i <= k; ++i) next += a[i] * g_.row(k - i).transpose();
        next /= k + 1;
    }
}

void Sector::set_end(double u) {
    const int terms = order_;
    auto from_weights = from_weights_.topLeftCorner(terms + 1, terms);
    from_weights.setZero();
    own_[0] = 1.0;
    for (int k = 0; k < terms; ++k) {  // a_k of every neuron is own_k a + from_weights_k·p
        own_[k + 1] = 0.0;
        from_weights(k + 1, k) = 1.0;
        for (int i = 0; i < k; ++i) {
            own_[k + 1] += answer_(k, i) * own_[i];
            from_weights.row(k + 1) += answer_(k, i) * from_weights.row(i);
        }
        own_[k + 1] /= k + 1;
        from_weights.row(k + 1) /= k + 1;
    }
    gain_ = 0.0;
    output_.setZero();
    for (int k = terms; k >= 1; --k) {
        gain_ = (gain_ + own_[k]) * u;
        output_.head(terms) = (output_.head(terms) + from_weights.row(k).transpose()) * u;
    }
    lift_.setZero();
    auto turn = turn_.topLeftCorner(terms, terms);
    turn.setZero();
    for (int q = 0; q < terms; ++q) {
        double power = std::pow(u, q + 1);
        for (int i = 0; i + q + 1 <= terms; ++i, power *= u) {
            lift_[q] += power / (i + q + 1) * own_[i];
            turn.row(q) += power / (i + q + 1) * from_weights.row(i);
        }
    }
    across_.leftCols(terms) = g_.topRows(terms).transpose();
}

Index Sector::work_size(Index rank) noexcept {
    return std::max(2 * kOrders, rank + 1) * kBlockColumns;
}

void Sector::move(double* block, double* work) const noexcept {
    using Row = Eigen::Map<Eigen::Array<double, kBlockColumns, 1>>;
    const int terms = order_;
    double* p = work;
    double* q = work + kOrders * kBlockColumns;
    Row a(block + rank_ * kBlockColumns);
    std::fill_n(p, terms * kBlockColumns, 0.0);
    add_to_block(g_.data(), rank_, terms, rank_, block, p);
    for (int k = 0; k < terms; ++k) Row(q + k * kBlockColumns) = lift_[k] * a;
    add_to_block(turn_.data(), kOrders, terms, terms, p, q);
    a += gain_ * a;
    add_to_block(output_.data(), kOrders, 1, terms, p, a.data());
    add_to_block(across_.data(), kOrders, rank_, terms, q, block);
}

/// Moves any number of columns (w, a), block after block.
void Sector::move_columns(Matrix& columns) {
    for (Index first = 0; first < columns.cols(); first += kBlockColumns) {
        const Index count = std::min(kBlockColumns, columns.cols() - first);
        block_.setZero();
        block_.leftCols(count) = columns.middleCols(first, count);
        move(block_.data(), block_work_.data());
        columns.middleCols(first, count) = block_.leftCols(count);
    }
}

void Sector::start_carry() {
    carried_.setIdentity();
}

void Sector::carry(double u) {
    set_end(u);
    move_columns(carried_);
    move_columns(added_);  // Σ θ θᵀ becomes Φ (Φ Σ θ θᵀ)ᵀ
    added_.transposeInPlace();
    move_columns(added_);
    close();
}

void Sector::lead(double* block, double* work) const noexcept {
    const Index numbers = (rank_ + 1) * kBlockColumns;
    std::copy_n(block, numbers, work);
    std::fill_n(block, numbers, 0.0);
    add_to_block(carried_.data(), rank_ + 1, rank_ + 1, rank_ + 1, work, block);
}

void Sector::sums_at(double u, double& square, Vector& moment, Matrix& second) {
    square = evaluate(squares_, order_, u);
    moment = moments_.row(order_).transpose();
    for (int k = order_ - 1; k >= 0; --k) moment = moment * u + moments_.row(k).transpose();
    second = second_;  // + Σ_{i, p} u^{i+p+1} / (i+p+1) (g_i M_pᵀ + M_p g_iᵀ)
    auto work = work_.leftCols(order_);
    work.setZero();
    for (int i = 0; i < order_; ++i) {
        double power = std::pow(u, i + 1);
        for (int p = 0; i + p + 1 <= order_; ++p, power *= u)
            work.col(i) += power / (i + p + 1) * moments_.row(p).transpose();
    }
    for (Index x = 0; x < rank_; ++x)
        for (Index y = 0; y <= x; ++y) {
            double sum = 0.0;
            for (int i = 0; i < order_; ++i) sum += g_(i, x) * work(y, i) + work(x, i) * g_(i, y);
            second(x, y) += sum;
            if (y < x) second(y, x) = second(x, y);
        }
}

}  // namespace reluflow
