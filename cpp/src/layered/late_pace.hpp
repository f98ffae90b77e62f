/// When a late or an implicit step is worth its work. Lengths are those of LateStep or ImplicitStep, work is in
/// explicit steps.
#pragma once

namespace reluflow::layered {

class LatePace {
  public:
    /// Where an explicit step moves θ by more than this part, something else than weights or curvature limits it.
    static constexpr double kStiffLength = 0.05;

    /// An explicit step is to be shorter than `stiff`.
    explicit LatePace(double stiff = kStiffLength) : stiff_(stiff) {}

    /// Reports how long truncation lets an explicit step be.
    void plain_step_taken(double length) noexcept;
    /// Reports a step of another kind, which does the work of explicit ones.
    void other_step_taken(double length) noexcept;
    /// True when a late step is to be tried.
    bool wants() const noexcept { return active_ || (pause_ == 0 && debt_ <= 0.0 && is_stiff()); }
    /// The length of an explicit step at this stiffness, which that of the last one was inversely proportional to.
    double plain(double stiffness) noexcept;
    /// The length of a late step, where an explicit one would have the length `plain`.
    double propose(double plain) const noexcept;
    /// Reports a try: the length that it proposes, and its work.
    void tried(bool accepted, double next, double work, double plain) noexcept;
    /// Reports the length for which a step was taken.
    void taken(double length) noexcept;
    /// Explicit steps come next: the weights have a kink.
    void leave() noexcept;
    /// Explicit steps are right, and as many of them come next as after many failures.
    void put_off() noexcept;

  private:
    bool is_stiff() const noexcept;

    double stiff_;
    double plain_ = 0.0;      // the length of an explicit step
    double stiffness_ = 0.0;  // that it belongs to; 0 if it is that of the state
    double next_ = 0.0;
    double gain_ = 10.0;  // a first guess, replaced by the first try
    double debt_ = 0.0;   // work that explicit steps have to do before the next try
    int pause_ = 0;
    int next_pause_ = 0;
    int tries_ = 0;
    bool active_ = false;
};

}  // namespace reluflow::layered
