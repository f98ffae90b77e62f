/// The one place where layered networks meet what they descend, Σ c_i ℓ_i + Σ γ_p θ_p² / 2: outputs F (n, K) and their
/// series to duals Λ_i = -c_i ∂ℓ_i/∂F_i, the time they take, the logarithm of the loss, and the decay of θ.
///
/// Exponential and logistic loss run in rescaled time: dt = dτ / (c D), D = Σ c_i|ℓ'|, c the reduction factor, and Λ =
/// y p with p = c_i |ℓ'|/D. D goes over the samples whose outputs anything can move. With weight decay it is more by a
/// constant, beside which weights that move nothing are none: where there are no others the clock is that of t. Squared
/// and cross-entropy loss take D = 1.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "base/tolerances.hpp"
#include "base/types.hpp"
#include "numeric/polynomial.hpp"

namespace reluflow::layered {

enum class Loss { exponential, logistic, squared, cross_entropy };

/// What an idle sample may weigh, in units of all others: its sign alone says what slides on it, and beside more than
/// that nothing would be left of the digits of others.
inline constexpr double kLargestIdle = 1e7;

/// Throws InvalidArgument for an unknown name.
Loss layered_loss(std::string_view name);

class DualSeries {
  public:
    /// `targets` (n, K): ±1 in one column, real numbers, or one-hot rows. `counts`: what each sample counts, empty for
    /// one each. `decay`: γ of each parameter, empty for none.
    DualSeries(Loss loss, Matrix targets, double factor, Vector counts = {}, Vector decay = {});

    Index samples() const noexcept { return targets_.rows(); }
    Index outputs() const noexcept { return targets_.cols(); }
    Loss loss() const noexcept { return loss_; }
    bool has_own_clock() const noexcept { return loss_ == Loss::exponential || loss_ == Loss::logistic; }

    /// Order 0 of F; `span` is the length of rescaled time of one unit of the series' variable. Samples that are `idle`
    /// have no share in D: nothing moves their outputs, and beside their weights those of the others would vanish.
    void start(const Matrix& F, double span, const std::vector<char>& idle);
    /// The same where another series has its order 0.
    void start_from(const DualSeries& other, double span);
    /// Order k of F, one higher than before.
    void next(int k, const Matrix& F);
    /// After start(): Λ is y times polynomials with these coefficients (orders, n), whatever F becomes. For a loss with
    /// a clock of its own, whose time is not a series then.
    void prescribe(const Matrix& weights);
    bool is_prescribed() const noexcept { return prescribed_; }
    /// The same for Λ itself (orders, each (n, K)), of any loss, in a time that goes on as it does at the start.
    void prescribe_duals(const std::vector<Matrix>& orders);
    /// -d log D / du, after order 1 of a loss with a clock of its own; 0 for the others.
    double fall() const noexcept { return has_own_clock() ? fall_[0] : 0.0; }

    /// After order 1: at most half the way to where a weight begins to count that is constant to rounding or negligible
    /// beside the others, which no series shows; kNoRoot where there is none.
    double unsaturated_length() const noexcept;

    /// Order k of the margins y F; for a loss with a clock of its own.
    const Matrix& margin(int k) const noexcept { return q_[k]; }
    /// log |ℓ'| of a margin with what its sample counts, how it changes with the margin, and -d log|ℓ'| / dq.
    double log_weight_of(Index i, double margin) const noexcept;
    double log_weight_change_of(double margin, double change) const noexcept;
    double answer_of(double margin) const noexcept;
    /// The logarithm of dt over dτ / Σ|ℓ'|.
    double log_factor() const noexcept;

    /// Order k of Λ, (n, K).
    const Matrix& dual(int k) const noexcept { return duals_[k]; }
    /// The largest entry of it in size, over samples that are not idle.
    double largest_dual(int k) const noexcept;
    /// By how much rounding may change duals of order 0, where the terms of outputs have these sizes (n, K). Only those
    /// of the squared loss cancel.
    Matrix rounding(const Matrix& sizes) const;
    /// -∂Λ/∂F of order 0, what each output does to its own dual, (n, K); zero for idle samples.
    Matrix curvature() const;
    /// The series of t in units of e^log_unit(), orders 0 ... k + 1 once order k of F is known.
    const double* time() const noexcept { return time_.data(); }
    double log_unit() const noexcept { return log_unit_; }

    /// log of the loss with its reduction.
    double log_loss(const Matrix& F) const;

    bool decays() const noexcept { return decay_.size() > 0; }
    /// γ of each parameter, empty for none.
    const Vector& decay() const noexcept { return decay_; }
    /// Takes from `rate`, order k of dθ/du, what the decay of θ takes; order k of the outputs is known.
    void add_decay(const std::vector<Vector>& theta, int k, Vector& rate) const;
    /// How far the logarithm of what is descended rises between two places, given that of the loss at both.
    double rise(double log_before, const Vector& before, double log_after, const Vector& after) const;

  private:
    bool is_idle(Index i) const noexcept { return !idle_.empty() && idle_[i] != 0; }
    double log_least_mass() const noexcept;
    void start_clocked(const Matrix& F);
    void next_clocked(int k, const Matrix& F);
    void next_softmax(int k, const Matrix& F);
    void softmax_duals(int k);
    double cross_entropy(const Matrix& F, Index i) const;
    double length_of_margin(Index i) const noexcept;
    double length_of_classes(Index i) const noexcept;

    Loss loss_;
    Matrix targets_;
    double factor_;
    Vector counts_, decay_;
    bool prescribed_ = false;
    std::vector<char> idle_;
    double span_ = 1.0;
    double log_d_ = 0.0;
    double log_unit_ = 0.0;
    std::vector<Matrix> duals_;  // Λ
    std::vector<Matrix> p_;      // c|ℓ'|/D, or softmax
    std::vector<Matrix> q_;      // margins, or outputs
    std::vector<Matrix> kappa_;  // -d log|ℓ'| / dq
    std::vector<Matrix> rate_;   // κ q', or Σ P F' in the first column
    std::array<double, kMaxOrder + 2> fall_{}, d_{}, inverse_{}, time_{};
};

}  // namespace reluflow::layered
