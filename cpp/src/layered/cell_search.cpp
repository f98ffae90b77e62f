#include "layered/cell_search.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <numeric>
#include <utility>

namespace reluflow::layered {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// Searches with different groups kept at most.
constexpr std::size_t kMostSearches = 64;
/// Rows that positive weights take this close to zero have no direction in which all are positive.
constexpr double kClosed = 1e-7;
/// The sine of what is surely on a side.
constexpr double kInside = 1e-3;

}  // namespace

CellSearch::CellSearch(const LocalForm& form, Interrupt* interrupt, bool one_by_one)
    : interrupt_(interrupt),
      one_by_one_(one_by_one),
      full_(form.velocity.size()),
      form_(form.in_own_span(basis_)),
      group_(form.group),
      number_(form.group.size()) {
    std::iota(number_.begin(), number_.end(), 0);
    ends_.assign(group_.size(), BoxLeastSquares::Place::inside);
    keep_all();
}

void CellSearch::listen() const {
    if (interrupt_ != nullptr && interrupt_->is_wanted()) throw Abandoned{};
}

void CellSearch::keep_all() {
    kept_.clear();
    for (const int one : group_) kept_.push_back(one >= 0 ? 1 : 0);
}

bool CellSearch::feeds_others(int a) const {
    for (int b = a + 1; b < form_.count(); ++b)
        if (form_.through_h(b, a) != 0.0) return true;
    return false;
}

// Minima are looked for with groups kept at zero; a group that would go in one of them is freed for the next search.
// One that may rest there does so in one way, and is free in others.
std::vector<CellMinimum> CellSearch::find() {
    if (!one_by_one_) put_first_what_moves();
    std::vector<CellMinimum> all;
    std::vector<std::vector<char>> searches{kept_};
    const auto add_search = [&](std::vector<char> kept) {
        if (std::ranges::find(searches, kept) == searches.end()) searches.push_back(std::move(kept));
    };
    for (std::size_t k = 0; k < searches.size(); ++k) {
        kept_ = searches[k];
        std::vector<CellMinimum> found;
        find_minima(found);
        if (gap_ != nullptr) return {};
        std::set<int> leaving;
        std::set<int> resting;
        for (const CellMinimum& m : found) sort_what_goes(m.direction, leaving, resting);
        if (gap_ == nullptr && searches.size() > kMostSearches) gap_ = kTooManyWays;
        if (gap_ != nullptr) return {};
        if (!leaving.empty()) {
            add_search(kept_without(leaving));
            continue;
        }
        for (CellMinimum& m : found) {
            const auto same = [&](const CellMinimum& known) { return form_.is_same(known.direction, m.direction); };
            if (std::ranges::none_of(all, same)) all.push_back(std::move(m));
        }
        for (const int group : resting) add_search(kept_without({group}));
    }
    return all;
}

void CellSearch::find_minima(std::vector<CellMinimum>& found) {
    enumerate();
    if (gap_ != nullptr) return;
    const std::vector<Cell> cells = cells_;
    for (const Cell& one : cells) {
        const auto same = [&](const CellMinimum& m) { return form_.is_same(m.direction, one.best); };
        if (std::ranges::none_of(found, same) && is_minimum(one.best)) found.push_back(describe(one, one.best));
    }
    if (found.empty()) gap_ = kHiddenMinimum;
    sort_by_sides(found);
}

void CellSearch::enumerate() {
    cells_.clear();
    gap_ = nullptr;
    proofs_left_ = kMostProofs;
    find_hinges();
    Cell cell;
    extend(cell);
    for (Cell& one : cells_) {
        listen();
        if (!one.is_settled) settle(one);
    }
    std::erase_if(cells_, [](const Cell& one) { return one.size > kMostTerms * one.forces; });
    count_alike();
}

void CellSearch::find_hinges() {
    may_be_hinge_.clear();
    for (int a = 0; a < form_.count(); ++a)
        may_be_hinge_.push_back(kept_[a] != 0 || (!unbound_ && !feeds_others(a) && form_.beta[a] <= 0.0) ? 1 : 0);
}

// Adds the next place to a cell, from below upwards.
void CellSearch::extend(Cell& cell) {
    if (gap_ != nullptr || moves_) return;
    listen();
    const auto a = static_cast<int>(cell.rows.size());
    if (a == form_.count()) return finish(cell);
    if (Cell all = cell; !one_by_one_ && is_settled_at_rest(all)) return finish(all);
    double size = 0.0;
    const Vector row = row_of(cell, a, size);
    branch(cell, row, size);
}

void CellSearch::finish(Cell& cell) {
    if (asks_) {
        if (!cell.is_settled) settle(cell);
        if (cell.size > kMostTerms * cell.forces) return;
        moves_ = !is_best(cell, *near_);
        if (moves_) lower_ = cell.best;
        if (!moves_ && ++cells_seen_ > most_cells_) gap_ = kTooManyWays;
    } else if (std::ssize(cells_) >= tried_of(kMaxCells, form_.count())) {
        gap_ = kTooManyWays;
    } else {
        cells_.push_back(cell);
    }
}

void CellSearch::branch(Cell& cell, const Vector& row, double size) {
    const std::size_t a = cell.rows.size();
    const bool is_reached = row.norm() > kNoRow * size;
    const bool is_hinge = is_reached && may_be_hinge_[a] != 0;
    const double ahead = near_ != nullptr && is_reached ? row.dot(*near_) : 0.0;
    const double rest = near_ != nullptr ? form_.rounding(*near_) * row.norm() : 0.0;
    cell.rows.push_back(is_reached ? row : Vector::Zero(row.size()));
    cell.is_hinge.push_back(is_hinge ? 1 : 0);
    for (const int side : {first_side_, -first_side_}) {
        const bool splits = is_reached && !is_hinge;
        cell.signs.push_back(splits ? side : 0);
        const bool asked = !unbound_side_ || !is_unbound(static_cast<int>(a)) || side == *unbound_side_;
        const bool touches = asked && (std::abs(ahead) <= rest || ahead * side > 0.0);
        const Vector inside = cell.inside;
        if (!splits || (touches && (has_inside(cell, side) || is_open(cell)))) extend(cell);
        cell.inside = inside;
        cell.signs.pop_back();
        if (!splits) break;
    }
    cell.rows.pop_back();
    cell.is_hinge.pop_back();
}

// Whether some direction has all signs of the cell: no positive weights add up its rows to zero.
bool CellSearch::is_open(Cell& cell) {
    cell.inside.resize(0);
    std::vector<Vector> sides;
    for (std::size_t a = 0; a < cell.signs.size(); ++a)
        if (cell.signs[a] != 0) sides.push_back(cell.signs[a] * cell.rows[a].normalized());
    std::vector<Vector> basis;
    if (std::ranges::all_of(sides, [&](const Vector& row) { return add_direction(row, basis); })) return true;
    const auto rank = static_cast<int>(form_.velocity.size());
    problem_.resize(static_cast<int>(sides.size()), rank + 1);
    for (std::size_t k = 0; k < sides.size(); ++k) {
        double* vector = problem_.vector(static_cast<int>(k));
        for (int e = 0; e < rank; ++e) vector[e] = sides[k][e] * std::sqrt(0.5);
        vector[rank] = std::sqrt(0.5);
        problem_.set_interval(static_cast<int>(k), 0.0, kInfinity);
    }
    std::fill_n(problem_.offset(), rank, 0.0);
    problem_.offset()[rank] = -1.0;
    if (!problem_.solve(1.0)) return true;
    double rest = 0.0;
    for (int e = 0; e <= rank; ++e) rest += problem_.residual()[e] * problem_.residual()[e];
    if (std::sqrt(rest) <= kClosed) return false;
    cell.inside = Eigen::Map<const Vector>(problem_.residual(), rank);
    return true;
}

// Whether the direction that is known to have the signs before has this one, too.
bool CellSearch::has_inside(Cell& cell, int side) const {
    if (cell.inside.size() == 0) return false;
    const Vector& row = cell.rows.back();
    return side * row.dot(cell.inside) > kInside * row.norm() * cell.inside.norm();
}

// What the rows of the places that stay span: directions are orthogonal to it.
std::vector<Vector> CellSearch::span_of_kept(const Cell& cell) const {
    std::vector<Vector> basis;
    for (int a = 0; a < form_.count(); ++a)
        if (kept_[a] != 0 && cell.is_hinge[a] != 0) add_direction(cell.rows[a], basis);
    return basis;
}

// What the rows of the group that goes where it is moved span beside those of the places that stay: what else moves in
// this span goes with it.
std::vector<Vector> CellSearch::span_of_unbound(const Cell& cell, const std::vector<Vector>& kept) const {
    std::vector<Vector> basis;
    for (std::size_t a = 0; a < group_.size() && unbound_; ++a) {
        if (group_[a] != *unbound_) continue;
        Vector row = cell.rows[a];
        take_away(kept, row);
        if (row.norm() > kDependentRow * cell.rows[a].norm()) add_direction(row, basis);
    }
    return basis;
}

// The best direction of a cell: the least |velocity + Σ μ_a row_a| with μ between its bounds, or of one sign where the
// cell has a side.
void CellSearch::settle(Cell& cell) {
    const auto rank = static_cast<int>(form_.velocity.size());
    const std::vector<Vector> kept = span_of_kept(cell);
    Vector offset = form_.velocity;
    cell.forces = form_.scale;
    const std::vector<Vector> unbound = span_of_unbound(cell, kept);
    std::vector<int> used;
    std::vector<Vector> rows;
    for (int a = 0; a < form_.count(); ++a) {
        if (kept_[a] != 0 || (cell.signs[a] == 0 && cell.is_hinge[a] == 0)) continue;
        const double slope = cell.signs[a] > 0 ? 1.0 : cell.signs[a] < 0 ? form_.leak[a] : 0.0;
        offset += (slope * form_.beta[a] + form_.gamma[a]) * cell.rows[a];
        cell.forces += (std::abs(form_.beta[a]) + std::abs(form_.gamma[a])) * cell.rows[a].norm();
        Vector row = cell.rows[a];
        take_away(kept, row);
        if (row.norm() <= kDependentRow * cell.rows[a].norm()) continue;
        Vector beside = row;
        take_away(unbound, beside);
        if (!unbound.empty() && beside.norm() <= kDependentRow * row.norm()) continue;
        used.push_back(a);
        rows.push_back(std::move(row));
    }
    take_away(kept, offset);
    problem_.resize(static_cast<int>(used.size()), rank);
    for (std::size_t k = 0; k < used.size(); ++k) {
        const int a = used[k];
        const double length = rows[k].norm();
        const double turn = cell.is_hinge[a] != 0 ? 1.0 : cell.signs[a];
        for (int e = 0; e < rank; ++e) problem_.vector(static_cast<int>(k))[e] = turn * rows[k][e] / length;
        if (cell.is_hinge[a] != 0)
            problem_.set_interval(static_cast<int>(k), form_.beta[a] * length, form_.leak[a] * form_.beta[a] * length);
        else
            problem_.set_interval(static_cast<int>(k), 0.0, kInfinity);
    }
    std::copy_n(offset.data(), rank, problem_.offset());
    if (!problem_.solve(form_.scale)) gap_ = kNoEnd;
    cell.best = Eigen::Map<const Vector>(problem_.residual(), rank);
    cell.size = offset.norm();
    for (std::size_t k = 0; k < used.size(); ++k) cell.size += std::abs(problem_.coefficient(static_cast<int>(k)));
    if (cell.best.norm() <= kSameDirection * kActingRounding * cell.size)
        cell.best.setZero();  // rounding of terms that cancel
}

// Terms that nearly depend on each other cancel, and their sum has the rounding of them.
bool CellSearch::is_best(const Cell& cell, const Vector& d) const {
    return (cell.best - d).norm() <= kSameDirection * (form_.rounding(d) + kActingRounding * cell.size);
}

// The first place on whose other side d is; -1 if there is none.
int CellSearch::first_beyond(const Cell& cell, const Vector& d) const {
    for (std::size_t a = 0; a < cell.signs.size(); ++a)
        if (cell.signs[a] != 0 && cell.signs[a] * cell.rows[a].dot(d) < -form_.rounding(d) * cell.rows[a].norm())
            return static_cast<int>(a);
    return -1;
}

// Cells come in the order of their signs: those that begin alike have the same rows there, and follow each other.
void CellSearch::count_alike() {
    for (std::size_t i = cells_.size(); i-- > 0;) {
        Cell& cell = cells_[i];
        cell.next.assign(cell.signs.size(), i + 1);
        if (i + 1 == cells_.size()) continue;
        const Cell& after = cells_[i + 1];
        for (std::size_t a = 0; a < cell.signs.size() && cell.signs[a] == after.signs[a]; ++a)
            cell.next[a] = after.next[a];
    }
}

bool CellSearch::is_minimum(const Vector& d) const {
    listen();
    for (std::size_t i = 0; i < cells_.size();) {
        const int beyond = first_beyond(cells_[i], d);
        if (beyond < 0 && !is_best(cells_[i], d)) return false;
        i = beyond < 0 ? i + 1 : cells_[i].next[beyond];
    }
    return true;
}

CellMinimum CellSearch::describe(const Cell& cell, const Vector& d) const {
    CellMinimum found;
    found.direction = d;
    found.change.setZero(full_);
    found.signs.assign(group_.size(), 0);
    found.rates.assign(group_.size(), 0.0);
    for (Index k = 0; k < d.size(); ++k) found.change += (d[k] - form_.velocity[k]) * basis_[k];
    for (int a = 0; a < form_.count(); ++a) {
        const double rate = cell.rows[a].dot(d);
        const double length = cell.rows[a].norm();
        const bool moves = kept_[a] == 0 && std::abs(rate) > form_.rounding(d) * length;
        found.signs[number_[a]] = moves ? (rate > 0.0 ? 1 : -1) : 0;
        found.rates[number_[a]] = moves ? rate : 0.0;
    }
    return found;
}

}  // namespace reluflow::layered
