/// How a minimum becomes sides: the part of Resolution that asks the series whether they go where the minimum says.
#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "layered/dual_rounding.hpp"
#include "layered/joint.hpp"
#include "layered/local_form.hpp"
#include "layered/resolution.hpp"
#include "layered/sliding_bounds.hpp"

namespace reluflow::layered {
namespace {

/// A rate below this part of its terms is their rounding: the place leaves tangentially.
constexpr double kResting = 1e-8;
/// What moves tangentially gets its orders in so many rounds.
constexpr int kMaxRounds = 8;
/// The sine below which normals are parallel: where they are so but for the tolerance, as in `joint`.
constexpr double kSameMotion = 1e-6;

/// How fast a place moves to its side.
double ahead_of(const Jet& jet, const Given& one) {
    return one.side * jet.z(one.place.node).at(1, one.place.sample, one.place.unit);
}

/// What the rates of those that have a side are summed up from.
std::vector<double> sizes_of_rates(const Jet& jet, const std::vector<Given>& given) {
    const Vector terms = jet.velocity_terms();
    std::vector<double> sizes;
    for (const Given& one : given) sizes.push_back(one.side == 0 ? 0.0 : jet.rate_terms(one.place, terms));
    return sizes;
}

}  // namespace

// Gives the places the sides of a minimum, and starts the series there. False if it does not go where they say.
bool Resolution::arrange(Jet& jet, const LocalModel& model, const Minimum& minimum) {
    std::vector<Given> given;
    for (int a = 0; a < model.count(); ++a)
        if (!has_no_rate(model, a)) {
            given.push_back({model.places()[a], minimum.signs[a], minimum.rates[a], 1});
            given.back().cancels = cancels(model, minimum, a);
        }
    number_motions(model, minimum, given);
    told_.clear();
    for (int round = 0; round < kMaxRounds; ++round) {
        trial_.take_over(*before_);
        trial_.listen_to(&told_, untold_side());
        trial_.arrange(given, *theta_);
        int top = 1;
        for (const Given& one : given) top = std::max(top, one.orders);
        jet.start(*theta_, trial_, span_);
        for (int k = 0; k < top; ++k)
            if (!jet.advance()) {
                reason_ = "the normals of what slides depend on each other";
                return false;
            }
        if (correct_told(jet, 1)) continue;
        bool again = false;
        if (!goes_as_given(jet, given, again)) {
            reason_ = "what goes on by the rates does not by the series";
            return false;
        }
        if (again) continue;
        if (is_valid_jointly(jet)) return true;
        if (leave_beyond_bounds(jet, given)) continue;
        reason_ = "what should slide is beyond its bounds";
        return false;
    }
    return false;
}

// Whether a place that reads nothing but zeros has a rate by what is left of weights that add up to zero.
bool Resolution::cancels(const LocalModel& model, const Minimum& minimum, int a) {
    if (!model.normals().row(a).isZero(0.0)) return false;
    double terms = 0.0;
    for (int b = 0; b < a; ++b)
        terms += (std::abs(model.through_h(a, b)) + std::abs(model.through_z(a, b))) * std::abs(minimum.rates[b]);
    return std::abs(minimum.rates[a]) <= kForcedZero * terms;
}

// Places that the minimum moves to one side by one rate, but for a factor, go together: beside what stays their normals
// are parallel. So it is where a unit comes to zero on many samples at once.
void Resolution::number_motions(const LocalModel& model, const Minimum& minimum, std::vector<Given>& given) {
    Matrix rows = model.normals();
    std::vector<Vector> resting;
    for (int a = 0; a < model.count(); ++a) {
        for (int b = 0; b < a; ++b) {
            const double slope = minimum.signs[b] > 0 ? 1.0 : minimum.signs[b] < 0 ? model.leak(b) : 0.0;
            const double passed = model.through_h(a, b) * slope + model.through_z(a, b);
            if (passed != 0.0) rows.row(a) += passed * rows.row(b);
        }
        if (minimum.signs[a] == 0 && rows.row(a).norm() > 0.0) add_direction(rows.row(a).transpose(), resting);
    }
    std::vector<Vector> motions;
    for (Given& one : given) {
        if (one.side == 0) continue;
        Vector row = one.side * rows.row(model.number_of(one.place)).transpose();
        const double length = row.norm();
        take_away(resting, row);
        if (row.norm() <= kSameMotion * length) continue;
        row.normalize();
        const auto known =
            std::ranges::find_if(motions, [&](const Vector& m) { return (row - m).norm() <= kSameMotion; });
        one.motion = static_cast<int>(known - motions.begin()) + 1;
        if (known == motions.end()) motions.push_back(std::move(row));
    }
}

// Far larger units hide the rate of a place, so that the minimum has it at rest. Where its multiplier is beyond its
// bounds by more than rounding it leaves. True if there is any.
bool Resolution::leave_beyond_bounds(Jet& jet, std::vector<Given>& given) {
    if (!within_rounding_) return false;
    const std::vector<int> joint = joint_boundaries(trial_, *X_, *theta_);
    Row up;
    Row down;
    bool any = false;
    for (int b = 0; b < jet.sliding().count(); ++b) {
        if (jet.sliding().is_grouped(b) || (!joint.empty() && joint[b] != 0) || check_sliding(jet, b)) continue;
        const Boundary& boundary = jet.sliding().boundaries()[b];
        sliding_bounds(jet, b, 0, up, down);
        const int side = jet.sliding().multiplier(b)[0] < up[0] ? 1 : -1;
        for (Given& one : given) {
            const Place& p = one.place;
            if (one.side != 0 || boundary.place_of(p) < 0) continue;
            one.side = side * sign_of(boundary, p);
            one.orders = 1;
            one.at_once = any = true;
        }
    }
    return any;
}

// What has bounds of its own keeps to them; what is held jointly does by the minimum.
bool Resolution::is_valid_jointly(Jet& jet) {
    const std::vector<int> joint = joint_boundaries(trial_, *X_, *theta_);
    const auto is_joint = [&](int b) { return !joint.empty() && joint[b] != 0; };
    may_pivot_ = looks_ahead_ = false;
    sides_.assign(contacts_.size(), 0);
    next_ = sides_;
    on_ridge_ = false;
    bool valid = true;
    for (int b = 0; b < jet.sliding().count(); ++b)
        if (!jet.sliding().is_grouped(b) && !is_joint(b) && !check_sliding(jet, b)) valid = false;
    for (const SlidingGroup& group : jet.sliding().groups())
        if (!is_joint(group.boundaries.front()) && !check_group(jet, group)) valid = false;
    return valid;
}

bool Resolution::goes_as_given(const Jet& jet, std::vector<Given>& given, bool& again) {
    const DualRounding rounding(jet);
    const std::vector<double> sizes = sizes_of_rates(jet, given);
    const auto none_of = [&](std::size_t k) {  // beside its own terms, and beside all that moves
        return kNoRate * std::min(largest(jet.theta(1)) * jet.reach(given[k].place), sizes[k]);
    };
    const auto hidden_of = [&](std::size_t k) { return none_of(k) + kBeyond * rounding.of_rate(given[k].place); };
    const auto rest = [&](Given& one) {
        one.side = 0;
        one.rate = 0.0;
        again = true;
    };
    std::set<int> told;
    for (std::size_t k = 0; k < given.size(); ++k) {
        const Given& one = given[k];
        if (one.motion > 0 && one.orders == 1 && ahead_of(jet, one) > kResting * sizes[k] + hidden_of(k))
            told.insert(one.motion);
    }
    for (std::size_t k = 0; k < given.size(); ++k) {
        Given& one = given[k];
        const Place& p = one.place;
        if (one.side == 0) {
            if (trial_.mode(p) == Mode::moving) return false;
            continue;
        }
        if (one.cancels && trial_.mode(p) == Mode::sliding) {
            rest(one);  // what wakes on a boundary that slides is on it
            continue;
        }
        const double first = jet.z(p.node).at(one.orders, p.sample, p.unit);
        if (trial_.mode(p) != Mode::moving || trial_.side(p) != one.side) return false;
        if (one.orders == 1 && told.contains(one.motion) && ahead_of(jet, one) > 0.0) continue;
        const double none = none_of(k);
        if (one.orders == 1 && !one.at_once && std::abs(first) <= kResting * sizes[k] + hidden_of(k)) {
            one.orders = 2;
            one.is_known = first * one.side > hidden_of(k);
            again = true;
        } else if (one.orders == 2 && first * one.side <= none && one.is_known && !has_come_back(p)) {
            one.orders = 1;
            one.at_once = true;
            again = true;
        } else if (one.orders == 2 && first * one.side <= none) {
            rest(one);  // nothing moves it on that side, or it comes back at once: it stays at its bound
        } else if (first * one.side <= 0.0) {
            return false;
        }
    }
    return true;
}

}  // namespace reluflow::layered
