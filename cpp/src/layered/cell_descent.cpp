/// Some minima where there are too many cells to look at all: the part of CellSearch that goes downhill.
///
/// In a cell the loss to first order with ½|d|² is -½|d|² in its best direction, as the cell is a cone. From a
/// direction that is best of one cell another that touches it may lead further down, to a longer one; one that is best
/// of all cells that touch it is a minimum, whatever the others have. A minimum with little at rest touches few cells.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include "layered/cell_search.hpp"

namespace reluflow::layered {
namespace {

/// Each of them goes down, so that their number is finite; but for rounding, which this ends.
constexpr int kMostDescents = 1000;

}  // namespace

// What can go up goes up first, then down, as policies ask for both.
std::vector<CellMinimum> CellSearch::find_some() {
    std::vector<CellMinimum> found;
    keep_all();
    if (!one_by_one_) put_first_what_moves();
    is_one_enough_ = true;
    for (const int side : {1, -1}) {
        first_side_ = side;
        const std::optional<Vector> d = descend();
        if (!d) continue;
        const auto same = [&](const CellMinimum& known) { return form_.is_same(known.direction, *d); };
        if (std::ranges::none_of(found, same)) found.push_back(describe_at(*d));
    }
    first_side_ = 1;
    is_one_enough_ = false;
    gap_ = found.empty() ? kTooManyWays : nullptr;
    return found;
}

// A group that leaves beside a minimum is freed, and what is lower with it is looked for from there. What may rest
// does.
std::optional<Vector> CellSearch::descend() {
    keep_all();
    Vector d = Vector::Zero(form_.velocity.size());
    for (int step = 0; step < kMostDescents; ++step) {
        if (!is_best_of_all(d, kMaxCells)) {
            if (gap_ != nullptr) return {};
            d = lower_;
            continue;
        }
        std::set<int> leaving;
        std::set<int> resting;
        sort_what_goes(d, leaving, resting);
        if (gap_ != nullptr) return {};
        if (leaving.empty()) return d;
        kept_ = kept_without(leaving);
    }
    return {};
}

CellMinimum CellSearch::describe_at(const Vector& d) {
    find_hinges();
    near_ = &d;
    Cell cell;
    complete_at_rest(cell);
    near_ = nullptr;
    return describe(cell, d);
}

}  // namespace reluflow::layered
