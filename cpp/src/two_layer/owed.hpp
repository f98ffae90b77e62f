/// What local events do to the weights within a step, which its series leave out: the next steps make up for it.
#pragma once

#include "base/types.hpp"
#include "problem/dataset.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/partitions.hpp"

namespace reluflow {

/// The neglected change of the weights, integrated over the step, is what the other neurons have not been driven by. It
/// is added to the weights that drive the next steps, as a constant for about one step, so that no neuron is moved
/// outside a step and no side has to be looked at again. Losses of margins without weight decay.
class Owed {
  public:
    Owed(const Dataset& data, Index neurons);

    /// Takes off what an explicit step until `end` has made up for, and adds what its events have left to the next.
    /// Precondition: the events after `end` are undone, and groups are those of the step.
    void step_taken(Expansion& expansion, const Partitions& partitions, double end);
    /// From the next start on steps of about this length are driven by what is owed.
    void spread(Expansion& expansion, double length);
    void forget(Expansion& expansion) noexcept;

  private:
    void add(Expansion& expansion, const Partitions& partitions, double end, double mass_left);

    const Dataset& data_;
    bool owes_ = false;
    Vector debt_;  // of the signed weights, times rescaled time
    Vector share_;
    Vector norms_;
    Vector changed_, by_sides_;  // integrals of the margins
    Vector at_end_;              // the signed weights
    Matrix moved_;               // (r, groups), of Σ a w
};

}  // namespace reluflow
