/// How far a step may go, and how long the next one should be.
#pragma once

#include <span>
#include <vector>

#include "problem/settings.hpp"

namespace reluflow {

/// An event that the others do not hear of in this step: at u, disturbing them by ½ (U - u)² coupling until U.
struct Disturbance {
    double u = 0.0;
    double coupling = 0.0;
};

/// The largest U in [0, end] with Σ_{u < U} ½ (U - u)² coupling <= budget. An event never keeps U from reaching it.
double coupled_end(std::span<const Disturbance> disturbances, double budget, double end) noexcept;

/// Chooses step scales H from what limited the last step.
class StepControl {
  public:
    /// Scale of the next step when the fastest group has gradient `fastest`.
    double propose(double fastest) const noexcept;
    /// What truncation allows the next step.
    double smooth() const noexcept { return smooth_; }
    /// The last step: its scale, the order it needed, the part of it that truncation allowed.
    void truncated(double step, int order, double allowed) noexcept;
    /// It ended at u; `next_end` is how far after u the events foreseen would let a step go, in the same scale.
    void taken(double step, double u, double next_end) noexcept;

  private:
    double smooth_ = 0.0;  // what truncation allows
    double events_ = 0.0;  // what events allow
};

/// Chooses between the two ways to expand a step, by their work per time; and the late phase's step scales.
class LateControl {
  public:
    /// A explicit step was expanded at |θ|² = square.
    void plain_step_taken(double square) noexcept;
    /// What truncation, which allowed `smooth` then, would allow a explicit step now: the stiff rate grows like |θ|².
    double plain_step(double smooth, double square) const noexcept;
    /// True when a Radau step should be tried, where a explicit step would cover `rate` time constants of the fastest
    /// neuron. `careful`: only where explicit steps have shown for long that they are short.
    bool wants(double rate, bool careful) noexcept;
    /// Scale for the try, where a explicit step would have the scale `plain`.
    double propose(double plain) const noexcept;
    /// The outcome of a try: the scale it proposes, and its work over that of a explicit step.
    void tried(bool accepted, double next, double gain, double plain) noexcept;
    /// The weights have a kink here; explicit steps come first.
    void leave() noexcept;

  private:
    double square_ = 1.0;
    double step_ = 0.0;
    double gain_ = 8.0;  // a first guess, replaced by the first try
    int pause_ = 0;
    int next_pause_ = 0;
    int tries_ = 0;  // refused in a row, without a explicit step between them
    bool active_ = false;
    bool careful_ = false;
};

}  // namespace reluflow
