/// Whether the flow has come to rest, or nothing that could end the run is still to come.
#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <vector>

#include "base/tolerances.hpp"
#include "run/flow.hpp"
#include "two_layer/fading.hpp"

namespace reluflow {

namespace {

/// The flow is at rest once the estimated distance to the critical point is below this part of rtol: from there on
/// steps would move rounding only.
constexpr double kAtRestPart = 0.1;
/// The same for a loss of errors, where the way to the end costs a few late steps: the errors that remain are rounding.
constexpr double kFittedPart = 1e-3;
/// A flow can be at rest only if its neurons are this much slower than the samples could drive them.
constexpr double kSlowRate = 1e-3;
/// A few tens of roundings of a sum of gradients: a rate below this is nothing else.
constexpr double kRateRounding = 1e-14;
/// Some thousand roundings of margins: decreases of a rate below this may be noise.
constexpr double kRateNoise = 1e-12;
/// The same for a loss of errors: a few roundings of the targets.
constexpr double kErrorNoise = 1e-15;
/// Steps after which a state that stays where it is rests, where its rate is below the bound of noise and where it is
/// not.
constexpr int kSeemsSteps = 20;
constexpr int kNoiseSteps = 50;
/// It might come farther in the time that is left, at the pace that it may have: by so many tolerances, or so much,
/// unless it has stayed for so many steps.
constexpr double kMissedPart = 1e3;
constexpr double kLeastMissed = 1e-7;
constexpr int kManySteps = 1000;
/// A time stop within this many of the longest steps is reached even where rounding would end the run.
constexpr double kFarBeyond = 10.0;
/// A run that rounding will end may go on as long as its duration grows by this factor within so many steps. Where
/// events are to come it takes thousands until that exceeds the limit of rounding.
constexpr int kLastSteps = 1000;
constexpr double kLastPart = 1.1;
/// A sample at rest has a weight of this many times the share of all tails.
constexpr double kHoldsBy = 4.0;
/// Beside samples at rest others have come to rest, too, where the network does not grow by this, in log |θ|, in so
/// many steps.
constexpr double kGrows = 0.01;
constexpr int kStandingSteps = 1000;
/// Times of this many of the longest steps are not integrated to.
constexpr double kTooOld = 100.0;
/// If the log loss of the active samples is this far below that of all, it no longer changes the total.
constexpr double kNoLoss = 40.0;
/// The direction settles like 1 / log t, so no further event is expected from this many times the log time of the last
/// one on, nor before log t = kSettledLogTime.
constexpr double kSettled = 100.0;
constexpr double kSettledLogTime = 1000.0;

/// True when results are not zero, as they are below kSmallestNeuron.
bool is_seen(const Parameters& neurons) {
    const double least = std::log(kSmallestNeuron);
    for (int j = 0; j < static_cast<int>(neurons.neurons()); ++j)
        if (neurons.log_size(j) > least) return true;
    return false;
}

}  // namespace

/// False when the run has ended: the direction is near enough to its limit, the flow is at rest, or rounding prevents
/// progress.
bool Flow::watch_trend() {
    if (direction_trend_.remaining() <= plan_.stop.direction) {
        finish(Status::reached_direction, "");
        return false;
    }
    if (is_lost_in_rounding()) {
        if (go_beside_rest()) return true;
        finish_lost_in_rounding();
        return false;
    }
    if (is_loss_out_of_reach()) {
        finish_out_of_reach();
        return false;
    }
    if (is_fitted() || is_gone()) {
        rest();
        return false;
    }
    const Waveform& waveform = stepper_->waveform();
    const bool can_rest = waveform.decays() || (!stepper_->is_separated() && plan_.objective.resting.is_empty());
    const bool slow = can_rest && !fades() && stepper_->relative_rate() < kSlowRate * waveform.driving_norm();
    const bool is_fitted_in_few = waveform.is_linear() && !waveform.decays();
    const double distance = plan_.settings.rtol * (is_fitted_in_few ? kFittedPart : kAtRestPart);
    if (!slow) {
        drift_.forget();
        return true;
    }
    const double rate = stepper_->relative_rate();
    if (waveform.decays() && !stepper_->expansion().vanishes()) return !has_come() || rest_or_stall(rate);
    const RestVerdict verdict = rest_trend_.judge(rate, distance, rate_noise(), age(), largest_step());
    if (verdict == RestVerdict::stays) {
        wait("");
        return false;
    }
    const bool is_noise = is_followed_noise(verdict == RestVerdict::seems_noise);
    if (verdict != RestVerdict::at_rest && !is_noise) return true;
    if (!is_noise && rate > rate_noise().rounding && moves_unseen(rate) >= 0) return true;  // it will be seen
    if (is_noise && stepper_->waveform().is_linear()) {
        const Index unseen = moves_unseen(rate);
        unseen >= 0 ? finish_unseen(unseen) : rest();
        return false;
    }
    return rest_or_stall(rate);
}

/// A network that weight decay takes to zero moves nothing but itself. It rests, but where its state at a time is asked
/// for and is not zero.
bool Flow::fades() const {
    return stepper_->waveform().decays() && !std::isinf(time_stop().log_t()) && stepper_->expansion().vanishes() &&
           is_seen(state_.parameters);
}

/// True of a network that decay has taken below all results, and that no pull of its samples will ever bring back. How
/// its neurons still turn, at the pace of these pulls, is then nothing.
bool Flow::is_gone() const {
    const Waveform& waveform = stepper_->waveform();
    return waveform.decays() && waveform.mean_norm() < waveform.decay_rate() && stepper_->expansion().vanishes() &&
           !is_seen(state_.parameters);
}

/// True when the state stays where it is though its rate says otherwise. Where little time is left, what is known of
/// its pace has to say that it will; otherwise many steps do, or some in which the rate itself `seems` to be noise.
/// With weight decay neurons that vanish move for ever beside themselves, and the rate, which leaves them out, has to
/// tell.
bool Flow::is_followed_noise(bool seems) {
    if (stepper_->waveform().decays()) return seems && stepper_->relative_rate() <= rate_noise().most;
    if (!state_.is_current()) return false;
    Vector log_sizes(state_.neurons());
    for (Index j = 0; j < log_sizes.size(); ++j) log_sizes[j] = state_.parameters.log_size(static_cast<int>(j));
    drift_.add(state_.parameters.w, state_.parameters.a, log_sizes, stepper_->relative_rate(), taken_);
    if (!drift_.comes_back(seems ? kSeemsSteps : kNoiseSteps)) return false;
    const double missed = drift_.foretold(largest_step());
    return missed <= std::max(kMissedPart * plan_.settings.rtol, kLeastMissed) || drift_.comes_back(kManySteps);
}

/// Beside samples at rest: whether each of these still drives the neurons by more than all others together, these drive
/// some, and the network grows.
bool Flow::keeps_roles() {
    const Waveform& waveform = stepper_->waveform();
    if (plan_.objective.resting.is_empty()) return true;
    if (!std::isfinite(waveform.log_mass())) return false;
    for (Index i = 0; i < data_.n(); ++i) {
        const bool rests = waveform.is_live(i) && plan_.objective.resting.rests(i);
        if (rests && std::abs(waveform.signed_weights(0)[i]) < kHoldsBy * waveform.share()) return false;
    }
    const double log_norm = 0.5 * std::log(stepper_->square()) + exponent() * std::numbers::ln2;
    ++steps_since_;
    if (log_norm > grown_to_ + kGrows) {
        grown_to_ = log_norm;
        steps_since_ = 0;
    }
    return steps_since_ < kStandingSteps;
}

/// The rescaled time before this run, 0 where that cannot tell a power of time: with decay, for errors, and where it is
/// so long that steps limited by rounding could not have come to it.
double Flow::age() const {
    const Waveform& waveform = stepper_->waveform();
    if (waveform.decays() || waveform.is_linear()) return 0.0;
    const double before = std::exp(plan_.start.log_t() + waveform.log_mass() + log_factor_);
    return before < kTooOld * stepper_->rounding_limit() ? before : 0.0;
}

/// True when all that is left of the errors that drive the network is rounding.
bool Flow::is_fitted() const {
    if (!stepper_->waveform().is_linear() || stepper_->waveform().decays()) return false;
    const double most = data_.targets().cwiseAbs().maxCoeff();
    const Waveform& waveform = stepper_->waveform();
    const Vector& errors = stepper_->expansion().margins();
    const double terms = stepper_->expansion().series().terms();
    for (Index i = 0; i < data_.n(); ++i) {
        const double size = std::max(most, waveform.size_of_terms(i, terms));
        const double rounding = kFittedErrorUlps * std::numeric_limits<double>::epsilon() * size;
        if (waveform.is_live(i) && std::abs(errors[i]) > rounding) return false;
    }
    return true;
}

/// Of a sum of gradients, and of the margins that determine its weights.
RateNoise Flow::rate_noise() const {
    const Waveform& waveform = stepper_->waveform();
    const double norm = waveform.driving_norm();
    if (waveform.is_linear()) {
        const double terms = Waveform::kTermPart * stepper_->expansion().series().terms() * waveform.mean_square();
        const double now = waveform.decays() ? norm : waveform.mean_norm() + std::max(waveform.target_norm(), terms);
        return {kErrorNoise * now, kErrorNoise * now};
    }
    return {kRateRounding * norm, kRateNoise * norm * std::max(1.0, norm * stepper_->square())};
}

/// True when only a loss could end the run, and the samples that drive no neuron have a larger loss by themselves.
bool Flow::is_loss_out_of_reach() const {
    if (std::isinf(plan_.stop.log_loss) || plan_.stop.direction > 0.0 || !std::isinf(time_stop().log_t())) return false;
    if (stepper_->waveform().live_log_loss() > stepper_->waveform().log_loss() - kNoLoss) return false;
    const EventList& events = recorder_.event_list();
    const double last = events.count() > 0 ? events.log_t.back() : 0.0;
    return stepper_->is_separated() && state_.clock.log_t() > std::max(kSettledLogTime, kSettled * last);
}

/// True when the weights of a stalled loss cancel so far that the remaining gradient is rounding: every step short
/// enough for its rounding covers less than the time constant of the neurons, and the steps so far add up to that
/// limit.
bool Flow::is_lost_in_rounding() {
    const double limit = stepper_->rounding_limit();
    const bool is_slow = stepper_->expansion().fastest() * limit < kMaxRate && !stepper_->is_separated();
    const bool is_far = kFarBeyond * limit < largest_step();
    const bool ends = is_slow && is_far && rest_trend_.falls_like_a_power();
    if (ends || last_steps_ > 0) ++last_steps_;  // noise can look like new progress
    if (stepper_->is_separated()) last_steps_ = 0;
    if (rest_trend_.elapsed() > kLastPart * last_from_) {
        last_from_ = rest_trend_.elapsed();
        last_steps_ = std::min(last_steps_, 1);
    }
    if (is_slow && is_far && rest_trend_.elapsed() > plan_.settings.most_limited * limit) return true;
    return (ends && rest_trend_.elapsed() > limit) || last_steps_ > kLastSteps || (is_slow && rest_trend_.crawls());
}

/// Whether a run has come to its start beside samples at rest: steps that rounding limits would not have come so far,
/// and from what it is at rest by, such steps would part it again.
bool Flow::begins_beside_rest() const {
    const Waveform& waveform = stepper_->waveform();
    if (waveform.decays() || waveform.is_linear() || stepper_->is_separated()) return false;
    const double limit = stepper_->rounding_limit();
    const double before = std::exp(plan_.start.log_t() + waveform.log_mass() + log_factor_);
    const bool is_slow = stepper_->expansion().fastest() * limit < kMaxRate;
    return is_slow && before >= kTooOld * limit && kFarBeyond * limit < largest_step();
}

/// Nothing moves that can be seen, at most at this rate relative to itself. True where the run goes on: beside it, or
/// of errors, none of which hides another, since those that cancel are fitted.
bool Flow::rest_or_stall(double rate) {
    const Index unseen = moves_unseen(rate);
    if (unseen >= 0 && (stepper_->waveform().is_linear() || go_beside_rest())) return true;
    unseen >= 0 ? finish_unseen(unseen) : rest();
    return false;
}

/// Nothing moves any more: the state is the same at every later time.
void Flow::rest() {
    rest_log_t_ = state_.clock.log_t();
    if (std::isinf(time_stop().log_t())) {
        stepper_->settle();
        if (!is_held_by_rounding()) finish(Status::stationary, at_rest_message());
    } else {
        wait(at_rest_message());
    }
}

/// Goes to the time stop, at which the state is the present one, but for neurons that weight decay takes to zero.
void Flow::wait(std::string message) {
    stepper_->settle();
    if (is_held_by_rounding()) return;
    const Clock stop = time_stop();
    const bool decays = stepper_->waveform().decays();
    if (decays) keep_checkpoint(true);  // states behind it are found from there
    const std::vector<char> stands = decays ? hides_decay() : std::vector<char>();
    look_at_ = 0.0;
    look_from_ = 0;
    if (decays && (stepper_->expansion().vanishes() || !has_come())) note_pulls({}, Vector());
    const auto go_to = [&](const Clock& then) {
        const double decayed = plan_.objective.decay * (then.t() - state_.clock.t());
        if (decays) fade(pulls_at_rest_, state_, decayed, stands);
        state_.clock = then;
    };
    if (plan_.save_by != SaveBy::log_norm)
        for (; !is_saved() && !stop.is_before(next_save()); ++n_saved_) {
            go_to(next_save());
            save_state(state_.clock, 0.0);
        }
    go_to(stop);
    keep_checkpoint();
    finish(plan_.stop.time < std::numeric_limits<double>::infinity() && stop.t() == plan_.stop.time
               ? Status::reached_time
               : Status::reached_log_time,
           std::move(message));
}

}  // namespace reluflow
