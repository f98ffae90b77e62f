#include "hybrid/transition.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

#include "base/tolerances.hpp"
#include "hybrid/transition_hull.hpp"

namespace reluflow {

namespace {

/// Passes of climb_on(), which finds one continuation where not all can be listed; each pass increases the speed.
constexpr int kMostClimbs = 200;
/// Choices of sides from which climb() sets out.
constexpr std::ptrdiff_t kMostStarts = 64;

constexpr double kEps = std::numeric_limits<double>::epsilon();

}  // namespace

void Corner::resize(int size, int rank_of_span) {
    rank = rank_of_span;
    boundaries.resize(size);
    before.resize(size);
    normals.resize(static_cast<std::size_t>(size * rank));
    rest.resize(rank);
    below.resize(size);
    above.resize(size);
    towards.clear();
}

double Corner::kink_tol() const noexcept {
    return kCornerUlps * kEps * weight;
}

void TransitionSolver::reserve(int boundaries) {
    choice_.reserve(boundaries);
    repelling_.reserve(boundaries);
    forced_.reserve(boundaries);
    sides_.reserve(boundaries);
    for (auto* numbers : {&outside_, &absorbed_, &split_}) numbers->reserve(boundaries);
    box_.reserve(boundaries, boundaries);
    found_.resize(1);
    found_.front().sides.reserve(boundaries);
}

Verdict TransitionSolver::decide(const Corner& corner) {
    const int k = corner.size();
    corner_ = &corner;
    found_count_ = 0;
    cut_short_ = false;
    repelling_.clear();
    for (int w = 0; w < k; ++w)
        if (corner.repels(w)) repelling_.push_back(w);
    const bool is_long = repelling_.size() > kMostStood;
    Decision& kept = kept_[corner.sign > 0.0 ? 1 : 0];
    if (is_long && corner == kept.corner) {
        found_ = kept.found;
        found_count_ = kept.found.size();
        cut_short_ = kept.cut_short;
    } else {
        find_all();
        if (is_long)
            kept = {corner, {found_.begin(), found_.begin() + static_cast<std::ptrdiff_t>(found_count_)}, cut_short_};
    }
    if (found_count_ == 0) return Verdict::undecided;
    return found_count_ == 1 ? Verdict::unique : Verdict::branching;
}

void TransitionSolver::find_all() {
    const Corner& corner = *corner_;
    const int k = corner.size();
    nodes_ = 0;
    choice_.assign(k, Choice::open);
    outside_.assign(k, 0.0);
    absorbed_.assign(k, 0.0);
    split_.resize(std::max(k, 1));
    sides_.resize(k);
    forced_.clear();
    if (has_no_way_out()) {  // the search for one would not come to an end
        sides_.assign(static_cast<std::size_t>(k), 0);
        return add_found(false);
    }
    box_.resize(k, corner.rank);
    goes_on_ = false;
    for (int w = 0; w < k; ++w) std::copy_n(corner.normal(w), corner.rank, box_.vector(w));
    std::copy(corner.rest.begin(), corner.rest.end(), box_.offset());
    rejected_.clear();
    most_nodes_ = count_cells();
    search();
    if (cut_short_ && !list_by_cells()) climb();
    if (!repelling_.empty() && repelling_.size() <= kMostStood) search_standing();
    if (found_count_ == 0) stand_on_all();
}

/// The velocity of least norm for the present choices; an open repelling boundary contributes the middle of its
/// interval. In a long search few choices change from one fit to the next: it begins where the last one ended.
bool TransitionSolver::fit() {
    const Corner& corner = *corner_;
    for (int w = 0; w < corner.size(); ++w) {
        const double below = corner.below[w];
        const double above = corner.above[w];
        const bool rises = above > below;
        if (choice_[w] == Choice::pinned) {
            box_.set_interval(w, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity());
            box_.set_place(w, BoxLeastSquares::Place::inside);
        } else if (corner.attracts(w)) {
            box_.set_interval(w, std::min(below, above), std::max(below, above));
            if (goes_on_) continue;
            const bool high = (corner.before[w] > 0) == rises;
            box_.set_place(w, corner.before[w] == 0
                                  ? BoxLeastSquares::Place::inside
                                  : (high ? BoxLeastSquares::Place::high : BoxLeastSquares::Place::low));
        } else {
            const bool open = choice_[w] == Choice::open;
            const double c = open ? 0.5 * (below + above) : (choice_[w] == Choice::above ? above : below);
            box_.set_interval(w, c, c);
            box_.set_place(w, BoxLeastSquares::Place::low);
        }
    }
    const bool solved = box_.solve(corner.weight);
    goes_on_ = solved && repelling_.size() > kMostStood;
    return solved;
}

/// A bound of how much the open choices can change the velocity.
double TransitionSolver::leeway() {
    double reach = 0.0;
    if (absorbs(reach)) return reach;
    reach = 0.0;
    for (const int w : repelling_) {
        outside_[w] = 1.0;
        if (choice_[w] == Choice::open) reach += 0.5 * corner_->kink(w);
    }
    return reach;
}

/// True when the boundaries inside their intervals can absorb the part of every open choice that lies in their span.
/// Then only what lies outside that span, `reach`, changes the velocity: a least-norm point moves by no more than its
/// data.
bool TransitionSolver::absorbs(double& reach) {
    const auto& inside = box_.inside();
    std::fill_n(absorbed_.begin(), inside.size(), 0.0);
    for (const int w : repelling_) {
        if (choice_[w] != Choice::open) continue;
        const double half = 0.5 * corner_->kink(w);
        outside_[w] = box_.split(w, split_.data());
        if (outside_[w] < kRankTol) outside_[w] = 0.0;
        reach += outside_[w] * half;
        for (std::size_t i = 0; i < inside.size(); ++i) absorbed_[i] += std::abs(split_[i]) * half;
    }
    for (std::size_t i = 0; i < inside.size(); ++i) {
        const int w = inside[i];
        if (choice_[w] == Choice::pinned) continue;  // can_stay() checks these
        const double low = std::min(corner_->below[w], corner_->above[w]);
        const double high = std::max(corner_->below[w], corner_->above[w]);
        const double room = std::min(box_.coefficient(w) - low, high - box_.coefficient(w));
        if (absorbed_[i] > room + box_.tolerance()) return false;
    }
    return true;
}

/// True when a chosen side is contradicted by the velocity, whatever the open choices are.
bool TransitionSolver::is_ruled_out(double radius) const {
    for (const int w : repelling_) {
        if (choice_[w] != Choice::above && choice_[w] != Choice::below) continue;
        const double along = corner_->sign * box_.rate(w) * (choice_[w] == Choice::above ? 1.0 : -1.0);
        if (along + radius < -box_.tolerance()) return true;
    }
    return false;
}

/// The open boundary that can change the velocity most; -1 when none can.
int TransitionSolver::widest_open() const {
    int found = -1;
    double widest = 0.0;
    for (const int w : repelling_) {
        if (choice_[w] != Choice::open || outside_[w] * corner_->kink(w) <= widest) continue;
        widest = outside_[w] * corner_->kink(w);
        found = w;
    }
    return found;
}

/// Branch and bound over the sides of repelling boundaries. Fixes the sides that the velocity decides whatever the open
/// choices are; then tries both sides of one open boundary; accepts when no open one matters. At least one continuation
/// is found: the fastest way out, or to stay if no direction gains speed.
void TransitionSolver::search() {
    if (++nodes_ > most_nodes_ || !fit()) {
        cut_short_ = true;
        return;
    }
    const double radius = leeway();
    if (is_ruled_out(radius)) return;
    const int next = widest_open();
    if (next < 0) return accept();

    const std::size_t known = forced_.size();
    for (const int w : repelling_) {
        if (choice_[w] != Choice::open || std::abs(box_.rate(w)) <= radius + box_.tolerance()) continue;
        choice_[w] = corner_->sign * box_.rate(w) > 0.0 ? Choice::above : Choice::below;
        forced_.push_back(w);
    }
    if (forced_.size() > known) {
        search();
        for (; forced_.size() > known; forced_.pop_back()) choice_[forced_.back()] = Choice::open;
        return;
    }
    for (const Choice choice : {Choice::above, Choice::below}) {
        choice_[next] = choice;
        search();
    }
    choice_[next] = Choice::open;
}

/// Reads the sides of all boundaries off the velocity of the last fit().
void TransitionSolver::read_sides() {
    box_.signs(sides_.data());
    for (int w = 0; w < corner_->size(); ++w) {
        if (choice_[w] == Choice::pinned) sides_[w] = 0;
        if (corner_->sign < 0.0) sides_[w] = static_cast<std::int8_t>(-sides_[w]);
    }
}

/// Adds the continuation of complete choices; boundaries still `open` have no influence. It has to be stable: repelling
/// boundaries that do not move must stay at zero whatever side is chosen for them.
void TransitionSolver::accept() {
    read_sides();
    if (std::find(rejected_.begin(), rejected_.end(), sides_) != rejected_.end()) return;
    const auto is_zero = [](std::int8_t side) { return side == 0; };
    if (has_way_out_ && std::all_of(sides_.begin(), sides_.end(), is_zero)) return;
    const bool touches = std::any_of(repelling_.begin(), repelling_.end(),
                                     [this](int w) { return sides_[w] == 0 && choice_[w] != Choice::open; });
    if (!touches || is_stable())
        add_found(false);
    else
        rejected_.push_back(sides_);
}

/// Where rounding hides every way out, and there are too many repelling boundaries for all choices: whether the neuron
/// can stay on all of them.
void TransitionSolver::stand_on_all() {
    for (const int w : repelling_) choice_[w] = Choice::pinned;
    if (!fit()) return;
    read_sides();
    if (can_stay(box_.tolerance())) add_found(true);
}

/// Adds the continuations that stay on repelling boundaries which the neuron could leave, by trying every choice.
void TransitionSolver::search_standing() {
    int count = 1;
    for (std::size_t i = 0; i < repelling_.size(); ++i) count *= 3;
    for (int number = 0; number < count; ++number) {
        bool stands = false;
        for (int i = 0, digits = number; i < std::ssize(repelling_); ++i, digits /= 3) {
            choice_[repelling_[i]] = std::array{Choice::above, Choice::below, Choice::pinned}[digits % 3];
            stands = stands || digits % 3 == 2;
        }
        if (!stands || !fit()) continue;
        read_sides();
        const double tolerance = box_.tolerance();
        const bool holds = std::all_of(repelling_.begin(), repelling_.end(), [this](int w) {
            return choice_[w] == Choice::pinned || sides_[w] == (choice_[w] == Choice::above ? 1 : -1);
        });
        const auto end = found_.begin() + static_cast<std::ptrdiff_t>(found_count_);
        const bool known = std::any_of(found_.begin(), end, [this](const auto& one) { return one.sides == sides_; });
        if (holds && !known && can_stay(tolerance)) add_found(true);
    }
}

/// Whether the neuron can stay on its boundaries with side 0, some of them repelling: the gradient has to be in the
/// convex hull of those of the adjacent cells. If the boundaries are independent all cells exist, and the multipliers
/// decide.
bool TransitionSolver::can_stay(double tolerance) {
    bool independent = true;
    bool within = true;
    for (int w = 0; w < corner_->size(); ++w) {
        if (sides_[w] != 0) continue;
        independent = independent && box_.place(w) == BoxLeastSquares::Place::inside;
        const auto [low, high] = std::minmax(corner_->below[w], corner_->above[w]);
        within = within && box_.coefficient(w) >= low - tolerance && box_.coefficient(w) <= high + tolerance;
    }
    if (independent) return within;
    return is_in_hull(tolerance);
}

bool TransitionSolver::is_in_hull(double tolerance) const {
    const Corner& corner = *corner_;
    std::vector<int> zero;
    for (int w = 0; w < corner.size(); ++w)
        if (sides_[w] == 0) zero.push_back(w);
    Numbers rest = corner.rest;
    for (int w = 0; w < corner.size(); ++w)
        if (sides_[w] != 0)
            for (int k = 0; k < corner.rank; ++k)
                rest[k] += (sides_[w] > 0 ? corner.above[w] : corner.below[w]) * corner.normal(w)[k];
    return reluflow::is_in_hull(corner, zero, rest, tolerance);
}

void TransitionSolver::add_found(bool stands_on_ridge) {
    for (std::size_t i = 0; i < found_count_; ++i) {
        if (found_[i].sides != sides_) continue;
        found_[i].stands_on_ridge = found_[i].stands_on_ridge && stands_on_ridge;
        return;
    }
    if (found_count_ == found_.size()) found_.emplace_back();
    found_[found_count_].sides = sides_;
    found_[found_count_++].stands_on_ridge = stands_on_ridge;
}

/// Finds continuations without a search: each pass gives every repelling boundary the side of the last velocity. A pass
/// never decreases the speed, so no choice comes back, and from a direction that pulls outwards none ends at rest.
/// Tries the way out that is known, the normals of the boundaries as directions, both ways, and what pulls there; stays
/// only if all of these end at rest.
void TransitionSolver::climb() {
    std::vector<std::vector<Choice>> tried;
    Numbers along(corner_->rank);
    const std::size_t known = found_count_;
    if (!corner_->towards.empty()) {
        for (const int w : repelling_) choice_[w] = corner_->towards[w] < 0 ? Choice::below : Choice::above;
        if (climb_on() && leaves()) add_found(touches());
    }
    if (has_way_out_) {
        choose_towards(way_out_);
        if (climb_on() && leaves()) add_found(touches());
    }
    for (int start = 0; start < 2 * corner_->size() && std::ssize(tried) < kMostStarts; ++start) {
        const double side = start % 2 == 0 ? 1.0 : -1.0;
        for (int k = 0; k < corner_->rank; ++k) along[k] = side * corner_->normal(start / 2)[k];
        choose_towards(along);
        pull(along);
        choose_towards(along);
        if (std::find(tried.begin(), tried.end(), choice_) != tried.end()) continue;
        tried.push_back(choice_);
        if (climb_on() && leaves()) add_found(touches());
    }
    if (found_count_ > known) return;
    for (const int w : repelling_)
        choice_[w] = corner_->above[w] + corner_->below[w] > 0.0 ? Choice::above : Choice::below;
    climb_on();
    add_found(!is_stable());
}

/// Gives every repelling boundary the side on which a direction lies.
void TransitionSolver::choose_towards(const Numbers& along) {
    for (const int w : repelling_) {
        const double* normal = corner_->normal(w);
        choice_[w] = std::inner_product(along.begin(), along.end(), normal, 0.0) >= 0.0 ? Choice::above : Choice::below;
    }
}

/// The velocity in the cell in which a direction lies, in its place.
void TransitionSolver::pull(Numbers& along) const {
    const Corner& corner = *corner_;
    Numbers sum = corner.rest;
    for (int w = 0; w < corner.size(); ++w) {
        const double* normal = corner.normal(w);
        const double z = std::inner_product(along.begin(), along.end(), normal, 0.0);
        for (int k = 0; k < corner.rank; ++k) sum[k] += (z >= 0.0 ? corner.above[w] : corner.below[w]) * normal[k];
    }
    for (int k = 0; k < corner.rank; ++k) along[k] = corner.sign * sum[k];
}

/// True if it came to an end: the sides are then those of a velocity that keeps them.
bool TransitionSolver::climb_on() {
    bool changed = true;
    for (int pass = 0; pass < kMostClimbs && changed && fit(); ++pass) {
        changed = false;
        for (const int w : repelling_) {
            const double rate = corner_->sign * box_.rate(w);
            if (std::abs(rate) <= box_.tolerance()) continue;
            const Choice side = rate > 0.0 ? Choice::above : Choice::below;
            changed = changed || side != choice_[w];
            choice_[w] = side;
        }
    }
    read_sides();
    return !changed;
}

/// Whether the sides of the last velocity leave a repelling boundary.
bool TransitionSolver::leaves() const {
    return std::any_of(repelling_.begin(), repelling_.end(), [this](int w) { return sides_[w] != 0; });
}

/// Whether they stay on a repelling boundary.
bool TransitionSolver::touches() const {
    return std::any_of(repelling_.begin(), repelling_.end(), [this](int w) { return sides_[w] == 0; });
}

}  // namespace reluflow
