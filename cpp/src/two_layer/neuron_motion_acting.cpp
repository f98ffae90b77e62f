// What drives a neuron, asked for by its sides: the part of one boundary, and the size of all of it.
#include <algorithm>
#include <cmath>

#include "two_layer/neuron_motion.hpp"

namespace reluflow {

namespace {

using ConstMap = Eigen::Map<const Vector>;

}  // namespace

void NeuronMotion::contribution_series(int boundary, double u, double* below, double* above) const noexcept {
    side_series(boundary, u, -1, below);
    side_series(boundary, u, 1, above);
}

/// The contribution on one side; false, and zeros, if none of the samples acts there.
bool NeuronMotion::side_series(int boundary, double u, std::int8_t side, double* c) const noexcept {
    std::fill_n(c, order_, 0.0);
    bool acts = false;
    Coefficients weight;
    for (const int sample : data_.samples_of(boundary)) {
        const double coefficient = data_.coefficient(sample);
        const double slope = coefficient * side > 0.0 ? 1.0 : leak_;
        if (slope == 0.0) continue;
        acts = true;
        waveform_.signed_weight_series(sample, u, weight);
        for (int k = 0; k < order_; ++k) c[k] += coefficient * slope * weight[k];
    }
    if (acts) shift_origin(c, order_ - 1, u);
    return acts;
}

void NeuronMotion::contribution_at(int boundary, double u, double& below, double& above) const noexcept {
    below = 0.0;
    above = 0.0;
    for (const int sample : data_.samples_of(boundary)) {
        const double weight = waveform_.signed_weight_at(sample, u);
        const double coefficient = data_.coefficient(sample);
        below += coefficient * (coefficient > 0.0 ? leak_ : 1.0) * weight;
        above += coefficient * (coefficient > 0.0 ? 1.0 : leak_) * weight;
    }
}

double NeuronMotion::acting_weight(std::span<const std::int8_t> sides, double u) const {
    waveform_.signed_weights_at(u, weights_);
    double sum = 0.0;
    for (Index i = 0; i < data_.n(); ++i) sum += acting_part(i, sides);
    return patience_ * sum;
}

double NeuronMotion::missed_weight(std::span<const std::int8_t> sides) const {
    double sum = 0.0;
    for (Index i = 0; waveform_.is_prescribed() && i < data_.n(); ++i)
        if (feels(i, sides)) sum += waveform_.missed_at_start(i) * std::abs(data_.coefficient(i));
    return sum;
}

bool NeuronMotion::feels(Index sample, std::span<const std::int8_t> sides) const {
    const std::int8_t sign = sample_sign(data_, sample, sides[data_.boundary_of(sample)]);
    return sign == 0 ? waveform_.is_live(sample) : (leak_ > 0.0 || sign > 0);
}

/// The part of one sample, at the weights in weights_.
double NeuronMotion::acting_part(Index sample, std::span<const std::int8_t> sides) const {
    const double weight = std::max(std::abs(weights_[sample]), waveform_.least_known(sample));
    return feels(sample, sides) ? weight * std::abs(data_.coefficient(sample)) : 0.0;
}

double NeuronMotion::acting_rate(int piece, std::span<const std::int8_t> sides, double u) const {
    const double begin = pieces_[piece].begin;
    if (!data_.is_full_rank()) return acting_weight(sides, begin) * size(piece);  // rounding leaves no zeros
    waveform_.signed_weights_at(begin, weights_);
    unit_ = ConstMap(w(piece, order_), rank_).cwiseAbs();
    for (int k = order_ - 1; k >= 0; --k) unit_ = (u - begin) * unit_ + ConstMap(w(piece, k), rank_).cwiseAbs();
    double whole = 0.0;
    double sum = 0.0;
    for (Index i = 0; i < data_.n(); ++i) {
        const double part = acting_part(i, sides);
        whole += part;
        sum += part * data_.normals().row(data_.boundary_of(i)).cwiseAbs().dot(unit_.transpose());
    }
    return patience_ * std::min(sum, whole * size(piece));
}

}  // namespace reluflow
