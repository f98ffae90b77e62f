/// The multipliers of boundaries on which a neuron slides, beside the bounds at which it leaves.
#pragma once

#include "proof/piece.hpp"
#include "proof/scalar_series.hpp"

namespace reluflow::proof {

/// How far the multiplier of a boundary on which a neuron slides is from the bound at which it leaves to `direction`:
/// the sum of the duals with the slopes they have there, times their ratios, less μ. Positive inside, or outside with
/// `side` = -1; in the time since the start of the piece.
template <class Real>
ScalarSeries<Real> inside_bound(const Samples& samples, const PieceMaker<Real>& maker, const Piece<Real>& piece,
                                Index position, double direction, double& error, double side = 1.0);

}  // namespace reluflow::proof
