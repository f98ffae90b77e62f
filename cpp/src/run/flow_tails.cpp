/// Samples that move the network without being seen: their weights are below the rounding of those that cancel.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/tolerances.hpp"
#include "numeric/decompositions.hpp"
#include "run/flow.hpp"

namespace reluflow {

namespace {

/// By so much, relative to itself, a neuron may move unseen in the time that is left: so many tolerances, or so much.
constexpr double kMissedPart = 10.0;
constexpr double kLeastMissed = 1e-9;
/// Outputs up to this change weights by what rounding of a gradient may hide; unless they are this part of their terms,
/// which is none.
constexpr double kSmallOutput = 1e-12;
constexpr double kSmallOutputPart = 1e-9;

}  // namespace

/// The gradient of the margin of a sample over the neurons as they can move, (m (r + 1),): what slides stays on its
/// boundaries, what is stored at another scale is no part of any margin.
void Flow::margin_gradient(Index sample, VectorRef gradient) const {
    const Parameters& neurons = state_.parameters;
    const Index rank = neurons.rank();
    const int boundary = data_.boundary_of(sample);
    const double sign = data_.signs()[sample];
    const auto x = data_.X().row(sample).transpose();
    gradient.setZero();
    for (Index j = 0; j < neurons.neurons(); ++j) {
        const int side = state_.mode.side(j, boundary) * data_.orientation(sample);
        if (side == 0 || neurons.is_lifted(j)) continue;
        const double slope = side > 0 ? 1.0 : neurons.leak();
        auto part = gradient.segment(j * (rank + 1), rank);
        part = sign * slope * neurons.a[j] * x;
        state_.mode.held(j).project(part.data());
        gradient[j * (rank + 1) + rank] = sign * slope * neurons.w.col(j).dot(x);
    }
}

/// log of the weight with which a sample pulls, relative to the mass; of errors, of what they are.
double Flow::log_pull(Index sample) const {
    const Waveform& waveform = stepper_->waveform();
    return waveform.is_linear() ? std::log(std::abs(waveform.signed_weights(0)[sample]))
                                : waveform.log_weight_by_margin(sample);
}

/// True of an error that is rounding of its output and its target: the sample is fitted, and holds itself.
bool Flow::is_fitted(Index sample) const {
    if (!stepper_->waveform().is_linear()) return false;
    const double terms = std::abs(data_.targets()[sample]) + stepper_->square() * data_.X().row(sample).norm();
    return std::abs(stepper_->expansion().margins()[sample]) <=
           kFittedErrorUlps * std::numeric_limits<double>::epsilon() * terms;
}

/// The heaviest of the samples whose pull is below a rate that is known, or its rounding, if these would move a neuron
/// in the time that is left; -1 if not. What the others hold in place does not move: they answer to any motion but at
/// right angles to the gradients of their margins, in which that pull is all there is.
Index Flow::moves_unseen(double rate) {
    const Waveform& waveform = stepper_->waveform();
    if (waveform.decays() || !plan_.objective.resting.is_empty()) return -1;
    const double known = std::log(std::max(rate_noise().rounding, rate));
    const double missed = std::log(std::max(kMissedPart * plan_.settings.rtol, kLeastMissed));
    const double left = largest_step();
    const double log_left = std::isinf(left) ? time_stop().log_t() + waveform.log_mass() + log_factor_ : std::log(left);
    std::vector<Index> tails, others;
    double heaviest = -std::numeric_limits<double>::infinity();
    Index first = -1;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!waveform.is_live(i)) continue;
        const double log_weight = log_pull(i);
        const bool is_tail = log_weight + std::log(data_.X().row(i).norm()) <= known && !is_fitted(i);
        (is_tail ? tails : others).push_back(i);
        if (!is_tail || log_weight <= heaviest) continue;
        heaviest = log_weight;
        first = i;
    }
    const double most = heaviest + log_left + std::log(waveform.largest_norm() * static_cast<double>(data_.n()));
    if (tails.empty() || most < missed) return -1;
    stepper_->settle();
    const Index size = state_.neurons() * (state_.parameters.rank() + 1);
    Vector pull = Vector::Zero(size), gradient(size);
    for (const Index i : tails) {
        margin_gradient(i, gradient);
        const double side = waveform.is_linear() && waveform.signed_weights(0)[i] * data_.signs()[i] < 0.0 ? -1.0 : 1.0;
        pull += side * std::exp(log_pull(i) - heaviest) * gradient;
    }
    const double whole = pull.norm();
    if (whole == 0.0) return -1;
    take_away_held(others, pull);
    double relative = 0.0;
    for (Index j = 0; j < state_.neurons(); ++j) {
        const double part = pull.segment(j * (state_.parameters.rank() + 1), state_.parameters.rank() + 1).norm();
        const double norm = std::hypot(state_.parameters.w.col(j).norm(), state_.parameters.a[j]);
        if (part > kHeldPull * whole) relative = std::max(relative, part / norm);
    }
    return heaviest + log_left + std::log(relative) > missed ? first : -1;
}

/// The largest output where weights balance to all their digits because outputs are that small, and what these change
/// of the weights would move neurons in the time that is left; 0 elsewhere. Beside zero, where the gradient of all
/// neurons vanishes (the parity of an odd number of bits), the flow is of that next order. Outputs that are rounding of
/// their terms are zero.
double Flow::hidden_outputs() const {
    const Waveform& waveform = stepper_->waveform();
    if (!plan_.objective.resting.is_empty()) return 0.0;
    double most = 0.0;
    for (Index i = 0; i < data_.n(); ++i) {
        const double target = waveform.is_linear() ? std::abs(data_.targets()[i]) : 1.0;
        // An output that is all of its error is seen, and that of a sample that counts nothing changes no weight.
        if (!waveform.is_live(i) || target == 0.0 || data_.counts()[i] == 0.0) continue;
        const double output = std::abs(output_of(i));
        if (output > kSmallOutput * target) return 0.0;
        most = std::max(most, output);
    }
    if (most <= kSmallOutputPart * stepper_->square() * waveform.largest_norm()) return 0.0;
    const double log_left = time_stop().log_t() + waveform.log_mass() + log_factor_;
    const double missed = std::max(kMissedPart * plan_.settings.rtol, kLeastMissed);
    return std::log(most * waveform.largest_norm()) + log_left > std::log(missed) ? most : 0.0;
}

/// Of errors an output below the rounding of its target is found anew.
double Flow::output_of(Index sample) const {
    if (!stepper_->waveform().is_linear()) return stepper_->expansion().margins()[sample];
    const Parameters& neurons = state_.parameters;
    const auto x = data_.X().row(sample).transpose();
    double output = 0.0;
    for (Index j = 0; j < neurons.neurons(); ++j) {
        const int side = state_.mode.side(j, data_.boundary_of(sample)) * data_.orientation(sample);
        if (side == 0 || neurons.is_lifted(j)) continue;
        output += (side > 0 ? 1.0 : neurons.leak()) * neurons.a[j] * neurons.w.col(j).dot(x);
    }
    return output;
}

/// Takes its part in the span of the gradients of these margins from a pull.
void Flow::take_away_held(const std::vector<Index>& samples, Vector& pull) const {
    if (samples.empty()) return;
    Eigen::MatrixXd gradients(pull.size(), static_cast<Index>(samples.size()));
    Vector gradient(pull.size());
    Index count = 0;
    for (const Index i : samples) {
        margin_gradient(i, gradient);
        const double norm = gradient.norm();
        if (norm > 0.0) gradients.col(count++) = gradient / norm;
    }
    if (count == 0) return;
    pull = outside_span(gradients.leftCols(count), pull, kSpanTol);
}

}  // namespace reluflow
