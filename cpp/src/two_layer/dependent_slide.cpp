#include "two_layer/dependent_slide.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"

namespace reluflow {

namespace {

/// Entries of the tableau below this are rounding: such a vector has no part in that row.
constexpr double kPivotTol = 1e-9;
/// Pivots that one case may take, per boundary; it needs a few.
constexpr int kPivotsPerBoundary = 8;
/// Repelling boundaries that are split one after the other, and cases in all, some hundredths of a second.
constexpr int kMostSplits = 24;
constexpr int kMostCases = 200;
/// Up to so many repelling boundaries their sides are few cases.
constexpr int kFewSides = 4;
/// Lines are looked at before cases where so many numbers have to be added up, some thousandths of a second.
constexpr double kFewNumbers = 1e7;
/// In so few dimensions they always are.
constexpr Index kFewDimensions = 3;

/// Coefficients up to the first that is more than rounding are zero.
void drop_noise(double* c, int order, double noise) noexcept {
    for (int k = 0; k <= order && std::abs(c[k]) <= noise; ++k) c[k] = 0.0;
}

std::int8_t side_of(double rate, double noise) noexcept {
    return std::abs(rate) <= noise ? std::int8_t{0} : static_cast<std::int8_t>(rate > 0.0 ? 1 : -1);
}

}  // namespace

void WayOut::tell(Corner& corner) const {
    if (sides.empty()) return;
    corner.towards.assign(corner.boundaries.size(), 0);
    for (std::size_t i = 0; i < corner.towards.size(); ++i) {
        const auto found = std::find(boundaries.begin(), boundaries.end(), corner.boundaries[i]);
        if (found != boundaries.end()) corner.towards[i] = sides[static_cast<std::size_t>(found - boundaries.begin())];
    }
}

Leave DependentSlide::first_leave(int piece, double end, const SlidingSet& held, bool output_positive, double weight) {
    weight_ = weight;
    unknown_ = 2.0 * motion_.acting_error(weight);
    piece_ = piece;
    read(piece, held, output_positive);
    way_out_.boundaries = set_;
    way_out_.sides.clear();
    for (double begin = motion_.piece(piece).begin;;) {
        const double length = end - begin;
        first_ = {};
        close();
        Basis basis;
        classify(basis, output_positive);
        if (!settle(basis)) {
            leave_by_pull(0.0);
            first_.u = first_.seen = begin;
            return first_;
        }
        const double turned = first_change_of_kink(length);
        if (turned < length) first_ = {turned, set_.front(), 0, kUnknownJump, turned};  // and no way out is known
        const double closed = first_to_close(length);
        follow_all(std::move(basis), std::min({length, turned, closed}));
        if (first_.u <= std::min(length, closed)) {
            first_.u += begin;
            first_.seen += begin;
            return first_;
        }
        if (closed >= length) return {};
        go_on_from(closed);
        begin += closed;
    }
}

void DependentSlide::follow_all(Basis basis, double end) {
    bound_changes(end);
    const bool few_sides = std::count(attracts_.begin(), attracts_.end(), 0) <= kFewSides;
    if (!few_sides) {
        pose_lines(0.0, 1.0);
        if (is_known_to_stay()) return;
        if (has_few_lines()) return follow_lines(end);
    }
    cases_ = 0;
    is_partial_ = false;
    follow(std::move(basis), end, 0);
    if (!is_partial_ || stands_) return;
    pose_lines(0.0, 1.0);
    if (lines_.can_look_at_all())
        follow_lines(end);
    else
        follow_uphill(end);
}

bool DependentSlide::has_few_lines() const {
    return rest_.cols() <= kFewDimensions || lines_.cost() <= kFewNumbers;
}

/// The set, its pulls and what they have to take up, as series about the begin of the piece.
void DependentSlide::read(int piece, const SlidingSet& held, bool output_positive) {
    order_ = motion_.order() - 1;
    set_.assign(held.boundaries().begin(), held.boundaries().end());
    set_.insert(set_.end(), held.dependent().begin(), held.dependent().end());
    const auto count = static_cast<Index>(set_.size());
    const Index rank = held.size();
    normals_.resize(count, rank);
    below_.resize(count, order_ + 1);
    above_.resize(count, order_ + 1);
    kinks_.resize(count, order_ + 1);
    rest_.resize(order_ + 1, rank);
    attracts_.assign(set_.size(), 1);
    rises_.assign(set_.size(), 1);
    closes_.assign(set_.size(), 0);
    sign_ = output_positive ? 1.0 : -1.0;
    const double begin = motion_.piece(piece).begin;
    Coefficients below{};
    Coefficients above{};
    for (Index w = 0; w < count; ++w) {
        held.coordinates(motion_.data().normals().row(set_[w]).data(), normals_.row(w).data());
        motion_.contribution_series(set_[w], begin, below, above);
        for (int k = 0; k <= order_; ++k) {
            below_(w, k) = below[k];
            above_(w, k) = above[k];
            kinks_(w, k) = sign_ * (above[k] - below[k]);
        }
    }
    for (int k = 0; k <= order_; ++k) held.coordinates(motion_.g(piece) + k * motion_.rank(), rest_.row(k).data());
}

/// Which boundaries attract. Repelling ones are open at first.
void DependentSlide::classify(Basis& basis, bool output_positive) {
    const double kink_noise = kCornerUlps * std::numeric_limits<double>::epsilon() * weight_;
    for (Index w = 0; w < kinks_.rows(); ++w) {
        drop_noise(kinks_.row(w).data(), order_, kink_noise);
        const double* kink = kinks_.row(w).data();
        const double* leading = std::find_if(kink, kink + order_ + 1, [](double c) { return c != 0.0; });
        const auto sign = signs_.of(set_[w]);
        const bool repels = leading != kink + order_ + 1 && (sign ? sign_ * *sign : *leading) > 0.0;
        if (!repels) kinks_.row(w) *= -1.0;
        attracts_[static_cast<std::size_t>(w)] = stands_ || !repels;
        rises_[static_cast<std::size_t>(w)] = repels == output_positive;
    }
    basis.places.assign(set_.size(), Place::open);
}

/// Poses the least pull at the instant from which the basis is to hold, with repelling boundaries at the sides that
/// they have in it, open ones in the middle.
void DependentSlide::pose(const Basis& basis) {
    const auto count = static_cast<int>(set_.size());
    const auto rank = static_cast<int>(rest_.cols());
    box_.resize(count, rank);
    for (int x = 0; x < rank; ++x) {
        double sum = 0.0;
        for (int k = order_; k >= 0; --k) sum = sum * basis.from + rest_(k, x);
        box_.offset()[x] = sum;
    }
    for (int w = 0; w < count; ++w) {
        const Place place = basis.places[static_cast<std::size_t>(w)];
        const double below = evaluate(below_.row(w).data(), order_, basis.from);
        const double above = evaluate(above_.row(w).data(), order_, basis.from);
        const double fixed = place == Place::below ? below : (place == Place::above ? above : 0.5 * (below + above));
        std::copy_n(normals_.row(w).data(), rank, box_.vector(w));
        box_.set_interval(w, attracts(w) ? std::min(below, above) : fixed,
                          attracts(w) ? std::max(below, above) : fixed);
        box_.set_place(w, attracts(w) ? BoxLeastSquares::Place::inside : BoxLeastSquares::Place::low);
    }
}

/// A basis at `basis.from`: the multipliers of the least pull, and independent boundaries at an end of their interval.
/// False when the boundaries cannot take up the pull there.
bool DependentSlide::settle(Basis& basis) {
    const auto count = static_cast<int>(set_.size());
    const auto rank = static_cast<int>(rest_.cols());
    pose(basis);
    const bool solved = box_.solve(weight_);
    noise_ = box_.tolerance();
    for (int w = 0; w < count; ++w)
        if (std::abs(box_.rate(w)) > noise_ + unknown_) return false;
    if (!solved) return false;
    std::vector<int> order(box_.inside());
    for (const bool wanted : {true, false})
        for (int w = 0; w < count; ++w)
            if (attracts(w) == wanted && box_.place(w) != BoxLeastSquares::Place::inside) order.push_back(w);
    SlidingSet independent(rank, rank);
    independent.assign(order, normals_);
    basis.boundaries.assign(independent.boundaries().begin(), independent.boundaries().end());
    for (int w = 0; w < count; ++w) {
        const bool at_high = box_.place(w) == BoxLeastSquares::Place::high;
        if (attracts(w)) basis.places[static_cast<std::size_t>(w)] = at_high == rises(w) ? Place::above : Place::below;
    }
    for (const int w : basis.boundaries) basis.places[static_cast<std::size_t>(w)] = Place::basic;
    return static_cast<int>(basis.boundaries.size()) == rank;
}

double DependentSlide::pull(const Basis& basis, int w, int k) const {
    switch (basis.places[static_cast<std::size_t>(w)]) {
        case Place::below: return below_(w, k);
        case Place::above: return above_(w, k);
        default: return 0.5 * (below_(w, k) + above_(w, k));
    }
}

/// The multipliers of the basis as series.
void DependentSlide::solve(const Basis& basis) {
    const auto rank = static_cast<Index>(basis.boundaries.size());
    Matrix vectors(rank, rank);
    for (Index i = 0; i < rank; ++i)
        vectors.col(i) = normals_.row(basis.boundaries[static_cast<std::size_t>(i)]).transpose();
    inverse_ = vectors.partialPivLu().inverse();
    tableau_ = inverse_ * normals_.transpose();
    multipliers_.resize(rank, order_ + 1);
    Vector need(rank);
    for (int k = 0; k <= order_; ++k) {
        need = -rest_.row(k).transpose();
        for (int w = 0; w < static_cast<int>(set_.size()); ++w)
            if (basis.places[static_cast<std::size_t>(w)] != Place::basic)
                need -= pull(basis, w, k) * normals_.row(w).transpose();
        multipliers_.col(k) = inverse_ * need;
    }
}

/// When the multiplier of a row comes to an end of its interval, whatever the open pulls are.
DependentSlide::End DependentSlide::find_end(const Basis& basis, int row, bool above, double end) const {
    const int boundary = basis.boundaries[static_cast<std::size_t>(row)];
    const Matrix& bound = above ? above_ : below_;
    const double sign = rises(boundary) == above ? 1.0 : -1.0;
    Coefficients gap{};
    for (int k = 0; k <= order_; ++k) gap[k] = sign * (bound(boundary, k) - multipliers_(row, k));
    bool is_open = false;
    for (int w = 0; w < static_cast<int>(set_.size()); ++w) {
        if (basis.places[static_cast<std::size_t>(w)] != Place::open) continue;
        const double share = std::abs(tableau_(row, w));
        if (share <= kPivotTol) continue;
        is_open = true;
        for (int k = 0; k <= order_; ++k) gap[k] -= share * 0.5 * kinks_(w, k);
    }
    if (basis.from > 0.0) shift_origin(gap, order_, basis.from);
    const double known_to = noise_ * (1.0 + inverse_.row(row).lpNorm<1>()) + unknown_ * inverse_.row(row).norm();
    if (is_open && gap[0] < -known_to)  // one of the sides may ask for more than it has already
        return {basis.from, row, above, kUnknownJump, basis.from};
    const double length = end - basis.from;
    const auto [root, seen, rests] = known_fall(gap, order_, known_to, length);
    if (root == kNoRoot || is_taken_back(motion_, piece_, gap, order_, known_to, length)) return {};
    return {basis.from + root, row, above, jump_on_leaving(gap, order_, root), basis.from + seen};
}

DependentSlide::End DependentSlide::first_end(const Basis& basis, double end) {
    End first;
    for (int row = 0; row < static_cast<int>(basis.boundaries.size()); ++row)
        for (const bool above : {false, true}) {
            const End found = find_end(basis, row, above, end);
            if (found.u < first.u && found.u <= end) first = found;
        }
    return first;
}

/// A boundary that can take the part of the one at its end; -1 when there is none.
int DependentSlide::entering(const Basis& basis, const End& end) const {
    const int leaving = basis.boundaries[static_cast<std::size_t>(end.row)];
    const double outwards = rises(leaving) == end.above ? 1.0 : -1.0;
    int found = -1;
    double largest = kPivotTol;
    for (int w = 0; w < static_cast<int>(set_.size()); ++w) {
        const Place place = basis.places[static_cast<std::size_t>(w)];
        if (place == Place::basic || place == Place::open || !attracts(w) || kinks_.row(w).isZero(0.0)) continue;
        const double inwards = (place == Place::above) == rises(w) ? -1.0 : 1.0;
        const double share = tableau_(end.row, w) * inwards * outwards;
        if (share <= largest) continue;
        largest = share;
        found = w;
    }
    return found;
}

/// The open boundary on which it depends most whether this end is met; -1 when there is none.
int DependentSlide::splitting(const Basis& basis, const End& end) const {
    int found = -1;
    double largest = 0.0;
    for (int w = 0; w < static_cast<int>(set_.size()); ++w) {
        if (basis.places[static_cast<std::size_t>(w)] != Place::open || std::abs(tableau_(end.row, w)) <= kPivotTol)
            continue;
        const double share = std::abs(tableau_(end.row, w)) * std::abs(above_(w, 0) - below_(w, 0));
        if (share < largest) continue;
        largest = share;
        found = w;
    }
    return found;
}

/// With a repelling boundary at either side. The basis is chosen anew: with the boundary at a side, several multipliers
/// may be beyond their ends.
void DependentSlide::follow_sides(Basis basis, int split, double end, int depth) {
    for (const Place side : {Place::below, Place::above}) {
        basis.places[static_cast<std::size_t>(split)] = side;
        Basis chosen;
        chosen.from = basis.from;
        chosen.places = basis.places;
        for (int w = 0; w < static_cast<int>(set_.size()); ++w)
            if (chosen.places[static_cast<std::size_t>(w)] == Place::basic)
                chosen.places[static_cast<std::size_t>(w)] = Place::open;
        if (settle(chosen)) {
            follow(std::move(chosen), end, depth);
        } else if (chosen.from < first_.u) {
            leave_by_pull(chosen.from);
        }
    }
}

/// Leaves where the boundaries cannot take up the pull that the last settle() posed: by what is left of it.
void DependentSlide::leave_by_pull(double u) {
    first_ = {u, set_.front(), 0, kUnknownJump, u};
    way_out_.sides.resize(set_.size());
    for (int w = 0; w < static_cast<int>(set_.size()); ++w)
        way_out_.sides[static_cast<std::size_t>(w)] = side_of(sign_ * box_.rate(w), noise_);
}

/// Leaves through a facet of the zonotope, at right angles to it: along all boundaries of the basis but one.
void DependentSlide::leave_by_facet(const End& end, int leaving) {
    const std::int8_t side = end.above ? 1 : -1;
    first_ = {end.u, set_[static_cast<std::size_t>(leaving)], side, end.jump, end.seen};
    way_out_.sides.resize(set_.size());
    for (int w = 0; w < static_cast<int>(set_.size()); ++w)
        way_out_.sides[static_cast<std::size_t>(w)] = side_of(side * tableau_(end.row, w), kPivotTol);
}

void DependentSlide::follow(Basis basis, double end, int depth) {
    ++cases_;
    const int pivots = kPivotsPerBoundary * static_cast<int>(set_.size());
    for (int pivot = 0; pivot <= pivots; ++pivot) {
        solve(basis);
        const End next = first_end(basis, end);
        if (next.u >= first_.u || next.row < 0) return;
        basis.from = next.u;
        if (const int split = splitting(basis, next); split >= 0) {
            is_partial_ = is_partial_ || depth >= kMostSplits || cases_ >= kMostCases;
            if (!is_partial_) follow_sides(basis, split, end, depth + 1);
            return;
        }
        const int leaving = basis.boundaries[static_cast<std::size_t>(next.row)];
        const int taking = entering(basis, next);
        is_partial_ = is_partial_ || (taking >= 0 && pivot == pivots);
        if (taking < 0 || (stands_ && pivot == pivots)) {
            leave_by_facet(next, leaving);
            return;
        }
        basis.places[static_cast<std::size_t>(leaving)] = next.above ? Place::above : Place::below;
        basis.places[static_cast<std::size_t>(taking)] = Place::basic;
        basis.boundaries[static_cast<std::size_t>(next.row)] = taking;
    }
}

}  // namespace reluflow
