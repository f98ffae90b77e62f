/// How far a step may go, and how long the next one should be.
#pragma once

#include <algorithm>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "problem/settings.hpp"

namespace reluflow {

/// A local event at u whose effect on the other neurons, ½ (U - u)² coupling at U, is neglected until the step ends at
/// U.
struct Disturbance {
    double u = 0.0;
    double coupling = 0.0;
    double rate = std::numeric_limits<double>::infinity();  ///< of a neuron across a boundary, relative to its size
    int neuron = -1;
    int boundary = -1;
};

/// A hit so slow that what events before it are bounded by may turn the neuron back.
struct SlowHit {
    Disturbance hit;
    double before = 0.0;  ///< the last event before it
};

/// What may be neglected of events on so many boundaries where the next steps make up for it: their bounds are added as
/// if all had one direction.
double crowded(double budget, std::size_t boundaries) noexcept;
/// The largest U in [0, end] with Σ_{u < U} ½ (U - u)² coupling <= budget; with `is_owed`, crowded() for the number of
/// boundaries that are met before U. U can always reach the first event.
double coupled_end(std::span<const Disturbance> disturbances, double budget, double end, bool is_owed = false) noexcept;
/// Σ_{u <= end} ½ length² coupling: what the events before `end` do within such a length behind it.
double effect_within(std::span<const Disturbance> disturbances, double end, double length) noexcept;
/// Lists the hits before `end` at which a neuron crosses a boundary so slowly that the events before may turn it back,
/// though they move it by far less than the budget.
void list_slow_hits(std::span<const Disturbance> disturbances, double end, std::vector<SlowHit>& found);

/// The lengths of steps at which a run has ended. One that goes on from there begins with them: it would have to find
/// them anew, from a first step that is far shorter than late ones.
struct Pace {
    double smooth = 0.0;  ///< what truncation allows an explicit step; 0: not known
    double events = 0.0;  ///< what events allow it
    double square = 1.0;  ///< |θ|² of which this is known
    double late = 0.0;    ///< the length of the next Radau step; 0: explicit steps come next
    double gain = 8.0;    ///< the length that pays, over that of an explicit step
};

/// Chooses the lengths H of explicit steps from what limited the last step.
class StepControl {
  public:
    /// Length of the next step if the fastest group has gradient `fastest`.
    double propose(double fastest) const noexcept;
    /// The length that truncation allows the next step.
    double smooth() const noexcept { return smooth_; }
    /// That of the next step, about.
    double expected() const noexcept { return std::min(smooth_, events_); }
    /// True when events keep steps shorter than truncation would: then smooth() follows the steps that there were, and
    /// says little of what truncation allows.
    bool is_limited_by_events() const noexcept { return events_ < smooth_; }
    /// Reports the last step: its length, the order it needed, the part of it that truncation allowed.
    void truncated(double step, int order, double allowed) noexcept;
    /// Reports that it ended at u and kept so many events, and that those known so far would let a step go on by
    /// next_end after u, in units of `step`. `cut`: events ended it, before what truncation allowed.
    void taken(double step, double u, double next_end, std::size_t kept, bool cut) noexcept;
    void tell(Pace& pace) const noexcept;
    void resume(const Pace& pace) noexcept;

  private:
    double smooth_ = 0.0;  // what truncation allows
    double events_ = 0.0;  // what events allow
};

/// What Radau steps have to reckon with: margins of which none is negative, margins of which some are, without and with
/// a kernel that turns, or far below zero, or errors.
enum class LateKind { margins, careful, turning, steep, errors };

/// Chooses between explicit and Radau steps by their work per time, and the lengths of Radau steps.
class LateControl {
  public:
    /// Reports an explicit step at |θ|² = square, and its work over that of an explicit step of the highest order,
    /// which is the unit of all work here.
    void plain_step_taken(double square, double work) noexcept;
    /// The length that truncation would allow an explicit step now, if it allowed `smooth` then: the stiff rate grows
    /// like |θ|².
    double plain_step(double smooth, double square) const noexcept;
    /// True when a Radau step should be tried, where an explicit step would cover `rate` time constants of the fastest
    /// neuron and events are likely to leave a Radau step `room` times its length.
    bool wants(double rate, LateKind kind, double room) noexcept;
    /// Length of the Radau step to try, where an explicit step would have the length `plain`.
    double propose(double plain) const noexcept;
    /// Reports a try: the length it proposes, the work that a try takes, and what this one took. `in_layer`: what it
    /// missed is a layer at its begin, which a shorter one misses as well.
    void tried(bool accepted, double next, double gain, double spent, double plain, bool in_layer = false) noexcept;
    /// Reports the length that an accepted try was taken for, and whether it ends at an event. The weights have a kink
    /// there, so that explicit steps come next: then the answer is true. An event at the begin of the step is behind
    /// the next one, which can go on late; not where the last attempt at that came to another event. Nor does the layer
    /// behind the kink have to be resolved where it is far shorter than the step, or, with negative margins, where the
    /// events are gentle: within an explicit step they move no neuron by its part of the tolerance. The next Radau
    /// step leaps over it, and goes a little farther than the event that was seen next, `ahead` behind this one.
    bool taken(double length, bool at_event, double ahead = std::numeric_limits<double>::infinity(),
               bool is_gentle = false) noexcept;
    /// Explicit steps come next.
    void leave() noexcept;
    void tell(Pace& pace) const noexcept;
    void resume(const Pace& pace) noexcept;

  private:
    double square_ = 1.0;
    double step_ = 0.0;
    double gain_ = 8.0;        // a first guess, replaced by the first try
    double plain_work_ = 1.0;  // of the last explicit steps, each
    double debt_ = 0.0;        // the work of explicit steps that has to be done before the next try
    double plain_ = 1.0;       // the length of an explicit step at the last try
    int pause_ = 0;
    int next_pause_ = 0;
    int barred_ = 0;  // events at which going on late is not tried
    int next_barred_ = 0;
    bool goes_on_ = false;  // the last step began behind such an event
    bool leaps_ = false;    // the next step is to leap over a layer
    int tries_ = 0;         // in a row that do not pay, without an explicit step between them
    bool active_ = false;
    LateKind kind_ = LateKind::margins;
};

}  // namespace reluflow
