#include "two_layer/step.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/tolerances.hpp"
#include "two_layer/sleepers.hpp"

namespace reluflow {

namespace {

/// A step that overflows is repeated shorter by this factor, this many times: down to 1e-30 of it. Of a start at rest
/// the first step is 0.1 over a rate of rounding, 1e13 and more.
constexpr double kRetryFactor = 0.1;
constexpr int kMaxRetries = 30;
/// A step is repeated at this part of the length that truncation allows.
constexpr double kRetryPart = 0.9;
/// A step whose defect is too large is repeated shorter by this factor.
constexpr double kUnsoundPart = 0.25;

/// After a step that knew a distance up to a part of it only, the last terms of the next one are to be smaller by this
/// factor than what would have done; after others they may be larger by the second one. An order makes them smaller by
/// far more.
constexpr double kFinerYet = 0.1;
constexpr double kCoarser = 2.0;
constexpr double kEps = std::numeric_limits<double>::epsilon();

/// Networks of fewer weights are moved at every step: that takes no longer than the bounds that would defer it.
constexpr Index kLeastCarried = 20000;

/// Initial reserve, in events per neuron and step; grows geometrically.
constexpr Index kUsualDisturbances = 4;

/// Of the samples that count: a wrong margin costs its sample ℓ(0) times that at least.
double log_least_count(const Dataset& data) {
    double least = std::numeric_limits<double>::infinity();
    for (const double count : data.counts())
        if (count > 0.0) least = std::min(least, count);
    return std::log(least);
}

}  // namespace

Stepper::Stepper(const Dataset& data, Objective objective, const Settings& settings, State& state, Pool& pool)
    : data_(data),
      rtol_(settings.rtol),
      rounding_(settings.rounding),
      log_separated_(log_separation(objective.loss) + log_least_count(data)),
      state_(state),
      pool_(pool),
      expansion_(data, objective, settings, state, pool),
      partitions_(data, state, expansion_, settings.on_branch, pool),
      radau_(data, objective, settings, state.neurons()),
      horizon_log_loss_(settings.horizon_log_loss),
      late_events_(data, state.neurons()),
      turned_back_(data, state),
      owed_(data, state.neurons()),
      column_(data.rank()),
      sleeper_work_(2 * data.rank()),
      sleeper_weights_(data.n()),
      w_next_(data.rank(), state.neurons()),
      a_next_(state.neurons()) {
    disturbances_.reserve(kUsualDisturbances * state.neurons());
    later_.reserve(state.neurons());
    doubts_.reserve(state.neurons());
}

/// Removes the rounding error of pre-activations that are zero in the pattern.
void Stepper::stand_on_boundaries(int neuron) {
    zero_boundaries_.clear();
    append_zero_boundaries(state_.mode.pattern().row(neuron), zero_boundaries_);
    if (zero_boundaries_.empty()) return;
    SlidingSet boundaries(data_.rank());
    boundaries.assign(zero_boundaries_, data_.normals());
    column_ = state_.parameters.w.col(neuron);
    if (boundaries.size() == data_.rank())
        column_.setZero();
    else
        boundaries.project(column_.data());
    state_.parameters.w.col(neuron) = column_;
}

void Stepper::stand() {
    for (int j = 0; j < static_cast<int>(state_.neurons()); ++j) stand_on_boundaries(j);
    begin();
}

bool Stepper::decide_start(KnownSides known) {
    partitions_.begin_run();
    const bool is_decided = partitions_.decide_start(known);
    for (Index j = 0; j < state_.neurons(); ++j) state_.parameters.sides_changed(j);
    return is_decided;
}

void Stepper::begin() {
    expansion_.start();
    if (!wake_released(data_, state_, expansion_, sleeper_weights_, sleeper_work_)) return;
    partitions_.forget_distances();
    expansion_.start();
}

/// Expands an explicit step: the series of the weights themselves.
void Stepper::expand_series(double max_step) {
    double step = std::min({control_.propose(expansion_.fastest()), expansion_.longest(), max_step});
    allowed_ = expand_soundly(step);
    // Retry with a shorter step: an overlong one overflows, and event bounds cover the whole step, so it makes them
    // useless.
    for (int retry = 0; retry < kMaxRetries && !(is_finite() && allowed_ >= kLeastAllowed); ++retry) {
        step *= is_finite() ? kRetryPart * allowed_ : kRetryFactor;
        expansion_.restart();
        allowed_ = expand_soundly(step);
    }
    if (step < max_step || allowed_ < 1.0) control_.truncated(step, expansion_.series().order(), allowed_);
    const double work = radau_.plain_work(expansion_, expansion_.series().order());
    late_control_.plain_step_taken(expansion_.series().square(), work / radau_.plain_work(expansion_, kMaxOrder));
}

/// The part of a step that truncation allows, reduced if the defect is too large.
double Stepper::expand_soundly(double step) {
    const double allowed = expansion_.expand(step, fine_);
    if (!(allowed >= kLeastAllowed)) return allowed;
    is_sound_ = expansion_.defect(allowed) <= kDefectPart * rtol_;
    return is_sound_ ? allowed : kUnsoundPart * allowed;
}

bool Stepper::is_finite() const {
    return std::isfinite(allowed_) && std::isfinite(expansion_.series().relative_size(expansion_.series().order()));
}

bool Stepper::attempt(double max_step) {
    const StepCounts before = counts_;
    try {
        return try_step(max_step);
    } catch (...) {
        counts_ = before;
        expansion_.give_up();
        throw;
    }
}

/// Changes only the series, so that the step can be abandoned.
void Stepper::expand(double max_step) {
    note_rest();
    const Pool::Hearing hearing(pool_);
    late_ = expand_late();
    if (!late_) expand_series(max_step);
}

bool Stepper::try_step(double max_step) {
    expand(max_step);
    if (!is_finite()) return false;
    follow_events();
    if (late_ && ends_in_doubt()) retry_plain(max_step);
    return is_finite();
}

/// What an event before the end may do to the other neurons.
double Stepper::budget() const noexcept {
    return kCouplingPart / kLatePart * expansion_.state_error();
}

/// What all those before the end may do.
double Stepper::neglected() const noexcept {
    return waveform().can_owe() ? crowded(budget(), kMostCrowd) : budget();
}

double Stepper::margin_error() const noexcept {
    const bool is_moved = !events().empty() || waveform().is_owed();
    const double tolerance = late_ ? expansion_.state_error() : expansion_.tolerance() + (is_moved ? neglected() : 0.0);
    return 2.0 * tolerance * square() * waveform().mean_norm();
}

/// Screens the expanded step, resolves its events and ends it where they matter to the other neurons.
void Stepper::follow_events() {
    relative_rate_ = rate_of_step();
    const int order = expansion_.series().order();
    ++counts_.steps;
    counts_.orders += order;
    counts_.rhs_equivalents += order * static_cast<double>(groups()) / static_cast<double>(state_.neurons());

    partitions_.prepare();
    carries_ = !waveform().has_decay() && state_.parameters.w.size() >= kLeastCarried &&
               !state_.parameters.has_lifted() && partitions_.is_clear();
    if (carries_) {
        partitions_.skip();
        disturbances_.clear();
        foresee(end_ = end_by_release(allowed_));
        return;
    }
    settle();
    const auto& hits = partitions_.scan(allowed_);
    if (!late_) end_beside();
    disturbances_.clear();
    doubts_.clear();
    for (const auto& first : hits) {
        disturbances_.push_back({first.hit.u, first.coupling, first.rate, first.neuron, first.hit.boundary});
        if (first.doubt.present) doubts_.push_back(first.doubt);
    }
    end_ = partitions_.follow(end_by_events(allowed_), disturbances_, doubts_);
    double end = end_by_events(end_);
    end = late_ ? late_end(end) : turned_back_.end(disturbances_, partitions_, expansion_, end);
    end = end_by_release(end);
    foresee(end);
    cut(end);
}

/// An explicit step ends where it does not know a distance beside a boundary well enough any more. More orders know it
/// farther, so that the next steps have them: shorter ones would have fewer, and know as little at their end.
void Stepper::end_beside() {
    const double known = partitions_.known_beside();
    const int order = expansion_.series().order();
    if (known >= allowed_) {
        fine_ = std::min(1.0, kCoarser * fine_);
        return;
    }
    if (order == kMaxOrder) control_.truncated(waveform().step(), order, known);
    fine_ = std::max(kEps / rtol_, kFinerYet * std::pow(known / allowed_, order) * fine_);
    allowed_ = known;
}

double Stepper::end_by_events(double end) const {
    if (late_ && any_event_ends_late()) return std::min(end, first_event());
    const double coupled = coupled_end(disturbances_, budget(), end, waveform().can_owe());
    return late_ ? end_by_late_doubts(coupled) : end_by_doubts(coupled);
}

double Stepper::end_by_release(double end) {
    return reluflow::end_by_release(data_, state_, expansion_, end, sleeper_weights_, sleeper_work_);
}

/// An explicit step ends before a hit that it does not know well enough: the next one knows it better.
double Stepper::end_by_doubts(double end) const {
    for (const auto& doubt : doubts_) {
        if (doubt.u > end) continue;
        const double known = std::min(doubt.until, coupled_end(disturbances_, doubt.moved, doubt.u));
        if (known < doubt.u) end = std::min(end, known);
    }
    return end;
}

double Stepper::rounding_limit() const noexcept {
    return kRoundingPart * rounding_ / (std::numeric_limits<double>::epsilon() * waveform().mean_norm());
}

double Stepper::speed() const {
    return std::sqrt(expansion_.speed_square());
}

double Stepper::rate_of_step() {
    if (waveform().decays()) return expansion_.decaying_rate();
    if (late_ && radau_.is_turning()) return radau_.mean_rate(expansion_);
    return expansion_.series().relative_size(1) / waveform().step();
}

double Stepper::relative_rate() const noexcept {
    return relative_rate_;
}

bool Stepper::is_separated() const {
    return waveform().live_log_loss() < log_separated_ && waveform().smallest_margin() > 0.0;
}

/// Tells the step control what ended the step, and how far the known events would let the next one go.
void Stepper::foresee(double end) {
    if (late_) {
        if (partitions_.follows_events()) quiet_steps_ = 0;
        bool at_event = end < allowed_;
        double next = std::numeric_limits<double>::infinity();
        for (const auto& event : disturbances_) {
            at_event |= event.u == end;
            if (event.u > end) next = std::min(next, event.u);
        }
        const double step = waveform().step();
        const double plain = late_control_.plain_step(control_.smooth(), square());
        const bool is_gentle = effect_within(disturbances_, end, plain / step) <= budget();
        if (late_control_.taken(end * step, at_event, (next - end) * step, is_gentle)) radau_.interrupt();
        return;
    }
    quiet_steps_ = disturbances_.empty() ? quiet_steps_ + 1 : 0;
    later_.clear();
    for (const auto& event : disturbances_)
        if (event.u > end) later_.push_back({event.u - end, event.coupling});
    const double next = later_.empty() ? 1.0 : coupled_end(later_, budget(), 1.0 - end, waveform().can_owe());
    control_.taken(waveform().step(), end, next, disturbances_.size() - later_.size(), end < allowed_);
}

void Stepper::cut(double u) {
    end_ = u;
    if (!carries_) partitions_.cut(u);
}

void Stepper::settle() {
    if (state_.is_current()) return;
    expansion_.series().evaluate(0.0, w_next_, a_next_);
    partitions_.settle();
    take_next();
    state_.set_current();
    expansion_.settle();
}

void Stepper::state_at(double u, Matrix& w, Vector& a) const {
    expansion_.series().evaluate(u, w, a);
    partitions_.place(u, w, a);
    state_.parameters.restore_invariants(w, a, partitions_.paths());
    if (!waveform().decays()) return;
    w *= waveform().decay_at(u);
    a *= waveform().decay_at(u);
}

/// Moves the neurons to where w_next_ and a_next_ are.
void Stepper::take_next() {
    for (Index j = 0; j < state_.neurons(); ++j) {
        const SlidingSet& held = state_.mode.held(j);
        if (held.empty()) continue;
        column_ = w_next_.col(j);
        held.project(column_.data());
        w_next_.col(j) = column_;
    }
    state_.parameters.take(w_next_, a_next_, partitions_.paths());
}

void Stepper::commit() {
    note_gap();
    if (waveform().can_owe()) {
        owed_.step_taken(expansion_, partitions_, end_);
        owed_.spread(expansion_, std::max(control_.expected(), end_ * waveform().step()));
    } else {
        owed_.forget(expansion_);
    }
    follow_sleepers(data_, state_.parameters, expansion_, end_, sleeper_weights_, sleeper_work_);
    if (carries_) {
        ++counts_.carried_steps;
        expansion_.sectors()->carry(end_);
        partitions_.carried();
        state_.defer();
        return;
    }
    expansion_.series().evaluate(end_, w_next_, a_next_);
    partitions_.place(end_, w_next_, a_next_);
    partitions_.commit(end_);
    take_next();
    for (const BoundaryEvent& event : partitions_.events()) state_.parameters.sides_changed(event.neuron);
    if (waveform().decays()) {
        state_.parameters.decay(waveform().decay_at(end_));
        partitions_.forget_distances();
    }
    if (change_sleepers(state_, expansion_)) partitions_.forget_distances();
    if (state_.parameters.rescale())
        for (const int neuron : state_.parameters.rescaled()) partitions_.forget_distance(neuron);
}

}  // namespace reluflow
