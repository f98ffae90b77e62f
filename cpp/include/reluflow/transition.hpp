/// What a neuron does where it meets its walls: cross, hold, release, or branch (the complementarity problem of flow.md
/// §2).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
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
    std::vector<double> rest;         ///< b: e_w · gradient of everything but Z
    std::vector<double> base, range;

    int size() const noexcept { return static_cast<int>(walls.size()); }
    double gram(int i, int j) const noexcept { return products[i * size() + j]; }
    double& gram(int i, int j) noexcept { return products[i * size() + j]; }
    /// Standard vectors: a smaller corner after a larger one allocates nothing.
    void resize(int size);

    std::vector<double> products;  ///< K, row by row
};

/// One continuation: a side for every wall of the corner; held walls have their multiplier inside the box.
using Sides = std::vector<std::int8_t>;

enum class Verdict { unique, branching, undecided };

/// Solves the corner. Keeps its workspace, so that repeated calls do not allocate.
class TransitionSolver {
  public:
    /// All continuations of the corner, in the order active, inactive, stay of the ridge walls. With `unique` there is
    /// one.
    Verdict decide(const Corner& corner);
    /// Memory for corners of up to `walls` walls.
    void reserve(int walls);

    std::span<const Sides> continuations() const noexcept { return {found_.data(), found_count_}; }
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
    std::vector<double> mu_, target_, c_, rates_, plane_x_, plane_y_;
    std::vector<double> factor_, right_, directions_;
    std::vector<std::pair<double, int>> rays_;
    std::vector<Sides> found_;  // the first found_count_ of them; the others are kept for their memory
    std::size_t found_count_ = 0;
};

}  // namespace reluflow
