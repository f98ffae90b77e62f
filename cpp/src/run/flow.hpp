/// A run: steps until the first stop rule holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "base/interrupt.hpp"
#include "base/observer.hpp"
#include "base/pool.hpp"
#include "base/status.hpp"
#include "hybrid/clock.hpp"
#include "hybrid/pattern.hpp"
#include "problem/dataset.hpp"
#include "problem/settings.hpp"
#include "run/recorder.hpp"
#include "run/trend.hpp"
#include "two_layer/network.hpp"
#include "two_layer/step.hpp"

namespace reluflow {

/// What a callback sees of a run in progress.
struct Progress {
    double t = 0.0;
    double log_t = 0.0;
    double log_loss = 0.0;
    std::int64_t steps = 0;
    std::int64_t events = 0;
    double seconds = 0.0;
    Index groups = 0;
};

/// Called after every step; the caller's side limits how often it acts.
using Hook = std::function<Request(const Progress&)>;

/// What says when a state is saved.
enum class SaveBy { time, log_time, log_norm };

/// Everything a run needs besides data and network.
struct RunPlan {
    Objective objective;
    Settings settings;
    StopRule stop;
    Clock start{0.0};
    std::vector<double> save_at;  ///< increasing times, log times or log norms
    SaveBy save_by = SaveBy::time;
    Hook hook;
    /// Called on the thread of the run, inside long steps, at most once in `look_period` seconds. Anything but go_on
    /// abandons the step, and the run ends where that step began.
    std::function<Request()> urgent;
    double look_period = Interrupt::kPeriod;
    int n_threads = 1;
    bool at_rest = false;  ///< the start is known to be at rest, from the run that led there
    int exponent = 0;      ///< W and a are given as 2^-exponent times their true values
};

/// log |θ| beyond which |θ|² leaves the range of doubles.
inline constexpr double kLargestLogNorm = 340.0;

class Flow {
  public:
    /// `pattern` (m, n) continues from exact signs; null reads them off W Xᵀ. Throws InvalidArgument.
    Flow(const Dataset& data, const MatrixView& W, const VectorView& a, double leak, RunPlan plan,
         const SignMatrix* pattern = nullptr);

    void run();

    const RunPlan& plan() const noexcept { return plan_; }
    const Recorder& recorder() const noexcept { return recorder_; }
    const NetworkState& state() const noexcept { return state_; }
    /// The present weights (m, d) and (m,), also of deferred neurons, which stay deferred.
    void copy_state(Matrix& W, Vector& a);
    const SignMatrix& first_pattern() const noexcept { return first_pattern_; }
    SignMatrix last_pattern() const { return pattern_.sample_signs(data_); }
    const Clock& clock() const noexcept { return clock_; }
    const StepCounts& counts() const noexcept { return stepper_.counts(); }
    Status status() const noexcept { return status_; }
    const std::string& message() const noexcept { return message_; }
    /// log L with the reduction.
    double log_loss() const;
    /// log |∇L| at the end, with the reduction; -inf at rest.
    double log_gradient_norm() const;
    /// Estimated angle to the limit direction; computed only if a stop rule needs it, else +inf.
    double remaining_turn() const noexcept { return direction_trend_.remaining(); }
    /// log t from which on nothing moved; +inf if there is none.
    double rest_log_t() const noexcept { return rest_log_t_; }
    double seconds() const;
    /// The threads of the run, also for work on its results.
    Pool& pool() noexcept { return pool_; }
    /// Threads that share the loops of a step.
    int threads() const noexcept { return pool_.threads(); }

  private:
    void read_pattern(const MatrixView& W, const SignMatrix* given);
    bool advance();
    bool take_step();
    bool attempt();
    bool ends_inside_step();
    bool end_by(Request request);
    double loss_rounding() const;
    double rounding_of_errors() const;
    double rise_until(double u);
    double log_objective(double log_loss, double square) const;
    bool shorten_to_fall();
    bool has_fallen(double before, double rounding);
    void finish_risen(double rise);
    bool watch_trend();
    bool is_lost_in_rounding();
    bool is_loss_out_of_reach() const;
    void checkpoint();
    void keep_checkpoint();
    RateNoise rate_noise() const;
    bool is_fitted() const;
    bool only_rattles();
    double age() const;
    void follow_direction();
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
    void finish_out_of_reach();
    std::string at_log_time() const;
    std::string gradient_message() const;
    std::string at_rest_message() const;
    double largest_step() const;
    double end_by_rules();
    double end_by_loss(double end);
    double end_by_events(double end);
    Clock clock_at_end();
    void save_start();
    void save_within(double end);
    void save_norms(double end);
    void save_state(const Clock& when, double u);
    Clock next_save() const;
    Clock time_stop() const;
    void record_events();
    bool check_unresolved();
    bool poll();
    void finish(Status status, std::string message);
    double log_loss_of(const Matrix& w, const Vector& a);
    bool is_beyond_digits() const noexcept;
    void shrink();
    double scale() const noexcept;
    double unscaled_log_loss(const Vector& held_margins) const;
    bool keep_weights();
    void restore_weights();
    double least_margin_at(double u);
    Clock clock_at(double u);
    double reach(const Clock& target, double end);
    double log_norm_at(double u);
    double reach_norm(double wanted, double end);
    double end_by_norm(double end);
    std::string beyond_range_message() const;
    std::string name_corner(const UnresolvedEvent& unresolved) const;

    const Dataset& data_;
    RunPlan plan_;
    NetworkState state_;
    Pattern pattern_;
    SignMatrix first_pattern_;
    bool pattern_was_given_;
    Clock clock_;
    Interrupt interrupt_;
    Pool pool_;
    Stepper stepper_;
    Recorder recorder_;
    double log_factor_;
    double log_loss_ = 0.0;
    std::size_t saved_ = 0;
    double rest_log_t_ = std::numeric_limits<double>::infinity();
    DirectionTrend direction_trend_;
    RestTrend rest_trend_;
    double taken_ = 0.0;           // length of the last step in rescaled time
    double resting_square_ = 0.0;  // Σ |w|² outside the span of the samples
    Index behind_ = 0;             // steps since the neurons were last moved (deferred neurons)
    int still_ = 0;                // consecutive steps that took no time
    int last_steps_ = 0;           // steps since rounding first limited the run, see is_lost_in_rounding()
    Status status_ = Status::running;
    Status pending_ = Status::running;  // the stop rule that holds at the end of this step
    std::string message_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();  // before the pattern is read
    Matrix w_;
    Vector a_;
    Vector q_;
    int exponent_;  // the state is stored 2^exponent times smaller
    Vector offsets_;
    Vector weights_;  // of the samples at the end of a step
};

}  // namespace reluflow
