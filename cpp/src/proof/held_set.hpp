/// The boundaries that a neuron slides on: the projection onto what they leave free, with bounds of its rounding.
#pragma once

#include <vector>

#include "proof/claims.hpp"

namespace reluflow::proof {

/// With the rows X of the samples, K = X Xᵀ and P = I - Xᵀ K⁻¹ X. All bounds are about these exact matrices.
class HeldSet {
  public:
    HeldSet() = default;
    HeldSet(const Samples& samples, std::vector<Index> rows);

    const std::vector<Index>& rows() const { return rows_; }
    Index size() const { return static_cast<Index>(rows_.size()); }
    bool empty() const { return rows_.empty(); }
    /// Position of sample i, or -1.
    Index find(Index i) const;
    /// Whether the rows are proved to be independent; if they are not, nothing below may be used.
    bool independent() const { return independent_; }
    /// An upper bound of |K⁻¹ X|₂.
    double inverse() const { return inverse_; }

    /// out = P v + an error whose bound is returned, and the multipliers μ with out = v + Xᵀ μ; those of P v are within
    /// inverse() times that error.
    template <class Real>
    double project(const Real* v, Real* out, Real* multipliers) const;

    /// An upper bound of |w - P w|.
    template <class Real>
    double off(const Real* w) const;

    /// A vector in the span of the rows whose products with them are about `heights`.
    std::vector<double> with_heights(const std::vector<double>& heights) const;

  private:
    template <class Real>
    void solve(const Real* right, Real* out) const;

    Index d_ = 0;
    std::vector<Index> rows_;
    std::vector<double> X_;         // (k, d)
    std::vector<double> sizes_;     // (k), upper bounds
    std::vector<double> inverted_;  // (k, k): about K⁻¹
    bool independent_ = true;
    double inverse_ = 0.0;
};

}  // namespace reluflow::proof
