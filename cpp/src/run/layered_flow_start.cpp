/// Where steps begin: the part of LayeredFlow that chooses their unit of length, decides what begins on boundaries, and
/// takes back a step that is given up.
#include <algorithm>
#include <cmath>
#include <utility>

#include "run/layered_flow.hpp"

namespace reluflow::layered {
namespace {

/// Pre-activations below this part of what they are summed up from are zero at a start.
constexpr double kZeroAtStart = 1e-15;
/// A first step moves θ by about this part.
constexpr double kFirstMove = 0.05;
/// The first unit of length is at most so many times that in which the velocity changes.
constexpr double kLongestUnit = 1e3;
/// A unit of length in which θ would move by this many times itself is one of another clock, and so is one that is as
/// much shorter than that in which θ moves and its velocity changes.
constexpr double kFarTooLong = 1e8;

}  // namespace

// The unit of length of the first step as a part of that of the two orders that are known.
double LayeredFlow::first_span() const {
    const double rate = largest(jet_.theta(1));
    if (rate == 0.0) return 1.0;
    double span = kFirstMove * std::max(largest(state_.theta), 1e-300) / rate;
    if (sizes_of_units_.by_unit())
        if (const double part = sizes_of_units_.part(jet_.theta(1)); part > 0.0) span = kFirstMove / part;
    // Near rest little moves, however fast: orders in so long a unit would not be numbers.
    const double turn = 2.0 * largest(jet_.theta(2)) / rate;
    return turn * span > kLongestUnit ? kLongestUnit / turn : span;
}

// Where decay is all that moves θ, or weights have vanished, an event changes the clock by any factor, and the orders
// of a series in the unit of the step before would not be numbers.
bool LayeredFlow::fit_unit() {
    if (!expand_to(1)) return false;
    const double size = largest(state_.theta);
    const double rate = largest(jet_.theta(1));
    if (size == 0.0) return true;
    if (!(rate > kFarTooLong * size)) return lengthen_unit();
    span_ *= kFirstMove * size / rate;
    jet_.start(state_.theta, state_.activity, span_);
    return true;
}

// In far too short a unit the orders of a series fall below all doubles, and what moves by nothing in it seems to rest.
bool LayeredFlow::lengthen_unit() {
    const double part = sizes_of_units_.part(jet_.theta(1));
    if (part == 0.0 || part * kFarTooLong > 1.0) return true;
    if (!expand_to(2)) return false;
    if (sizes_of_units_.part(jet_.theta(2)) * kFarTooLong > part) return true;
    return take_unit() && take_unit();  // once more where the second order was no number in the old one
}

// Takes the unit of a first step, after two orders in the present one.
bool LayeredFlow::take_unit() {
    if (!expand_to(2)) return false;
    span_ *= first_span();
    jet_.start(state_.theta, state_.activity, span_);
    return true;
}

bool LayeredFlow::expand_to(int order) {
    while (jet_.order() < order) {
        if (jet_.advance()) continue;
        finish_undecided(kDependent);
        return false;
    }
    return true;
}

// Whether a place is zero by what it reads, which is zero, and not by its weights: then it goes where that goes.
bool LayeredFlow::follows(const Place& p, const std::vector<Place>& zero) const {
    if (!state_.activity.reads_only(p, zero)) return false;
    for (const int e : graph_->node(p.node).incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols; ++c)
            if (state_.activity.reads(edge, p, c) && edge.entry(p.unit, c, state_.theta) != 0.0) return true;
    }
    return false;
}

// Places at zero at the start can go either way: all continuations are looked for.
void LayeredFlow::decide_start() {
    contacts_.clear();
    std::vector<Place> zero;
    std::vector<Matrix> z;
    pre_activations(*graph_, *X_, state_.theta, z);
    std::vector<Matrix> sizes;
    sizes_of_terms(*graph_, state_.theta, z, sizes);
    for (int v = 1; v < graph_->count(); ++v)
        for (Index i = 0; i < X_->rows(); ++i)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place p{v, i, u};
                if (state_.activity.mode(p) != Mode::moving) continue;
                if (std::abs(z[v](i, u)) > kZeroAtStart * sizes[v](i, u)) continue;
                const bool is_follower = follows(p, zero);
                if (is_follower || !graph_->node(v).linear) zero.push_back(p);
                if (is_follower || graph_->node(v).linear) continue;
                Contact contact;
                contact.boundary = state_.activity.whole_boundary_of(p);
                const auto same = [&](const Contact& other) { return other.boundary.is_same(contact.boundary); };
                if (std::ranges::none_of(contacts_, same)) contacts_.push_back(std::move(contact));
            }
    if (contacts_.empty() || status_ != Status::running) return;
    Outcome outcome = Outcome::undecided;
    try {
        outcome = resolution_.resolve_start(jet_, state_.theta, state_.activity, contacts_, span_);
    } catch (const Abandoned&) {  // ends_inside_step() has set the status
        return;
    }
    if (outcome == Outcome::undecided)
        finish_undecided(name_contacts() + ": " + resolution_.reason());
    else if (outcome == Outcome::branching)
        branch();
    else
        adopt(resolution_.options().front());
    // What began on boundaries may have been all that moves.
    if (status_ != Status::running) return;
    jet_.start(state_.theta, state_.activity, span_ = 1.0);
    take_unit();
}

bool LayeredFlow::advance() {
    try {
        return go_on();
    } catch (const Abandoned&) {  // ends_inside_step() has set the status
        take_back();
        return false;
    }
}

void LayeredFlow::keep_begin() {
    begin_.emplace(Begin{state_, log_loss_, log_gradient_, steps_, sets_, events_.size(), saved_.count()});
}

void LayeredFlow::take_back() {
    if (!begin_) return;
    state_ = begin_->state;
    log_loss_ = begin_->log_loss;
    log_gradient_ = begin_->log_gradient;
    steps_ = begin_->steps;
    sets_ = begin_->sets;
    events_.resize(begin_->events);
    saved_.cut(begin_->saved);
    begin_.reset();
}

}  // namespace reluflow::layered
