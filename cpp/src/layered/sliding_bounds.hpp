/// Between which bounds the multiplier of a sliding boundary stays.
#pragma once

#include <vector>

#include "layered/dependence.hpp"
#include "layered/jet.hpp"

namespace reluflow::layered {

/// M⁺ (where w leaves upwards) and M⁻ of boundary b of what slides in `jet`, up to `order` < jet.order(). On either
/// side of the boundary an empty unit that it wakes has the side that it wakes on there.
void sliding_bounds(const Jet& jet, int b, int order, Row& up, Row& down);
/// What such series may miss at the end of a step that was solved: where shared multipliers above are divided among
/// their members, they go on beyond the polynomials of the step, and need not converge.
double missed_by_division(const Jet& jet, int b, int order, const Row& up, const Row& down);

/// Bounds of all boundaries of one group, and what they hold more than pulls along its rays.
class GroupBounds {
  public:
    GroupBounds(const Jet& jet, const SlidingGroup& group, int order);

    /// The series of what is left along a ray.
    void gap(const Eigen::RowVectorXd& ray, Row& gap) const;
    /// The size of its terms at u.
    double size(const Eigen::RowVectorXd& ray, double u) const;
    /// True if what is left at u is below this part of the size of its terms, `hidden`, and what their series leave
    /// out.
    bool vanishes(const Eigen::RowVectorXd& ray, double u, double part, double hidden) const;

  private:
    const Jet& jet_;
    const SlidingGroup& group_;
    int order_;
    std::vector<Row> up_, down_;
};

}  // namespace reluflow::layered
