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
    if (!holds_jointly(state_.activity, model, joint_, &interrupt_, rests_jointly_)) return false;
    for (const Index unit : hidden_units()) {
        LocalModel own = model;
        own.look_at(sizes_of_units_.parameters_of(unit));
        if (holds_jointly(state_.activity, own, joint_, &interrupt_, rests_jointly_)) continue;
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
// not held from the begin on may rest, as far as nothing moves it on one side.
double LayeredFlow::end_of_joint_slide(double u) {
    if (joint_.empty() || u == 0.0) return u;
    double low = 0.0;
    double high = 0.0;
    rests_jointly_ = false;
    for (int look = 1; look <= kLooks && high == low; ++look) {
        high = u * look / kLooks;
        bool holds = holds_at(high);
        if (!holds && look == 1) {
            rests_jointly_ = !holds_at(kAhead.front() * u);
            holds = rests_jointly_ && holds_at(high);
        }
        if (holds) low = high;
    }
    if (high == low) return u;
    for (int round = 0; round < kHalvings && high - low > 1e-15 * u; ++round) {
        const double middle = 0.5 * (low + high);
        (holds_at(middle) ? low : high) = middle;
    }
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

// States behind an event at u of a step that would have gone on to `longest`, where something may leave.
void LayeredFlow::look_ahead(double u, double longest) {
    ahead_.clear();
    if (std::ranges::none_of(contacts_, [](const Contact& contact) { return contact.from == 0; })) return;
    ahead_.assign(kAhead.size(), state_.theta);
    for (std::size_t k = 0; k < kAhead.size(); ++k) jet_.theta_at(u + kAhead[k] * longest, ahead_[k]);
}

Outcome LayeredFlow::resolve_contacts() {
    if (!std::exchange(is_joint_event_, false)) {
        const Outcome found = resolution_.resolve(jet_, state_.theta, state_.activity, contacts_, span_, known_here());
        if (found != Outcome::undecided || std::ranges::any_of(resolution_.contacts(), &Contact::turns)) return found;
    }
    for (const Vector& ahead : ahead_) {
        const Outcome found = resolution_.resolve_joint(jet_, state_.theta, state_.activity, contacts_, span_, ahead);
        if (found != Outcome::undecided) return found;
    }
    return Outcome::undecided;
}

}  // namespace reluflow::layered
