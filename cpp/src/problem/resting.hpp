/// Samples at rest over a stalled loss, beside which the others go on.
#pragma once

#include <span>

#include "base/types.hpp"
#include "problem/loss.hpp"

namespace reluflow {

/// Late over a stalled loss some samples hold each other with weights of order one, and what the others pull falls like
/// 1/t: below the rounding of those. So the latter ("tails") are kept at a share of the weights. The flow descends
///
///     share · log Σ_tails ℓ(q_i) + Σ_rests scale ℓ(q_i),
///
/// whose weights are p_i = scale |ℓ'(q_i)| of a sample at rest and share |ℓ'(q_i)| / Σ_tails |ℓ'| of another. That is
/// the flow of the loss itself where the share is (Σ_tails |ℓ'|) scale. A larger one moves the margins at rest from
/// their limits by about the share over their curvature, in place of 1/t, and the tails feel no more of it
/// (docs/design/resting.md).
struct Resting {
    Vector scales;       ///< (n,): 0 for tails; empty where none is at rest
    double share = 1.0;  ///< of the tails, all together

    bool is_empty() const noexcept { return scales.size() == 0; }
    bool rests(Index sample) const noexcept { return !is_empty() && scales[sample] > 0.0; }
};

/// What the flow descends, over the share; the logarithm of the loss as a sum where no sample rests.
double log_loss_sum(const Resting& resting, LossKind kind, std::span<const double> q, std::span<const double> counts);

}  // namespace reluflow
