#include "two_layer/owed.hpp"

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
      moved_(data.rank(), neurons) {}

void Owed::step_taken(Expansion& expansion, const Partitions& partitions, double end) {
    if (expansion.waveform().is_owed()) {
        debt_ -= end * expansion.waveform().step() * share_;
        expansion.waveform().owe_nothing();
    }
    if (!partitions.events().empty()) add(expansion, partitions, end);
    if (owes_ && !(debt_.cwiseAbs().dot(norms_) <= kMost)) forget(expansion);
}

/// A weight answers to its own margin; what all of them have in common is the pace, and that is the clock's.
void Owed::add(Expansion& expansion, const Partitions& partitions, double end) {
    const Waveform& waveform = expansion.waveform();
    moved_.leftCols(expansion.groups().count()).setZero();
    by_sides_.setZero();
    partitions.integrate_moved(end, moved_, by_sides_);
    expansion.margins_of(moved_, changed_);
    for (Index i = 0; i < data_.n(); ++i)
        debt_[i] += waveform.step() * waveform.own_rate(i) * data_.signs()[i] * (changed_[i] + by_sides_[i]);
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
