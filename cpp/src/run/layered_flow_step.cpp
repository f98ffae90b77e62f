/// How far a step goes: the part of LayeredFlow that expands, finds the first event and checks the accuracy.
#include "run/layered_flow.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/tolerances.hpp"
#include "numeric/bracket.hpp"
#include "numeric/polynomial.hpp"

namespace reluflow::layered {
namespace {

/// A step whose last terms are zero: they may be so because they are below all doubles, and this much longer they are
/// far below the tolerance still.
constexpr double kLongestBlind = 1e3;
/// Part of a step by truncation that stays if the first guess of an event is right: beyond it more orders are wasted.
constexpr double kEventRoom = 1.3;
/// Events are at one instant to a part of the step. One that comes before this part of it is looked for again in a step
/// that goes so many times as far: weights may be 1e-30 of those that move them, and cross one boundary after the other
/// before these have moved at all.
constexpr double kFirstPart = 1e-4;
constexpr double kRoomBehind = 4.0;
/// From this order on, the order at which length / order² stops growing is the best one.
constexpr int kFirstJudged = 8;
/// Halvings, of a step or of the shortest time in which a parameter changes by its own size, before the accuracy counts
/// as out of reach. Where almost nothing moves truncation lets a step be as long as one likes.
constexpr int kMaxShortenings = 40;
/// The logarithm of the loss may rise by this much in a step: its rounding.
constexpr double kRise = 1e-9;
/// A pre-activation may be on the wrong side, or off the zero it is held at, by this many tolerances of its layer.
constexpr double kMisplaced = 1e4;
constexpr double kLeastMisplaced = 1e-11;
/// From this order on the last terms say how long a step may be.
constexpr int kFirstOrder = 3;
/// A step that crossings may share is made for so much more than the last one went.
constexpr double kLonger = 1.5;
/// Parts of the tolerance that crossings inside a step may take, as expected and as measured.
constexpr double kExpectedPart = 0.15;
constexpr double kMeasuredPart = 0.45;
/// What rounding makes of a velocity, as a part of the largest.
constexpr double kRounding = 1e-14;
/// What slides decays by so many e-foldings in a step at most: in three layers its multiplier loses three digits then.
constexpr double kMostDecayed = 1.0;
/// A squared loss below e^-60 is rounding itself.
constexpr double kSmallLoss = -60.0;
/// The rounding of a dual that cancels, as a part of its terms.
constexpr double kDualUlps = 8 * 2.2e-16;
/// E-foldings in a fine step of what those before have left in fast directions, at least: in the fastest it is eight.
constexpr double kSettling = 4.0;
/// Fine steps after which that is over.
constexpr int kSettled = 6;
/// |θ| may turn within a step: parts in which it turns downwards once at most.
constexpr int kNormPieces = 8;
constexpr int kNormHalvings = 60;

}  // namespace

bool LayeredFlow::expand(bool for_crossings) {
    sizes_of_units_.take(state_.theta);
    if (!fit_unit()) return false;
    double guess = kNoRoot;
    double best = 0.0;
    int measured = 0;
    while (jet_.order() < jet_.top()) {
        if (interrupt_.is_wanted()) return false;
        if (!jet_.advance()) {
            finish_undecided(kDependent);
            return false;
        }
        const int p = jet_.order();
        // On its way through zero θ has the size of what it moves by.
        if (measured == 0 && largest(state_.theta) == 0.0) sizes_of_units_.take(jet_.theta(1));
        for (; measured < p; measure(measured)) ++measured;
        if (p < kFirstOrder) continue;
        if (p == kFirstOrder) {
            guess = EventSearch::guess(jet_);
            if (for_crossings && may_share()) guess = std::max(guess, kLonger * reached_ / span_);
        }
        const double length = allowed(p);
        if (length > kEventRoom * guess) break;
        if (p < kFirstJudged) continue;
        const double worth = length / (p * p);
        if (worth < best) break;
        best = std::max(best, worth);
    }
    order_sum_ += jet_.order();
    rate_at_start_ = jet_.theta(1).norm();
    return true;
}

// All orders, where an event is near but few do not tell whether it happens.
bool LayeredFlow::expand_fully() {
    order_sum_ -= jet_.order();
    while (jet_.order() < jet_.top()) {
        if (interrupt_.is_wanted()) return false;
        if (!jet_.advance()) {
            finish_undecided(kDependent);
            return false;
        }
        measure(jet_.order());
    }
    order_sum_ += jet_.order();
    return true;
}

// How large order k is, relative to θ, to t and to the duals.
void LayeredFlow::measure(int k) {
    const auto at = static_cast<std::size_t>(k);
    sizes_[0][at] = sizes_of_units_.part(jet_.theta(k));
    sizes_[1][at] = k == 0 ? 0.0 : std::abs(jet_.duals().time()[k]) / jet_.duals().time()[1];
    sizes_[2][at] = jet_.duals().loss() == Loss::squared ? 0.0 : jet_.duals().largest_dual(k);
}

// The length at which the last two terms are below the tolerance, and weights that do not show in them stay so.
double LayeredFlow::allowed(int order) const {
    const double tol = kTruncationPart * tolerance();
    const auto at = static_cast<std::size_t>(order);
    double length = kNoRoot;
    double by_growth = kNoRoot;
    for (std::size_t quantity = 0; quantity < sizes_.size(); ++quantity) {
        const auto& size = sizes_[quantity];
        const int shift = quantity == 1 ? 1 : 0;  // of t, which is not 0 at order 1, the rate counts
        const auto limit = [&](double& found, double ratio, int power) {
            if (ratio > 0.0) found = std::min(found, std::pow(tol / ratio, 1.0 / power));
        };
        limit(length, size[at - 1], order - 1 - shift);
        limit(length, size[at], order - shift);
        double growth = 0.0;
        for (std::size_t k = 2; k <= at; ++k)
            if (size[k - 1] > 0.0) growth = std::max(growth, size[k] / size[k - 1]);
        limit(by_growth, std::max(size[at], growth * size[at - 1]), order - shift);
    }
    // Few orders are enough only where an event is near, and there the terms fall fast: the last one, or what the one
    // before would grow to by the fastest growth seen so far, as one alone may be small by chance.
    length = order < kFirstJudged ? std::max(length, by_growth) : length;
    return std::min({length, jet_.duals().unsaturated_length(), longest_decay()});
}

// The terms of z of what slides cancel where decay is all that moves it.
double LayeredFlow::longest_decay() const {
    if (!jet_.duals().decays() || jet_.sliding().empty()) return kNoRoot;
    const double passed = jet_.duals().time()[1] * std::exp(jet_.duals().log_unit());  // of t, in a unit of the series
    return kMostDecayed / (jet_.duals().decay().maxCoeff() * passed);
}

// Crossings share a step on which nothing slides.
bool LayeredFlow::may_share() const {
    const Activity& activity = state_.activity;
    return !jet_.duals().decays() && activity.sliding().empty() && !activity.any_single();
}

// Such a step ends where a state is to be saved: its series hold for what comes after the last crossing.
double LayeredFlow::follow_crossings(double end) {
    const std::int64_t most =
        std::min(plan_.stop.events, plan_.settings.max_events) - static_cast<std::int64_t>(events_.size()) - 1;
    moved_.take_over(state_.activity);
    moved_.clear_zeros();
    end = std::min(end, reach(time_stop(), end));
    if (!is_saved()) save_clock_ = next_save();
    save_end_ = is_saved() ? kNoRoot : reach(save_clock_, end);
    end = std::min(end, save_end_);
    const double budget = kExpectedPart * plan_.settings.rtol * largest(state_.theta);
    const double u = std::min(crossings_.follow(jet_, moved_, end, budget, most, contacts_), end);
    if (!contacts_.empty() && crossings_.crossings().empty() && u < kFirstPart * end) {
        shares_ = false;
        return end_of_step(end);
    }
    reached_ = crossings_.crossings().empty() ? 0.0 : u * span_;
    const double stop = end_by_norm(end_by_loss(end_by_time(u)));
    is_cut_ = stop < u;
    if (is_cut_) contacts_.clear();
    return stop;
}

// How far the step goes: by truncation, to the first event, to a stop rule.
double LayeredFlow::end_of_step(double u) {
    contacts_.clear();
    pending_ = Status::running;
    if (!std::isfinite(u)) {
        if (largest(jet_.theta(1)) == 0.0) {
            log_gradient_ = -kNoRoot;
            rest();
            return 0.0;
        }
        u = kLongestBlind;
    }
    double event = search_.find(jet_, u, joint_, contacts_, missed(settled()), missed(rtol_));
    for (const double until = u; event > 0.0 && event < kFirstPart * u;) {
        u = kRoomBehind * event;
        contacts_.clear();
        event = search_.find(jet_, u, joint_, contacts_, missed(settled()), missed(rtol_), until);
    }
    if (event <= u) u = event;
    const double end = end_by_norm(end_by_loss(end_by_time(u)));
    if (end < u) contacts_.clear();
    return end;
}

// How many times their rounding duals are off that cancel: outputs are known to what steps miss of θ.
double LayeredFlow::missed(double tolerance) const {
    if (jet_.duals().loss() != Loss::squared || is_implicit_) return 0.0;  // implicit steps measure what they miss
    return kTruncationPart * tolerance / kDualUlps;
}

// Whether a multiplier passes its bound is not known to what steps miss of duals. Finer steps tell, once what the last
// ones have left in fast directions is over.
double LayeredFlow::tolerance() const noexcept {
    const double known = std::min(rtol_, late_.known());
    return fine_ > 0 ? std::min(known, kFinest) : known;
}

// The tolerance of steps that would have left what is there after so many fine ones.
double LayeredFlow::settled() const noexcept {
    return std::max(tolerance(), rtol_ * std::exp(-kSettling * fine_));
}

void LayeredFlow::refine(bool quiet) {
    const bool is_solved = is_implicit_ && implicit_.is_exact() && jet_.duals().loss() == Loss::squared;
    if (is_solved && quiet) left_ = jet_.missed();
    if (is_late_ || is_implicit_)
        fine_ = is_solved ? kSettled : 0;
    else
        fine_ = is_in_doubt() ? fine_ + 1 : 0;
    if (!quiet || fine_ == 0 || fine_ > 2 * kSettled) left_ = {};
}

// The first u at which |θ| has come to the value of the stop, also where it is below it again at the end of the step:
// with decay, or before all margins are positive, it falls too.
double LayeredFlow::end_by_norm(double end) {
    if (std::isinf(plan_.stop.log_norm) || end == 0.0) return end;
    const auto is_before = [this](double u) {
        jet_.theta_at(u, end_);
        return std::log(end_.norm()) < plan_.stop.log_norm;
    };
    const auto grows = [this](double u) {
        jet_.theta_at(u, end_);
        jet_.rate_at(u, rate_);
        return end_.dot(rate_) > 0.0;
    };
    double low = 0.0;
    for (int piece = 1; piece <= kNormPieces; ++piece) {
        double high = end * piece / kNormPieces;
        const double next = high;
        if (is_before(high) && grows(low) && !grows(high)) high = halved({low, high}, grows, kNormHalvings).high;
        if (!is_before(high)) {
            pending_ = Status::reached_log_norm;
            return halved({low, high}, is_before, kNormHalvings).high;
        }
        low = next;
    }
    return end;
}

double LayeredFlow::reach(const Clock& target, double end) {
    if (is_late_) return reach_late(target, end);
    // Also where all that is left is what rounding took from the clock: steps that short would be taken for rest.
    if (!state_.clock.is_before(target)) return 0.0;
    const double amount = state_.clock.amount_to(target, jet_.duals().log_unit());
    if (amount <= 0.0) return 0.0;
    if (!std::isfinite(amount)) return kNoRoot;
    Row c;
    for (int k = 0; k <= jet_.order(); ++k) c[k] = -jet_.duals().time()[k];
    c[0] = amount;
    return first_descent(c.data(), jet_.order(), end);
}

Clock LayeredFlow::clock_at(double u) {
    if (is_late_) return late_clock_at(u);
    if (u == save_end_) return save_clock_;  // and not a digit before it, where nothing would be saved
    return state_.clock.later(evaluate(jet_.duals().time(), jet_.order(), u), jet_.duals().log_unit());
}

double LayeredFlow::log_loss_of(const Vector& theta) {
    probed_ = false;
    probe_.start(theta, activity_at_end(), span_, false);
    return probe_.duals().log_loss(probe_.outputs());
}

double LayeredFlow::log_loss_at(double u) {
    jet_.theta_at(u, end_);
    return log_loss_of(end_);
}

// Compares the series' velocity with the network's own at the end of the step, and the loss with that before.
bool LayeredFlow::is_accurate(double u) {
    jet_.theta_at(u, end_);
    probed_ = false;
    if (!end_.allFinite()) return false;
    jet_.rate_at(0.0, rate_);
    balance_.see(rate_);
    balance_.restore(end_, clock_at(u).t());
    if (u == 0.0) return true;
    jet_.rate_at(u, rate_);
    multipliers_.clear();
    for (int b = 0; b < jet_.sliding().count(); ++b)
        multipliers_.push_back(evaluate(jet_.sliding().multiplier(b).data(), jet_.order() - 1, u));
    probe_.start(end_, activity_at_end(), span_, false);
    // On its way through zero θ is what rounding leaves of the start, and no side can be told.
    const double by_rounding = kRounding * largest(state_.theta) / largest(end_);
    if (probe_.misplaced() > std::max(kMisplaced * std::max(plan_.settings.rtol, kLeastMisplaced), by_rounding))
        return false;
    velocity_.resize(end_.size());
    probe_.velocity(multipliers_.data(), velocity_);
    log_loss_at_end_ = probe_.duals().log_loss(probe_.outputs());
    rate_ = (rate_ - velocity_) * u;  // what the step misses
    const bool is_shared = !crossings_.crossings().empty();
    UnitSizes& sizes = is_shared ? crossings_.sizes() : sizes_of_units_;
    if (sizes.by_unit()) sizes.take(end_);
    const double defect = sizes.by_unit() ? sizes.part(rate_) * largest(end_) : rate_.cwiseAbs().maxCoeff();
    // The rounding of a velocity: it matters where θ is large and almost at rest.
    const double rounding = kRounding * velocity_.cwiseAbs().maxCoeff() * u;
    bool falls = has_fallen();
    if (!balance_.are_followed(state_.theta, end_, rate_)) return false;
    const double most = (is_shared ? kMeasuredPart : kDefectPart) * tolerance();
    const bool is_followed = sizes.by_unit() ? sizes.are_within(rate_, velocity_, most, kRounding * u)
                                             : defect <= most * largest(end_) + rounding;
    probed_ = falls && is_followed;
    if (!falls && is_followed) falls = !rises_within();
    if (falls && is_followed) crossings_.learn(u, defect);
    return falls && is_followed;
}

bool LayeredFlow::has_fallen() const {
    const double rise = probe_.duals().rise(log_loss_, state_.theta, log_loss_at_end_, end_);
    return rise <= kRise || log_loss_at_end_ < kSmallLoss;
}

// Whether the loss rises from the start of the step, where what slides or has just left its boundary counts as zero,
// however far off it may be by the tolerance: once samples are fitted to that, this alone changes the loss. By more
// than the tolerance it may not.
bool LayeredFlow::rises_within() {
    const double log_loss_at_start = log_loss_of(state_.theta);
    const double before = std::exp(log_loss_);
    if (std::exp(log_loss_at_start) - before > plan_.settings.rtol * std::max(1.0, before)) return true;
    return probe_.duals().rise(log_loss_at_start, state_.theta, log_loss_at_end_, end_) > kRise;
}

// The shortest time in which a parameter changes by its own size, as a part of the unit of the series.
double LayeredFlow::shortest_change() const {
    const auto start = jet_.theta(0).array();
    const auto rate = jet_.theta(1).array();
    return (start != 0.0 && rate != 0.0).select((start / rate).abs(), kNoRoot).minCoeff();
}

double LayeredFlow::shorten(double u) {
    if (is_accurate(u)) return u;
    const double least = std::ldexp(std::min(u, shortest_change()), -kMaxShortenings);
    while ((u *= 0.5) >= least && u > 0.0) {
        contacts_.clear();
        pending_ = Status::running;
        if (is_accurate(u)) return u;
    }
    finish(Status::accuracy_not_reached, "a step of any length misses the tolerance " + at_log_time());
    return 0.0;
}

}  // namespace reluflow::layered
