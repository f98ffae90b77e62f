/// Neurons that cross a boundary so slowly that what is left out of the weights of the step may turn them back before
/// it.
#pragma once

#include <span>
#include <vector>

#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/partitions.hpp"
#include "two_layer/state.hpp"
#include "two_layer/step_control.hpp"

namespace reluflow {

/// The events of a step move each neuron exactly, and the weights of the step do not know of that. How far neurons are
/// from where the weights have them says how the weights are wrong, and with these the rate of any other neuron.
class TurnedBack {
  public:
    TurnedBack(const Dataset& data, const State& state) : data_(data), state_(state), change_(data.n()) {}

    /// The largest U in [0, end] before which no neuron crosses a boundary whom the events before may turn back.
    /// Precondition: `partitions` have followed the events of the expanded step up to `end`.
    double end(std::span<const Disturbance> disturbances, const Partitions& partitions, Expansion& expansion,
               double end);

  private:
    double turned(const Disturbance& hit, const Expansion& expansion) const;

    const Dataset& data_;
    const State& state_;
    std::vector<SlowHit> slow_;
    Matrix moved_;   // (r, groups), of Σ a w
    Vector change_;  // of the signed weights, up to what all of them have in common
};

}  // namespace reluflow
