/// The Radau step of the late phase. Weights follow margins at a rate |θ|² there, and an explicit series would need
/// steps like 1/|θ|²; so the weights at nodes of the step are found by collocation and Newton's method
/// (docs/design/mathematics.md, section 9).
#pragma once

#include <limits>
#include <memory>
#include <vector>

#include "base/types.hpp"
#include "numeric/lu.hpp"
#include "numeric/radau_nodes.hpp"
#include "problem/dataset.hpp"
#include "problem/settings.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/parameters.hpp"

namespace reluflow {

/// With more unknowns than this at a node the step is left to the explicit series: the support is not yet known.
inline constexpr Index kMaxActive = 100;
/// A step that misses so much of its tolerance in a layer at its begin is refused for that: the last Legendre
/// coefficient sees as much again.
inline constexpr double kLayerPart = 0.5;

/// The last Legendre coefficient of the weights overestimates the error of θ, which has about twice the order at Radau
/// nodes.
inline constexpr double kErrorPart = 0.1;

class NodeKernels;
class SteadyResponse;
class TurningResponse;

/// Unknowns: log p_i at the Radau nodes of (0, 1]. Given them as polynomials, every neuron is a linear system without
/// stiffness, which gives its series and the margins q(u). Equations: log p_i = log|ℓ'(q_i)| - log D and Σ p_i = 1 at
/// every node. Their Jacobian is 1 + H A_kl K_kl p_l, where K_kl is the tangent kernel between the nodes k and l of the
/// samples that carry weight, including the growth from l to k. Its size is that of the support, whatever the width of
/// the network. In short steps the kernel is the same for all nodes, and all samples are solved for. Where it turns
/// within them nevertheless, the unknowns are the gradients of the groups.
class RadauStep {
  public:
    /// Weights of margins below this may differ by e^30 within a step.
    static constexpr double kSteep = -30.0;

    RadauStep(const Dataset& data, Objective objective, const Settings& settings, Index neurons);
    ~RadauStep();

    /// Tries a step of scale `step` from the present state (the expansion has been started). On success the expansion
    /// holds its series and true is returned; otherwise the expansion must be restarted. next_step() proposes a scale
    /// either way. The weights of samples that drive nobody are series where these are as good as the step; if
    /// `with_others`, always, which ends the step where the mass has fallen by some e-foldings. `quiet`: explicit steps
    /// without any event came before.
    bool expand(Expansion& expansion, double step, bool with_others, bool quiet = false);
    double next_step() const noexcept { return next_step_; }
    /// Explicit steps come next, so the weights of the last step cannot be extrapolated.
    void pause() noexcept {
        kept_step_ = 0.0;
        behind_ = kUnlimited;
        refused_ = false;
    }
    /// The same behind an event.
    void interrupt() noexcept;
    /// The last step that was taken is as long as the rounding of margins lets the next one be.
    bool lacks_digits() const noexcept { return lacks_digits_; }
    /// The longest step behind the last one, if that ended where a sample is about to join.
    double longest() const noexcept { return behind_; }
    /// Steps are kept short by a kernel that turns: the next one reckons with that.
    bool turns() const noexcept { return turns_; }
    /// The last step was solved for the gradients of the groups.
    bool is_turning() const noexcept { return is_turning_; }
    /// The rate of the fastest group, on the mean over such a step. At its start what the tolerance leaves of a layer
    /// may be far above it.
    double mean_rate(const Expansion& expansion);
    /// Operations of an explicit step of this order, about.
    double plain_work(const Expansion& expansion, int order) const noexcept;
    /// Work of the last try over that of an explicit step, about.
    double relative_work(const Expansion& expansion) const noexcept;
    /// The same of one of the length next_step(). If that is dear beside explicit steps of the length `plain`, it
    /// becomes shorter where a constant kernel then makes it pay more.
    double plan_next(const Expansion& expansion, double plain) noexcept;
    int iterations() const noexcept { return iterations_; }
    /// False if the last try was given up before anything was computed.
    bool has_worked() const noexcept { return iterations_ > 0 || factorisations_ > 0 || is_steady_; }
    /// How far the last step that was taken may have moved a neuron, as a part of θ: what it missed and what Newton's
    /// method left. With negative margins, and beside samples at rest, the tolerance.
    double moved() const noexcept { return known_to_; }
    /// What the last try missed, if anything, is a layer at its begin.
    bool misses_layer() const noexcept { return layer_ > kLayerPart * tolerance_; }

  private:
    static constexpr double kUnlimited = std::numeric_limits<double>::infinity();

    bool allows_steady(const Expansion& expansion) const noexcept;
    double steady_length(const Expansion& expansion) const noexcept;
    double work_of(const Expansion& expansion, double factorisation) const noexcept;
    void begin(Expansion& expansion, double step, bool quiet);
    void note_rounding(const Waveform& waveform, double terms);
    void guess(const Expansion& expansion, double step);
    void guess_onward(Index sample, double step);
    double onward_log_change(int node, Index sample, double step) const;
    void set_log_change(int node, Index sample, double log_change);
    void set_change(int node, Index sample, double change);
    void set_unknown(int node, Index sample, double value);
    double asked_change(int node, Index sample) const;
    /// Its weight is a part of the mass.
    bool shares_mass(Index sample) const { return !keeps_mass_ && live_[sample] && !objective_.resting.rests(sample); }
    /// By how much a weight changes with its own margin, at the start.
    double response(Index sample) const { return is_linear_ ? data_.counts()[sample] : start_weights_[sample]; }
    double weight_at(int node, Index sample) const { return start_weights_[sample] + change_(node, sample); }
    void list_weighing();
    void run_series(Expansion& expansion, double step);
    void drive(Expansion& expansion, int order, double step);
    void keep_margins(Expansion& expansion);
    double largest_growth(double miss) const noexcept;
    double growth_to(double enough, double largest) const noexcept;
    bool is_kept_short(const Expansion& expansion, double step, double miss);
    bool refuse(double step) noexcept;
    void land_before_join(double step, bool is_cause) noexcept;
    bool choose_active(double square, double step);
    bool leave_steady(const Expansion& expansion, double step);
    bool needs_factors(bool slow) noexcept;
    bool prepare(Expansion& expansion, double step);
    bool prepare_steady(Expansion& expansion, double step);
    void ask_weights();
    bool is_far_guess() const noexcept;
    void forget_turning() noexcept;
    bool prepare_turning(Expansion& expansion, double step);
    void guess_mass();
    double follow_others();
    void factor_jacobian(Expansion& expansion, double step);
    void scale_jacobian(Eigen::Map<Matrix>& jacobian);
    double log_correction(int node, Index sample, double solved, double factored, double response) const;
    double take_correction(int node, Index sample, double solved);
    double correct(double step);
    double correct_steady(double step);
    bool is_solved() const noexcept;
    bool is_taken_over(const Waveform& waveform) const;
    double correct_turning(const Expansion& expansion);
    double driven(const Expansion& expansion, const VectorView& weights, bool with_held = false);
    double error_of_samples(double step);
    double smooth_error_of_groups(const Expansion& expansion, double step, bool with_held = false);
    double error_between_nodes(const Expansion& expansion, double step);
    double growing_error(const Expansion& expansion, double step);
    void settle_again();
    double moved_by(const Expansion& expansion, const Vector& real, const Vector& imaginary);
    double turning_error(const Expansion& expansion, double step);
    bool still_gains(double change, double before) const noexcept;
    bool is_slow(double change, double before) const noexcept;
    void note_moved(const Expansion& expansion, double missed) noexcept;
    double left_after(const Expansion& expansion, double change, double step) const noexcept;
    bool is_resolved(double change) const noexcept;
    double rounding_of_margins() const noexcept;
    void leave_room_for_rounding(double step, double change) noexcept;
    bool conclude(Expansion& expansion, double step, double miss, double rounding) noexcept;
    double error(const Expansion& expansion, double step);
    double missed_of_weights(double mean_norm) const;

    const Dataset& data_;
    Objective objective_;
    bool is_linear_;
    bool keeps_mass_ = false;  // D is that of the start throughout: weights follow their margins, and have no sum
    bool decays_ = false;
    bool is_positive_ = false;  // all margins are
    bool is_growing_ = false;   // all margins are positive, and nothing decays
    bool is_steep_ = false;     // some are far below zero
    double tolerance_;
    double growing_part_ = 1.0;  // with positive margins the error is below its estimate by this factor at least
    double left_ = 0.0;          // what explicit steps may have left of a layer
    double layer_ = 0.0;         // the part of the last error() that is missed at the start of the step
    double late_tolerance_;      // of steps whose weights do not tend to zero
    bool with_others_ = false;
    double largest_norm_;      // of a sample
    const RadauNodes& nodes_;  // the same for all
    // At the nodes, as changes since the start of the step, (stages, n): of the weights p, of log p of the unknowns, of
    // the margins; and of log D, (stages,). Changes, because where weights cancel what drives the neurons is far below
    // their rounding.
    // For a loss of errors log_change_ holds the changes of p themselves, and log D does not change.
    Matrix change_, log_change_, margin_change_;
    Vector mass_change_;
    Matrix uncorrected_;             // change_ before the last correction
    Matrix coefficients_, margins_;  // (orders, n)
    std::vector<Matrix> moments_of_order_;
    Matrix node_moments_;
    int order_ = 0;
    Vector q_now_;
    std::vector<int> active_, heavy_;
    std::vector<int> weighing_;  // samples that have weight and drive somebody, if they are few
    std::unique_ptr<NodeKernels> kernels_;
    std::unique_ptr<SteadyResponse> steady_;
    std::unique_ptr<TurningResponse> turning_;
    bool is_steady_ = false;              // the kernel is constant in this step
    bool is_turning_ = false;             // it turns in this step, and the gradients of the groups are solved for
    bool turns_ = false;                  // it turned in the last one, which was short for that
    bool has_many_ = false;               // the groups have too many directions for that
    Matrix kept_;                         // the coefficients of the last such step, which was so long:
    double kept_step_ = 0.0;              // 0 if the next one does not go on from there
    Matrix node_weights_, node_answers_;  // (stages, n)
    Vector asked_;                        // changes of the weights (n,) that margins ask for, as parts of them
    Vector driven_, direction_;           // changes of the weights (n,), and the gradient that they make up (r,)
    bool is_far_ = false;                 // the margins of the first guess say nothing of the weights
    double known_to_ = 0.0;               // see moved()
    double moved_ = 0.0;                  // the largest change of a group's gradient in the last correction
    Matrix missed_;                       // of log p before the last correction, by what margins ask for (stages, n)
    Vector moved_square_;                 // how far that moves the neurons to a node: the square over |θ|² and the step
    Matrix steady_residual_;              // (stages, n)
    Vector steady_mass_, answers_;        // (stages,), and -d log|ℓ'|/dq (n,)
    Vector mean_over_step_;               // weights of all samples
    LuFactors lu_;
    Matrix factored_weights_;  // those that it was made with, (stages, active)
    Vector residual_, start_weights_, start_margins_, start_change_, mean_weights_;
    std::vector<char> live_;
    Vector settled_;  // of changes of the weights (n,): the imaginary part of what is left of them in the mean
    Vector settle_of_imaginary_, settle_imaginary_;  // the same of an imaginary part, and its imaginary part
    Vector rounding_of_;                             // of each weight that is an error: what is not known of it
    double rounding_ = 0.0;                          // the largest of these
    double square_ = 0.0;                            // |θ|²
    double next_step_ = 0.0;
    bool lacks_digits_ = false;
    bool refused_ = false;         // a longer step from the same start
    double landing_ = 0.0;         // length of a step that ends before a sample joins
    double ahead_ = 0.0;           // of the one behind it
    double behind_ = kUnlimited;   // the same, once the former was taken
    Vector kept_end_;              // the weights at the end of the last accepted step
    double longest_ = 0.0;         // of the steps since the last event
    double longest_before_ = 0.0;  // and of those before it
    int factorisations_ = 0;       // that this try has made
    int iterations_ = 0;
};

}  // namespace reluflow
