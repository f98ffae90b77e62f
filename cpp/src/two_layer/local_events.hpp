/// Local events: takes one neuron through its events inside a step, with a log that can be undone back to any time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "hybrid/transition.hpp"
#include "two_layer/expansion.hpp"
#include "two_layer/hits.hpp"
#include "two_layer/neuron_motion.hpp"
#include "two_layer/screening.hpp"

namespace reluflow {

/// One boundary of one neuron changes its side at u (absolute in the step).
struct BoundaryEvent {
    double u = 0.0;
    int neuron = -1;
    int boundary = -1;
    std::int8_t before = 0;
    std::int8_t after = 0;
    EventKind kind = EventKind::slide;  ///< of a sample oriented like the boundary
    int number = 0;                     ///< order in which it was found
};

/// What is known of the sides of neurons that stand on boundaries at the start of a run: nothing, a pattern, or that of
/// the run of which it is another leg.
enum class KnownSides { none, given, held };

/// The flow is not unique at u: the boundaries concerned, the sides each option gives them, the option taken.
struct BranchPoint {
    double u = 0.0;
    int neuron = -1;
    std::vector<int> boundaries;
    std::vector<std::vector<std::int8_t>> options;
    int chosen = 0;
};

/// Why a run cannot continue: no decision at simultaneous boundaries of a neuron, or a branch point where the caller
/// asked to stop.
struct UnresolvedEvent {
    bool present = false;
    bool is_branch = false;
    double u = 0.0;
    int neuron = -1;
    std::vector<int> boundaries;
};

/// Applies hits to the mode. Everything after any given u can be undone.
class LocalEvents {
  public:
    /// Reads the parameters of the state, and changes the mode of `neurons` neurons.
    LocalEvents(const Dataset& data, State& state, BranchPolicy policy, NeuronMotion& motion, HitFinder& finder,
                Screening& screening, Index neurons);

    void begin_step(double largest_mean_norm);
    /// Begins a step without events.
    void forget() noexcept;
    /// Takes the neuron through `hit` on its last piece. `candidates` are the boundaries it can reach in this step. If
    /// the continuation cannot be decided it returns false, sets unresolved() and changes nothing.
    bool apply(int neuron, const Hit& hit, std::span<const int> candidates);
    /// Decides the boundaries that are zero at the start of a run; precondition: the expansion has been started.
    bool apply_start(const Expansion& expansion, int neuron, KnownSides known);

    /// Undoes everything after u. The events that remain stay in the order in which they were found.
    void cut(double u);

    const std::vector<BoundaryEvent>& events() const noexcept { return events_; }
    const std::vector<BranchPoint>& branches() const noexcept { return branches_; }
    const UnresolvedEvent& unresolved() const noexcept { return unresolved_; }

  private:
    bool crosses(int neuron, const Hit& hit, std::span<const int> candidates);
    bool release(int neuron, const Hit& hit);
    void collect_corner(int neuron, const Hit& hit, std::span<const int> candidates);
    bool is_at_origin(int neuron, double u) const;
    void hold_what_was_held(int neuron);
    void fill_corner(int neuron, double u, const double* gradient, double output_sign);
    bool is_plain() const;
    bool decide(int neuron, double u, int& choice);
    bool decide_leaving(int neuron, const Hit& hit, int& choice);
    void look_beyond_turn(int neuron, double u);
    void look_ahead(double u, double way);
    double time_to_change(double u) const;
    int choose() const;
    bool is_preferred(std::span<const std::int8_t> sides, std::span<const std::int8_t> others) const;
    void commit_sides(int neuron, double u, std::span<const std::int8_t> sides, bool at_start, bool silent);
    void set_side(int neuron, int boundary, double u, std::int8_t after, EventKind kind);
    void add_boundaries_at_zero(int neuron, const Hit& hit, std::span<const int> candidates, bool collected);
    void add_dependent(int neuron, const Hit& hit);
    void stand_on_corner();
    void turn_output(int piece, const Hit& hit);
    double output_sign_after(int piece, double u) const;
    bool rests(int neuron) const;

    const Dataset& data_;
    const Parameters& parameters_;
    Mode& mode_;
    BranchPolicy policy_;
    NeuronMotion& motion_;
    HitFinder& finder_;
    Screening& screening_;
    TransitionSolver solver_;
    Corner corner_;
    SlidingSet corner_set_;
    std::vector<BoundaryEvent> events_;
    std::vector<BranchPoint> branches_;
    UnresolvedEvent unresolved_;
    std::vector<int> boundaries_, zero_sides_;
    std::vector<std::int8_t> no_sides_;  // zeros
    Vector w_, gradient_, sines_;
    double a_ = 0.0;
    double largest_mean_norm_ = 0.0;
};

}  // namespace reluflow
