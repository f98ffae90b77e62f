/// That no pair changes its sign in a step, except where the trial says so.
#pragma once

#include "proof/step_trial.hpp"
#include "proof/tube.hpp"

namespace reluflow::proof {

/// Checks every pair of every neuron: outside the windows of its events |z̃| > |x| e with the sign the trial says.
template <class Real>
Failure exclude_other_events(const Samples& samples, const std::vector<ProvedNeuron<Real>>& neurons,
                             const StepTrial<Real>& trial, const Tube<Real>& tube, const PieceMaker<Real>& maker,
                             int order);

}  // namespace reluflow::proof
