#include "two_layer/late_events.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

/// Where the weights are looked at, as parts of the way from the first event to the end. A margin that has begun to
/// deviate does so along a smooth path over less than three time constants of the neurons.
constexpr double kPoints[] = {0.25, 0.5, 0.75, 1.0};

/// A smaller weight may have underflowed, and is told from its margin.
constexpr double kLeastWeight = 1e-250;

}  // namespace

LateEvents::LateEvents(const Dataset& data, Index neurons)
    : data_(data),
      norms_(data.X().rowwise().norm()),
      sides_(data.n_boundaries()),
      w_(data.rank(), neurons),
      old_w_(data.rank(), neurons),
      a_(neurons),
      old_a_(neurons),
      z_(data.n()),
      gained_(data.n()),
      change_(data.n()),
      weights_(data.n()),
      margins_(data.n()) {
    touched_.reserve(neurons);
}

double LateEvents::missed(const StateSeries& series, const Partitions& partitions, const State& state,
                          const Waveform& waveform, double end) {
    touched_.clear();
    double first = end;
    for (const auto& event : partitions.events()) {
        if (event.u >= end) continue;  // what it does it does to the next step
        for (const int sample : data_.samples_of(event.boundary))
            if (!waveform.is_live(sample)) return std::numeric_limits<double>::infinity();
        first = std::min(first, event.u);
        const auto at = std::lower_bound(touched_.begin(), touched_.end(), event.neuron);
        if (at == touched_.end() || *at != event.neuron) touched_.insert(at, event.neuron);
    }
    double worst = 0.0;
    for (const double part : kPoints) {
        const double missed = missed_at(series, partitions, state, waveform, first + part * (end - first));
        if (!(missed <= worst)) worst = missed;  // also keeps a NaN
    }
    return worst;
}

double LateEvents::missed_at(const StateSeries& series, const Partitions& partitions, const State& state,
                             const Waveform& waveform, double u) {
    series.evaluate(u, w_, a_);
    for (const int neuron : touched_) {
        old_w_.col(neuron) = w_.col(neuron);
        old_a_[neuron] = a_[neuron];
    }
    partitions.place(u, w_, a_);
    change_.setZero();
    for (const int neuron : touched_) add_change(state, neuron, partitions.events());
    waveform.signed_weights_at(u, weights_);
    waveform.margins_at(u, margins_);
    Index heaviest = 0;
    double most = -1.0;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!waveform.is_tail(i) || std::abs(weights_[i]) <= most) continue;
        heaviest = i;
        most = std::abs(weights_[i]);
    }
    double sum = 0.0;
    for (Index i = 0; i < data_.n(); ++i) {
        if (!waveform.is_live(i) || change_[i] == 0.0) continue;
        const double weight = std::abs(weights_[i]);
        const double below = margins_[heaviest] - margins_[i] - change_[i];
        const double count = data_.counts()[i] / data_.counts()[heaviest];
        sum +=
            norms_[i] * (weight > kLeastWeight ? weight * std::abs(std::expm1(-change_[i])) : count * std::exp(below));
    }
    return sum;
}

/// What the events of a neuron change of the margins: its outputs, less those with the sides of the start. On the
/// samples on which it has the side of the start that is a matter of its own change alone, of which no more is known
/// than its rounding. As a difference of outputs it has the rounding of margins, which drives nobody, and which ended
/// each late step at its first event once margins were some thousands.
void LateEvents::add_change(const State& state, int neuron, const std::vector<BoundaryEvent>& events) {
    const auto row = state.mode.pattern().row(neuron);
    std::copy(row.begin(), row.end(), sides_.begin());
    for (auto event = events.rbegin(); event != events.rend(); ++event)
        if (event->neuron == neuron) sides_[event->boundary] = event->before;
    const double rounding = kZeroUlps * std::numeric_limits<double>::epsilon() * w_.col(neuron).norm();
    const double a = a_[neuron];
    z_.noalias() = data_.X() * w_.col(neuron);
    old_w_.col(neuron) -= w_.col(neuron);
    const bool has_turned = old_w_.col(neuron).norm() > rounding;
    const double grown = std::abs(a - old_a_[neuron]) > rounding ? a - old_a_[neuron] : 0.0;
    if (has_turned)
        gained_.noalias() = -data_.X() * old_w_.col(neuron);
    else
        gained_.setZero();
    const double leak = state.parameters.leak();
    for (Index i = 0; i < data_.n(); ++i) {
        const std::int8_t sign = sample_sign(data_, i, sides_[data_.boundary_of(i)]);
        const double z = std::abs(z_[i]) > rounding * norms_[i] ? z_[i] : 0.0;
        const double before = sign > 0 ? 1.0 : (sign < 0 ? leak : 0.0);
        const double now = z > 0.0 ? 1.0 : leak;
        const double own = before * (a * gained_[i] + grown * (z_[i] - gained_[i]));
        change_[i] += data_.signs()[i] * (own + (now - before) * a * z);
    }
}

}  // namespace reluflow
