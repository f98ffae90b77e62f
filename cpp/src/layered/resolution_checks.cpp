/// Whether a continuation lasts: the part of Resolution that checks sides and multipliers, and says what has to change.
#include <algorithm>
#include <cmath>
#include <iterator>

#include "layered/dual_rounding.hpp"
#include "layered/joint.hpp"
#include "layered/resolution.hpp"
#include "layered/sliding_bounds.hpp"

namespace reluflow::layered {
namespace {

/// A multiplier may miss its bounds by this part of their size: the rounding of the solve.
constexpr double kBoundTol = 1e-11;
/// Behind an event by such a part of the step rates say where everything goes.
constexpr double kBehind = 1e-4;
/// A multiplier goes beyond its bound if it would be so many times what it may miss by, one step on.
constexpr double kSurely = 100.0;
/// What leaves tangentially has no rate beyond this part of its acceleration over the step: the place of an event is
/// known to the tolerance.
constexpr double kTangential = 1e-6;
/// and what turns is in a step before that part of it.
constexpr double kLatestTurn = 1e-2;
/// Rates of bounds where these meet are known to this part of their size: so is the place of the event.
constexpr double kTurnTol = 1e-8;
/// The rounding of a pre-activation at its boundary, as a part of the sum of its terms.
constexpr double kZRounding = 16 * 2.2e-16;

}  // namespace

/// The instant of an event is known to the tolerance; that of bounds that meet where steps miss more of duals, to less.
void Resolution::know_instant() {
    instant_ = kTangential;
    for (const Contact& contact : contacts_)
        if (contact.turns) instant_ = std::max(instant_, std::min(contact.known / span_, kLatestTurn));
}

/// How far a multiplier comes towards a bound, or from it, in the time to which an instant is known.
double Resolution::in_a_moment(const Row& multiplier, const Row& bound) const noexcept {
    return instant_ * std::abs(multiplier[1] - bound[1]);
}

Resolution::Check Resolution::check(Jet& jet) {
    next_ = sides_;
    on_ridge_ = beside_ridge_ = met_rests_ = is_for_stay_ = has_grown_ = false;
    let_go_.clear();
    looks_ahead_ = !turns_ && (is_start_ || any_begins());
    lasts_.assign(sides_.size(), 0);
    bool valid = true;
    for (std::size_t c = 0; c < sides_.size(); ++c)
        if (sides_[c] != 0 && !check_moving(jet, contacts_[c], next_[c])) valid = false;
    const std::vector<int> joint = jointly_kept(jet);
    const auto is_kept = [&](int b) {
        return !joint.empty() && joint[b] != 0 && turning(jet.sliding().boundaries()[b]) < 0;
    };
    for (int b = 0; b < jet.sliding().count(); ++b)
        if (!jet.sliding().is_grouped(b) && !is_kept(b) && !check_sliding(jet, b)) valid = false;
    for (const SlidingGroup& group : jet.sliding().groups())
        if (!is_kept(group.boundaries.front()) && !check_group(jet, group)) valid = false;
    if (valid && !let_go_.empty()) {
        lets_go_ = true;
        valid = false;
        has_grown_ = has_grown_ || may_grow_;
        if (may_grow_) std::ranges::move(let_go_, std::back_inserter(contacts_));
    }
    return has_grown_ ? Check::grown : valid ? Check::valid : Check::broken;
}

// What is held jointly beside what turns, if it stays. It has no bounds of its own; those by which it is let go are one
// of the ways to share multipliers. At the instant itself what turns pulls nothing: a state behind it tells.
std::vector<int> Resolution::jointly_kept(const Jet& jet) const {
    if (!turns_) return {};
    std::vector<int> joint = joint_boundaries(trial_, *X_, *theta_);
    if (joint.empty()) return joint;
    Vector ahead;
    jet.theta_at(kBehind, ahead);
    Matrix duals = jet.duals().dual(jet.order());
    for (int k = jet.order() - 1; k >= 0; --k) duals = duals * kBehind + jet.duals().dual(k);
    Vector drift = Vector::Zero(theta_->size());
    jet.duals().add_decay({ahead}, 0, drift);
    LocalModel model(trial_, *X_, ahead, {});
    model.add_forces(duals, drift / span_);
    model.add_errors(kBeyond * DualRounding::of_duals(jet), kBeyond * DualRounding::of_decay(jet));
    if (!holds_jointly(trial_, model, joint, interrupt_)) joint.clear();
    return joint;
}

bool Resolution::check_moving(const Jet& jet, Contact& contact, int& side) {
    const Place& p = contact.boundary.members.front();
    if (trial_.mode(p) != Mode::moving) return true;  // it went with its input or with what shares its boundary
    const double rate = jet.boundary_coefficient(contact.boundary, order_of(contact));
    const bool is_told = order_of(contact) > leading_order();
    const double hidden = is_told ? 0.0 : hidden_by_rounding(jet, contact.boundary);
    const bool leaves = contact.from == 0 && side == contact.wants && leaves_at_once(jet, contact.boundary, side);
    if ((rate * side > hidden || leaves) && !moves_against(jet, contact.boundary, rate)) return true;
    side = 0;
    return false;
}

// Whether what leaves at its bound, as if tangentially, is beyond it already: by a rate that is known. Its acceleration
// is then what that rate makes of it, and may bring it back later. What rounding hides of the rate it hides of the
// acceleration, too: where nothing can stay to the last bit, the sign of the rate is what is left.
bool Resolution::leaves_at_once(const Jet& jet, const Boundary& boundary, int side) const {
    if (turns_ || leading_order() == 1 || boundary.is_parameter()) return false;
    const Place& p = boundary.members.front();
    const double rate = jet.rate(p).value * sign_of(boundary, p) * side;
    return rate > (within_rounding_ ? 0.0 : kBeyond * DualRounding(jet).of_rate(p));
}

// What rounding makes of w in the leading order: where nothing else moves it, it stays. Of the first order any_rests()
// has looked at the terms, but not at what decay makes of what is left of w at the event: the rounding of its terms,
// and what its time is off by, which is all where all terms vanish.
double Resolution::hidden_by_rounding(const Jet& jet, const Boundary& boundary) {
    const Place& p = boundary.members.front();
    const bool has_terms = !boundary.is_parameter();
    const double terms = has_terms && leading_order() > 1 ? kZRounding * jet.terms(p, leading_order()) : 0.0;
    if (!jet.duals().decays()) return terms;
    Vector decay = Vector::Zero(theta_->size());
    jet.duals().add_decay({*theta_}, 0, decay);
    double pace = 0.0;
    for (Index g = 0; g < decay.size(); ++g)
        if ((*theta_)[g] != 0.0) pace = std::max(pace, std::abs(decay[g] / (*theta_)[g]));
    pace *= graph_->count();  // of a product of parameters, with at most one of each layer
    const double left =
        has_terms ? std::abs(z_of(p)) + kZRounding * jet.terms(p, 0) : std::abs(jet.boundary_coefficient(boundary, 0));
    return terms + left * (leading_order() == 1 ? pace : 0.5 * pace * pace);
}

// Whether what is to leave tangentially, by its acceleration, moves to the other side at once: it was not at its bound,
// and came with others.
bool Resolution::moves_against(const Jet& jet, const Boundary& boundary, double acceleration) const {
    if (!turns_ || leading_order() == 1) return false;
    const Place& p = boundary.members.front();
    const double rate =
        boundary.is_parameter() ? jet.boundary_coefficient(boundary, 1) : jet.rate(p).value * sign_of(boundary, p);
    return rate * acceleration < 0.0 && std::abs(rate) > instant_ * std::abs(acceleration);
}

bool Resolution::check_sliding(Jet& jet, int b) {
    Row up;
    Row down;
    Row multiplier;
    const int passed = first_orders(jet, b, multiplier, up, down);
    if (passed < 0) return true;  // nothing moves it
    const bool starts_at_zero = passed > 0;
    const double mu = multiplier[0];
    const bool passes = turns_ && leading_order() > 1;
    if (passes) {
        const bool meet = is_open(multiplier, up, down);
        const int c = turning(jet.sliding().boundaries()[b]);
        if (meet && c >= 0) return check_turned(jet, b, up[1], down[1], c);
        if (meet && turns_along(jet.sliding().boundaries()[b])) return true;
    }
    double tol = kBoundTol * (std::abs(up[0]) + std::abs(down[0]) + std::abs(mu));
    if (within_rounding_) tol += kBeyond * DualRounding(jet).of_multiplier(b);
    if (const int side = starts_at_zero ? leaves_later(jet, b, passed, kBoundTol) : 0; side != 0) {
        change_side(jet.sliding().boundaries()[b], side, true);
        return false;
    }
    const double above = passes ? std::max(tol, in_a_moment(multiplier, up)) : tol;
    const double below = passes ? std::max(tol, in_a_moment(multiplier, down)) : tol;
    if (mu >= up[0] - above && mu <= down[0] + below) {
        const int side = passes ? side_of_exit(jet, b, up, down, tol) : 0;
        if (side != 0 && !may_pivot_ && contact_of(jet.sliding().boundaries()[b]) < 0) {
            let_go_.push_back({jet.sliding().boundaries()[b], 0, side, false});
            return true;
        }
        if (side != 0) change_side(jet.sliding().boundaries()[b], side, true);
        return side == 0;
    }
    if (stands(jet, b, mu - up[0], down[0] - mu, tol)) return true;
    const double beyond = std::min(std::abs(mu - up[0]), std::abs(mu - down[0]));
    const bool is_at_bound =
        starts_at_zero || beyond < kTangential * (std::abs(up[0]) + std::abs(down[0]) + std::abs(mu));
    change_side(jet.sliding().boundaries()[b], up[0] > mu ? 1 : -1, is_at_bound);
    return false;
}

// Whether what slides can stand between bounds that repel it, where its multiplier is `above` one and `below` the
// other. What rests beside what is met is at its bound but for rounding; what is met leaves there.
bool Resolution::stands(const Jet& jet, int b, double above, double below, double tol) {
    const int known = contact_of(jet.sliding().boundaries()[b]);
    const bool is_met = known >= 0 && (contacts_[known].from != 0 || contacts_[known].wants != 0);
    const double rest = is_start_ || !is_met ? tol : 0.0;
    if (above > rest || below > rest) return false;
    // What nothing moves on its inactive side rests: half of all that is near does. Where a run begins it may, and what
    // is moved to both sides may stand.
    const bool is_at_rest = ridge_of(jet, b) == Ridge::rests;
    const bool stood = !is_start_ && !is_at_rest && stood_before(jet, jet.sliding().boundaries()[b]);
    on_ridge_ = on_ridge_ || (!is_start_ && !is_at_rest && !stood);
    is_for_stay_ = is_for_stay_ || is_start_ || stood;
    beside_ridge_ = beside_ridge_ || known < 0;
    met_rests_ = met_rests_ || (is_at_rest && !is_start_ && known >= 0 && contacts_[known].from != 0);
    return true;
}

// Whether a boundary has been stood on up to the event, though it repels.
bool Resolution::stood_before(const Jet& jet, const Boundary& boundary) {
    if (!stood_) {
        stood_.emplace();
        Jet earlier(*graph_, *X_, jet.duals(), 1);
        earlier.start(*theta_, *before_, span_, false);
        const auto& slides = earlier.sliding().boundaries();
        const int count = earlier.advance() ? earlier.sliding().count() : 0;
        for (int b = 0; b < count; ++b)
            if (ridge_of(earlier, b) == Ridge::stands)
                stood_->insert(stood_->end(), slides[b].members.begin(), slides[b].members.end());
    }
    return std::ranges::any_of(*stood_, [&](const Place& p) { return boundary.place_of(p) >= 0; });
}

// What leaves may do so at the instant at which the bounds of others meet, and what it sends on or gets passes zero,
// but for what steps miss: then they turn with it.
void Resolution::find_turning(Jet& jet) {
    const auto leaves = [](const Contact& c) { return c.from == 0 && c.wants != 0 && !c.turns; };
    if (is_start_ || std::ranges::any_of(contacts_, &Contact::turns) || std::ranges::none_of(contacts_, leaves)) return;
    jet.start(*theta_, *before_, span_, false);
    if (!jet.advance() || !jet.advance()) return;
    const std::vector<int> joint = joint_boundaries(*before_, *X_, *theta_);
    Row up;
    Row down;
    for (int b = 0; b < jet.sliding().count(); ++b) {
        if (jet.sliding().is_grouped(b) || (!joint.empty() && joint[b] != 0)) continue;  // no bounds of its own
        sliding_bounds(jet, b, 1, up, down);
        const Row& mu = jet.sliding().multiplier(b);
        const bool begins = any_begins() && mu[0] == 0.0 && up[0] == 0.0 && down[0] == 0.0;
        if (begins || !is_open(mu, up, down)) continue;
        const Boundary& boundary = jet.sliding().boundaries()[b];
        if (const int known = contact_of(boundary); known >= 0) {
            contacts_[known].turns = true;
        } else {
            contacts_.push_back({boundary, 0, 0, true});
            sides_.push_back(0);
        }
    }
}

// Whether the bounds of a multiplier meet: they will have, or have had, in a part of the step.
bool Resolution::is_open(const Row& mu, const Row& up, const Row& down) const noexcept {
    const double size = instant_ * (std::abs(up[1]) + std::abs(down[1]) + std::abs(mu[1]));
    return std::max(std::abs(mu[0] - up[0]), std::abs(mu[0] - down[0])) < size;
}

// Bounds of other units vanish with those of a contact that turns where one sum of duals decides all of them, if not at
// the same root for what steps miss: they turn with it.
bool Resolution::turns_along(const Boundary& boundary) {
    if (contact_of(boundary) >= 0) return false;
    contacts_.push_back({boundary, 0, 0, true});
    if (all_sides().empty()) {  // too many to look at
        contacts_.pop_back();
        return false;
    }
    next_.push_back(0);
    has_grown_ = true;
    return true;
}

// Whether a multiplier is between its bounds the other way round: the boundary pushes off what is beside it.
Resolution::Ridge Resolution::ridge_of(const Jet& jet, int b) {
    if (jet.sliding().is_grouped(b)) return Ridge::none;
    Row up;
    Row down;
    sliding_bounds(jet, b, 0, up, down);
    const double mu = jet.sliding().multiplier(b)[0];
    const double tol = kBoundTol * (std::abs(up[0]) + std::abs(down[0]) + std::abs(mu));
    if (up[0] - down[0] <= tol || mu > up[0] + tol || mu < down[0] - tol) return Ridge::none;
    return mu <= down[0] + tol || mu >= up[0] - tol ? Ridge::rests : Ridge::stands;
}

// The contact of a boundary, or -1.
int Resolution::contact_of(const Boundary& boundary) const {
    const Place& p = boundary.members.front();
    const auto same = [&](const Contact& other) {
        return other.boundary.is_same(boundary) || other.boundary.place_of(p) >= 0;
    };
    const auto known = std::ranges::find_if(contacts_, same);
    return known == contacts_.end() ? -1 : static_cast<int>(known - contacts_.begin());
}

// The contact of a boundary that turns, so that rates of bounds may be what counts, or -1.
int Resolution::turning(const Boundary& boundary) const {
    const int c = turns_ && leading_order() > 1 ? contact_of(boundary) : -1;
    return c >= 0 && contacts_[c].turns ? c : -1;
}

// Both bounds have met at the multiplier: what they are a little later tells whether a boundary that turns has come to
// attract, as one that repelled before does, or to repel.
bool Resolution::check_turned(const Jet& jet, int b, double up, double down, int contact) {
    const double mu = jet.sliding().multiplier(b)[1];
    const double tol = kTurnTol * (std::abs(up) + std::abs(down) + std::abs(mu));
    if (mu > up - tol && mu < down + tol) {
        lasts_[contact] = down - up > tol ? 1 : 0;
        return true;
    }
    if (mu < up + tol && mu > down - tol) {
        const bool repels = up - down > tol;
        lasts_[contact] = repels ? 1 : 0;
        is_for_stay_ = is_for_stay_ || repels;
        return true;
    }
    change_side(jet.sliding().boundaries()[b], up > mu ? 1 : -1);
    return false;
}

// Where a multiplier that is at one of its bounds, within `tol` or in a moment, goes beyond it; 0 if it stays within
// them. The other bound may be far larger than all that moves it: what counts is its own rounding.
int Resolution::side_of_exit(const Jet& jet, int b, const Row& up, const Row& down, double tol) const {
    const Row& mu = jet.sliding().multiplier(b);
    const bool at_up = mu[0] <= up[0] + std::max(tol, in_a_moment(mu, up));
    const bool at_down = mu[0] >= down[0] - std::max(tol, in_a_moment(mu, down));
    const double missed = std::min(tol, kBeyond * DualRounding(jet).of_multiplier(b));
    const double rounding = kSurely * missed + kBoundTol * (std::abs(up[1]) + std::abs(down[1]) + std::abs(mu[1]));
    if (at_up && !at_down && mu[1] < up[1] - rounding) return 1;
    if (at_down && !at_up && mu[1] > down[1] + rounding) return -1;
    return 0;
}

// Dependent boundaries hold a unit if they do so along all rays; otherwise it goes along the worst.
bool Resolution::check_group(const Jet& jet, const SlidingGroup& group) {
    const auto turns = [&](int b) { return turning(jet.sliding().boundaries()[b]) >= 0; };
    if (std::ranges::all_of(group.boundaries, turns)) return check_turned_group(jet, group);
    const GroupBounds bounds(jet, group, 0);
    Row gap;
    double worst = -kBoundTol;
    const Eigen::RowVectorXd* out = nullptr;
    for (const Eigen::RowVectorXd& ray : group.rays) {
        bounds.gap(ray, gap);
        if (within_rounding_) gap[0] += kBeyond * DualRounding(jet).along(group, ray);
        const double part = gap[0] / std::max(bounds.size(ray, 0.0), 1e-300);
        if (part >= worst) continue;
        worst = part;
        out = &ray;
    }
    if (out != nullptr) go_along(jet, group, *out);
    return out == nullptr;
}

// Where nothing is held along any ray what is held a little later counts: dependent boundaries that turn hold the unit,
// or it stands on them though nothing holds it.
bool Resolution::check_turned_group(const Jet& jet, const SlidingGroup& group) {
    const GroupBounds bounds(jet, group, 1);
    Row gap;
    double worst = 0.0;
    double best = 0.0;
    const Eigen::RowVectorXd* out = nullptr;
    for (const Eigen::RowVectorXd& ray : group.rays) {
        bounds.gap(ray, gap);
        const double size = std::max(bounds.size(ray, 1.0), 1e-300);
        const double part = (std::abs(gap[0]) < kTangential * size ? gap[1] : gap[0]) / size;
        best = std::max(best, part);
        if (part >= worst) continue;
        worst = part;
        out = &ray;
    }
    if (worst > -kTurnTol) {
        for (const int b : group.boundaries) lasts_[turning(jet.sliding().boundaries()[b])] = best > kTurnTol ? 1 : 0;
        return true;
    }
    if (best < kTurnTol) return true;
    go_along(jet, group, *out);
    return false;
}

void Resolution::go_along(const Jet& jet, const SlidingGroup& group, const Eigen::RowVectorXd& ray) {
    for (std::size_t k = 0; k < group.boundaries.size(); ++k)
        if (const double a = ray[static_cast<Index>(k)]; a != 0.0)
            change_side(jet.sliding().boundaries()[group.boundaries[k]], a > 0.0 ? -1 : 1);
}

// What slides has to go to a side of its boundary. What has come to its bound with others, to what steps miss, leaves
// tangentially as they do; what is beyond it has a rate at once.
void Resolution::change_side(const Boundary& boundary, int side, bool is_at_bound) {
    const int known = contact_of(boundary);
    if (known >= 0) {
        const Place& p = boundary.members.front();
        next_[known] = side * sign_of(boundary, p) * sign_of(contacts_[known].boundary, p);
    } else if (may_pivot_) {
        contacts_.push_back({boundary, 0, side, false});
        next_.push_back(side);
        rates_.push_back(1.0);
        only_leaves_ = only_leaves_ && is_at_bound;
    }
}

// The sign of z of a member where w is positive.
int Resolution::sign_of(const Boundary& boundary, const Place& p) const {
    const int m = boundary.place_of(p);
    return boundary.is_shared() && m >= 0 ? trial_.input_sign(p, boundary.inputs[m]) : 1;
}

}  // namespace reluflow::layered
