/// One step of the whole network: expand, screen, resolve local events, end where they matter to the other neurons.
#pragma once

#include <cstdint>
#include <vector>

#include "base/pool.hpp"
#include "problem/settings.hpp"
#include "two_layer/event_gaps.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/late_events.hpp"
#include "two_layer/owed.hpp"
#include "two_layer/partitions.hpp"
#include "two_layer/radau_step.hpp"
#include "two_layer/state.hpp"
#include "two_layer/step_control.hpp"
#include "two_layer/turned_back.hpp"

namespace reluflow {

struct StepCounts {
    std::int64_t steps = 0;
    std::int64_t cut_by_events = 0;
    std::int64_t late_steps = 0;     ///< of them, Radau steps
    std::int64_t carried_steps = 0;  ///< of them, by whole sectors with the neurons deferred
    std::int64_t late_refused = 0;
    std::int64_t late_iterations = 0;
    std::int64_t orders = 0;
    double rhs_equivalents = 0.0;  ///< orders weighted by the share of groups in the number of neurons
};

/// Takes steps. Usage: begin(), attempt(), any number of state_at() up to end(), then commit().
class Stepper {
  public:
    /// `pool` has the threads of the run; the bits do not depend on their number.
    Stepper(const Dataset& data, Objective objective, const Settings& settings, State& state, Pool& pool);

    /// Puts the neurons that start on boundaries there exactly, then as begin().
    void stand();
    /// Decides these neurons. False if one cannot be decided (see unresolved()).
    bool decide_start(KnownSides known);
    /// Margins, weights and gradients at the present state.
    void begin();
    /// True when no neuron moves.
    bool is_at_rest() const noexcept { return expansion_.fastest() == 0.0; }
    /// Expands a step of at most `max_step` in rescaled time and resolves its events. False on a non-finite state.
    /// Throws Abandoned if the step is abandoned; the state is then that of begin().
    bool attempt(double max_step);
    /// True if the step is a Radau step.
    /// The last late step was as long as the rounding of margins lets it be.
    bool lacks_digits() const noexcept { return radau_.lacks_digits(); }
    bool is_late() const noexcept { return late_; }
    /// Replaces a Radau step by an explicit one; false if it begins with events that cannot be undone.
    bool retry_plain(double max_step);
    /// Bound of the error of Σ p_i q_i that the tolerance of the step allows.
    double margin_error() const noexcept;
    /// Shortens the step: events after u are undone.
    void cut(double u);
    /// Moves the state to end(). If no neuron is near a boundary the motion may be deferred until settle().
    void commit();
    /// Moves deferred neurons to the start of the step, where the sums are.
    void settle();
    /// Σ |θ|² in working coordinates, without moving a neuron.
    double square() const noexcept { return expansion_.series().square(); }

    double end() const noexcept { return end_; }
    /// Length of the longest step, in rescaled time, in which the rounding of weights that cancel stays below the
    /// accepted error.
    double rounding_limit() const noexcept;
    const Waveform& waveform() const noexcept { return expansion_.waveform(); }
    const Expansion& expansion() const noexcept { return expansion_; }
    /// The state was scaled by a power of two, which changes no sign and no direction; to be followed by begin().
    void rescaled() { partitions_.forget_distances(); }
    const std::vector<BoundaryEvent>& events() const noexcept { return partitions_.events(); }
    const std::vector<BranchPoint>& branches() const noexcept { return partitions_.branches(); }
    const UnresolvedEvent& unresolved() const noexcept { return partitions_.unresolved(); }
    const StepCounts& counts() const noexcept { return counts_; }
    /// The steps so far were those of another one.
    void count_from(const StepCounts& counts) noexcept { counts_ = counts; }
    /// The lengths of steps with which another run would go on from here, and those of the run that led here.
    Pace pace() const noexcept;
    void resume(const Pace& pace) noexcept;
    double worst_inconsistency() const noexcept { return partitions_.worst_inconsistency(); }
    Index groups() const noexcept { return expansion_.groups().count(); }

    /// |θ'| in rescaled time at the present state (after begin()).
    double speed() const;
    /// max_j |θ_j'| / |θ_j| in rescaled time at the start of the last step (after attempt()).
    double relative_rate() const noexcept;
    /// True where it is the mean over a step that knows it to rounding.
    bool knows_rate() const noexcept { return late_ && radau_.is_turning(); }
    /// True if all margins are positive and the loss so small that they stay positive ([LLWA], [VSS]); over the active
    /// samples, since only these move.
    bool is_separated() const;

    /// The state at u in [0, end()].
    void state_at(double u, Matrix& w, Vector& a) const;

  private:
    bool try_step(double max_step);
    void expand(double max_step);
    void stand_on_boundaries(int neuron);
    void take_next();
    void note_rest();
    bool acts(int neuron, int boundary) const;
    bool find_span(int neuron);
    void note_rest_of_coordinates(int neuron);
    void follow_events();
    double rate_of_step();
    double budget() const noexcept;
    double neglected() const noexcept;
    double end_by_events(double end) const;
    double end_by_release(double end);
    double end_by_doubts(double end) const;
    void end_beside();
    double first_event() const noexcept;
    bool any_event_ends_late() const noexcept;
    double end_by_late_doubts(double end) const;
    double last_event_before(double u) const noexcept;
    bool is_within_error(const Doubt& doubt) const;
    void note_gap() noexcept;
    double late_end(double end);
    bool ends_in_doubt() const;
    LateKind kind_of_margins() const noexcept;
    bool expand_late();
    bool try_late();
    void refuse_late();
    void expand_series(double max_step);
    double expand_soundly(double step);
    bool is_finite() const;
    void foresee(double end);

    const Dataset& data_;
    double rtol_;
    double rounding_;  // error that is accepted from it where weights cancel
    double log_separated_;
    State& state_;
    Pool& pool_;
    Expansion expansion_;
    Partitions partitions_;
    StepControl control_;
    RadauStep radau_;
    double horizon_log_loss_;
    LateControl late_control_;
    EventGaps gaps_;
    LateEvents late_events_;
    TurnedBack turned_back_;
    Owed owed_;
    bool late_ = false;
    int quiet_steps_ = 0;   // explicit steps since the last event
    double fine_ = 1.0;     // the part of the tolerance that the last terms of an explicit step are to be below
    bool is_sound_ = true;  // the defect of the present step is within the tolerance
    bool carries_ = false;  // the motion of the neurons in the present step is deferred
    StepCounts counts_;
    std::vector<Disturbance> disturbances_, later_;
    std::vector<Doubt> doubts_;
    double end_ = 0.0;
    double allowed_ = 0.0;
    double relative_rate_ = 0.0;
    std::vector<std::uint8_t> acts_;  // on a coordinate of a neuron
    std::vector<int> acting_;         // boundaries, on a neuron
    Numbers acting_span_;             // what they span, orthonormal vectors
    Vector column_, sleeper_work_, sleeper_weights_;
    std::vector<int> zero_boundaries_;
    Matrix w_next_;
    Vector a_next_;
};

}  // namespace reluflow
