/// A run to a time beyond the digits of a stalled loss: samples at rest keep their weights, and the others a share
/// beside them (docs/design/resting.md).
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <vector>

#include "base/tolerances.hpp"
#include "numeric/decompositions.hpp"
#include "problem/loss.hpp"
#include "run/flow.hpp"

namespace reluflow {

namespace {

/// Samples at rest have weights above those of all others by so many e-foldings, log 30. Where the others fall like
/// 1/t, t times a weight of theirs is about one at most: from e to the power of the second on they do not count as
/// apart.
constexpr double kApart = 3.4011973816621555;
constexpr double kFallen = -2.0;
constexpr double kUnseen = 1e-10;
/// The weights of those at rest add up to this.
constexpr double kSum = 0.5;
/// The share of the others, at most, as a part of the smallest weight at rest.
constexpr double kOfSmallest = 0.05;
/// And otherwise as many roundings of the terms of a margin at rest: what is unknown of the pull of the others is the
/// inverse of it, and the margins at rest, known to a rounding of their terms, are off by as many of these.
constexpr double kShareUlps = 1e5;
constexpr double kFewestUlps = 10.0;
/// The network grows, and its terms with it: by so much until the share follows.
constexpr double kGrownTerms = 10.0;
/// The tolerance of the steps: weights of order one have a rounding that limits late steps below it, and values at rest
/// are to be known beside |θ|².
constexpr double kTolerance = 1e-9;
/// What rounding moves is accepted beside samples at rest: it moves their margins, and the weights move these back.
constexpr double kAcceptedRounding = 1e-6;
/// A sample whose weight has come down to so many times the share of all tails has become one of them.
constexpr double kFree = 5.0;
/// Roles change at most so many times a sample.
constexpr Index kMostChanges = 2;
/// On which side of a sample at rest a neuron stays is known while the tolerance moves values by less than this.
constexpr double kKnownValue = 1e-3;

}  // namespace

bool Flow::is_beside_rest() const noexcept {
    return plan_.past_stall && !plan_.objective.resting.is_empty();
}

/// Only where an end of the run is beyond the stall. Of errors all samples rest or none, and decay takes the place of
/// what grows; the estimate of the direction relies on the law of the flow in t.
bool Flow::can_go_beside_rest() const {
    const Waveform& waveform = stepper_->waveform();
    const bool has_end = !std::isinf(time_stop().log_t()) || plan_.stop.log_norm <= kLargestLogNorm;
    return plan_.past_stall && has_end && !waveform.is_linear() && !waveform.has_decay() && exponent() == 0 &&
           plan_.stop.direction == 0.0 && role_changes_ < kMostChanges * data_.n();
}

/// log |ℓ'(q_i)| with what the samples count.
Vector Flow::log_weights_of_all() const {
    const Vector& q = stepper_->expansion().margins();
    Vector found(data_.n());
    for (Index i = 0; i < data_.n(); ++i)
        found[i] = log_weight(plan_.objective.loss, q[i] + state_.offsets[i]) + std::log(data_.counts()[i]);
    return found;
}

/// The share of the tails that the rounding of the margins at rest leaves room for.
double Flow::fitting_share(double smallest) const {
    const double terms = stepper_->square() * stepper_->waveform().largest_norm();
    return std::min(kShareUlps * std::numeric_limits<double>::epsilon() * terms, kOfSmallest * smallest);
}

/// The samples whose weights are far above those of all others, which fall like 1/t; empty where no gap says which, or
/// where the others are no small part of them.
Resting Flow::roles_by_gap(double& true_share) const {
    const Vector log_p = log_weights_of_all();
    const double log_t = state_.clock.log_t() + log_factor_;
    std::vector<double> sorted;
    for (const double log_weight : log_p)
        if (std::isfinite(log_weight)) sorted.push_back(log_weight);
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    if (sorted.empty()) return {};
    // Early, before any stall, no weight is above that: then what is rounding of the largest counts as apart.
    const bool is_early = std::isinf(stall_log_t_) && sorted.front() + log_t < kFallen + kApart;
    const double fallen = is_early ? sorted.front() + std::log(kUnseen) : kFallen - log_t;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t k = 1; k < sorted.size(); ++k)
        if (std::max(sorted[k - 1], fallen) - std::max(sorted[k], fallen) >= kApart) least = sorted[k - 1];
    if (std::isinf(least)) return {};
    double of_rests = 0.0;
    double of_tails = 0.0;
    for (const double log_weight : sorted) (log_weight >= least ? of_rests : of_tails) += std::exp(log_weight - least);
    const double smallest = kSum / of_rests;
    true_share = of_tails * smallest;
    if (!(true_share > 0.0 || std::exp(sorted.back() - least) == 0.0) || true_share > kOfSmallest * smallest) return {};
    Resting roles;
    roles.scales = Vector::Zero(data_.n());
    for (Index i = 0; i < data_.n(); ++i)
        if (log_p[i] >= least) roles.scales[i] = smallest * std::exp(-least);
    roles.share = std::max(true_share, fitting_share(smallest));
    return roles;
}

/// The share of the tails that the samples at rest hold where they stand: a run that came here beside them has kept
/// that of its stall, which their weights do not tell any more. With R and T the pulls of both, R + s T is least in the
/// span of the gradients of the margins at rest.
double Flow::balanced_share(const Resting& roles) const {
    const Vector log_p = log_weights_of_all();
    double heaviest = -std::numeric_limits<double>::infinity();
    for (Index i = 0; i < data_.n(); ++i)
        if (!roles.rests(i)) heaviest = std::max(heaviest, log_p[i]);
    const Index size = state_.neurons() * (state_.parameters.rank() + 1);
    Vector of_rests = Vector::Zero(size), of_tails = Vector::Zero(size), gradient(size);
    std::vector<Index> rests;
    double sum = 0.0;
    double smallest = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < data_.n(); ++i) {
        if (!stepper_->waveform().is_live(i) || !std::isfinite(log_p[i])) continue;
        margin_gradient(i, gradient);
        if (roles.rests(i)) {
            rests.push_back(i);
            const double weight = roles.scales[i] * std::exp(log_p[i]);
            smallest = std::min(smallest, weight);
            of_rests += weight * gradient;
        } else {
            sum += std::exp(log_p[i] - heaviest);
            of_tails += std::exp(log_p[i] - heaviest) * gradient;
        }
    }
    Vector outside = of_tails;
    take_away_held(rests, outside);
    const Vector held = of_tails - outside;
    const double square = held.squaredNorm();
    if (rests.empty() || square == 0.0) return 0.0;
    return std::clamp(-of_rests.dot(held) / square * sum, 0.0, kOfSmallest * smallest);
}

/// Gives the samples roles by their weights; false where these tell none, or those that they have. `begins`: the run
/// has come to its start beside samples at rest.
bool Flow::go_beside_rest(bool begins) {
    if (!can_go_beside_rest()) return false;
    stepper_->settle();
    double true_share = 0.0;
    Resting roles = roles_by_gap(true_share);
    if (roles.is_empty()) return false;
    const Resting& now = plan_.objective.resting;
    bool is_new = now.is_empty();
    for (Index i = 0; i < data_.n() && !is_new; ++i) is_new = now.rests(i) != roles.rests(i);
    if (!is_new) return false;
    stall_log_t_ = std::min(stall_log_t_, state_.clock.log_t());
    for (Index i = 0; i < data_.n(); ++i)
        if (now.rests(i) || roles.rests(i)) state_.offsets[i] = 0.0;
    if (begins) {
        true_share = std::max(true_share, balanced_share(roles));
        roles.share = std::max(true_share, roles.share);
    }
    const double part = 1.0 - true_share / roles.share;
    take_roles(std::move(roles), part);
    return true;
}

/// Makes tails of samples at rest that move, or lets others rest that have come to it; false if none changes.
bool Flow::change_roles() {
    if (!can_go_beside_rest()) return false;
    Resting roles = plan_.objective.resting;
    bool moves = false;
    for (Index i = 0; i < data_.n(); ++i) {
        const bool rests = stepper_->waveform().is_live(i) && roles.rests(i);
        if (!rests || std::abs(stepper_->waveform().signed_weights(0)[i]) >= kFree * roles.share) continue;
        roles.scales[i] = 0.0;
        state_.offsets[i] = 0.0;
        moves = true;
    }
    if (!moves) return go_beside_rest();
    stepper_->settle();
    take_roles(std::move(roles), 0.0);
    return true;
}

/// Goes on from the present state with these roles.
void Flow::take_roles(Resting roles, double part) {
    ++role_changes_;
    plan_.objective.resting = std::move(roles);
    Settings settings = plan_.settings;
    if (!plan_.objective.resting.is_empty()) {
        settings.rtol = kTolerance;
        settings.rounding = std::max(settings.rounding, kAcceptedRounding);
    }
    const StepCounts counts = stepper_->counts();
    stepper_.emplace(data_, plan_.objective, settings, state_, pool_);
    stepper_->count_from(counts);
    hold_margins(part);
    stepper_->begin();
    log_loss_ = stepper_->waveform().log_loss() + log_factor_;
    rest_trend_ = {};
    drift_.forget();
    grown_to_ = -std::numeric_limits<double>::infinity();
    last_from_ = taken_ = 0.0;
    steps_since_ = last_steps_ = still_ = 0;
    watch_rests();
}

/// Gives the margins at rest offsets by which they stay where they are: a share of the tails that is larger by this
/// part of itself would move them by that. With G the gradients of the margins at rest, T the pull of the tails and
/// C = |p'(q)| the weights that hold it are the c with G c = -T, as far as G reaches, and the least |C^-1/2 c|, since
/// margins move by C^-1 c, and only by Gᵀ of a motion.
void Flow::hold_margins(double part) {
    if (part <= 0.0) return;
    const Resting& resting = plan_.objective.resting;
    stepper_->begin();
    const Waveform& waveform = stepper_->waveform();
    const Vector& q = stepper_->expansion().margins();
    const Index size = state_.neurons() * (state_.parameters.rank() + 1);
    std::vector<Index> rests;
    Vector pull = Vector::Zero(size), gradient(size);
    for (Index i = 0; i < data_.n(); ++i) {
        if (!waveform.is_live(i)) continue;
        if (resting.rests(i)) {
            rests.push_back(i);
            continue;
        }
        margin_gradient(i, gradient);
        pull += std::abs(waveform.signed_weights(0)[i]) * gradient;
    }
    if (rests.empty()) return;
    const auto count = static_cast<Index>(rests.size());
    Eigen::MatrixXd gradients(size, count);
    Vector roots(count);
    for (Index k = 0; k < count; ++k) {
        const Index i = rests[static_cast<std::size_t>(k)];
        roots[k] = std::sqrt(resting.scales[i] * data_.counts()[i] * curvature(plan_.objective.loss, q[i]));
        margin_gradient(i, gradient);
        gradients.col(k) = roots[k] * gradient;
    }
    const Vector held = least_squares(gradients, -pull, kSpanTol);
    for (Index k = 0; k < count; ++k) state_.offsets[rests[static_cast<std::size_t>(k)]] += part * held[k] / roots[k];
}

/// True where the others have come to rest as well: what they pull is within the span of the gradients of the margins
/// at rest, and these hold it.
bool Flow::are_tails_held() {
    if (!is_beside_rest()) return false;
    stepper_->settle();
    const Waveform& waveform = stepper_->waveform();
    const Index size = state_.neurons() * (state_.parameters.rank() + 1);
    std::vector<Index> rests;
    Vector pull = Vector::Zero(size), gradient(size);
    for (Index i = 0; i < data_.n(); ++i) {
        if (!waveform.is_live(i)) continue;
        if (!waveform.is_tail(i)) {
            rests.push_back(i);
            continue;
        }
        margin_gradient(i, gradient);
        pull += std::abs(waveform.signed_weights(0)[i]) * gradient;
    }
    const double whole = pull.norm();
    take_away_held(rests, pull);
    return pull.norm() <= kHeldPull * whole;
}

/// The share grows with the terms of the margins, whose rounding it has to exceed: it moves the margins at rest by no
/// larger part of these.
void Flow::follow_share() {
    if (!is_beside_rest()) return;
    double smallest = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < data_.n(); ++i)
        if (stepper_->waveform().is_live(i) && plan_.objective.resting.rests(i))
            smallest = std::min(smallest, std::abs(stepper_->waveform().signed_weights(0)[i]));
    if (std::isinf(smallest)) return;
    Resting roles = plan_.objective.resting;
    const double share = fitting_share(smallest);
    if (share < kGrownTerms * roles.share) return;
    stepper_->settle();
    const double part = 1.0 - roles.share / share;
    roles.share = share;
    --role_changes_;  // the roles stay
    take_roles(std::move(roles), part);
}

/// True where the rounding of the margins at rest moves their weights by a part of the share that counts.
bool Flow::hides_tails() const noexcept {
    if (!is_beside_rest()) return false;
    const double terms = stepper_->square() * stepper_->waveform().largest_norm();
    return kFewestUlps * std::numeric_limits<double>::epsilon() * terms > stepper_->waveform().share();
}

/// True, with the status set, if a neuron has met the boundary of a sample at rest where what holds it on its side, the
/// value at rest, is below the digits of the step.
bool Flow::crosses_unknown() {
    if (!is_beside_rest()) return false;
    const double unknown = kTolerance * stepper_->square() * stepper_->waveform().largest_norm();
    if (unknown < kKnownValue) return false;
    for (const auto& event : stepper_->events())
        for (const int sample : data_.samples_of(event.boundary)) {
            if (event.u > stepper_->end() || !plan_.objective.resting.rests(sample)) continue;
            stepper_->cut(0.0);  // what it did is undone
            finish_unsure_side(sample);
            return true;
        }
    return false;
}

}  // namespace reluflow
