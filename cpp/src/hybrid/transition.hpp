/// What a neuron does where it meets its boundaries: cross, hold, release, or branch (docs/design/corners.md).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/types.hpp"
#include "hybrid/pattern.hpp"
#include "numeric/box_least_squares.hpp"

namespace reluflow {

/// The boundaries Z that are zero for one neuron at one instant, in orthonormal coordinates of their span: unit normals
/// e_w, independent or not. The samples of a boundary pull with c_w e_w: c_w is `below` on its negative side, `above`
/// on its positive side, and anything in between while the neuron stays on the boundary. The rate of w·e is sign (rest
/// + Σ c e)·e.
struct Corner {
    double sign = 1.0;    ///< of the output weight just after the instant
    double weight = 0.0;  ///< Σ p_i |x_i| of what acts and is not of Z: the rounding of `rest` is relative to it
    int rank = 0;
    std::vector<int> walls;           ///< indices, for messages and events
    std::vector<std::int8_t> before;  ///< sides before
    std::vector<double> normals;      ///< (size, rank)
    std::vector<double> rest;         ///< pull of everything but Z
    std::vector<double> below, above;

    int size() const noexcept { return static_cast<int>(walls.size()); }
    const double* normal(int i) const noexcept { return normals.data() + i * rank; }
    double* normal(int i) noexcept { return normals.data() + i * rank; }
    /// The strength of the kink: negative, attracting (the pull grows against the motion); positive, repelling.
    double kink(int i) const noexcept { return sign * (above[i] - below[i]); }
    /// Kinks below this are none.
    double kink_tol() const noexcept;
    bool repels(int i) const noexcept { return kink(i) > kink_tol(); }
    bool attracts(int i) const noexcept { return kink(i) < -kink_tol(); }
    /// Standard vectors: a smaller corner after a larger one allocates nothing.
    void resize(int size, int rank_of_span);
};

/// One way on: a side for every boundary of the corner, 0 where the neuron stays on it.
struct Continuation {
    std::vector<std::int8_t> sides;
    /// Stands on a repelling boundary that it could leave at once.
    bool stands_on_ridge = false;
};

enum class Verdict { unique, branching, undecided };

/// Finds every continuation of a corner: velocities v = sign (rest + Σ c e) with c_w at its end where v·e_w is not
/// zero, and with a pull in the hull of the cells beside the point where boundaries stay at zero. Keeps its workspace.
///
/// Attracting boundaries alone: a bounded least-squares problem, always one solution. With the side of every repelling
/// boundary given it is that again; a search over those sides leaves out what cannot be, because the solution moves by
/// no more than the pulls that it depends on.
class TransitionSolver {
  public:
    Verdict decide(const Corner& corner);
    /// Memory for corners of up to `walls` boundaries.
    void reserve(int walls);

    std::span<const Continuation> continuations() const noexcept { return {found_.data(), found_count_}; }
    /// True when the search was too long to list every continuation; those that are listed are right.
    bool is_cut_short() const noexcept { return cut_short_; }

  private:
    /// What the search has chosen for a boundary. `open`: not yet; its pull is the middle, give or take half its kink.
    enum class Choice : std::uint8_t { below, above, pinned, open };

    void search();
    void search_standing();
    void climb();
    bool fit();
    double leeway();
    bool absorbs(double& reach);
    bool is_ruled_out(double radius) const;
    int widest_open() const;
    void read_sides();
    void accept();
    bool is_stable();
    bool stays_whatever();
    bool can_stay(double tolerance);
    bool is_in_hull(double tolerance) const;
    void add_found(bool stands_on_ridge);

    const Corner* corner_ = nullptr;
    BoxLeastSquares box_;
    std::vector<Choice> choice_;  // of every boundary; of attracting ones `open`
    std::vector<int> repelling_;
    std::vector<int> forced_;       // choices that the velocity made, last ones last
    std::vector<double> outside_;   // of every repelling boundary, the part of its normal that nothing inside absorbs
    std::vector<double> absorbed_;  // half kinks that vectors inside have to absorb
    std::vector<double> split_;
    std::vector<std::int8_t> sides_;
    std::vector<std::vector<std::int8_t>> rejected_;
    int nodes_ = 0;
    bool cut_short_ = false;
    std::vector<Continuation> found_;  // the first found_count_ of them; the others are kept for their memory
    std::size_t found_count_ = 0;
};

}  // namespace reluflow
