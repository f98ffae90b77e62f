/// By how much an event of one neuron moves the others, if the step goes on with the weights that it had before.
#pragma once

#include "hybrid/mode.hpp"
#include "problem/dataset.hpp"
#include "two_layer/hits.hpp"
#include "two_layer/neuron_motion.hpp"
#include "two_layer/spread.hpp"

namespace reluflow {

class EventEffect {
  public:
    EventEffect(const Dataset& data, const Mode& mode, const Spread& spread, const NeuronMotion& motion)
        : data_(data), mode_(mode), spread_(spread), motion_(motion) {}

    /// The effect until U is ½ (U - u)² times this, relative. Precondition: the neuron's sides are those before the
    /// hit.
    double coupling(int piece, const Hit& hit) const;

  private:
    double largest_output(int piece, const Hit& hit) const;
    double woken_square(int piece, const Hit& hit) const;
    double by_output(int piece, const Hit& hit) const;
    double largest_weight(int piece, const Hit& hit, int sample) const;

    const Dataset& data_;
    const Mode& mode_;
    const Spread& spread_;
    const NeuronMotion& motion_;
};

}  // namespace reluflow
