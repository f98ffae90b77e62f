/// What the events inside a Radau step do to the weights of samples, which the step took for polynomials.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "two_layer/partitions.hpp"
#include "two_layer/state.hpp"
#include "two_layer/state_series.hpp"
#include "two_layer/waveform.hpp"

namespace reluflow {

/// Given the weights, every neuron moves through its events exactly. What these change of the margins tells how wrong
/// the weights are: a sample that weighed nothing may come to weigh as much as any other.
class LateEvents {
  public:
    LateEvents(const Dataset& data, Index neurons);

    /// The largest Σ |x_i| |δp_i| of some points between the first event and `end`; infinite if an event is at a
    /// boundary of samples that drove nobody, since their weights are not known. Precondition: `partitions` are cut at
    /// `end`, and `state` has the sides of then.
    double missed(const StateSeries& series, const Partitions& partitions, const State& state, const Waveform& waveform,
                  double end);

  private:
    double missed_at(const StateSeries& series, const Partitions& partitions, const State& state,
                     const Waveform& waveform, double u);
    void add_change(const State& state, int neuron, const std::vector<BoundaryEvent>& events);

    const Dataset& data_;
    Vector norms_;
    std::vector<int> touched_;
    std::vector<std::int8_t> sides_;  // of a neuron at the start of the step
    Matrix w_, old_w_;                // (rank, neurons)
    Vector a_, old_a_;
    // (n,): pre-activations of a neuron, what the events add to them, δq, p, q
    Vector z_, gained_, change_, weights_, margins_;
};

}  // namespace reluflow
