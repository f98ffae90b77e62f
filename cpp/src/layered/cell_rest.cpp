/// Many cells at once: the part of CellSearch that tells that all cells which begin alike have one best direction, in
/// which whatever has no sign yet stays at zero.
///
/// Let Φ(d) = ½|d|² - v·d - Σ_a (β_a ψ(x_a) + γ_a x_a), and let pulls π_a be given from above downwards, with
/// B_a = β_a + Σ_c W_ca π_c and S_a = γ_a + Σ_c G_ca π_c of the readers c of a:
///
///     a side s:             π_a = slope B_a + S_a + λ s,  λ >= 0
///     kept:                 π_a is any number
///     attracts, or is open: π_a = p + S_a,                B_a <= p <= leak B_a
///
/// Then B_a ψ(x) + S_a x <= π_a x wherever the sides are as given and what is kept is zero: in the third case ψ is the
/// larger of x and leak x, and B_a <= 0. Put in from above downwards, place by place, Φ(d) >= ½|d|² - d*·d with
/// d* = v + Σ π_a n_a, which is -½|d*|² at the least, and more than that beside d*. If d* is in a cell and all holds
/// with equality there, as it does where a multiplier of an open place, of a side or within bounds belongs to a place
/// that d* has at zero, Φ(d*) = -½|d*|²: d* is the best direction of that cell. It is in all cells if no open place
/// moves in it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "layered/cell_search.hpp"

namespace reluflow::layered {
namespace {

using End = BoxLeastSquares::Place;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
/// A side costs one problem, and so does a look at all of fewer open places.
constexpr int kFewestOpen = 2;
/// Bounds of pulls depend on pulls above, which the problem with these bounds changes if they are not unique.
constexpr int kMostRounds = 4;
/// Directions that are likely to be a minimum, each from the one before.
constexpr int kMostLikely = 8;

}  // namespace

// What a place reads in a cell, and the size of its terms.
Vector CellSearch::row_of(const Cell& cell, int a, double& size) const {
    Vector row = form_.normals.row(a).transpose();
    size = row.norm();
    for (int b = 0; b < a; ++b) {
        const double slope = cell.signs[b] > 0 ? 1.0 : cell.signs[b] < 0 ? form_.leak[b] : 0.0;
        const double passed = form_.through_h(a, b) * slope + form_.through_z(a, b);
        if (passed == 0.0) continue;
        row += passed * cell.rows[b];
        size += std::abs(passed) * cell.rows[b].norm();
    }
    return row;
}

bool CellSearch::is_unbound(int a) const {
    return unbound_ && group_[a] == *unbound_;
}

// The rest of a cell, where what has no sign yet is at zero; in near cells it has the sign that it moves to.
bool CellSearch::complete_at_rest(Cell& cell) const {
    int open = 0;
    for (auto a = static_cast<int>(cell.rows.size()); a < form_.count(); ++a) {
        double size = 0.0;
        const Vector row = row_of(cell, a, size);
        const bool is_reached = row.norm() > kNoRow * size;
        cell.rows.push_back(is_reached ? row : Vector::Zero(row.size()));
        cell.is_hinge.push_back(is_reached && may_be_hinge_[a] != 0 ? 1 : 0);
        cell.signs.push_back(0);
        if (may_be_hinge_[a] != 0) continue;
        if (is_unbound(a)) {
            if (!unbound_side_ || !is_reached) return false;
            cell.signs.back() = *unbound_side_;
            continue;
        }
        if (near_ != nullptr && is_reached) {
            const double ahead = row.dot(*near_);
            if (std::abs(ahead) > form_.rounding(*near_) * row.norm()) cell.signs.back() = ahead > 0.0 ? 1 : -1;
        }
        if (cell.signs.back() == 0) ++open;
    }
    return open >= kFewestOpen;
}

// Rows of what reads open places differ from cell to cell, and none that is in the span of what is kept and what goes
// where it is moved has a multiplier. If the latter is in the span of no other normals, and nothing reads it, such rows
// are in the span of what is kept, where a multiplier changes nothing.
bool CellSearch::is_unbound_apart() const {
    std::vector<Vector> basis;
    for (int a = 0; a < form_.count(); ++a)
        if (!is_unbound(a) && !form_.normals.row(a).isZero(0.0)) add_direction(form_.normals.row(a).transpose(), basis);
    for (int a = 0; a < form_.count(); ++a) {
        if (!is_unbound(a)) continue;
        if (!form_.through_h.col(a).isZero(0.0) || !form_.through_z.col(a).isZero(0.0)) return false;
        Vector row = form_.normals.row(a).transpose();
        take_away(basis, row);
        if (row.norm() <= kDependentRow * form_.normals.row(a).norm() || !add_direction(row, basis)) return false;
    }
    return true;
}

// What acts on a cell that has been completed; `used`: the places with a multiplier.
Vector CellSearch::force_at_rest(Cell& all, std::size_t known, std::vector<int>& used) const {
    for (int a = 0; a < form_.count(); ++a) {
        const bool has_side = all.signs[a] != 0 && static_cast<std::size_t>(a) < known && !is_unbound(a);
        if (!all.rows[a].isZero(0.0) && (all.signs[a] == 0 || has_side)) used.push_back(a);
    }
    Vector offset = form_.velocity;
    all.forces = form_.scale;
    for (int a = 0; a < form_.count(); ++a) {
        if (kept_[a] != 0) continue;
        const double slope = all.signs[a] > 0 ? 1.0 : all.signs[a] < 0 ? form_.leak[a] : 0.0;
        offset += (slope * form_.beta[a] + form_.gamma[a]) * all.rows[a];
        all.forces += (std::abs(form_.beta[a]) + std::abs(form_.gamma[a])) * all.rows[a].norm();
    }
    return offset;
}

// Whether all cells that begin like `cell` have one best direction, in which what is open is at zero; then they are
// settled as one.
bool CellSearch::is_settled_at_rest(Cell& cell) {
    const std::size_t known = cell.rows.size();
    Cell all = cell;
    if (!complete_at_rest(all) || (unbound_ && !is_unbound_apart())) return false;
    std::vector<int> used;
    const Vector offset = force_at_rest(all, known, used);
    Vector above = form_.beta;
    for (int round = 0; round < kMostRounds; ++round) {
        if (!solve_at_rest(all, used, offset, round == 0 ? nullptr : &above)) return false;
        const Vector found = Eigen::Map<const Vector>(problem_.residual(), offset.size());
        const Vector pulls = pulls_at_rest(all, used, offset);
        if (all.size > kMostTerms * all.forces) return false;
        if (round == 0) {
            all.best = found;
            if (all.best.norm() <= kSameDirection * kActingRounding * all.size) all.best.setZero();
        } else if (!is_best(all, found)) {
            return false;
        }
        if (are_within_bounds(all, known, pulls, above)) {
            if (!rests_in(all, all.best)) return false;
            all.is_settled = true;
            cell = std::move(all);
            return true;
        }
        if (repels_) break;
    }
    if (!is_proved_at_rest(all, known)) return false;
    all.is_settled = true;
    cell = std::move(all);
    return true;
}

// The same by proofs for both sides of single places, where pulls for all are none.
bool CellSearch::is_proved_at_rest(const Cell& all, std::size_t known) {
    if (near_ != nullptr || unbound_ || proofs_left_ <= 0 || !rests_in(all, all.best)) return false;
    const std::vector<int> signs(all.signs.begin(), all.signs.begin() + static_cast<std::ptrdiff_t>(known));
    RestSearch search = beside(all.best, signs, std::min(kFewProofs, proofs_left_));
    const RestSearch::Found found = search.search();
    proofs_left_ -= search.looks();
    return found == RestSearch::Found::rests;
}

// The best direction with the multipliers of open places between bounds by what pulls from above, or with any.
// It starts from the ends of the intervals that the last one had.
bool CellSearch::solve_at_rest(const Cell& all, const std::vector<int>& used, const Vector& offset,
                               const Vector* above) {
    const auto rank = static_cast<int>(offset.size());
    problem_.resize(static_cast<int>(used.size()), rank);
    for (std::size_t k = 0; k < used.size(); ++k) {
        const int a = used[k];
        const auto w = static_cast<int>(k);
        const double length = all.rows[a].norm();
        const double turn = all.signs[a] < 0 ? -1.0 : 1.0;
        for (int e = 0; e < rank; ++e) problem_.vector(w)[e] = turn * all.rows[a][e] / length;
        if (kept_[a] != 0 || (is_open_at(all, a) && above == nullptr)) {
            problem_.set_interval(w, -kInfinity, kInfinity);
            problem_.set_place(w, End::inside);
        } else if (all.signs[a] != 0) {
            problem_.set_interval(w, 0.0, kInfinity);
            problem_.set_place(w, ends_[a] == End::low ? End::low : End::inside);
        } else {
            const double most = std::min(above == nullptr ? form_.beta[a] : (*above)[a], 0.0) * length;
            problem_.set_interval(w, most, form_.leak[a] * most);
            problem_.set_place(w, ends_[a]);
        }
    }
    std::copy_n(offset.data(), rank, problem_.offset());
    if (!problem_.solve(form_.scale)) return false;
    for (std::size_t k = 0; k < used.size(); ++k) ends_[used[k]] = problem_.place(static_cast<int>(k));
    return true;
}

// The multipliers that were found, and the size of the terms of the best direction.
Vector CellSearch::pulls_at_rest(Cell& all, const std::vector<int>& used, const Vector& offset) const {
    Vector pulls = Vector::Zero(form_.count());
    all.size = offset.norm();
    for (std::size_t k = 0; k < used.size(); ++k) {
        const int a = used[k];
        const double c = problem_.coefficient(static_cast<int>(k));
        all.size += std::abs(c);
        pulls[a] = (all.signs[a] < 0 ? -c : c) / all.rows[a].norm();
    }
    return pulls;
}

bool CellSearch::is_open_at(const Cell& all, int a) const {
    return all.signs[a] == 0 && may_be_hinge_[a] == 0;
}

bool CellSearch::rests_in(const Cell& all, const Vector& d) const {
    for (int a = 0; a < form_.count(); ++a) {
        const double length = all.rows[a].norm();
        if (is_open_at(all, a) && std::abs(all.rows[a].dot(d)) > form_.rounding(d) * length) return false;
    }
    return first_beyond(all, d) < 0;
}

// Whether all pulls are as they have to be; `above`: B.
bool CellSearch::are_within_bounds(const Cell& all, std::size_t known, const Vector& own, Vector& above) {
    Vector pulls = Vector::Zero(form_.count());
    const double hidden = kSameDirection * kActingRounding * (form_.scale + all.size);
    bool all_within = true;
    repels_ = false;
    for (int a = form_.count() - 1; a >= 0; --a) {
        double skip = kept_[a] != 0 ? 0.0 : form_.gamma[a];
        above[a] = form_.beta[a];
        for (int c = a + 1; c < form_.count(); ++c) {
            above[a] += form_.through_h(c, a) * pulls[c];
            skip += form_.through_z(c, a) * pulls[c];
        }
        const double length = all.rows[a].norm();
        if (kept_[a] != 0) {
            pulls[a] = own[a] + skip;
        } else if (static_cast<std::size_t>(a) < known && length == 0.0) {
            pulls[a] = skip;  // it is zero whatever the others do
        } else if (all.signs[a] != 0) {
            pulls[a] = (all.signs[a] > 0 ? 1.0 : form_.leak[a]) * above[a] + skip + own[a];
        } else {
            const double pull = length > 0.0 ? own[a] : form_.leak[a] * above[a];
            const double slack = length > 0.0 ? hidden / length : 0.0;
            repels_ = repels_ || above[a] > slack;
            all_within = all_within && !repels_ && pull >= above[a] - slack && pull <= form_.leak[a] * above[a] + slack;
            pulls[a] = pull + skip;
        }
    }
    return all_within;
}

// What moves in a direction that is likely to be a minimum, with what it reads, comes first: with the sides of that
// given, all else is settled as one. A likely direction is that which all pulls give that follow from the last one.
void CellSearch::put_first_what_moves() {
    std::vector<char> first(group_.size(), 0);
    Vector d;
    near_ = nullptr;
    for (int round = 0; round < kMostLikely; ++round) {
        const std::vector<char> before = first;
        find_hinges();
        Cell all;
        if (!complete_at_rest(all) && round == 0) return;
        std::vector<int> used;
        const Vector offset = force_at_rest(all, 0, used);
        Vector above = form_.beta;
        if (!solve_at_rest(all, used, offset, nullptr)) break;
        are_within_bounds(all, 0, pulls_at_rest(all, used, offset), above);
        if (!solve_at_rest(all, used, offset, &above)) break;
        d = Eigen::Map<const Vector>(problem_.residual(), offset.size());
        near_ = &d;
        for (int a = 0; a < form_.count(); ++a) {
            const bool moves = std::abs(all.rows[a].dot(d)) > form_.rounding(d) * all.rows[a].norm();
            if (may_be_hinge_[a] == 0 && moves) first[a] = 1;
        }
        if (first == before) break;
    }
    near_ = nullptr;
    for (int a = form_.count() - 1; a >= 0; --a)
        for (int b = 0; b < a && first[a] != 0; ++b)
            if (form_.through_h(a, b) != 0.0 || form_.through_z(a, b) != 0.0) first[b] = 1;
    std::vector<int> order;
    for (const char one : {char{1}, char{0}})
        for (int a = 0; a < form_.count(); ++a)
            if (first[a] == one) order.push_back(a);
    reorder(order);
}

// Minima come in the order of the first cells that touch them, in the order of places as given.
void CellSearch::sort_by_sides(std::vector<CellMinimum>& found) const {
    std::vector<char> splits(group_.size());
    for (std::size_t a = 0; a < splits.size(); ++a) splits[number_[a]] = may_be_hinge_[a] == 0 ? 1 : 0;
    std::ranges::stable_sort(found, [&](const CellMinimum& one, const CellMinimum& other) {
        for (std::size_t a = 0; a < splits.size(); ++a)
            if (splits[a] != 0 && (one.signs[a] < 0) != (other.signs[a] < 0)) return other.signs[a] < 0;
        return false;
    });
}

void CellSearch::reorder(const std::vector<int>& order) {
    const double elsewhere = form_.elsewhere;
    form_ = form_.part(order);
    form_.elsewhere = elsewhere;
    const auto put = [&](auto& all) {
        auto before = all;
        for (std::size_t k = 0; k < order.size(); ++k) all[k] = before[order[k]];
    };
    put(group_);
    put(kept_);
    put(number_);
}

}  // namespace reluflow::layered
