/// The lines in which planes through zero meet, in so few dimensions that these are few.
#pragma once

#include <algorithm>

#include "base/tolerances.hpp"
#include "base/types.hpp"

namespace reluflow {

/// k planes meet in k² / 2 lines in space, and in far more beyond.
inline constexpr int kMostLineDimensions = 3;

/// With zeros where there are fewer dimensions than three.
using Direction = Eigen::Vector3d;

inline Direction padded(const double* vector, int rank) noexcept {
    Direction out = Direction::Zero();
    std::copy_n(vector, rank, out.data());
    return out;
}

/// Whether `is_wanted` of the unit vector of any line, one of its two. Unit normals (count, rank), rank at most
/// kMostLineDimensions; a pair of planes at a sine below kRankTol counts as one.
template <class Test>
bool any_line(const double* normals, int count, int rank, const Test& is_wanted) {
    if (rank == 1) return is_wanted(Direction::UnitX());
    for (int w = 0; w < count; ++w) {
        const Direction first = padded(normals + w * rank, rank);
        if (rank == 2 && is_wanted(Direction(-first[1], first[0], 0.0))) return true;
        for (int other = 0; rank == 3 && other < w; ++other) {
            const Direction line = first.cross(padded(normals + other * rank, rank));
            const double length = line.norm();
            if (length > kRankTol && is_wanted(Direction(line / length))) return true;
        }
    }
    return false;
}

}  // namespace reluflow
