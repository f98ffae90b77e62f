#include "two_layer/owed.hpp"

#include <algorithm>

namespace reluflow {

namespace {

/// More than this, as the motion of a neuron relative to its size, is no small effect of local events, and its weights
/// do not respond in proportion.
constexpr double kMost = 1e-4;

}  // namespace

Owed::Owed(const Dataset& data, Index neurons)
    : data_(data),
      debt_(Vector::Zero(data.n())),
      share_(data.n()),
      norms_(data.X().rowwise().norm()),
      changed_(data.n()),
      by_sides_(data.n()),
      at_end_(data.n()),
      moved_(data.rank(), neurons) {}

void Owed::step_taken(Expansion& expansion, const Partitions& partitions, double end) {
    const Waveform& waveform = expansion.waveform();
    const double mass_left = owes_ || !partitions.events().empty() ? waveform.mass_left(end) : 1.0;
    if (waveform.is_owed()) {
        debt_ = std::min(mass_left, 1.0) * (debt_ - end * waveform.step() * share_);
        expansion.waveform().owe_nothing();
    }
    if (!partitions.events().empty()) add(expansion, partitions, end, mass_left);
    if (owes_ && !(debt_.cwiseAbs().dot(norms_) <= kMost)) forget(expansion);
}

/// A weight answers to its own margin; what all of them have in common is the pace, and that is the clock's. A neuron
/// that is late by a moment is so for good, and what it moves in a moment falls with what drives it: so the loss of a
/// sample at the end of the step counts as much as that at its start. Their harmonic mean is right to second order
/// where it changes little, and next to nothing where it falls by far within the step.
void Owed::add(Expansion& expansion, const Partitions& partitions, double end, double mass_left) {
    const Waveform& waveform = expansion.waveform();
    moved_.leftCols(expansion.groups().count()).setZero();
    by_sides_.setZero();
    partitions.integrate_moved(end, moved_, by_sides_);
    expansion.margins_of(moved_, changed_);
    waveform.signed_weights_at(end, at_end_);
    for (Index i = 0; i < data_.n(); ++i) {
        const double first = waveform.response(i);
        const double last = mass_left * data_.signs()[i] * at_end_[i];
        if (!(last > 0.0)) continue;
        const double rate = 2.0 * last / (first + last) * waveform.own_rate(i);
        debt_[i] += waveform.step() * rate * data_.signs()[i] * (changed_[i] + by_sides_[i]);
    }
    owes_ = true;
}

void Owed::spread(Expansion& expansion, double length) {
    if (!owes_ || !(length > 0.0)) return;
    share_ = debt_ / length;
    expansion.waveform().owe(share_);
}

void Owed::forget(Expansion& expansion) noexcept {
    expansion.waveform().owe_nothing();
    if (owes_) debt_.setZero();
    owes_ = false;
}

}  // namespace reluflow
