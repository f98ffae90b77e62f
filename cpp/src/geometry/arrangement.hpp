/// The cells that the hyperplanes x_i·w = 0 cut space into: each cell is one sign pattern of X and has an interior
/// point.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/observer.hpp"
#include "base/types.hpp"

namespace reluflow {

enum class ArrangementStatus { complete, over_limit, stopped, interrupted };

/// The name the bindings give to Python.
const char* name(ArrangementStatus status) noexcept;

struct ArrangementSettings {
    /// The run ends with over_limit at more cells than this. Memory stays below a few times this many cells.
    Index max_count;
};

struct ArrangementResult {
    /// Interior points, one row of `dim` numbers a cell, each of norm 1 (the zero vector if there is no hyperplane).
    std::vector<double> points;
    /// Signs of W Xᵀ, one row of n bytes a cell: 1 where x_i·w >= 0. A row x_i = 0 has 1 everywhere.
    std::vector<std::uint8_t> patterns;
    Index count = 0;
    ArrangementStatus status = ArrangementStatus::complete;
};

/// Called periodically with the number of cells found so far.
using ArrangementHook = std::function<Request(Index)>;

/// Enumerates every open cell of the central arrangement of the rows of X, exactly up to rounding: parallel rows are
/// one hyperplane, hyperplanes that are not in general position are recognised, and a cell thinner than about 1e-11
/// (the sine of its opening) counts as empty. By deletion and restriction: the cells that hyperplane i cuts are the
/// cells of hyperplanes 0..i-1 inside hyperplane i, one dimension lower, so no linear program is solved. Throws
/// InvalidArgument for an empty X.
ArrangementResult enumerate_cells(MatrixView X, const ArrangementSettings& settings, const ArrangementHook& hook);

/// The number of distinct hyperplanes: rows of zeros make none, parallel rows make one.
Index count_boundaries(MatrixView X);

}  // namespace reluflow
