/// The weights on one step: Taylor series of the margins (or errors) q, of the weights p that drive the neurons, and of
/// time.
#pragma once

#include <limits>
#include <vector>

#include "base/types.hpp"
#include "hybrid/clock.hpp"
#include "numeric/polynomial.hpp"
#include "problem/dataset.hpp"
#include "problem/loss.hpp"
#include "problem/settings.hpp"

namespace reluflow {

/// The step runs in rescaled time: dt = factor · (H / D) du with D = Σ_i |ℓ'(q_i)|, so that the weights p_i =
/// |ℓ'(q_i)|/D add up to one whatever the loss, and a step of size one in u means the same early and at log t = 1000.
/// The sums go over the active samples, those on which some moving neuron is active. The others drive nothing and their
/// margins are constant; beside their weights those of a loss that stalls would vanish. A sample on which neurons only
/// slide is not active: its margin is 0, and it acts through multipliers.
///
/// With c = (1 - l) q' (logistic, l = |ℓ'|) or c = q' (exponential), and B = p·c:
///     p' = p (B - c),   l' = -l c,   (1/D)' = B/D.
///
/// With weight decay γ the neurons are held as w = e^{-γ t} ŵ, a = e^{-γ t} â, t from the start of the step: ŵ and â
/// move as without it, and q = e^{-2γ t} q̂ less the targets, with q̂ the outputs that ŵ and â make.
///
/// Beside samples at rest (resting.hpp) D = Σ_tails |ℓ'| / share, and their own weights simply follow their margins:
/// p' = -p c.
///
/// For a loss of errors D = 1: the step runs in time itself, because λ passes zero with the errors and all of it tends
/// to zero at an interpolation. The weights are then p_i = λ_i, of either sign, and linear in q.
class Waveform {
  public:
    /// From this margin on, weights settle within a time 1/q, which steps do not resolve; they are then known to a part
    /// kFineWeightError only.
    static constexpr double kFineMargin = 1e5;
    static constexpr double kFineWeightError = 1e-7;
    /// The rounding of an output is some ulp of its terms, and for that of a target kFittedErrorUlps are allowed.
    static constexpr double kTermPart = 1.0 / 8.0;

    Waveform(const Dataset& data, Objective objective);

    /// Starts a step at margins q. `live`: whether a sample is active.
    void start(const Vector& q, const std::vector<char>& live);
    /// Takes the series back to order 0, for another try of the same step; q are the margins of start().
    void restart(const Vector& q);
    /// Sets the step scale H; before the first push.
    void set_step(double step) noexcept;
    /// Takes order `order() + 1` of the margins (of q̂ with weight decay) and derives that order of the other series.
    void push(const Vector& q_next);

    int order() const noexcept { return order_; }
    /// Highest order of the margins.
    int margin_order() const noexcept { return margin_order_; }
    double step() const noexcept { return step_; }
    /// Coefficients of order k of λ_i / D (y_i p_i), and of q_i, over the samples.
    const double* signed_weights(int k) const noexcept { return signed_.row(k).data(); }
    const double* margins(int k) const noexcept { return q_.row(k).data(); }
    /// Series of y_i p_i of one sample about the origin of the step, to be expanded about u. Of one whose weight has
    /// values alone, the value at u: no step goes on behind an event with it for longer than that holds.
    void signed_weight_series(Index sample, double u, double* c) const noexcept;
    /// y_i p_i of one sample at u.
    double signed_weight_at(Index sample, double u) const noexcept;
    /// |p_i| of one sample at u. Of one that drives nobody, what it has at the end of a step in which the mass falls by
    /// many e-foldings: whoever wakes it at u lets it act until then.
    double weight_from(Index sample, double u) const noexcept;
    /// The logarithm of p_i at u, for a weight that has underflowed too, over the mass at the end of such a step; of a
    /// loss of margins.
    double log_weight_from(Index sample, double u) const noexcept;
    /// The same as signed_weight_at() of all samples.
    void signed_weights_at(double u, Vector& weights) const;
    /// Their means over [0, u].
    void mean_signed_weights(double u, Vector& weights) const;
    /// Margins at u.
    void margins_at(double u, Vector& q) const;

    /// log D at the start of the step.
    double log_mass() const noexcept { return log_mass_; }
    /// By how much it falls until u, where time is integrated from the margins.
    double fall_of_mass(double u) const noexcept { return log_mass_ - log_mass_at(u); }
    /// D at u, over that of the start.
    double mass_left(double u) const noexcept {
        return time_by_margins_ ? std::exp(-fall_of_mass(u)) : 1.0 / time_rate_at(u);
    }
    /// log p_i at the start of the step by the margin of the sample, also where it drives nobody or its weight has
    /// underflowed; of a loss of margins.
    double log_weight_by_margin(Index sample) const noexcept {
        return log_weight(objective_.loss, q_(0, sample)) + log_counts_[sample] - log_mass_;
    }
    /// Σ_i ℓ(q_i) in the log domain at the start of the step, without the reduction.
    double log_loss() const noexcept { return log_loss_; }
    /// log of the largest weight (relative to the largest of all) that has underflowed; -inf if none has.
    double lost_log_weight() const noexcept { return lost_; }
    /// The same of the active samples alone, and their smallest margin; of tails, where others are at rest.
    double live_log_loss() const noexcept { return live_log_loss_; }
    double smallest_margin() const noexcept { return smallest_margin_; }
    /// What the weights may be off by at a start, as a part of their sum: where margins are so large that a layer of
    /// the weights moves no neuron, it is not resolved.
    double fine_weight_error() const noexcept { return smallest_margin_ > kFineMargin ? kFineWeightError : 0.0; }
    bool is_live(Index sample) const noexcept { return live_[sample] != 0; }
    /// Its margin stands still, and its weight outgrows the others as the mass falls.
    bool drives_nobody(Index sample) const noexcept { return live_[sample] == 0 && !objective_.resting.rests(sample); }
    /// Active, and its weight is a part of the mass D: false of samples at rest.
    bool is_tail(Index sample) const noexcept { return live_[sample] != 0 && !objective_.resting.rests(sample); }
    /// What the weights of those add up to: one, but beside samples at rest.
    double share() const noexcept { return objective_.resting.share; }
    /// Σ_i |p_i| |x_i| at the start of the step.
    double mean_norm() const noexcept { return mean_norm_; }
    /// By how much at most a weight changes with its own q: |∂p_i / ∂q_i|. At the start of the step.
    double response(Index sample) const noexcept { return is_linear_ ? counts_[sample] : std::abs(signed_(0, sample)); }
    /// What the steps before owe, as signed weights: from the next start on it drives the neurons beside the weights,
    /// as constants, and counts in no decision at a boundary. See Owed.
    void owe(const Vector& signed_weights) {
        owed_ = signed_weights;
        is_owed_ = true;
    }
    void owe_nothing() noexcept { is_owed_ = false; }
    bool is_owed() const noexcept { return is_owed_; }
    const Vector& owed() const noexcept { return owed_; }
    /// Whether the next steps make up for what local events do to the weights (see Owed).
    bool can_owe() const noexcept { return !prescribed_ && !is_linear_ && !has_decay(); }
    /// The derivative of a weight by its own q at a fixed mass, at the start of the step; of a loss of margins.
    double own_rate(Index sample) const noexcept {
        return -p_(0, sample) * (saturates(objective_.loss) ? 1.0 - l_(0, sample) : 1.0);
    }
    /// Σ_i response_i |x_i|².
    double mean_square() const noexcept { return mean_square_; }
    /// By how much Σ_i |p_i| |x_i| may change with a weight through Σ p = 1.
    double shared_norm() const noexcept { return is_linear_ ? 0.0 : mean_norm_; }
    /// Relative change of what drives the neurons, Σ_i p_i |x_i|, per relative change of θ, at |θ|² = square.
    double sensitivity(double square) const noexcept {
        return 2.0 * square * (is_linear_ ? mean_square_ / mean_norm_ : mean_norm_);
    }
    /// Largest Σ_i |p_i| |x_i| so far: where the weights tend to zero, what they are compared with.
    double driving_norm() const noexcept { return is_linear_ ? largest_mean_norm_so_far_ : mean_norm_; }
    /// Σ_i c_i |y_i| |x_i|, with c_i what the samples count: the same where errors are the targets.
    double target_norm() const noexcept { return target_norm_; }
    /// The size that the error of a weight is relative to, where the weight itself may be smaller: errors are
    /// differences of outputs and targets.
    double least_known(Index i) const noexcept { return is_linear_ ? counts_[i] * largest_target_ : 0.0; }
    /// By how much the polynomials of a prescribed step, which end at its nodes, miss a weight where the step begins.
    double missed_at_start(Index i) const noexcept {
        return prescribed_ ? std::abs(signs_[i] * signed_(0, i) - p_(0, i)) : 0.0;
    }
    /// The size of a target whose rounding is about that of an output, a sum of terms that may be far above it. `terms`
    /// over |x| add up to at most that (StateSeries::terms).
    double size_of_terms(Index sample, double terms) const noexcept { return kTermPart * terms * norms_[sample]; }
    /// True if weights may change their signs.
    bool is_linear() const noexcept { return is_linear_; }
    bool decays() const noexcept { return decay_ > 0.0 && !leaves_out_decay_; }
    bool has_decay() const noexcept { return decay_ > 0.0; }
    /// For this step, until the next start(), where the decay is rounding throughout.
    void leave_out_decay(bool leaves_out) noexcept { leaves_out_decay_ = leaves_out; }
    /// True where the decay is far below rounding on a step of this length, at the mass of the start.
    bool is_decay_far(double step) const noexcept;
    /// True on a step on which nothing but the decay moves a neuron: D is then a constant beside which all weights
    /// are zero, and the step runs in time itself.
    bool is_idle() const noexcept { return is_idle_; }
    /// γ per unit of rescaled time at the start of the step.
    double decay_rate() const noexcept;
    /// e^{-γ t} at u: what ŵ and â are multiplied by.
    double decay_at(double u) const noexcept;
    /// Coefficients of q, given those of q̂ as rows of `outputs` up to `order`; row 0 holds q itself before and after.
    /// Where D stands still, so that time is linear in u. Needs set_step().
    void decay_margins(Matrix& outputs, int order) const;
    /// max |x_i|: never less than Σ_i p_i |x_i| over the active samples.
    double largest_norm() const noexcept { return largest_norm_; }
    /// No less than Σ_i p_i |x_i| anywhere on the step, over the active samples.
    double largest_mean_norm() const noexcept;
    /// Σ_i p_i q_i' at the start of the step, which is |θ'|² and never negative but for rounding.
    double margin_rate() const noexcept;
    /// Needs set_step(). E-foldings of the mass in a unit of u that are due to the decay, at the start: none where
    /// weights are constant, those of large errors among them, however fast margins move.
    double fall_by_decay() const noexcept;
    /// True where the decay until u is more than rounding of the neurons.
    bool feels_decay(double u) const;

    /// Sets the step by its weights instead: p_i(u) the weights of the start plus polynomials of `count` coefficients
    /// (count, n), margins (orders, n). Used where the weights follow the margins so fast that their own series is of
    /// no use (see radau_step.hpp). `with_others`: those of samples that drive nobody are among them; otherwise these
    /// have no series, and values at an instant only.
    void prescribe_weights(const Matrix& changes, int count, bool with_others);
    void prescribe_margins(const Matrix& margins, int count);
    bool is_prescribed() const noexcept { return prescribed_; }
    /// True if D stays what it is at the start of a step with prescribed weights: of errors, and with weight decay.
    bool keeps_mass() const noexcept { return is_linear_ || decays(); }
    bool keeps_time_by_margins() const noexcept { return time_by_margins_; }

    /// The clock at u, if it shows `start` at the start of the step.
    Clock clock_at(const Clock& start, double u) const;
    /// The first u in [0, end] at which the clock shows log t = target.log_t() or more; kNoRoot if it does not.
    double reach(const Clock& start, const Clock& target, double end) const;

    /// Time since the start of the step at u, in units of e^log_time_unit().
    double time_at(double u) const noexcept;
    double time_rate_at(double u) const noexcept;
    /// The newest term of the time series at u over the sum of the series: the truncation error of the clock.
    double relative_time_term(double u = 1.0) const noexcept;
    /// Needs order 1. The part of the step that goes at most half way to where a saturated weight (constant to
    /// rounding, or negligible beside the others) begins to count. Its series does not show that.
    double saturated_part() const noexcept;
    /// Needs order 1. True if the mass falls by so many e-foldings in the step that time is not a polynomial.
    bool outruns_time() const noexcept;
    /// From now on time is integrated from the margins, in the log domain. Needs all orders. So are the weights of
    /// samples that drive nobody, which grow as the mass falls: by e-foldings that their series does not show.
    void keep_time_by_margins();
    double log_time_unit() const noexcept { return log_time_unit_; }
    /// The u at which time_at(u) = target, for target in [0, time_at(end)].
    double u_at_time(double target, double end) const noexcept;

  private:
    /// A sample that drives nothing may outweigh the others by more than doubles can represent; at a boundary a factor
    /// of e^230 = 1e100 decides as infinity would.
    static constexpr double kLargestLog = 230.0;

    void start_weights(const Vector& q);
    void start_errors(const Vector& q);
    void next_weights();
    void next_errors();
    void take_margins(const Vector& q_next);
    double idle_weight(Index sample, double log_mass) const noexcept;
    double log_mass_at(double u) const noexcept;
    double log_time_at(double u) const;
    double reach_by_margins(const Clock& start, const Clock& target, double end) const;
    void list_heavy();
    /// Its weight is known at an instant, from the mass there, and its series is not.
    bool has_values_alone(Index sample) const noexcept { return !with_others_ && drives_nobody(sample); }
    double least_mass() const noexcept;

    Objective objective_;
    bool is_linear_;
    double decay_;
    bool is_idle_ = false;
    bool leaves_out_decay_ = false;
    Vector signs_;
    Vector targets_;
    Vector counts_, log_counts_;
    std::vector<int> rests_;  // samples at rest
    Vector norms_;
    double log_factor_;  // log of dt per unit of summed-loss time: log n for the mean
    double step_ = 0.0;
    double log_mass_ = 0.0;
    double log_loss_ = 0.0;
    double live_log_loss_ = 0.0;
    double smallest_margin_ = 0.0;
    double log_time_unit_ = 0.0;
    double lost_ = -std::numeric_limits<double>::infinity();
    double largest_norm_ = 0.0;
    double mean_norm_ = 0.0;
    double mean_square_ = 0.0;
    double largest_mean_norm_so_far_ = 0.0;
    double rounding_of_errors_ = 0.0;
    double largest_target_ = 0.0;
    double target_norm_ = 0.0;
    int order_ = 0;
    bool prescribed_ = false;
    bool is_owed_ = false;
    bool with_others_ = true;
    bool time_by_margins_ = false;
    int margin_order_ = 0;
    std::vector<char> live_;
    mutable Vector margins_now_;
    mutable double last_clock_u_ = -1.0;
    mutable double last_log_time_ = 0.0;
    std::vector<char> near_;
    std::vector<int> heavy_;         // samples with a share in the mass, if time is integrated from margins
    Matrix q_, l_, p_, c_, signed_;  // (order, n)
    Vector owed_;                    // signed weights
    Vector weighted_;                // one order of p c; while a step starts, the losses
    Matrix outputs_;                 // (order, n), of q̂
    Coefficients shrinks_{};         // e^{-2γ t}
    Coefficients rate_{};            // B
    Coefficients time_rate_{};       // D(0)/D
    Coefficients time_{};            // ∫ of it
};

}  // namespace reluflow
