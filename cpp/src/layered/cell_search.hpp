/// The directions in which a flow can go on from a point where pre-activations are zero, to first order.
///
/// They are the local minima of ½|d|² + L'(θ; d), which is piecewise quadratic and coercive, so that there is one
/// wherever boundaries meet. Places whose hinge is convex and feeds no other hinge enter one convex problem; the signs
/// of the others cut the directions into cells, which are enumerated from below upwards as far as they are not empty. A
/// direction is a minimum if it is that of every cell that touches it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <vector>

#include "base/interrupt.hpp"
#include "layered/local_form.hpp"
#include "layered/rest_search.hpp"
#include "numeric/box_least_squares.hpp"

namespace reluflow::layered {

/// One minimum: d in coordinates of what the normals span, and how the places of the form move.
struct CellMinimum {
    Vector direction;
    Vector change;              ///< of the velocity, to d
    std::vector<int> signs;     ///< of x_a
    std::vector<double> rates;  ///< x_a
};

/// Why a search did not end.
inline constexpr const char* kTooManyWays = "there are more ways to go on than are looked at";
inline constexpr const char* kNoEnd = "rounding kept the search for the best way to go on from its end";
inline constexpr const char* kHiddenMinimum = "rounding hides which of the ways to go on is best";

/// How many of `most` are tried at a point where so many places are zero: beyond 40 the work of each grows with the
/// square of their number.
inline int tried_of(int most, int places) noexcept {
    constexpr int kUsual = 40;
    const double part = static_cast<double>(kUsual) / std::max(places, kUsual);
    return static_cast<int>(part * part * most);
}

class CellSearch {
  public:
    /// Searches throw Abandoned if `interrupt`, which may be null, wants it. `one_by_one`: never settles many cells as
    /// one, which changes nothing but the time.
    CellSearch(const LocalForm& form, Interrupt* interrupt, bool one_by_one = false);

    /// All local minima in which as many groups as can stay, with what may rest at rest and without; none if the search
    /// did not end: gap() says why.
    std::vector<CellMinimum> find();
    const char* gap() const noexcept { return gap_; }
    /// Some of them, where there are too many to look at all; none if none was found.
    std::vector<CellMinimum> find_some();
    /// True if a group does not move while all others stay. False, too, if there are too many cells.
    bool stays(int group);
    /// True if nothing moves a group on one side of its boundaries while all others stay.
    bool rests(int group);
    /// True if nothing moves, where nothing is kept.
    bool all_stay();

  private:
    /// Cells of one point at most.
    static constexpr int kMaxCells = 6000;
    /// And where proofs may be cheaper than cells.
    static constexpr int kFewCells = 100;
    /// Proofs that are tried of one direction, some tenths of a second, and of all cells that begin alike, or first.
    static constexpr int kMostProofs = 1000;
    static constexpr int kFewProofs = 30;
    /// A row below this part of its terms is their rounding.
    static constexpr double kNoRow = 1e-10;
    /// Multipliers that are so many times the forces of their cell are those of a cell that is closed all but for
    /// rounding. Its directions are on the rims of others, which tell of them.
    static constexpr double kMostTerms = 1e6;

    struct Cell {
        std::vector<int> signs;    // 0: a convex hinge, or nothing reaches the place
        std::vector<Vector> rows;  // x_a = rows[a]·d in the cell
        std::vector<char> is_hinge;
        Vector best;
        double size = 0.0;              // of the terms that add up to it
        double forces = 0.0;            // of what acts on it
        std::vector<std::size_t> next;  // the first cell behind it that has other signs up to a place
        Vector inside;                  // a direction that has its signs, if one is known
        bool is_settled = false;        // and stands for all that begin alike: what has no sign is at zero in `best`
    };
    void listen() const;
    void enumerate();
    void count_alike();
    void find_hinges();
    void keep_all();
    void find_minima(std::vector<CellMinimum>& found);
    std::optional<Vector> descend();
    CellMinimum describe_at(const Vector& d);
    void sort_what_goes(const Vector& d, std::set<int>& leaving, std::set<int>& resting);
    std::vector<char> kept_without(const std::set<int>& groups) const;
    Rest rest_of(int group) const;
    bool goes(int group, const Vector& d);
    bool rests(int group, const Vector& d);
    bool rests_on_a_side(const Vector& d);
    bool is_best_of_all(const Vector& d, int most_cells);
    bool is_best_of_cells(const Vector& d, int most_cells);
    RestSearch beside(const Vector& d, const std::vector<int>& signs, int most) const;
    RestSearch::Found look_beside(const Vector& d, int most);
    bool is_proved_at_rest(const Cell& all, std::size_t known);
    Vector best_toward(const Vector& d, const Vector& ahead);
    bool feeds_others(int a) const;
    void extend(Cell& cell);
    void branch(Cell& cell, const Vector& row, double size);
    void finish(Cell& cell);
    bool is_open(Cell& cell);
    bool has_inside(Cell& cell, int side) const;
    std::vector<Vector> span_of_kept(const Cell& cell) const;
    std::vector<Vector> span_of_unbound(const Cell& cell, const std::vector<Vector>& kept) const;
    void settle(Cell& cell);
    Vector row_of(const Cell& cell, int a, double& size) const;
    bool is_unbound(int a) const;
    bool is_open_at(const Cell& all, int a) const;
    bool complete_at_rest(Cell& cell) const;
    bool is_unbound_apart() const;
    bool is_settled_at_rest(Cell& cell);
    bool solve_at_rest(const Cell& all, const std::vector<int>& used, const Vector& offset, const Vector* above);
    bool rests_in(const Cell& all, const Vector& d) const;
    bool are_within_bounds(const Cell& all, std::size_t known, const Vector& own, Vector& above);
    Vector force_at_rest(Cell& all, std::size_t known, std::vector<int>& used) const;
    Vector pulls_at_rest(Cell& all, const std::vector<int>& used, const Vector& offset) const;
    void put_first_what_moves();
    void sort_by_sides(std::vector<CellMinimum>& found) const;
    void reorder(const std::vector<int>& order);
    bool is_best(const Cell& cell, const Vector& d) const;
    int first_beyond(const Cell& cell, const Vector& d) const;
    bool is_minimum(const Vector& d) const;
    CellMinimum describe(const Cell& cell, const Vector& d) const;

    Interrupt* interrupt_;
    bool one_by_one_;
    Index full_;                 // coordinates of the form as given
    std::vector<Vector> basis_;  // of what the normals span
    LocalForm form_;             // in these coordinates
    std::vector<int> group_;
    std::vector<int> number_;  // of the places as given
    std::vector<char> kept_, may_be_hinge_;
    std::optional<int> unbound_;       // goes where it is moved, whatever the sides of its cell
    std::optional<int> unbound_side_;  // of it, if known before the sides below
    const Vector* near_ = nullptr;     // only cells that touch it are looked for
    std::vector<Cell> cells_;
    const char* gap_ = nullptr;   // why the last search did not end
    bool asks_ = false;           // whether a direction is best of all cells
    bool moves_ = false;          // and the answer
    Vector lower_;                // if not: that of the first cell which has another
    int first_side_ = 1;          // which sides are looked at first
    bool is_one_enough_ = false;  // what may leave or rest need not be known to rest
    int proofs_left_ = 0;         // by which cells may be settled as one
    bool repels_ = false;         // whether what is open would be repelled
    int cells_seen_ = 0, most_cells_ = 0;
    BoxLeastSquares problem_;
    std::vector<BoxLeastSquares::Place> ends_;  // of multipliers, where cells are settled as one
};

}  // namespace reluflow::layered
