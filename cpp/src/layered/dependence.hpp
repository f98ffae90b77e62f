/// Boundaries of one unit that depend on each other: on several samples it is one linear function of the sample.
///
/// Where such a unit stands still on boundaries with the normals g_k, multipliers μ_k within their bounds hold it if
/// they add up to what pulls. With dependent normals they are not unique. The unit moves off in a direction ℓ if the
/// pull along it is more than all of them can hold: Σ a_k (M⁻ if a_k > 0, M⁺ if a_k < 0) - pull·ℓ < 0 with a_k = g_k·ℓ.
/// This is linear in ℓ between the hyperplanes g_k·ℓ = 0, so it has to be looked at on the rays of their arrangement
/// only, whether boundaries attract or repel.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "layered/activity.hpp"

namespace reluflow::layered {

/// The boundaries of one linear function that slide, if their normals are dependent. `rays`: a_k of each ray.
struct SlidingGroup {
    std::vector<int> boundaries;
    std::vector<char> is_spanned;  ///< by boundary: the ones before it span its normal
    std::vector<Eigen::RowVectorXd> rays;
};

std::vector<SlidingGroup> sliding_groups(const Activity& activity);

/// The normal of a boundary in the space of samples: what its w multiplies.
Vector normal_of(const Activity& activity, const Boundary& boundary);

/// a_k = g_k·ℓ of the rays ℓ of the arrangement of the hyperplanes g_k·ℓ = 0, g_k the columns; empty if there are too
/// many. Precondition: the columns span the space.
std::vector<Eigen::RowVectorXd> rays_of(const Eigen::MatrixXd& normals);

/// The signs of the g_k·ℓ for all ℓ, g_k the columns; empty if there are too many.
std::vector<std::vector<int>> sign_vectors(const Eigen::MatrixXd& normals);

/// Directions of one linear function of the sample, and what they span.
class SpannedRows {
  public:
    /// Below the sine `dependent` a row is in the span of others.
    explicit SpannedRows(double dependent = 1e-10) : dependent_(dependent) {}
    /// Returns false if the row is in the span of those before.
    bool add(const Vector& row);
    bool contains(const Vector& row) const;
    Index rank() const noexcept { return static_cast<Index>(basis_.size()); }
    const std::vector<Vector>& basis() const noexcept { return basis_; }

  private:
    Vector rest(const Vector& row) const;
    double dependent_;
    std::vector<Vector> basis_;  // orthonormal
};

}  // namespace reluflow::layered
