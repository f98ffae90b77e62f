/// The span of what has moved the weights by which a unit reads the data.
///
/// These weights move in the span of the samples on which the unit acts, and keep the rest for ever, whatever its
/// direction: what it has in the span, and what it sends on, are a unit of their own, with a balance of their own.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "layered/activity.hpp"

namespace reluflow::layered {

class ActingSpan {
  public:
    /// Of a unit of the first layer, whose weights, and whose bias, if any, are those parameters; `inputs` are what
    /// they multiply, -1 for 1.
    ActingSpan(Place unit, std::vector<Index> parameters, std::vector<Index> inputs);

    /// Adds what acts now. True if the span has grown.
    bool see(const Activity& activity, const Matrix& X);
    /// False if the span is everything, or would take too long.
    bool is_part() const noexcept { return is_part_; }
    /// The part of the weights in the span, the terms that it is summed up from, and the largest of what rests.
    double norm_of(const Vector& theta) const { return shares_of(theta).stableNorm(); }
    double terms_of(const Vector& theta) const {
        return (basis_.cwiseAbs().transpose() * weights_of(theta).cwiseAbs()).stableNorm();
    }
    double largest_at_rest(const Vector& theta) const;
    /// Multiplies the part in the span.
    void scale(Vector& theta, double factor) const;

  private:
    Vector weights_of(const Vector& theta) const { return theta(parameters_); }
    Vector shares_of(const Vector& theta) const { return basis_.transpose() * weights_of(theta); }
    void add(const Matrix& X, Index sample);

    Place unit_;
    std::vector<Index> parameters_, inputs_;
    std::vector<char> acted_;  // of each sample
    Eigen::MatrixXd basis_;    // orthonormal columns
    bool is_part_ = true;
};

}  // namespace reluflow::layered
