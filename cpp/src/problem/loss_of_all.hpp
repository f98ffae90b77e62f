/// The losses of margins of many samples at once, in vector registers.
#pragma once

#include "base/types.hpp"
#include "problem/loss.hpp"

namespace reluflow {

/// One number a sample.
using Samples = Eigen::Ref<Eigen::ArrayXd>;
using SamplesView = Eigen::Ref<const Eigen::ArrayXd>;

/// log |ℓ'(q)|, |ℓ'(q)| and log ℓ(q) for a loss of margins: those of loss.hpp to a few ulp, the same bits wherever in
/// the array a margin stands. A weight that is no normal number is 0.
void losses_of(LossKind kind, SamplesView q, Samples log_weights, Samples weights, Samples log_losses);

/// log |ℓ'(q)| alone, with the same bits.
void log_weights_of(LossKind kind, SamplesView q, Samples log_weights);

/// Replaces x by e^x, and by 0 where that is no normal number. The same bits wherever in the array x stands.
void exponentiate(Samples x);

}  // namespace reluflow
