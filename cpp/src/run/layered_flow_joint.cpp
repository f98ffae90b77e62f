/// Boundaries that are held jointly: the part of LayeredFlow that finds where they no longer are.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "layered/dual_rounding.hpp"
#include "layered/joint.hpp"
#include "run/layered_flow.hpp"

namespace reluflow::layered {
namespace {

/// Halvings of a step: the rounding of u.
constexpr int kHalvings = 50;
/// Times in a step at which what is held is looked at: what leaves and comes back between two of them is not seen.
constexpr int kLooks = 8;
/// Behind an event by such a part of the step rates say where everything goes. Units that gather leave one after the
/// other, ever closer: where the first is too far for one of them alone, the next are tried.
constexpr std::array kAhead = {1e-4, 1e-7, 1e-10};
/// Where the state behind has shown that nothing goes, and it does not hold by itself there either, the next one is
/// twice as far behind, up to this part of the step.
constexpr double kFarthest = 0.1;

}  // namespace

bool LayeredFlow::holds_at(double u) {
    Vector theta = state_.theta;
    jet_.theta_at(u, theta);
    if (jet_.duals().decays()) put_back(theta);
    probed_ = false;
    probe_.start(theta, state_.activity, span_, false);
    Vector drift = Vector::Zero(theta.size());
    probe_.duals().add_decay({theta}, 0, drift);
    if (is_late_) {
        late_.weights_at(u, late_weights_);
        probe_.prescribe(late_weights_);
    }
    LocalModel model(state_.activity, *X_, theta, {});
    model.add_forces(probe_.duals().dual(0), drift / span_);
    Matrix errors = DualRounding::of_duals(probe_);
    if (jet_.missed().duals.size() > 0) errors += jet_.missed().duals;
    model.add_errors(kBeyond * errors, kBeyond * DualRounding::of_decay(probe_));
    let_go_ = -1;
    if (!holds_jointly(state_.activity, model, joint_, &interrupt_, held_)) return false;
    for (const Index unit : hidden_units()) {
        LocalModel own = model;
        own.look_at(sizes_of_units_.parameters_of(unit));
        if (holds_jointly(state_.activity, own, joint_, &interrupt_, held_)) continue;
        let_go_ = unit;
        return false;
    }
    return true;
}

// Of what is held jointly: the errors of far larger units would hide what lets them go.
std::vector<Index> LayeredFlow::hidden_units() const {
    std::vector<Index> units;
    for (std::size_t b = 0; b < joint_.size() && sizes_of_units_.by_unit(); ++b) {
        const Index unit = state_.activity.sliding()[b].members.front().unit;
        if (joint_[b] != 0 && sizes_of_units_.is_hidden(unit) && std::ranges::find(units, unit) == units.end())
            units.push_back(unit);
    }
    return units;
}

// Bounds that several multipliers share are no series: the step is cut where they are first seen to be left. What is
// not held from the begin on may rest, as far as nothing moves it on one side, or have no way in which it moves. What a
// state behind an event has shown to stay does up to there.
double LayeredFlow::end_of_joint_slide(double u) {
    if (joint_.empty() || u == 0.0) return u;
    if (const double told = std::exchange(told_, 0.0); told > 0.0) {
        pending_ = Status::running;
        contacts_.clear();
        return told * u;
    }
    double low = 0.0;
    double high = 0.0;
    held_ = Held::by_bounds;
    for (int look = 1; look <= kLooks && high == low; ++look) {
        high = u * look / kLooks;
        bool holds = holds_at(high);
        if (!holds && look == 1) {
            const double begin = kAhead.front() * u;
            if (!holds_at(begin)) held_ = Held::at_rest;
            if (held_ == Held::at_rest && !holds_at(begin)) held_ = Held::by_ways;
            holds = held_ != Held::by_bounds && holds_at(high);
        }
        if (holds) low = high;
    }
    for (int round = 0; round < kHalvings && high - low > 1e-15 * u; ++round) {
        const double middle = 0.5 * (low + high);
        (holds_at(middle) ? low : high) = middle;
    }
    if (low > 0.0) reach_ = 1.0;  // what was in doubt is over
    if (high == low) return u;
    pending_ = Status::running;
    contacts_.clear();
    holds_at(high);
    for (std::size_t b = 0; b < joint_.size(); ++b) {
        const Boundary& boundary = state_.activity.sliding()[b];
        if (joint_[b] == 0 || (let_go_ >= 0 && boundary.members.front().unit != let_go_)) continue;
        contacts_.push_back({boundary, 0, 0, false});
    }
    is_joint_event_ = true;
    return high;
}

// How far behind an event, as a part of the step, the state is of which is asked what goes.
double LayeredFlow::behind(std::size_t k) const {
    return std::min(reach_ * kAhead[k], kFarthest);
}

// States behind an event at u of a step that would have gone on to `longest`, where something may leave.
void LayeredFlow::look_ahead(double u, double longest) {
    ahead_.clear();
    if (!is_joint_event_) reach_ = 1.0;
    if (std::ranges::none_of(contacts_, [](const Contact& contact) { return contact.from == 0; })) return;
    ahead_.assign(kAhead.size(), state_.theta);
    for (std::size_t k = 0; k < kAhead.size(); ++k) jet_.theta_at(u + behind(k) * longest, ahead_[k]);
}

Outcome LayeredFlow::resolve_contacts() {
    const bool is_joint = std::exchange(is_joint_event_, false);
    told_ = 0.0;
    if (!is_joint) {
        const Outcome found = resolution_.resolve(jet_, state_.theta, state_.activity, contacts_, span_, known_here());
        if (found != Outcome::undecided || std::ranges::any_of(resolution_.contacts(), &Contact::turns)) return found;
    }
    for (std::size_t k = 0; k < ahead_.size(); ++k) {
        const Outcome found =
            resolution_.resolve_joint(jet_, state_.theta, state_.activity, contacts_, span_, ahead_[k]);
        if (found == Outcome::undecided) continue;
        const bool changes = found != Outcome::unique || !resolution_.options().front().changes.empty();
        if (is_joint && !changes) told_ = behind(k);
        reach_ = told_ > 0.0 ? 2.0 * reach_ : 1.0;
        return found;
    }
    return Outcome::undecided;
}

}  // namespace reluflow::layered
