#include "reluflow/network.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <string>

#include "reluflow/errors.hpp"
#include "reluflow/settings.hpp"

namespace reluflow {

namespace {

std::string text_of(double number) {
    char text[32];
    std::snprintf(text, sizeof text, "%g", number);
    return text;
}

/// Each neuron by itself, and all together on the longest sample.
void check_sizes(const Dataset& data, const MatrixView& W, const VectorView& a) {
    double largest = 0.0;
    for (Index j = 0; j < a.size(); ++j) {
        const double size = std::hypot(W.row(j).stableNorm(), a[j]);
        largest = std::max(largest, size);
        if (size == 0.0 || (size >= kSmallestNeuron && size <= kLargestNeuron)) continue;
        throw InvalidArgument("W", "rows with |(w_j, a_j)| = " + text_of(size) + " at neuron " + std::to_string(j),
                              "zero or between " + text_of(kSmallestNeuron) + " and " + text_of(kLargestNeuron) +
                                  " in size, row by row with a");
    }
    double longest = 0.0;
    for (Index i = 0; i < data.n(); ++i) longest = std::max(longest, data.raw().row(i).stableNorm());
    const double output = static_cast<double>(a.size()) * largest * largest * longest;
    if (!(output <= kLargestOutput))
        throw InvalidArgument("W", text_of(output), "so small that m |θ|² |x| is at most " + text_of(kLargestOutput));
}

void check(const Dataset& data, const MatrixView& W, const VectorView& a, double leak) {
    if (W.rows() == 0 || W.cols() != data.d())
        throw InvalidArgument("W", "shape (" + std::to_string(W.rows()) + ", " + std::to_string(W.cols()) + ")",
                              "of shape (m, " + std::to_string(data.d()) + ")");
    if (a.size() != W.rows())
        throw InvalidArgument("a", std::to_string(a.size()) + " entries", std::to_string(W.rows()) + " entries");
    if (!W.allFinite()) throw InvalidArgument("W", "a non-finite value", "finite");
    if (!a.allFinite()) throw InvalidArgument("a", "a non-finite value", "finite");
    if (!(leak >= 0.0 && leak < 1.0)) throw InvalidArgument("leak", std::to_string(leak), "in [0, 1)");
    check_sizes(data, W, a);
}

}  // namespace

NetworkState::NetworkState(const Dataset& data, const MatrixView& W, const VectorView& a_in, double leak)
    : a(a_in), leak_(leak), invariant_(a_in.size()), at_rest_(Vector::Zero(a_in.size())), squares_(a_in.size()) {
    check(data, W, a_in, leak);
    if (data.is_full_rank()) {
        w = W.transpose();
    } else {
        const Matrix coordinates = W * data.basis();
        w = coordinates.transpose();
        resting_ = W - coordinates * data.basis().transpose();
        at_rest_ = resting_.rowwise().norm();
    }
    for (Index j = 0; j < a.size(); ++j) {
        const double size = W.row(j).stableNorm();
        double invariant = (std::abs(a[j]) - size) * (std::abs(a[j]) + size);
        const double noise = kBalanceUlps * std::numeric_limits<double>::epsilon() * a[j] * a[j];
        if (std::abs(invariant) <= noise) invariant = 0.0;
        invariant_[j] = invariant + at_rest_[j] * at_rest_[j];
    }
}

void NetworkState::restore_invariant(Index neuron, double* weights, double& output) const noexcept {
    double square = 0.0;
    for (Index k = 0; k < rank(); ++k) square += weights[k] * weights[k];
    const double invariant = invariant_[neuron];
    if (invariant >= 0.0) {
        output = std::copysign(std::sqrt(square + invariant), output);
        return;
    }
    if (square == 0.0) return;
    const double scale = std::sqrt((output * output - invariant) / square);
    for (Index k = 0; k < rank(); ++k) weights[k] *= scale;
}

void NetworkState::restore_invariants(Matrix& weights, Vector& outputs, const Vector& moved) const {
    squares_.setZero();
    for (Index x = 0; x < rank(); ++x) squares_ += weights.row(x).transpose().cwiseAbs2();
    for (Index j = 0; j < neurons(); ++j) {
        if (moved[j] == 0.0) continue;
        if (invariant_[j] >= 0.0)
            outputs[j] = std::copysign(std::sqrt(squares_[j] + invariant_[j]), outputs[j]);
        else if (squares_[j] > 0.0)
            weights.col(j) *= std::sqrt((outputs[j] * outputs[j] - invariant_[j]) / squares_[j]);
    }
}

Matrix NetworkState::full_weights(const Dataset& data) const {
    Matrix full(neurons(), data.d());
    full_weights(data, {w.data(), rank(), neurons()}, {full.data(), neurons(), data.d()});
    return full;
}

void NetworkState::full_weights(const Dataset& data, Eigen::Map<const Matrix> moving, Eigen::Map<Matrix> full) const {
    if (data.is_full_rank()) {
        full = moving.transpose();
        return;
    }
    full.noalias() = moving.transpose() * data.basis().transpose();
    full += resting_;
}

}  // namespace reluflow
