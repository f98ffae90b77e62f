/// Where a pull that is linear between planes through zero is positive: on one of the lines in which they meet.
#pragma once

#include <functional>
#include <vector>

#include "base/types.hpp"

namespace reluflow {

/// A boundary at so small a sine to a line is along it, as in the tableau of a basis.
inline constexpr double kAlong = 1e-9;
/// And by rounding below this one: it pulls nowhere along the line, however large its weight. Others do: a copy at
/// 1e-12 that was left out made pulls of 1e-12 where there were none, and they decide when a neuron leaves.
inline constexpr double kOnLine = 1e-14;

/// The pull F(v) = rest·v + Σ (`above` or `below`)(e·v) of boundaries with normals e, on whose sides they have these
/// contributions. A boundary with above > below is repelling: F has a bend upwards across it.
///
/// Where those that do not repel span the space, F is positive somewhere only if it is on a line in which they meet.
/// For N(v) = Σ |e·v| over them is a norm; let λ > 0 be the largest F / N. Then F - λN is zero at most, and it is on
/// faces of all boundaries, hence on a line in which boundaries meet. If those of this line that do not repel left a
/// way to go from it, a function with bends upwards alone had its maximum there. Where they do not span the space,
/// F(v) + F(-v) > 0 at right angles to all of them.
class LineSearch {
  public:
    /// What is done with a unit vector along which the pull is above a threshold, both ways of a line each by itself;
    /// true ends the search.
    using Visit = std::function<bool(const double* way)>;

    /// Sets the sizes; all numbers have to be set anew.
    void resize(int count, int rank);
    void set_rest(const double* rest);
    void set_boundary(int w, const double* normal, bool repels);
    /// The contributions times the sign of the output weight.
    void set_pulls(int w, double below, double above) noexcept;

    /// How many numbers look_at_all() adds up: boundaries times lines.
    double cost() const noexcept;
    /// Whether these are few enough, some tenths of a second.
    bool can_look_at_all() const noexcept;
    /// Visits all ways along lines with a pull above the threshold, or a direction at right angles to the boundaries
    /// that do not repel. True if a visit was.
    bool look_at_all(double threshold, const Visit& visit);
    /// The same for what it sees on the way uphill from a direction, from each line to the best of those that share all
    /// its boundaries but one. Uphill is where F / Σ |e·v| over repelling boundaries is larger: between these it has
    /// one maximum only, which F / |v| has not where it is negative. There may be others in other cells.
    bool climb_from(const double* way, double threshold, const Visit& visit);
    /// Where climb_from() ended; empty if it saw no lines.
    const Vector& top() const noexcept { return top_; }
    /// The largest pull that the last search saw; of all lines, if it was look_at_all() and no visit ended it.
    double largest() const noexcept { return largest_; }
    /// What rounding does to pulls.
    double rounding() const noexcept;

  private:
    /// The normals and the rest in coordinates of the subspace along some boundaries, and the reflection that led there
    /// from the level above.
    struct Level {
        Eigen::MatrixXd normals;
        Vector rest;
        Vector mirror;
    };

    int dimensions(int depth) const noexcept { return rank_ - depth; }
    bool enter(int depth, int boundary);
    int widest(int depth, bool repelling) const noexcept;
    bool look_along(int depth, int first);
    bool look_at_line(int depth, int boundary);
    bool look_at(int depth, const Vector& direction);
    Vector lifted(int depth, Vector way) const;
    bool visit(int depth, const Vector& direction, double side);
    bool spans_lines();
    bool look_across();
    bool find_line(const double* way);
    bool look_beside(std::size_t dropped, std::vector<int>& best);
    void begin(double threshold, const Visit& visit);

    int count_ = 0;
    int rank_ = 0;
    int spanned_ = 0;  // levels down to which boundaries that do not repel lead
    double threshold_ = 0.0;
    double largest_ = 0.0;
    double highest_ = 0.0;  // of what the search uphill makes larger
    bool climbs_ = false;
    const Visit* visit_ = nullptr;
    std::vector<char> repels_;
    Vector middle_, half_;  // of the two contributions
    Vector weights_;        // what pulls are divided by uphill, of each |e·v|
    std::vector<Level> levels_;
    std::vector<int> line_;  // the boundaries of a line
    Vector across_, dots_, direction_, top_;
};

}  // namespace reluflow
