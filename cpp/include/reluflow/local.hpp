/// Local events: one neuron taken through its walls inside a step, with a log that can be cut back.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "reluflow/expansion.hpp"
#include "reluflow/held.hpp"
#include "reluflow/hits.hpp"
#include "reluflow/network.hpp"
#include "reluflow/neuron.hpp"
#include "reluflow/pattern.hpp"
#include "reluflow/transition.hpp"

namespace reluflow {

/// One wall of one neuron changes its side at u (absolute in the step).
struct WallEvent {
    double u = 0.0;
    int neuron = -1;
    int wall = -1;
    std::int8_t before = 0;
    std::int8_t after = 0;
    EventKind kind = EventKind::hold;  ///< of a sample oriented like the wall
    int number = 0;                    ///< in the order of being found
};

/// The flow is not unique at u: the walls concerned, the sides each option gives them, the option taken.
struct BranchPoint {
    double u = 0.0;
    int neuron = -1;
    std::vector<int> walls;
    std::vector<std::vector<std::int8_t>> options;
    int chosen = 0;
};

/// Why a run cannot go on: the corner of one neuron has no decision (or the caller asked to stop at branch points).
struct Obstacle {
    bool present = false;
    bool is_branch = false;
    double u = 0.0;
    int neuron = -1;
    std::vector<int> walls;
};

/// Applies hits to the pattern and the held sets. Everything it does after some u can be undone.
class LocalEvents {
  public:
    LocalEvents(const Dataset& data, const NetworkState& state, BranchPolicy policy, NeuronMotion& motion,
                HitFinder& finder, Pattern& pattern, std::vector<HeldSet>& held, Index neurons);

    void begin_step(double largest_mean_norm);
    /// Nothing happens in the new step.
    void forget() noexcept;
    /// Takes the neuron through `hit` on its last piece. `candidates` are the walls it can reach in this step.
    /// False when the corner cannot be decided: the obstacle says why, and nothing was changed.
    bool apply(int neuron, const Hit& hit, std::span<const int> candidates);
    /// Decides the walls that are zero at the start of a run; precondition: the expansion has been started.
    bool apply_start(const Expansion& expansion, int neuron, bool pattern_was_given);

    /// Undoes what happened after u, and sorts the rest by time.
    void cut(double u);

    const std::vector<WallEvent>& events() const noexcept { return events_; }
    const std::vector<BranchPoint>& branches() const noexcept { return branches_; }
    const Obstacle& obstacle() const noexcept { return obstacle_; }

  private:
    bool release(int neuron, const Hit& hit);
    void collect_corner(int neuron, const Hit& hit, std::span<const int> candidates);
    void hold_what_was_held(int neuron);
    void fill_corner(int neuron, double u, const double* gradient, double output_sign);
    bool is_plain() const;
    bool decide(int neuron, double u, int& choice);
    bool decide_leaving(int neuron, double u, int& choice);
    void find_slopes(double u);
    int choose() const;
    bool is_preferred(std::span<const std::int8_t> sides, std::span<const std::int8_t> others) const;
    void commit_sides(int neuron, double u, std::span<const std::int8_t> sides, bool at_start, bool silent);
    void set_side(int neuron, int wall, double u, std::int8_t after, EventKind kind);
    void add_dependent(std::span<const std::int8_t> sides);
    void stand_on_corner();
    double output_sign_after(int piece, double u) const;
    bool rests(int neuron) const;

    const Dataset& data_;
    const NetworkState& state_;
    BranchPolicy policy_;
    NeuronMotion& motion_;
    HitFinder& finder_;
    Pattern& pattern_;
    std::vector<HeldSet>& held_;
    TransitionSolver solver_;
    Corner corner_, later_;
    std::vector<double> rest_slope_, below_slope_, above_slope_;
    HeldSet corner_set_;
    std::vector<WallEvent> events_;
    std::vector<BranchPoint> branches_;
    Obstacle obstacle_;
    std::vector<int> walls_, zero_sides_, all_walls_;
    Vector w_, gradient_, sines_;
    double a_ = 0.0;
    double largest_mean_norm_ = 0.0;
};

}  // namespace reluflow
