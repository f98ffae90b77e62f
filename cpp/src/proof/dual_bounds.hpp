/// How far the polynomials of the duals are from the duals of the polynomials of the margins, on one step.
#pragma once

#include <vector>

#include "proof/claims.hpp"
#include "proof/network_series.hpp"

namespace reluflow::proof {

/// Upper bounds on [0, length].
struct DualBounds {
    double length = 0.0;
    double dual_sum = 0.0;          // of Σ_i |λ̃_i| |x_i|
    double error = 0.0;             // |λ̃ - λ(q̃)|₂ over all samples
    std::vector<double> weight;     // (n): of the true weight p(q̃) and of |p̃|
    std::vector<double> dual_rate;  // (n): of |λ̃'|
    double largest_weight = 0.0;
    double residual = 0.0;     // |λ̃' - dλ/dq q̃'|₂ with the dλ/dq of λ̃
    double margin_rate = 0.0;  // largest |q̃'|
};

/// Fills `bounds` for a step of `length`; false where the step is too long to say anything.
///
/// With d = p̃ - p(q̃) and the residual R = p̃' + p̃ (1 - p̃) q̃': d' = R - q̃' (1 - p̃ - p) d for the logistic loss, where
/// |1 - p̃ - p| ≤ 1 + |d| ≤ 2; R = p̃' + p̃ q̃' and d' = R - q̃' d for the exponential one.
template <class Real>
bool bound_duals(const Samples& samples, const NetworkSeries<Real>& series, Index n_neurons, double length, Terms terms,
                 DualBounds& bounds);

}  // namespace reluflow::proof
