#include "reluflow/transition.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "reluflow/settings.hpp"
#include "transition_hull.hpp"

namespace reluflow {

namespace {

/// Choices of repelling walls that are tried before the list of continuations is left incomplete: a tenth of a second.
constexpr int kMostNodes = 4000;
/// Passes of the climb to one continuation where they cannot all be listed; each raises the speed.
constexpr int kMostClimbs = 200;

constexpr double kEps = std::numeric_limits<double>::epsilon();

}  // namespace

void Corner::resize(int size, int rank_of_span) {
    rank = rank_of_span;
    walls.resize(size);
    before.resize(size);
    normals.resize(static_cast<std::size_t>(size * rank));
    rest.resize(rank);
    below.resize(size);
    above.resize(size);
}

double Corner::kink_tol() const noexcept {
    return kCornerUlps * kEps * weight;
}

void TransitionSolver::reserve(int walls) {
    choice_.reserve(walls);
    repelling_.reserve(walls);
    sides_.reserve(walls);
    for (auto* numbers : {&outside_, &absorbed_, &split_}) numbers->reserve(walls);
    box_.resize(walls, walls);
    found_.resize(1);
    found_.front().sides.reserve(walls);
}

Verdict TransitionSolver::decide(const Corner& corner) {
    const int k = corner.size();
    corner_ = &corner;
    found_count_ = 0;
    nodes_ = 0;
    cut_short_ = false;
    choice_.assign(k, Choice::open);
    outside_.assign(k, 0.0);
    absorbed_.assign(k, 0.0);
    split_.resize(std::max(k, 1));
    sides_.resize(k);
    repelling_.clear();
    for (int w = 0; w < k; ++w)
        if (corner.repels(w)) repelling_.push_back(w);
    box_.resize(k, corner.rank);
    for (int w = 0; w < k; ++w) std::copy_n(corner.normal(w), corner.rank, box_.vector(w));
    std::copy(corner.rest.begin(), corner.rest.end(), box_.offset());
    search();
    if (cut_short_) climb();
    if (found_count_ == 0) return Verdict::undecided;
    return found_count_ == 1 ? Verdict::unique : Verdict::branching;
}

/// The least pull with the choices made so far, open repelling walls in the middle.
bool TransitionSolver::fit() {
    const Corner& corner = *corner_;
    for (int w = 0; w < corner.size(); ++w) {
        const double below = corner.below[w];
        const double above = corner.above[w];
        const bool rises = above > below;
        if (choice_[w] == Choice::pinned) {
            box_.set_interval(w, -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity());
            box_.set_place(w, BoxFit::Place::inside);
        } else if (corner.attracts(w)) {
            box_.set_interval(w, std::min(below, above), std::max(below, above));
            const bool high = (corner.before[w] > 0) == rises;
            box_.set_place(w, corner.before[w] == 0 ? BoxFit::Place::inside
                                                    : (high ? BoxFit::Place::high : BoxFit::Place::low));
        } else {
            const bool open = choice_[w] == Choice::open;
            const double c = open ? 0.5 * (below + above) : (choice_[w] == Choice::above ? above : below);
            box_.set_interval(w, c, c);
            box_.set_place(w, BoxFit::Place::low);
        }
    }
    return box_.solve(corner.weight);
}

/// No more than this do open choices change the velocity.
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

/// True when the vectors inside take up, within their intervals, the part of every open choice that lies in their span;
/// only what lies outside it, `reach`, then moves the neuron (the least pull moves no more than what it is made of).
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
        if (choice_[w] == Choice::pinned) continue;  // checked where the choices are complete
        const double low = std::min(corner_->below[w], corner_->above[w]);
        const double high = std::max(corner_->below[w], corner_->above[w]);
        const double room = std::min(box_.coefficient(w) - low, high - box_.coefficient(w));
        if (absorbed_[i] > room + box_.tolerance()) return false;
    }
    return true;
}

/// True when no completion of the choices moves to the side that was chosen.
bool TransitionSolver::is_ruled_out(double radius) const {
    for (const int w : repelling_) {
        if (choice_[w] != Choice::above && choice_[w] != Choice::below) continue;
        const double along = corner_->sign * box_.rate(w) * (choice_[w] == Choice::above ? 1.0 : -1.0);
        if (along + radius <= box_.tolerance()) return true;
    }
    return false;
}

/// The open wall that matters most.
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

/// Takes what the velocity decides whatever the open choices; branches on one of them; accepts where none is left that
/// matters.
void TransitionSolver::search() {
    if (++nodes_ > kMostNodes || !fit()) {
        cut_short_ = true;
        return;
    }
    const double radius = leeway();
    if (is_ruled_out(radius)) return;
    const int next = widest_open();
    if (next < 0) return accept();

    std::vector<int> forced;
    for (const int w : repelling_) {
        if (choice_[w] != Choice::open || std::abs(box_.rate(w)) <= radius + box_.tolerance()) continue;
        choice_[w] = corner_->sign * box_.rate(w) > 0.0 ? Choice::above : Choice::below;
        forced.push_back(w);
    }
    if (!forced.empty()) {
        search();
        for (const int w : forced) choice_[w] = Choice::open;
        return;
    }
    for (const Choice choice : {Choice::above, Choice::below, Choice::pinned}) {
        choice_[next] = choice;
        search();
    }
    choice_[next] = Choice::open;
}

/// The choices are complete; `open` ones are absorbed whatever they are.
void TransitionSolver::accept() {
    const Corner& corner = *corner_;
    bool pinned = false;
    for (int w = 0; w < corner.size(); ++w) {
        const double rate = corner.sign * box_.rate(w);
        const bool zero = std::abs(rate) <= box_.tolerance() || choice_[w] == Choice::pinned;
        if (zero && (choice_[w] == Choice::above || choice_[w] == Choice::below)) return;
        sides_[w] = zero ? std::int8_t{0} : static_cast<std::int8_t>(rate > 0.0 ? 1 : -1);
        pinned = pinned || choice_[w] == Choice::pinned;
    }
    if (pinned && !can_stay()) return;
    add_found(pinned);
}

/// Whether the pull is in the hull of the cells of the walls that stay at zero, some of them repelling.
bool TransitionSolver::can_stay() {
    const Corner& corner = *corner_;
    std::vector<int> zero;
    for (int w = 0; w < corner.size(); ++w)
        if (sides_[w] == 0) zero.push_back(w);
    std::vector<double> rest = corner.rest;
    for (int w = 0; w < corner.size(); ++w)
        if (sides_[w] != 0)
            for (int k = 0; k < corner.rank; ++k)
                rest[k] += (sides_[w] > 0 ? corner.above[w] : corner.below[w]) * corner.normal(w)[k];
    return is_in_hull(corner, zero, rest, box_.tolerance());
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

/// One continuation without a search: each pass gives every repelling wall the side that the velocity of the last one
/// has, which never slows the neuron, so that no pass comes back.
void TransitionSolver::climb() {
    for (const int w : repelling_)
        choice_[w] = corner_->above[w] + corner_->below[w] > 0.0 ? Choice::above : Choice::below;
    for (int pass = 0; pass < kMostClimbs && fit(); ++pass) {
        bool changed = false;
        for (const int w : repelling_) {
            const double rate = corner_->sign * box_.rate(w);
            if (std::abs(rate) <= box_.tolerance()) continue;
            const Choice side = rate > 0.0 ? Choice::above : Choice::below;
            changed = changed || side != choice_[w];
            choice_[w] = side;
        }
        if (!changed) break;
    }
    for (const int w : repelling_)
        if (std::abs(box_.rate(w)) <= box_.tolerance()) choice_[w] = Choice::pinned;
    accept();
}

}  // namespace reluflow
