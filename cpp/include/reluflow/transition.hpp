/// What a neuron does where it meets its walls: cross, hold, release, or branch (the complementarity problem of flow.md
/// §2).
#pragma once

#include <cstdint>
#include <vector>

#include "reluflow/pattern.hpp"
#include "reluflow/settings.hpp"
#include "reluflow/types.hpp"

namespace reluflow {

/// The walls Z that are zero for one neuron at one instant. In normal coordinates: with the Gram matrix K of the unit
/// normals, the rate of z_w is v = a (b + K c), where c_w = base_w + μ_w range_w is what the samples of the wall add to
/// the gradient when the neuron is on the side μ_w in [0, 1] (1: positive side).
struct Corner {
    double output = 0.0;              ///< a just after the instant (its sign is what counts)
    double rate_tol = 0.0;            ///< rates |b + K c| below this are zero
    std::vector<int> walls;           ///< indices, for messages and events
    std::vector<std::int8_t> before;  ///< sides before
    Matrix gram;                      ///< (k, k)
    Vector rest;                      ///< b: e_w · gradient of everything but Z
    Vector base, range;

    int size() const noexcept { return static_cast<int>(walls.size()); }
    void resize(int size);
};

/// One continuation: a side for every wall of the corner; held walls have their multiplier inside the box.
struct Continuation {
    std::vector<std::int8_t> side;
    Vector rates;  ///< b + K c: the rates over a
};

enum class Verdict { unique, branching, undecided };

/// Solves the corner. Keeps its workspace, so that repeated calls do not allocate.
class TransitionSolver {
  public:
    /// All continuations of the corner, in the order active, inactive, stay of the ridge walls. With `unique` there is
    /// one.
    Verdict decide(const Corner& corner);

    const std::vector<Continuation>& continuations() const noexcept { return found_; }
    /// The continuation a policy picks.
    int choose(BranchPolicy policy) const noexcept;

  private:
    bool is_dependent(const Corner& corner);
    bool solve_boxed(const Corner& corner);
    bool solve_free(const Corner& corner);
    void accept_if_consistent(const Corner& corner);
    void enumerate_ridges(const Corner& corner);
    void enumerate_plane(const Corner& corner);
    void try_plane_direction(const Corner& corner, double x, double y, int on_wall);
    void update_rates(const Corner& corner);
    void add_found(const Corner& corner);
    bool surrounds_zero();

    enum class Mode : std::uint8_t { lower, upper, free, pinned };  // pinned: a ridge wall held at zero rate
    bool dependent_ = false;
    std::vector<Mode> mode_;
    std::vector<int> ridges_, free_;
    Vector mu_, target_, c_, rates_, plane_x_, plane_y_;
    std::vector<double> factor_, right_, directions_;
    std::vector<Continuation> found_;
};

}  // namespace reluflow
