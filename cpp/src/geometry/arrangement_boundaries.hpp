/// Inside `arrangement`: unit normals of distinct hyperplanes, and their restriction to one hyperplane.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace reluflow::detail {

/// Rounding of a unit normal that was computed from the caller's row by one normalisation.
inline constexpr double kUnitRounding = 4e-16;
/// Normals closer than this many of their own rounding errors are one hyperplane. Data that lie on a common plane by
/// construction miss it by tens of rounding errors; random data of a thousand rows have angles above 1e-6.
inline constexpr double kSameBoundary = 1e4;
/// A point of norm 1 counts as inside a cell if its distance from every hyperplane exceeds this. It is above the
/// distance of rows that count as one hyperplane, 2 kSameBoundary kUnitRounding, so that such rows agree on which side
/// the point is.
inline constexpr double kInside = 1e-11;

/// Unit normals of distinct hyperplanes through the origin, each with a bound of its rounding error.
struct Boundaries {
    Matrix normals;  // (n, dim), rows of norm 1
    std::vector<double> error;

    Index size() const { return normals.rows(); }
    Index dim() const { return normals.cols(); }
};

/// The distinct hyperplanes of the rows of X; rows of zeros make no hyperplane.
Boundaries distinct_boundaries(const MatrixView& X);

/// The reflection I - 2 vvᵀ that takes the unit vector x to ± e_0. `v` has norm 1.
Vector reflector(const Vector& x);

/// Hyperplanes 0..i-1 restricted to hyperplane i, in the coordinates 1..dim-1 after the reflection `v`; those with one
/// intersection are merged.
Boundaries restricted(const Boundaries& boundaries, Index i, const Vector& v);

}  // namespace reluflow::detail
