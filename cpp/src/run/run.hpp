/// A run of any model: steps until the first stop rule holds.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/interrupt.hpp"
#include "base/observer.hpp"
#include "base/status.hpp"
#include "base/types.hpp"
#include "hybrid/clock.hpp"
#include "problem/settings.hpp"
#include "two_layer/step_control.hpp"

namespace reluflow {

/// What a callback sees of a run in progress.
struct Progress {
    double t = 0.0;
    double log_t = 0.0;
    double log_loss = 0.0;
    std::int64_t steps = 0;
    std::int64_t events = 0;
    double seconds = 0.0;
    Index groups = 0;  ///< of neurons that move together; 0 for a model without them
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
    bool at_rest = false;       ///< the start is known to be at rest, from the run that led there
    bool ends_at_rest = false;  ///< before its time stop: of a layered network
    bool goes_on = false;       ///< another leg of the run that led to the start: neurons on boundaries are held there
    bool past_stall = false;    ///< goes on beside samples at rest where its loss stalls
    int exponent = 0;           ///< W and a are given as 2^-exponent times their true values
    Pace pace;                  ///< of the run that led to this start, if there is one
    Vector offsets;  ///< by which the run that led to this start corrects its margins; empty if there is none
    Vector weights;  ///< of the samples at its end, known better than the margins tell; empty if they are not
};

/// log |θ| beyond which |θ|² leaves the range of doubles.
inline constexpr double kLargestLogNorm = 340.0;

/// What the runs of all models share: clock, stop rules, times to save at, callback, interrupt, status and message. A
/// model derives from it: it takes the steps, and says what it knows along the present one, at u in [0, end] in its
/// own measure of time.
class Run {
  public:
    virtual ~Run() = default;
    Run(const Run&) = delete;
    Run& operator=(const Run&) = delete;

    void run();

    const RunPlan& plan() const noexcept { return plan_; }
    virtual const Clock& clock() const noexcept = 0;
    Status status() const noexcept { return status_; }
    /// The sentence of the status, or what the model says of it.
    const std::string& message() const noexcept { return message_; }
    double seconds() const;
    /// log L with the reduction.
    virtual double log_loss() const = 0;
    /// log |∇L| with the reduction; -inf at rest.
    virtual double log_gradient_norm() const = 0;
    /// Accepted steps and recorded events so far.
    virtual std::int64_t steps() const noexcept = 0;
    virtual std::int64_t event_count() const noexcept = 0;

  protected:
    explicit Run(RunPlan plan);

    /// Decides what begins on boundaries, keeps the start and checks whether the run is over there.
    virtual void start() = 0;
    /// Takes a step; false if the run is over.
    virtual bool advance() = 0;
    /// After the last step.
    virtual void close() {}
    virtual Index groups() const noexcept { return 0; }
    /// log |θ| at the present state.
    virtual double log_norm() = 0;
    /// The clock, the log loss and the state within the present step.
    virtual Clock clock_at(double u) = 0;
    virtual double log_loss_at(double u) = 0;
    virtual void save_state(const Clock& when, double u) = 0;
    /// The first u in [0, end] at which the clock has come to `target`; a larger value if it does not.
    virtual double reach(const Clock& target, double end) = 0;

    /// Ends the run if the start already has the loss or the norm of the stop.
    void check_start();
    /// Cuts the step at the time, or at the loss, of the stop.
    double end_by_time(double end);
    double end_by_loss(double end);
    /// What so many events mean: reached_events, max_events or running.
    Status status_after(std::int64_t events) const noexcept;
    /// The clock within the step. A step, or an event in it, may end so shortly before the time of the stop that
    /// rounding puts it behind: then it is that time, as no state or event of a run may come after its end.
    Clock clock_until_stop(double u);
    /// The clock at the end of the step; exactly the requested time if that ends it.
    Clock clock_at_end(double end);
    /// Saves the states asked for at the start, or within the step.
    void save_start();
    void save_within(double end);
    /// True when the run ends after an accepted step: by what cut the step, the number of steps, the gradient, the
    /// clock on the wall or the callback.
    bool has_ended();
    /// The wall clock and the callback alone.
    bool poll();
    /// The same inside a step, which is then to be abandoned.
    bool ends_inside_step();

    /// The earlier of the two time stops.
    Clock time_stop() const;
    Clock next_save() const;
    bool is_saved() const noexcept { return n_saved_ >= plan_.save_at.size(); }
    /// "at log t = 3.2", for messages.
    std::string at_log_time() const;
    /// The first end of a run is the one that counts. Without a message the status says all.
    void finish(Status status, std::string message = "");

    RunPlan plan_;
    Interrupt interrupt_;
    Status status_ = Status::running;
    Status pending_ = Status::running;  // the stop rule that holds at the end of this step
    std::size_t n_saved_ = 0;

  private:
    bool end_by(Request request);

    std::string message_;
    std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

}  // namespace reluflow
