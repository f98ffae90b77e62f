/// The coupling: weights p drive every group's gradient, and every group's moment Σ a_j w_j gives its share of the
/// margins.
#pragma once

#include <vector>

#include "reluflow/dataset.hpp"
#include "reluflow/groups.hpp"
#include "reluflow/pattern.hpp"
#include "reluflow/types.hpp"

namespace reluflow {

/// Products with the slopes s (n, groups): 1 on the active side, the leak on the other, 0 on held walls.
class Drive {
  public:
    Drive(const Dataset& data, Index neurons, double leak);

    /// Takes the slopes of the groups' leaders.
    void set_slopes(const Pattern& pattern, const Groups& groups);

    /// G (r, groups): column c is g_c = Σ_i weights_i s_ic x_i.
    void gradients(const double* weights, Matrix& G);
    /// q_i = y_i Σ_c s_ic x_i·M_c for moments M (r, groups).
    void margins(const Matrix& M, Vector& q);

    double slope(Index sample, Index group) const noexcept { return slopes_[sample * groups_ + group]; }

  private:
    /// Up to this many groups plain loops over the samples beat a matrix product that packs X anew each time.
    static constexpr Index kFewGroups = 6;

    void gradients_of_few(const double* weights, Matrix& G);
    void margins_of_few(const Matrix& M, Vector& q);

    const Dataset& data_;
    double leak_;
    Index groups_ = 0;
    std::vector<double> slopes_;  // (n, groups)
    std::vector<double> work_;    // (n, groups)
    std::vector<double> column_;  // (groups, r)
};

}  // namespace reluflow
