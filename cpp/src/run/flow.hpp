/// The run of a network of two layers.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "base/pool.hpp"
#include "problem/dataset.hpp"
#include "run/recorder.hpp"
#include "run/run.hpp"
#include "run/trend.hpp"
#include "two_layer/state.hpp"
#include "two_layer/step.hpp"

namespace reluflow {

class Flow final : public Run {
  public:
    /// `pattern` (m, n) continues from exact signs; null reads them off W Xᵀ. Throws InvalidArgument.
    Flow(const Dataset& data, const MatrixView& W, const VectorView& a, double leak, RunPlan plan,
         const SignMatrix* pattern = nullptr);

    double log_loss() const override;
    double log_gradient_norm() const override;
    std::int64_t steps() const noexcept override { return counts().steps; }
    std::int64_t event_count() const noexcept override { return recorder_.event_list().count(); }
    const Recorder& recorder() const noexcept { return recorder_; }
    const State& state() const noexcept { return state_; }
    /// Of the samples at the present state, as they are carried from step to step; empty where margins tell them.
    Vector fine_weights() const;
    const Clock& clock() const noexcept override { return state_.clock; }
    const Parameters& parameters() const noexcept { return state_.parameters; }
    /// The present weights (m, d) and (m,), also of deferred neurons, which stay deferred.
    void copy_state(Matrix& W, Vector& a);
    const SignMatrix& first_pattern() const noexcept { return first_pattern_; }
    SignMatrix last_pattern() const { return state_.mode.pattern().sample_signs(data_); }
    const StepCounts& counts() const noexcept { return stepper_->counts(); }
    Pace pace() const noexcept { return stepper_->pace(); }
    /// Estimated angle to the limit direction; computed only if a stop rule needs it, else +inf.
    double remaining_turn() const noexcept { return direction_trend_.remaining(); }
    /// log t from which on nothing moved; +inf if there is none.
    double rest_log_t() const noexcept { return rest_log_t_; }
    /// Samples at rest, whose roles were given, have come free.
    bool are_rests_released() const noexcept { return !plan_.past_stall && !std::isinf(free_log_t_); }
    /// The threads of the run, also for work on its results.
    Pool& pool() noexcept { return pool_; }
    /// Threads that share the loops of a step.
    int threads() const noexcept { return pool_.threads(); }

  private:
    void start() override;
    bool advance() override;
    void close() override;
    Index groups() const noexcept override { return stepper_->groups(); }
    double log_norm() override { return log_norm_at(0.0); }
    Clock clock_at(double u) override;
    double log_loss_at(double u) override;
    void save_state(const Clock& when, double u) override;
    double reach(const Clock& target, double end) override;

    bool is_off_span(double norm, Index neuron, Index boundary, int side) const;
    void read_pattern(const MatrixView& W, const SignMatrix* given);
    bool take_step();
    bool attempt();
    double loss_rounding() const;
    double idle_norm() const;
    double rise_of_placing() const;
    double rounding_of_errors() const;
    double rise_until(double u);
    double log_objective(double log_loss, double square) const;
    bool shorten_to_fall();
    bool has_fallen(double rise, double rounding);
    void finish_risen(double rise);
    bool watch_trend();
    bool keeps_roles();
    bool is_beside_rest() const noexcept;
    bool can_go_beside_rest() const;
    struct RestMotion {
        double seen = 0.0;
        double by_tails = 0.0;
    };
    RestMotion motion_at_rest(const Resting& roles);
    void watch_rests();
    bool are_rests_free();
    bool rests_again();
    bool follow_rests();
    bool go_beside_rest(bool begins = false);
    double balanced_share(const Resting& roles) const;
    bool change_roles();
    bool are_tails_held();
    void take_roles(Resting roles, double part);
    void hold_margins(double part);
    void follow_share();
    bool crosses_unknown();
    bool hides_tails() const noexcept;
    Resting roles_by_gap(double& true_share) const;
    Vector log_weights_of_all() const;
    double fitting_share(double smallest) const;
    std::string beside_message() const;
    bool is_lost_in_rounding();
    bool is_loss_out_of_reach() const;
    void load_stored(double u);
    void load_true(double u);
    void checkpoint();
    void keep_checkpoint(bool always = false);
    RateNoise rate_noise() const;
    bool is_fitted() const;
    bool has_come();
    bool is_far(const std::vector<Index>& neurons, const std::vector<Index>& samples, double allowed) const;
    std::vector<Index> neurons_that_count() const;
    Vector velocity_of(const std::vector<Index>& neurons) const;
    Eigen::MatrixXd margin_gradients(const std::vector<Index>& neurons, const std::vector<Index>& samples) const;
    Vector responses_of(const std::vector<Index>& samples) const;
    Vector way_to_critical_point(const std::vector<Index>& neurons, const std::vector<Index>& samples,
                                 const Eigen::MatrixXd& gradients, Index most, bool& grows) const;
    void note_pulls(const std::vector<Index>& samples, const Vector& changes);
    bool wakes(const std::vector<Index>& counted) const;
    bool is_followed_noise(bool seems);
    double age() const;
    void follow_direction();
    bool fades() const;
    bool is_gone() const;
    void margin_gradient(Index sample, VectorRef gradient) const;
    void take_away_held(const std::vector<Index>& samples, Vector& pull) const;
    double log_pull(Index sample) const;
    bool is_fitted(Index sample) const;
    Index moves_unseen(double rate);
    bool is_held_by_rounding();
    double hidden_outputs() const;
    double output_of(Index sample) const;
    double rounding_of_weight(Index sample, Vector& slopes) const;
    Vector rounding_of_pulls() const;
    std::vector<char> hides_decay() const;
    Index moves_by_decay(const std::vector<char>& chosen) const;
    bool begins_beside_rest() const;
    bool rest_or_stall(double rate);
    void rest();
    void wait(std::string message);
    int fastest_neuron() const;
    void finish_undecided(const UnresolvedEvent& unresolved);
    void finish_without_progress();
    void finish_wrong_side();
    void finish_non_finite();
    void finish_underflow();
    void finish_lost_in_rounding();
    void finish_coarse_margins();
    void finish_unsure_side(Index sample);
    void finish_roles();
    void finish_hidden_tails();
    void finish_unseen(Index sample);
    void finish_hidden_decay(Index neuron);
    void finish_hidden_outputs(double most);
    void finish_out_of_reach();
    std::string gradient_message() const;
    std::string at_rest_message() const;
    double largest_step() const;
    double end_by_rules();
    double end_by_events(double end);
    void save_norms(double end);
    void save_start_norms();
    void record_events();
    bool check_unresolved();
    double log_loss_of(const Matrix& w, const Vector& a);
    bool is_beyond_digits() const noexcept;
    void shrink();
    int exponent() const noexcept { return state_.parameters.exponent(); }
    bool lacks_digits() const noexcept;
    double margin_rounding() const noexcept;
    double rounding_part() const noexcept;
    double most_held() const noexcept;
    double held_again() const noexcept;
    double scale() const noexcept;
    double loss_of_margins(const Vector& margins) const;
    double true_log_loss(const Vector& held_margins) const;
    bool has_fine_weights() const noexcept;
    bool keep_weights();
    void restore_weights();
    double least_margin_at(double u);
    double log_norm_at(double u);
    double reach_norm(double wanted, double end);
    double end_by_norm(double end);
    std::string beyond_range_message() const;
    std::string name_corner(const UnresolvedEvent& unresolved) const;

    const Dataset& data_;
    State state_;
    SignMatrix first_pattern_;
    KnownSides known_sides_;
    Pool pool_;
    std::optional<Stepper> stepper_;  // made anew where the samples get other roles
    Recorder recorder_;
    double log_factor_;
    double log_loss_ = 0.0;
    // Beside samples at rest: log |θ| when it was last seen to grow, and the steps since then.
    double grown_to_ = -std::numeric_limits<double>::infinity();
    int steps_since_ = 0;
    double stall_log_t_ = std::numeric_limits<double>::infinity();  // from here on beside samples at rest
    double free_log_t_ = std::numeric_limits<double>::infinity();   // where these came free last
    Vector watched_;                                                // margins when samples at rest were last looked at
    double watched_for_ = 0.0;                                      // rescaled time since then
    Index role_changes_ = 0;
    double rest_log_t_ = std::numeric_limits<double>::infinity();
    DirectionTrend direction_trend_;
    RestTrend rest_trend_;
    Drift drift_;
    // With weight decay: the duration, and the count of steps, from which on rest is looked for again.
    double look_at_ = 0.0;
    std::int64_t look_from_ = 0;
    Matrix pulls_at_rest_;  // where it has come: gradients of the neurons there, (r, m), in units of the decay
    double taken_ = 0.0;    // length of the last step in rescaled time
    int still_ = 0;         // consecutive steps that took no time
    // Steps since the duration was as long as that, once rounding limits the run, see is_lost_in_rounding().
    int last_steps_ = 0;
    double last_from_ = 0.0;
    Matrix w_;
    Vector a_;
    Vector q_;
    Vector weights_;  // of the samples at the end of a step
};

/// Why the log loss rises by `rise` along a step, and what to do: a smallest `margin` (infinite while samples are not
/// separated) that is a small part of its `terms`, of the order of |θ|², is known to their rounding.
std::string message_of_rise(double log_t, double rise, double terms, double margin);

}  // namespace reluflow
