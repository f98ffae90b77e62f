/// What a neuron does where it meets its boundaries: cross, slide, leave, or branch (docs/design/corners.md).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "geometry/line_search.hpp"
#include "hybrid/pattern.hpp"
#include "numeric/box_least_squares.hpp"

namespace reluflow {

/// The boundaries Z on which one neuron is zero at one instant, in orthonormal coordinates of their span: unit normals
/// e_w, independent or not. The samples of a boundary add c_w e_w to the gradient: c_w is `below` on its negative side,
/// `above` on its positive side, and anything in between while the neuron stays on it. The rate of w·e is sign (rest +
/// Σ c e)·e.
struct Corner {
    double sign = 1.0;    ///< of the output weight just after the instant
    double weight = 0.0;  ///< Σ p_i |x_i| of what acts and is not of Z: scale of the rounding of `rest`
    int rank = 0;
    std::vector<int> boundaries;      ///< indices, for messages and events
    std::vector<std::int8_t> before;  ///< sides before
    Numbers normals;                  ///< (size, rank), rows
    Numbers rest;                     ///< the gradient without the contributions of Z
    Numbers below, above;
    /// Sides on which a way out is known to lie, 0 where it is along the boundary; empty when none is known. Where not
    /// all continuations can be listed, it is tried first.
    std::vector<std::int8_t> towards;

    int size() const noexcept { return static_cast<int>(boundaries.size()); }
    const double* normal(int i) const noexcept { return normals.data() + i * rank; }
    double* normal(int i) noexcept { return normals.data() + i * rank; }
    /// The strength of the kink: negative for an attracting boundary, positive for a repelling one.
    double kink(int i) const noexcept { return sign * (above[i] - below[i]); }
    /// Kinks below this are rounding: the boundary is then neither attracting nor repelling.
    double kink_tol() const noexcept;
    bool repels(int i) const noexcept { return kink(i) > kink_tol(); }
    bool attracts(int i) const noexcept { return kink(i) < -kink_tol(); }
    /// Resizes all arrays; their memory is kept, so a smaller problem after a larger one allocates nothing.
    void resize(int size, int rank_of_span);
    bool operator==(const Corner&) const = default;
};

/// One continuation: a side for every boundary, 0 where the neuron stays on it.
struct Continuation {
    std::vector<std::int8_t> sides;
    /// True if it stays on a repelling boundary that it could leave at once.
    bool stands_on_ridge = false;
};

enum class Verdict { unique, branching, undecided };

/// Finds every continuation at simultaneous boundaries: velocities v = sign (rest + Σ c e) with c_w at its bound where
/// v·e_w is not zero, and with a gradient in the convex hull of those of the adjacent cells where boundaries stay at
/// zero. Keeps its workspace.
/// If all boundaries attract this is a box least-squares problem with one solution. With a side given for every
/// repelling boundary it is one again. The search over those sides discards choices by a bound: the solution moves by
/// no more than the contributions that it depends on. Where the cells of the repelling boundaries are fewer than what
/// it has looked at, these are tried one by one.
/// The last long search for each sign of the output weight is kept: neurons that start at w = 0 stand at one corner.
class TransitionSolver {
  public:
    Verdict decide(const Corner& corner);
    /// Reserves memory for up to `boundaries` boundaries.
    void reserve(int boundaries);

    std::span<const Continuation> continuations() const noexcept { return {found_.data(), found_count_}; }
    /// True when the search was too long to list every continuation; those listed are right.
    bool is_cut_short() const noexcept { return cut_short_; }

  private:
    /// The search stops after this many least-squares problems, some tenths of a second; the list is then incomplete.
    static constexpr int kMostNodes = 20000;
    /// Up to this many repelling boundaries, continuations that stay on some of them are listed too: 3^7 = 2187
    /// choices.
    static constexpr std::size_t kMostStood = 7;

    /// What the search has chosen for a boundary. `open`: nothing yet; its contribution is the middle of its interval,
    /// with half its kink as uncertainty. `pinned`: the neuron stays on it.
    enum class Choice : std::uint8_t { below, above, pinned, open };

    struct Decision {
        Corner corner;
        std::vector<Continuation> found;
        bool cut_short = false;
    };

    void find_all();
    void search();
    int count_cells() const;
    bool list_by_cells();
    void search_standing();
    void stand_on_all();
    void climb();
    bool climb_on();
    void choose_towards(const Numbers& along);
    void pull(Numbers& along) const;
    bool leaves() const;
    bool touches() const;
    bool fit();
    double leeway();
    bool absorbs(double& reach);
    bool is_ruled_out(double radius) const;
    int widest_open() const;
    bool has_no_way_out();
    bool look_for_way_out(double surely);
    void read_sides();
    void accept();
    bool is_stable();
    bool stays_whatever();
    bool can_stay(double tolerance);
    bool is_in_hull(double tolerance) const;
    void add_found(bool stands_on_ridge);

    const Corner* corner_ = nullptr;
    BoxLeastSquares box_;
    std::vector<Choice> choice_;  // of every boundary; attracting ones are `open`
    std::vector<int> repelling_;
    std::vector<int> forced_;  // sides that the velocity decided, in order
    Numbers outside_;          // of repelling boundaries: part of the normal outside the span of those inside
    Numbers absorbed_;         // half kinks that the boundaries inside have to absorb
    Numbers split_;
    std::vector<std::int8_t> sides_;
    std::vector<std::vector<std::int8_t>> rejected_;
    bool goes_on_ = false;  // the next fit of a long search begins where the last one ended
    int nodes_ = 0;
    int most_nodes_ = kMostNodes;
    bool has_way_out_ = false;  // known, if has_no_way_out() has looked
    LineSearch lines_;
    Numbers way_out_;  // a direction, if it has
    bool cut_short_ = false;
    std::vector<Continuation> found_;  // the first found_count_ are valid; the others keep memory
    std::size_t found_count_ = 0;
    std::array<Decision, 2> kept_;
};

}  // namespace reluflow
