/// The directions in which a flow can go on from a point where pre-activations are zero, to first order.
///
/// They are the local minima of ½|d|² + L'(θ; d), which is piecewise quadratic and coercive, so that there is one
/// wherever boundaries meet. Places whose hinge is convex and feeds no other hinge enter one convex problem; the signs
/// of the others cut the directions into cells, which are enumerated from below upwards as far as they are not empty. A
/// direction is a minimum if it is that of every cell that touches it.
#pragma once

#include <vector>

#include "layered/local_model.hpp"
#include "numeric/box_least_squares.hpp"

namespace reluflow::layered {

/// One minimum: d in coordinates of what the normals span, and how the places of the model move.
struct Minimum {
    Vector direction;
    std::vector<int> signs;     ///< of x_a
    std::vector<char> is_held;  ///< x_a = 0 though something moves it: otherwise nothing reaches the place
    std::vector<double> rates;  ///< x_a
};

class LocalMinima {
  public:
    /// `group`: a number for places that stay zero together as long as they can, one a place; -1 for those that may go
    /// at once.
    LocalMinima(const LocalModel& model, std::vector<int> group);

    /// All local minima in which as many groups as can stay; none if the search did not end: gap() says why.
    std::vector<Minimum> find();
    const char* gap() const noexcept { return gap_; }
    /// True if no group from number `first` on moves, each looked at while all others stay. False, too, if there are
    /// too many cells.
    bool stays(int first);

  private:
    struct Cell {
        std::vector<int> signs;    // 0: a convex hinge, or nothing reaches the place
        std::vector<Vector> rows;  // x_a = rows[a]·d in the cell
        std::vector<char> is_hinge;
        Vector best;
        double size = 0.0;    // of the terms that add up to it
        double forces = 0.0;  // of what acts on it
    };
    void reduce();
    void measure();
    void enumerate();
    void find_hinges();
    void keep_all();
    bool free_what_goes(const Vector& d, int first);
    bool is_still_best(const Vector& d);
    bool feeds_others(int a) const;
    void extend(Cell& cell);
    void branch(Cell& cell, const Vector& row, double size);
    bool is_open(const Cell& cell);
    std::vector<Vector> span_of_kept(const Cell& cell) const;
    void settle(Cell& cell);
    double rounding(const Vector& d) const;
    bool is_same(const Vector& one, const Vector& other) const;
    bool is_best(const Cell& cell, const Vector& d) const;
    bool touches(const Cell& cell, const Vector& d) const;
    bool is_minimum(const Vector& d) const;
    Minimum describe(const Cell& cell, const Vector& d) const;

    const LocalModel& model_;
    Matrix normals_;  // in coordinates
    Vector velocity_;
    double scale_ = 0.0;
    std::vector<int> group_;
    std::vector<char> kept_, may_be_hinge_;
    const Vector* near_ = nullptr;  // only cells that touch it are looked for
    std::vector<Cell> cells_;
    const char* gap_ = nullptr;  // why the last search did not end
    BoxLeastSquares problem_;
};

}  // namespace reluflow::layered
