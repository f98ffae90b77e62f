/// What leaves the boundary that it slides on: the part of EventSearch that looks at multipliers and their bounds.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "layered/dual_rounding.hpp"
#include "layered/event_search.hpp"
#include "layered/sliding_bounds.hpp"
#include "numeric/polynomial.hpp"

namespace reluflow::layered {
namespace {

/// Where both gaps of a multiplier are below this part of its terms the interval between its bounds is empty.
constexpr double kTurns = 1e-11;
/// Bounds that met at the last event are less than this part of what they change by in a step apart, which is what the
/// step to that event has missed: where they go tells whether the boundary repels, and they do not meet again.
constexpr double kHasTurned = 1e-3;

/// What rounding hides in the multipliers of a step, which few steps have to ask for, and what the step itself misses.
class Hidden {
  public:
    Hidden(const Jet& jet, double missed, double until) : jet_(jet), missed_(missed), until_(until) {}

    double at(int b) { return known().in_step(b) + (is_solved() ? solved().of_multiplier(b) : 0.0); }
    double along(const SlidingGroup& group, const Eigen::RowVectorXd& ray) {
        return known().along_in_step(group, ray) + (is_solved() ? solved().along(group, ray) : 0.0);
    }
    double of_rounding(int b) { return known().of_multiplier(b); }
    double rounding_along(const SlidingGroup& group, const Eigen::RowVectorXd& ray) {
        return known().along(group, ray);
    }
    /// What errors of steps make of a multiplier.
    double missed_by(int b) {
        const double times = std::max(missed_, is_solved() ? 1.0 : 0.0);
        return times == 0.0 ? 0.0 : times * of_rounding(b) + (is_solved() ? solved().of_multiplier(b) : 0.0);
    }
    double missed_along(const SlidingGroup& group, const Eigen::RowVectorXd& ray) {
        const double times = std::max(missed_, is_solved() ? 1.0 : 0.0);
        return times == 0.0 ? 0.0
                            : times * rounding_along(group, ray) + (is_solved() ? solved().along(group, ray) : 0.0);
    }
    bool is_all() { return known().is_all(); }
    /// Order 0 of what a bound holds more than it has to, of which rounding hides `size`. What has passed its bound by
    /// kBeyond of it is below zero however short the steps were that took it there.
    static double seen(double gap, double size) noexcept { return gap < size ? gap + kBeyond * size : gap; }

  private:
    const DualRounding& known() { return rounding_ ? *rounding_ : rounding_.emplace(jet_, until_); }

    /// What an implicit step misses.
    bool is_solved() const noexcept { return jet_.missed().multipliers.size() > 0; }
    const DualRounding& solved() { return solved_ ? *solved_ : solved_.emplace(jet_, jet_.missed()); }

    const Jet& jet_;
    double missed_, until_;
    std::optional<DualRounding> rounding_, solved_;
};

double last_term(const Row& c, int order, double u) noexcept {
    return std::abs(c[order]) * std::pow(u, order);
}

}  // namespace

// What a bound holds more than it has to may be an error of the steps, which changes sign as it likes: what leaves does
// so by more in the same step. Its event is where the bound is passed.
bool EventSearch::goes_beyond(Row gap, int order, double beyond) const {
    gap[0] += beyond;
    return beyond == 0.0 || descent(gap.data(), order, until_) <= until_;
}

bool EventSearch::may_pass(Row gap, int order, double unknown) const {
    gap[0] -= unknown;
    return descent(gap.data(), order, until_) <= until_;
}

// w leaves upwards where μ = M⁺ and downwards where μ = M⁻. What is at a bound but for the rounding of duals leaves
// when it has passed it by more: otherwise it would leave and come back, and which bound is the upper one would be
// chance.
void EventSearch::search_sliding(const Jet& jet) {
    const SlidingSeries& sliding = jet.sliding();
    const int order = jet.order() - 1;
    Hidden hidden(jet, missed_, until_);
    Row up;
    Row down;
    for (int b = 0; b < sliding.count(); ++b) {
        if (sliding.is_grouped(b) || is_joint(b)) continue;
        sliding_bounds(jet, b, order, up, down);
        bool repels = down[0] < up[0] && up[0] - down[0] > hidden.at(b) &&
                      !has_passed(sliding.boundaries()[b]);  // and it stands there
        double rounding = 0.0;
        if (const double change = order > 0 ? up[1] - down[1] : 0.0;
            std::abs(up[0] - down[0]) < kHasTurned * std::abs(change) && has_turned(sliding.boundaries()[b])) {
            repels = change > 0.0;
            rounding = kTurns * (std::abs(up[1]) + std::abs(down[1])) * until_;
        }
        for (int k = 0; k <= order; ++k) {
            up[k] = (repels ? -1 : 1) * (sliding.multiplier(b)[k] - up[k]);
            down[k] = (repels ? -1 : 1) * (down[k] - sliding.multiplier(b)[k]);
        }
        const double from_up = up[0];
        const double from_down = down[0];
        if (usual_ > 0.0 && !is_in_doubt_) {
            const double unknown = kBeyond * usual_ * hidden.of_rounding(b);
            is_in_doubt_ = may_pass(up, order, unknown) || may_pass(down, order, unknown);
        }
        if (std::min(descent(up.data(), order, end_), descent(down.data(), order, end_)) > end_) continue;
        if (hidden.is_all()) return;  // and it stays so
        const double beyond = kBeyond * (hidden.missed_by(b) + missed_by_division(jet, b, order, up, down));
        if (!goes_beyond(up, order, beyond) && !goes_beyond(down, order, beyond)) continue;
        const double size = std::max({hidden.at(b), told_to_stay(sliding.boundaries()[b]), rounding});
        up[0] = Hidden::seen(from_up, size);
        down[0] = Hidden::seen(from_down, size);
        add_leaving(sliding, b, order, size, up, down);
        if (found_.empty() || found_.back().sliding != b) continue;
        const bool is_up = found_.back().wants > 0;
        const Row& gap = is_up ? up : down;
        const double offset = gap[0] - (is_up ? from_up : from_down);
        found_.back().beyond = std::max(0.0, offset - evaluate(gap.data(), order, found_.back().u));
    }
}

// What the rounding of duals does not hide may be hidden where sides are decided, by series with roundings of their
// own. What was found to stay although it was beyond its bound does so until it is beyond by more.
void EventSearch::stays(const std::vector<Contact>& contacts, const Activity& activity) {
    const auto slides = [&](const Contact& contact) {
        return contact.from == 0 && std::ranges::any_of(activity.sliding(), [&](const Boundary& boundary) {
                   return boundary.is_same(contact.boundary);
               });
    };
    std::erase_if(staying_, [&](const Contact& known) {
        const auto is_it = [&](const Contact& contact) { return contact.boundary.is_same(known.boundary); };
        return !slides(known) || std::ranges::any_of(contacts, is_it);
    });
    std::erase_if(passed_, [&](const Boundary& known) {
        return std::ranges::any_of(contacts, [&](const Contact& one) { return one.boundary.is_same(known); });
    });
    std::ranges::copy_if(contacts, std::back_inserter(staying_), slides);
}

void EventSearch::passes(const Jet& jet, double u) {
    const SlidingSeries& sliding = jet.sliding();
    const int order = jet.order() - 1;
    std::vector<Boundary> passed;
    Row up;
    Row down;
    for (int b = 0; b < sliding.count(); ++b) {
        const Boundary& boundary = sliding.boundaries()[b];
        if (sliding.is_grouped(b) || is_joint(b) || has_turned(boundary)) continue;
        sliding_bounds(jet, b, order, up, down);
        const bool attracted = up[0] <= down[0] || has_passed(boundary);
        if (attracted && evaluate(down.data(), order, u) < evaluate(up.data(), order, u)) passed.push_back(boundary);
    }
    passed_ = std::move(passed);
}

bool EventSearch::has_turned(const Boundary& boundary) const {
    return std::ranges::any_of(staying_,
                               [&](const Contact& known) { return known.turns && known.boundary.is_same(boundary); });
}

bool EventSearch::has_passed(const Boundary& boundary) const {
    return std::ranges::any_of(passed_, [&](const Boundary& known) { return known.is_same(boundary); });
}

double EventSearch::told_to_stay(const Boundary& boundary) const {
    const auto is_it = [&](const Contact& known) { return known.boundary.is_same(boundary); };
    const auto known = std::ranges::find_if(staying_, is_it);
    return known == staying_.end() ? 0.0 : known->beyond;
}

void EventSearch::add_leaving(const SlidingSeries& sliding, int b, int order, double hidden, Row& up, Row& down) {
    const double above = descent(up.data(), order, end_);
    const double below = descent(down.data(), order, end_);
    const double first = std::min(above, below);
    if (first > end_) return;
    Candidate candidate;
    candidate.sliding = b;
    const double size = tail_bound(up.data(), order, 0, first) + tail_bound(down.data(), order, 0, first) +
                        tail_bound(sliding.multiplier(b).data(), order, 0, first);
    // Both gaps are truncated series of their own: what they leave out tells them apart where they vanish together.
    const double truncated =
        last_term(up, order, first) + last_term(down, order, first) + last_term(sliding.multiplier(b), order, first);
    const double zero = kTurns * size + kBeyond * hidden + truncated;
    candidate.turns =
        std::abs(evaluate(up.data(), order, first)) < zero && std::abs(evaluate(down.data(), order, first)) < zero;
    if (const double change = std::abs(evaluate_derivative(up.data(), order, first)) +
                              std::abs(evaluate_derivative(down.data(), order, first));
        candidate.turns && change > 0.0)
        candidate.known = zero / change;
    candidate.wants = above <= below ? 1 : -1;
    candidate.begins = first == 0.0 && up[0] == 0.0 && down[0] == 0.0 && sliding.multiplier(b)[0] == 0.0;
    add(first, candidate);
}

// Dependent boundaries: their unit leaves along the first ray on which they do not hold it.
void EventSearch::search_groups(const Jet& jet) {
    if (jet.sliding().empty()) return;
    const int order = jet.order() - 1;
    const std::vector<SlidingGroup>& groups = jet.sliding().groups();
    Hidden hidden(jet, missed_, until_);
    Row gap;
    for (std::size_t g = 0; g < groups.size(); ++g) {
        if (is_joint(groups[g].boundaries.front())) continue;
        const GroupBounds bounds(jet, groups[g], order);
        for (std::size_t r = 0; r < groups[g].rays.size(); ++r) {
            const Eigen::RowVectorXd& ray = groups[g].rays[r];
            bounds.gap(ray, gap);
            const double held = gap[0];
            if (usual_ > 0.0 && !is_in_doubt_)
                is_in_doubt_ = may_pass(gap, order, kBeyond * usual_ * hidden.rounding_along(groups[g], ray));
            if (descent(gap.data(), order, end_) > end_) continue;
            if (hidden.is_all()) return;
            if (!goes_beyond(gap, order, kBeyond * hidden.missed_along(groups[g], ray))) continue;
            gap[0] = Hidden::seen(held, hidden.along(groups[g], ray));
            const double u = descent(gap.data(), order, end_);
            if (u > end_) continue;
            const auto is_open = [&](const Eigen::RowVectorXd& way) {
                return bounds.vanishes(way, u, kTurns, kBeyond * hidden.along(groups[g], way));
            };
            Candidate candidate;
            candidate.group = static_cast<int>(g);
            candidate.ray = r;
            add_leaving_group(groups[g], candidate, u, is_open);
        }
    }
}

// Where nothing is held along the opposite ray either, the unit may leave along all such rays: what it sends on passes
// zero, and its boundaries turn.
template <class IsOpen>
void EventSearch::add_leaving_group(const SlidingGroup& group, Candidate candidate, double u, const IsOpen& is_open) {
    candidate.turns = is_open(-group.rays[candidate.ray]);
    add(u, candidate);
    for (std::size_t r = 0; candidate.turns && r < group.rays.size(); ++r) {
        if (!is_open(group.rays[r]) || !is_open(-group.rays[r])) continue;
        candidate.ray = r;
        add(u, candidate);
    }
}

void EventSearch::add_ray(const Jet& jet, const Candidate& candidate, std::vector<Contact>& contacts) {
    const SlidingGroup& group = jet.sliding().groups()[candidate.group];
    for (std::size_t k = 0; k < group.boundaries.size(); ++k) {
        const double a = group.rays[candidate.ray][static_cast<Index>(k)];
        if (a == 0.0) continue;
        Contact contact;
        contact.boundary = jet.sliding().boundaries()[group.boundaries[k]];
        contact.wants = a > 0.0 ? -1 : 1;
        contact.turns = candidate.turns;
        const auto same = [&](const Contact& other) { return other.boundary.is_same(contact.boundary); };
        const auto known = std::ranges::find_if(contacts, same);
        if (known == contacts.end())
            contacts.push_back(std::move(contact));
        else
            known->turns = known->turns || contact.turns || known->wants != contact.wants;
    }
}

}  // namespace reluflow::layered
