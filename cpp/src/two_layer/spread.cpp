#include "two_layer/spread.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "numeric/products.hpp"

namespace reluflow {

namespace {

/// Measured again when a weight has grown by more than this factor: the bounds are then a tenth too large.
constexpr double kGrowth = 1.25;
/// Weights below this part of the mean count as this large, so that their growth does not cause new measurements.
constexpr double kSmallWeight = 1e-3;
/// Boundaries whose products are made together.
constexpr Index kRows = 64;
/// Squarings of the matrix whose largest eigenvalue is bounded by the norm of that power: r^(1/64) too large.
constexpr int kSquarings = 4;
constexpr double kLargest = std::numeric_limits<double>::max();

}  // namespace

namespace {

/// A sample that drives no neuron has no effect, whatever its weight; but an event may make it drive one, and then all
/// of it responds if the loss is one of errors.
bool responds(const Waveform& waveform, Index sample) noexcept {
    return waveform.is_live(sample) || waveform.is_linear();
}

}  // namespace

Spread::Spread(const Dataset& data)
    : data_(data),
      floor_(Vector::Zero(data.n())),
      along_(data.n_boundaries()),
      weighted_(std::min(kRows, data.n()), data.rank()),
      square_(data.rank(), data.rank()),
      next_(data.rank(), data.rank()),
      turned_(std::min(kRows, data.n_boundaries()), data.rank()) {}

void Spread::update(const Waveform& waveform) {
    double growth = 1.0;
    for (Index i = 0; i < data_.n(); ++i)
        if (responds(waveform, i) && waveform.response(i) > growth * floor_[i])
            growth = floor_[i] > 0.0 ? waveform.response(i) / floor_[i] : 2.0 * kGrowth;
    growth_ = std::sqrt(growth);
    if (growth <= kGrowth) return;
    const double least = kSmallWeight / static_cast<double>(data_.n());
    for (Index i = 0; i < data_.n(); ++i)
        floor_[i] = responds(waveform, i) ? std::max(waveform.response(i), least) : least;
    growth_ = 1.0;
    measure();
}

/// eᵀ (Σ p x xᵀ) e for every normal e.
void Spread::measure() {
    square_.setZero();
    for (Index first = 0; first < data_.n(); first += kRows) {
        const Index count = std::min(kRows, data_.n() - first);
        for (Index i = 0; i < count; ++i) weighted_.row(i) = std::sqrt(floor_[first + i]) * data_.X().row(first + i);
        const auto rows = weighted_.topRows(count);
        square_.noalias() += rows.transpose() * rows;
    }
    for (Index first = 0; first < data_.n_boundaries(); first += kRows) {
        const Index count = std::min(kRows, data_.n_boundaries() - first);
        const auto normals = data_.normals().middleRows(first, count);
        multiply(normals, square_, turned_.topRows(count));
        for (Index i = 0; i < count; ++i) along_[first + i] = std::sqrt(turned_.row(i).dot(normals.row(i)));
    }
    bound_largest();
}

/// No eigenvalue of C exceeds |C^k|^(1/k) with the Frobenius norm, which tends to the largest with k.
void Spread::bound_largest() {
    double log_size = 0.0;
    double part = 1.0;
    for (int i = 0;; ++i, part *= 0.5) {
        double size = square_.norm();
        if (!(size > 0.0 && size <= kLargest)) size = square_.stableNorm();  // |x| of 1e77: |x|⁴ is no double
        if (!(size > 0.0)) break;
        log_size += part * std::log(size);
        if (i == kSquarings) break;
        square_ /= size;
        multiply(square_, square_, next_);
        square_.swap(next_);
    }
    largest_ = std::exp(0.5 * log_size);
}

}  // namespace reluflow
