#include "two_layer/turned_back.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow {

namespace {

/// A hit counts as known while so many times the change of its rate is less than the rate. The change is that of the
/// weights to first order, by the sides of the start.
constexpr double kSure = 4.0;

}  // namespace

double TurnedBack::end(std::span<const Disturbance> disturbances, const Partitions& partitions, Expansion& expansion,
                       double end) {
    list_slow_hits(disturbances, end, slow_);
    if (slow_.empty()) return end;
    double last = 0.0;
    for (const SlowHit& slow : slow_) last = std::max(last, slow.hit.u);
    moved_.setZero(data_.rank(), state_.neurons());
    partitions.add_moved(last, moved_);  // the events have moved them by less at an earlier hit
    expansion.margins_of(moved_, change_);
    const Waveform& waveform = expansion.waveform();
    for (Index i = 0; i < data_.n(); ++i) change_[i] *= -waveform.response(i) * data_.signs()[i];
    for (const SlowHit& slow : slow_)
        if (slow.before < end && kSure * turned(slow.hit, expansion) > slow.hit.rate) end = slow.before;
    return end;
}

/// The change of the rate of a neuron across a boundary, relative to its size, which its output weight may come to.
/// What all weights have in common changes the pace alone.
double TurnedBack::turned(const Disturbance& hit, const Expansion& expansion) const {
    const auto normal = data_.normals().row(hit.boundary);
    const int group = expansion.groups().of(hit.neuron);
    double sum = 0.0;
    for (Index i = 0; i < data_.n(); ++i)
        if (change_[i] != 0.0) sum += expansion.slope(i, group) * change_[i] * data_.X().row(i).dot(normal);
    return expansion.waveform().step() * std::abs(sum);
}

}  // namespace reluflow
