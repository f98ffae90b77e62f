/// What the rounding of duals hides: targets minus outputs cancel where samples are fitted, and multipliers and their
/// bounds, which are sums of duals, cannot be told from each other below that.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "layered/jet.hpp"

namespace reluflow::layered {

/// What is at a bound to rounding leaves where it is beyond the bound by so many times that.
inline constexpr double kBeyond = 2.0;

class DualRounding {
  public:
    /// Of order 0 of `jet`, after Jet::advance(). The duals of the squared loss cancel; those of other losses are known
    /// to a part of their own size, but what they pull along a normal cancels, too.
    /// `until`: of what decays off its boundary, in a step of that length.
    explicit DualRounding(const Jet& jet, double until = 0.0);
    /// What a step that was solved misses of multipliers and of the bounds that they are held between.
    DualRounding(const Jet& jet, const Jet::Missed& missed);
    /// By how much it may move each parameter's velocity, also where nothing slides. Of the squared loss; else zero.
    static Vector of_velocity(const Jet& jet);

    /// By how much it may move the duals themselves.
    static Matrix of_duals(const Jet& jet);
    /// The sum of the sizes of the terms of each output.
    static Matrix terms_of_outputs(const Jet& jet);
    /// By how much the rounding of what decays may move each parameter's velocity, in units of the gradient.
    static Vector of_decay(const Jet& jet);

    /// True if no sample has more than rounding left, now and in the steps to come, and no decay moves anything either.
    bool is_all() const noexcept { return is_all_; }
    /// By how much rounding may move the multiplier of what slides against one of its bounds.
    double of_multiplier(int b) const noexcept { return hidden_.size() == 0 ? 0.0 : hidden_[b]; }
    /// The same for what boundaries of a group hold more than pulls along a ray.
    double along(const SlidingGroup& group, const Eigen::RowVectorXd& ray) const noexcept;
    /// The same at any time up to `until`.
    double in_step(int b) const noexcept { return of_multiplier(b) + (decaying_.size() == 0 ? 0.0 : decaying_[b]); }
    double along_in_step(const SlidingGroup& group, const Eigen::RowVectorXd& ray) const noexcept;
    /// By how much rounding may move the first order of z of a place: near rest its terms are rounding themselves.
    double of_rate(const Place& p) const;

  private:
    DualRounding() = default;
    void go_forward(std::vector<Matrix>& sizes) const;
    void go_backward(const Matrix& errors, const Vector* of_theta = nullptr);
    void add_errors_of(const Edge& edge, const Vector& of_theta, Matrix& arriving) const;
    void add_to_gradient(int v);
    double growth_of_rounding(double until) const;
    void add_bounds();

    const Jet* jet_ = nullptr;
    std::vector<Matrix> arriving_, delta_;  // by node: of what arrives at h and z, and of δ
    Vector gradient_, hidden_, decaying_;   // the last two by boundary
    bool is_all_ = false;
};

}  // namespace reluflow::layered
