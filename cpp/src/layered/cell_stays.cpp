/// Whether what is kept at zero stays there beside a direction: the part of CellSearch that asks all cells which touch
/// it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <utility>

#include "layered/cell_search.hpp"
#include "layered/rest_search.hpp"

namespace reluflow::layered {

bool CellSearch::all_stay() {
    return is_best_of_all(Vector::Zero(form_.velocity.size()), std::numeric_limits<int>::max());
}

bool CellSearch::stays(int group) {
    const Vector rest = Vector::Zero(form_.velocity.size());
    return !goes(group, rest);
}

bool CellSearch::rests(int group) {
    return rests(group, Vector::Zero(form_.velocity.size()));
}

// Adds the groups that do not stay beside a direction in which they are zero: those that have to leave, and those that
// may rest. What rested before is none of them if it does so still.
void CellSearch::sort_what_goes(const Vector& d, std::set<int>& leaving, std::set<int>& resting) {
    std::set<int> open;
    for (std::size_t a = 0; a < group_.size(); ++a)
        if (kept_[a] != 0) open.insert(group_[a]);
    for (const int group : open) {
        const bool moves = goes(group, d);
        if (gap_ != nullptr) return;
        if (!moves) continue;
        const Rest rest = rest_of(group);
        const bool may_rest = rest != Rest::never && rests(group, d);
        if (gap_ != nullptr && !is_one_enough_) return;
        gap_ = nullptr;  // it leaves in one way, whether it may rest in another
        if (!may_rest)
            leaving.insert(group);
        else if (rest == Rest::may)
            resting.insert(group);
    }
}

std::vector<char> CellSearch::kept_without(const std::set<int>& groups) const {
    std::vector<char> kept = kept_;
    for (std::size_t a = 0; a < group_.size(); ++a)
        if (groups.contains(group_[a])) kept[a] = 0;
    return kept;
}

Rest CellSearch::rest_of(int group) const {
    const auto a = std::ranges::find(group_, group) - group_.begin();
    return form_.rest.empty() ? Rest::never : form_.rest[static_cast<std::size_t>(a)];
}

// Whether a group does not stay beside a direction while all others that are kept do.
bool CellSearch::goes(int group, const Vector& d) {
    const std::vector<char> before = std::exchange(kept_, kept_without({group}));
    const bool stays = is_best_of_all(d, kMaxCells);
    kept_ = before;
    return !stays;
}

// Whether on one side of its boundary nothing moves a group, though nothing keeps it from moving there.
bool CellSearch::rests(int group, const Vector& d) {
    const std::vector<char> before = std::exchange(kept_, kept_without({group}));
    unbound_ = group;
    bool rests = false;
    if (std::ranges::count(group_, group) == 1) {
        for (const int side : {1, -1}) {
            unbound_side_ = side;
            rests = rests || (gap_ == nullptr && is_best_of_all(d, kMaxCells) && cells_seen_ > 0);
        }
        unbound_side_.reset();
    } else {
        rests = rests_on_a_side(d);
    }
    unbound_.reset();
    kept_ = before;
    return gap_ == nullptr && rests;
}

bool CellSearch::rests_on_a_side(const Vector& d) {
    near_ = &d;
    enumerate();
    near_ = nullptr;
    std::map<std::vector<int>, bool> sides;
    for (const Cell& cell : cells_) {
        std::vector<int> side;
        for (int a = 0; a < form_.count(); ++a)
            if (is_unbound(a)) side.push_back(cell.signs[a]);
        const auto known = sides.try_emplace(std::move(side), true).first;
        known->second = known->second && is_best(cell, d);
    }
    return std::ranges::any_of(sides, [](const auto& one) { return one.second; });
}

// Whether a direction is the best of all cells that touch it. A few proofs and a few cells come before many of them:
// where the one needs thousands the other may need ten.
bool CellSearch::is_best_of_all(const Vector& d, int most_cells) {
    if (one_by_one_ || unbound_) return is_best_of_cells(d, most_cells);
    RestSearch::Found found = look_beside(d, kFewProofs);
    if (found == RestSearch::Found::nothing) {
        const bool is_best = is_best_of_cells(d, std::min(kFewCells, most_cells));
        if (gap_ == nullptr) return is_best;
        found = look_beside(d, kMostProofs);
    }
    if (found == RestSearch::Found::nothing) return is_best_of_cells(d, most_cells);
    gap_ = nullptr;
    return found == RestSearch::Found::rests;
}

// The first cell of which it is not the best is enough.
bool CellSearch::is_best_of_cells(const Vector& d, int most_cells) {
    gap_ = nullptr;
    near_ = &d;
    most_cells_ = most_cells;
    asks_ = true;
    moves_ = false;
    cells_seen_ = 0;
    find_hinges();
    Cell cell;
    extend(cell);
    near_ = nullptr;
    asks_ = false;
    return !std::exchange(moves_, false) && gap_ == nullptr;
}

// What pulls show of it, as seen from the direction: what moves in it is linear there.
// `signs`: of the first places, where only such directions count.
RestSearch CellSearch::beside(const Vector& d, const std::vector<int>& signs, int most) const {
    LocalForm seen = form_;
    std::vector<int> open;
    std::vector<char> kept;
    std::vector<int> sides;
    for (int a = 0; a < seen.count(); ++a) {
        const double ahead = seen.normals.row(a).dot(d);
        if (kept_[a] == 0 && std::abs(ahead) > form_.rounding(d) * seen.normals.row(a).norm()) {
            seen.put_in(a, ahead > 0.0 ? 1 : -1);
            continue;
        }
        open.push_back(a);
        kept.push_back(kept_[a]);
        sides.push_back(kept_[a] == 0 && static_cast<std::size_t>(a) < signs.size() ? signs[a] : 0);
    }
    seen = seen.part(open);
    seen.velocity -= d;
    seen.elsewhere = std::hypot(form_.elsewhere, d.norm());
    return {seen, kept, std::move(sides), most, interrupt_};
}

RestSearch::Found CellSearch::look_beside(const Vector& d, int most) {
    RestSearch search = beside(d, {}, most);
    const RestSearch::Found found = search.search();
    if (found == RestSearch::Found::moves) lower_ = best_toward(d, search.direction());
    return found;
}

// The best direction of a cell that touches d and has what is a little farther along another one.
Vector CellSearch::best_toward(const Vector& d, const Vector& ahead) {
    find_hinges();
    Cell cell;
    for (int a = 0; a < form_.count(); ++a) {
        double size = 0.0;
        const Vector row = row_of(cell, a, size);
        const bool is_reached = row.norm() > kNoRow * size;
        const bool is_hinge = is_reached && may_be_hinge_[a] != 0;
        cell.rows.push_back(is_reached ? row : Vector::Zero(row.size()));
        cell.is_hinge.push_back(is_hinge ? 1 : 0);
        const double here = row.dot(d);
        const double rate = std::abs(here) > form_.rounding(d) * row.norm() ? here : row.dot(ahead);
        cell.signs.push_back(!is_reached || is_hinge ? 0 : rate >= 0.0 ? 1 : -1);
    }
    settle(cell);
    return cell.best;
}

}  // namespace reluflow::layered
