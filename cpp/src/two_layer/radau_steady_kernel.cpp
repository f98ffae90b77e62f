/// The kernel of the samples that respond, at the start of a step: its diagonal and its columns.
#include <algorithm>
#include <cmath>

#include "numeric/products.hpp"
#include "two_layer/radau_steady.hpp"

namespace reluflow {

void SteadyResponse::list_samples(const Vector& weights, const Vector& answers, double step, double square) {
    samples_.clear();
    mass_ = 0.0;
    for (Index i = 0; i < data_.n(); ++i) {
        const double answer = std::max(answers[i], kLeastAnswer);
        root_[i] = std::sqrt(weights[i] * answer);
        border_[i] = std::sqrt(weights[i] / answer);
        mass_ += shares_[i] * weights[i];
        if (responds(i, step * square)) samples_.push_back(static_cast<int>(i));
    }
}

/// False if the network is too large.
bool SteadyResponse::take_neurons(Expansion& expansion) {
    expansion.series().evaluate(0.0, w_, a_);
    groups_ = expansion.groups().count();
    rows_.resize(count() * data_.rank());
    outputs_.resize(count() * neurons_);
    slopes_.resize(count() * groups_);
    for (Index k = 0; k < count(); ++k) {
        rows().row(k) = data_.signs()[samples_[k]] * data_.X().row(samples_[k]);
        for (Index c = 0; c < groups_; ++c) slopes()(k, c) = expansion.slope(samples_[k], c);
    }
    multiply(rows(), w_, outputs());
    for (Index k = 0; k < count(); ++k)
        for (Index j = 0; j < neurons_; ++j) outputs()(k, j) *= slopes()(k, expansion.groups().of(j));
    for (Index c = 0; c < groups_; ++c) {
        squares_[c] = 0.0;
        for (const int j : expansion.groups().members(c)) squares_[c] += a_[j] * a_[j];
        moving_[c] = expansion.held_count(c) == data_.rank() ? 0.0 : squares_[c];
    }
    held_count_ = 0;
    for (Index c = 0; c < groups_; ++c)
        if (moving_[c] > 0.0) held_count_ += expansion.held_count(c);
    if (count() * held_count_ > kMostOutputs) return false;
    take_held(expansion);
    return true;
}

/// With P_c = 1 - Q_cᵀ Q_c for what a group that slides can move in, the product of P_c x_i and P_c x_k is that of the
/// samples less that of Q_c x_i and Q_c x_k.
void SteadyResponse::take_held(const Expansion& expansion) {
    held_.resize(count() * held_count_);
    for (Index k = 0; k < count(); ++k) {
        double* taken = held_.data() + k * held_count_;
        for (Index c = 0; c < groups_; ++c) {
            const Index size = moving_[c] > 0.0 ? expansion.held_count(c) : 0;
            const double factor = slopes()(k, c) * std::sqrt(moving_[c]);
            if (factor != 0.0) expansion.held_coordinates(c, rows().row(k).data(), taken);
            for (Index h = 0; h < size; ++h) taken[h] = factor == 0.0 ? 0.0 : factor * taken[h];
            taken += size;
        }
    }
}

/// Σ_c s_ic² (Σ a²) |P_c x_i|² + Σ_j z_ij².
void SteadyResponse::find_own() {
    own_.setZero();
    auto taken = taken_.head(held_count_);
    for (Index k = 0; k < count(); ++k) {
        // Copied, because the rounding of a sum depends on the alignment of its memory.
        direction_ = rows().row(k).transpose();
        drawn_ = outputs().row(k).transpose();
        taken = held().row(k).transpose();
        double squares = 0.0;
        for (Index c = 0; c < groups_; ++c) squares += slopes()(k, c) * slopes()(k, c) * moving_[c];
        const double moved = std::max(0.0, squares * direction_.squaredNorm() - taken.squaredNorm());
        own_[samples_[k]] = drawn_.squaredNorm() + moved;
    }
}

/// One column of H sqrt(pc) K sqrt(pc). All groups share the products of samples.
void SteadyResponse::find_column(Index pivot, double step) {
    auto column = new_.head(count());
    auto product = product_.head(count());
    auto squares = drawn_.head(groups_);
    for (Index c = 0; c < groups_; ++c) squares[c] = slopes()(pivot, c) * moving_[c];
    product.noalias() = rows() * rows().row(pivot).transpose();
    column.noalias() = slopes() * squares;
    column.array() *= product.array();
    drawn_ = outputs().row(pivot).transpose();
    column.noalias() += outputs() * drawn_;
    if (held_count_ > 0) {
        auto taken = taken_.head(held_count_);
        taken = held().row(pivot).transpose();
        column.noalias() -= held() * taken;
    }
    for (Index k = 0; k < count(); ++k) column[k] *= step * root_[samples_[k]] * root_[samples_[pivot]];
}

}  // namespace reluflow
