/// What weight decay moves below the rounding of what holds it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "base/tolerances.hpp"
#include "run/flow.hpp"

namespace reluflow {

namespace {

/// What pulls a neuron is known beside the decay if its rounding is no more than this part of it.
constexpr double kKnownPart = 1e-5;
/// By so much, relative to itself, a neuron may move unseen in the time that is left.
constexpr double kHiddenMove = 1e-6;

}  // namespace

/// About the rounding of the weight of a sample, relative to the mass: it answers to the rounding of the sum that its
/// output is, and of the target. Leaves the slopes of the neurons there.
double Flow::rounding_of_weight(Index sample, Vector& slopes) const {
    const Parameters& neurons = state_.parameters;
    const Waveform& waveform = stepper_->waveform();
    const auto x = data_.X().row(sample).transpose();
    const int boundary = data_.boundary_of(sample);
    double terms = waveform.is_linear() ? std::abs(data_.targets()[sample]) : 1.0;
    slopes.resize(neurons.neurons());
    for (Index j = 0; j < neurons.neurons(); ++j) {
        const int side = state_.mode.side(j, boundary) * data_.orientation(sample);
        slopes[j] = side > 0 ? 1.0 : side < 0 ? neurons.leak() : 0.0;
        if (slopes[j] > 0.0 && !neurons.is_lifted(j))
            terms += slopes[j] * std::abs(neurons.a[j] * neurons.w.col(j).dot(x));
    }
    return std::numeric_limits<double>::epsilon() * waveform.response(sample) * terms;
}

/// The same of the gradients of the neurons.
Vector Flow::rounding_of_pulls() const {
    Vector squares = Vector::Zero(state_.neurons());
    Vector slopes;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!stepper_->waveform().is_live(i)) continue;
        const double rounding = rounding_of_weight(i, slopes);
        squares.array() += (rounding * data_.X().row(i).norm() * slopes).array().square();
    }
    return squares.cwiseSqrt();
}

/// True where the run has ended, since the state does not stay until then though nothing is seen to move.
bool Flow::is_held_by_rounding() {
    if (!stepper_->waveform().decays()) {
        const double most = hidden_outputs();
        if (most > 0.0) finish_hidden_outputs(most);
        return most > 0.0;
    }
    const Index neuron = moves_by_decay(hides_decay());
    if (neuron >= 0) finish_hidden_decay(neuron);
    return neuron >= 0;
}

/// The neurons for which that is too much beside the decay: whether it takes them away is not read off their pull.
std::vector<char> Flow::hides_decay() const {
    const double known = kKnownPart * stepper_->waveform().decay_rate();
    const Vector rounding = rounding_of_pulls();
    std::vector<char> hidden(static_cast<std::size_t>(rounding.size()));
    for (Index j = 0; j < rounding.size(); ++j)
        hidden[static_cast<std::size_t>(j)] =
            rounding[j] > known && state_.parameters.log_size(static_cast<int>(j)) > std::log(kSmallestNeuron);
    return hidden;
}

/// The one of some neurons that the decay moves farthest in the time that is left, though it may be by less than any
/// pull shows; -1 if it moves none. Samples at rest answer to any motion but at right angles to the gradients of their
/// margins.
Index Flow::moves_by_decay(const std::vector<char>& chosen) const {
    const Parameters& neurons = state_.parameters;
    const Index stride = neurons.rank() + 1;
    Vector pull = Vector::Zero(neurons.neurons() * stride);
    for (Index j = 0; j < neurons.neurons(); ++j) {
        if (chosen[static_cast<std::size_t>(j)] == 0) continue;
        if (neurons.is_lifted(j) || (neurons.a[j] == 0.0 && neurons.w.col(j).isZero(0.0))) return j;
        pull.segment(j * stride, neurons.rank()) = neurons.w.col(j);
        pull[j * stride + neurons.rank()] = neurons.a[j];
    }
    std::vector<Index> live;
    for (Index i = 0; i < data_.n(); ++i)
        if (stepper_->waveform().is_live(i)) live.push_back(i);
    take_away_held(live, pull);
    const double left = plan_.objective.decay * (time_stop().t() - state_.clock.t());
    Index most = -1;
    double moved = kHiddenMove / std::min(left, 1.0);
    for (Index j = 0; j < neurons.neurons(); ++j) {
        if (chosen[static_cast<std::size_t>(j)] == 0) continue;
        const double part = pull.segment(j * stride, stride).norm() / std::hypot(neurons.w.col(j).norm(), neurons.a[j]);
        if (part <= moved) continue;
        moved = part;
        most = j;
    }
    return most;
}

}  // namespace reluflow
