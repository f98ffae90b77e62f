/// The samples in the form the flow uses: r = rank X coordinates, and one boundary for each class of parallel samples.
#pragma once

#include <span>
#include <vector>

#include "base/types.hpp"
#include "problem/loss.hpp"

namespace reluflow {

/// X and y, checked and transformed to working coordinates once; read-only afterwards. A boundary is the hyperplane w·x
/// = 0 shared by all samples parallel to x (repeats, x together with -x).
class Dataset {
  public:
    /// X (n, d), y (n,): labels ±1 for a loss of margins, any finite targets for a loss of errors; `counts` (n,) what
    /// the samples count in the loss, or empty. Throws InvalidArgument on empty data, a zero or non-finite row, labels
    /// or targets that do not fit, and counts that are negative, not finite or all zero.
    /// `all_moves`: with weight decay the part of the weights outside the span of the samples moves too, so the working
    /// coordinates are the given ones.
    Dataset(const MatrixView& X, const VectorView& y, LossKind loss = LossKind::logistic, const Vector& counts = {},
            bool all_moves = false);

    Index n() const noexcept { return X_.rows(); }
    Index d() const noexcept { return raw_.cols(); }
    Index rank() const noexcept { return X_.cols(); }
    Index n_boundaries() const noexcept { return normals_.rows(); }

    /// The samples as given (n, d).
    const Matrix& raw() const noexcept { return raw_; }
    /// The samples in working coordinates (n, r): X = raw · basis.
    const Matrix& X() const noexcept { return X_; }
    /// With s the signs and b the targets the loss takes q = s f(x) - b: s = y and b = 0 for labels, s = 1 and b = y
    /// for targets. (n,) each.
    const Vector& signs() const noexcept { return signs_; }
    const Vector& targets() const noexcept { return targets_; }
    /// What each sample counts in the loss, (n,).
    const Vector& counts() const noexcept { return counts_; }
    std::span<const double> counts_span() const noexcept { return span_of(counts_); }
    /// Orthonormal columns (d, r) that span the samples.
    const Matrix& basis() const noexcept { return basis_; }
    /// True when the working coordinates are the given ones (full rank).
    bool is_full_rank() const noexcept { return rank() == d(); }

    /// Unit normals of the boundaries (n_boundaries, r).
    const Matrix& normals() const noexcept { return normals_; }
    int boundary_of(Index sample) const noexcept { return boundary_of_[sample]; }
    /// x_i = coefficient(i) · normal of its boundary; negative for samples on the other side.
    double coefficient(Index sample) const noexcept { return coefficients_[sample]; }
    int orientation(Index sample) const noexcept { return coefficients_[sample] > 0.0 ? 1 : -1; }
    std::span<const int> samples_of(int boundary) const noexcept {
        return {members_.data() + first_member_[boundary], members_.data() + first_member_[boundary + 1]};
    }

  private:
    void find_basis(bool all_moves);
    void find_boundaries();

    Matrix raw_;
    Vector signs_, targets_, counts_;
    Matrix basis_;
    Matrix X_;
    Matrix normals_;
    std::vector<int> boundary_of_;
    Vector coefficients_;
    std::vector<int> first_member_;
    std::vector<int> members_;
};

/// The sign of a·b, computed in twice the working precision; zero where even that rounding could hide the sign.
int exact_sign_of_dot(std::span<const double> a, std::span<const double> b) noexcept;

}  // namespace reluflow
