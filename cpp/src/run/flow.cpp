#include "run/flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.hpp"
#include "base/tolerances.hpp"

namespace reluflow {

namespace {

using Seconds = std::chrono::duration<double>;

/// A run ends after this many steps in a row without progress in time. Cascades need a few per boundary; beyond that
/// the events do not settle.
constexpr int kStillPerBoundary = 4;
constexpr int kStillAtLeast = 64;
/// A pre-activation on the wrong side of its boundary by more than this part of |w| + |a| means that an event was
/// missed.
constexpr double kWrongSide = 1e-8;
/// If the time stop is nearer than this many time constants, the state at it is the present one.
constexpr double kNoMove = 1e-100;
/// A run ends once an underflowed weight would move a margin by e^-30, 1e-13.
constexpr double kLostLog = -30.0;
/// Stop once the smallest margin exceeds this, 1.1e12: doubles are then 2.4e-4 apart, so the weights carry fewer than
/// four digits and event decisions become arbitrary. Only reached with Stop(direction=), see flow_scale.cpp.
constexpr double kLostMargin = 2.5e-4 / std::numeric_limits<double>::epsilon();
/// Neurons per task of a loop that threads share.
constexpr Index kPiece = 64;
/// Halvings to locate the time at which the loss reaches its stop.
constexpr int kLossHalvings = 60;

/// Threads are started only if a step has loops that are worth sharing: enough neurons, and enough work in one order.
int useful_threads(int asked, const Dataset& data, Index neurons) noexcept {
    const double work = static_cast<double>(neurons * data.n() * data.rank());
    return neurons >= kFewestShared && work >= kLeastSharedWork ? asked : 1;
}

bool is_time_stop(Status status) noexcept {
    return status == Status::reached_time || status == Status::reached_log_time;
}

}  // namespace

Flow::Flow(const Dataset& data, const MatrixView& W, const VectorView& a, double leak, RunPlan plan,
           const SignMatrix* pattern)
    : data_(data),
      plan_(std::move(plan)),
      state_(data, W, a, leak),
      pattern_(W.rows(), data.n_boundaries()),
      pattern_was_given_(pattern != nullptr),
      clock_(plan_.start),
      interrupt_([this] { return ends_inside_step(); }, plan_.look_period),
      pool_(useful_threads(plan_.n_threads, data, W.rows())),
      stepper_(data, plan_.objective, plan_.settings, state_, pattern_, pool_),
      recorder_(data, W.rows(), plan_.settings.checkpoint_bytes),
      log_factor_(std::log(reduction_factor(plan_.objective.reduction, data.n()))),
      w_(state_.w),
      a_(state_.a),
      q_(data.n()),
      exponent_(plan_.exponent),
      offsets_(data.targets()),
      weights_(data.n()) {
    state_.start_at(plan_.exponent);
    pool_.listen_to(&interrupt_);
    for (Index j = 0; j < state_.neurons(); ++j) resting_square_ += state_.at_rest(j) * state_.at_rest(j);
    read_pattern(W, pattern);
}

void Flow::read_pattern(const MatrixView& W, const SignMatrix* given) {
    if (given && (given->rows() != W.rows() || given->cols() != data_.n()))
        throw InvalidArgument("pattern",
                              "shape (" + std::to_string(given->rows()) + ", " + std::to_string(given->cols()) + ")",
                              "of shape (" + std::to_string(W.rows()) + ", " + std::to_string(data_.n()) + ")");
    const std::size_t d = data_.d();
    const double work = static_cast<double>(W.rows() * data_.n_boundaries() * data_.d());
    pool_.run_pieces(W.rows(), kPiece, work, [&](Index begin, Index end) {
        for (Index j = begin; j < end; ++j)
            for (Index boundary = 0; boundary < data_.n_boundaries(); ++boundary) {
                const int sample = data_.samples_of(static_cast<int>(boundary))[0];
                const int sign = given ? (*given)(j, sample)
                                       : exact_sign_of_dot({W.row(j).data(), d}, {data_.raw().row(sample).data(), d});
                pattern_.set(j, boundary, static_cast<std::int8_t>(sign * data_.orientation(sample)));
            }
    });
    first_pattern_ = pattern_.sample_signs(data_);
}

double Flow::seconds() const {
    return Seconds(std::chrono::steady_clock::now() - began_).count();
}

void Flow::run() {
    const bool decided = stepper_.decide_start(pattern_was_given_);
    record_events();
    stepper_.begin();
    log_loss_ = stepper_.waveform().log_loss() + log_factor_;
    keep_checkpoint();
    save_start();
    if (!decided)
        check_unresolved();
    else if (!std::isinf(plan_.stop.log_loss) && log_loss() <= plan_.stop.log_loss)
        finish(Status::reached_loss, "the initial loss is already at or below the requested value");
    else if (plan_.stop.log_norm <= kLargestLogNorm && log_norm_at(0.0) >= plan_.stop.log_norm)
        finish(Status::reached_log_norm, "the initial norm is already at or above the requested value");
    if (status_ == Status::running && plan_.at_rest) rest();
    if (status_ == Status::running) poll();  // a batch may have been stopped before this run began
    while (status_ == Status::running && advance()) {
    }
    stepper_.settle();
    state_.lower();
}

bool Flow::advance() {
    if (is_beyond_digits()) shrink();
    if (stepper_.is_at_rest()) {
        rest();
        return false;
    }
    if (plan_.objective.decay == 0.0 && largest_step() * stepper_.expansion().fastest() < kNoMove) {
        wait("");
        return false;
    }
    if (!take_step() || check_unresolved()) return false;
    if (pending_ != Status::running) {
        finish(pending_, pending_ == Status::accuracy_not_reached ? beyond_range_message() : "");
        return false;
    }
    if (still_ > kStillPerBoundary * data_.n_boundaries() + kStillAtLeast) {
        finish_without_progress();
        return false;
    }
    return watch_trend() && !poll();
}

/// One step: expand, cut by the stop rules and by the loss, record, commit.
bool Flow::take_step() {
    if (!attempt()) return false;
    if (stepper_.worst_inconsistency() > kWrongSide) {
        finish_wrong_side();
        return false;
    }
    const double end = end_by_rules();
    if (end < stepper_.end()) stepper_.cut(end);
    if (!shorten_to_fall()) {
        finish_risen(rise_until(stepper_.end()));
        return false;
    }
    // In a step of length H a sample of weight p moves its own margin by about H p |x|² |θ|².
    const double lost = stepper_.waveform().lost_log_weight() + std::log(stepper_.waveform().step());
    if (lost > kLostLog) {
        finish_underflow();
        return false;
    }
    if (stepper_.is_separated() && stepper_.waveform().smallest_margin() > kLostMargin) {
        finish_coarse_margins();
        return false;
    }
    save_within(stepper_.end());
    record_events();
    clock_ = clock_at_end();
    still_ = stepper_.end() > 0.0 ? 0 : still_ + 1;
    rest_trend_.add(stepper_.relative_rate(), taken_);
    taken_ = stepper_.end() * stepper_.waveform().step();
    const double before = log_objective(log_loss_, stepper_.square());
    const double rounding = loss_rounding();
    const bool knows_better = keep_weights();
    stepper_.commit();
    stepper_.begin();
    if (knows_better) restore_weights();
    follow_direction();
    log_loss_ = stepper_.waveform().log_loss() + log_factor_;
    checkpoint();
    return has_fallen(before, rounding);
}

void Flow::follow_direction() {
    if (plan_.stop.direction == 0.0) return;
    const double square = stepper_.square() + resting_square_;
    if (direction_trend_.wants_state(square, stepper_.is_separated())) stepper_.settle();
    direction_trend_.add(state_.w, state_.a, square, stepper_.is_separated());
}

/// The earlier of the two time stops.
Clock Flow::time_stop() const {
    const Clock time(plan_.stop.time);
    const Clock log_time = Clock::at_log(plan_.stop.log_time);
    return log_time.is_before(time) ? log_time : time;
}

/// Length of a step, in rescaled time, that reaches the time stop.
double Flow::largest_step() const {
    if (exponent_ > 0) return std::numeric_limits<double>::infinity();
    return clock_.amount_to(time_stop(), -stepper_.waveform().log_mass() - log_factor_);
}

double Flow::end_by_rules() {
    double end = stepper_.end();
    pending_ = Status::running;
    const Clock stop = time_stop();
    const double at_stop = std::isinf(stop.log_t()) ? kNoRoot : reach(stop, end);
    if (at_stop <= end) {
        end = at_stop;
        pending_ = stop.log_t() == std::log(plan_.stop.time) ? Status::reached_time : Status::reached_log_time;
    }
    end = end_by_loss(end);
    end = end_by_norm(end);
    return end_by_events(end);
}

double Flow::end_by_loss(double end) {
    if (std::isinf(plan_.stop.log_loss)) return end;
    const auto loss_at = [&](double u) {
        stepper_.waveform().margins_at(u, q_);
        if (exponent_ > 0) return unscaled_log_loss(q_);
        return reluflow::log_loss(plan_.objective.loss, plan_.objective.reduction,
                                  {q_.data(), static_cast<std::size_t>(q_.size())}, data_.counts_span());
    };
    if (loss_at(end) > plan_.stop.log_loss) return end;
    double low = 0.0;
    double high = end;
    for (int pass = 0; pass < kLossHalvings; ++pass) {
        const double middle = 0.5 * (low + high);
        (loss_at(middle) > plan_.stop.log_loss ? low : high) = middle;
    }
    pending_ = Status::reached_loss;
    return high;
}

double Flow::end_by_events(double end) {
    std::int64_t count = recorder_.event_list().count();
    for (const auto& event : stepper_.events()) {
        if (event.u > end) break;
        count += static_cast<std::int64_t>(data_.samples_of(event.boundary).size());
        const bool asked = count >= plan_.stop.events;
        if (!asked && count < plan_.settings.max_events) continue;
        pending_ = asked ? Status::reached_events : Status::max_events;
        return event.u;
    }
    return end;
}

/// The clock at the end of the step; exactly the requested time if that ends it.
Clock Flow::clock_at_end() {
    if (is_time_stop(pending_)) return time_stop();
    return clock_at(stepper_.end());
}

bool Flow::check_unresolved() {
    const UnresolvedEvent& unresolved = stepper_.unresolved();
    if (!unresolved.present) return false;
    finish_undecided(unresolved);
    return true;
}

bool Flow::poll() {
    const double elapsed = seconds();
    if (elapsed >= plan_.stop.seconds) {
        finish(Status::reached_seconds, "");
        return true;
    }
    if (!plan_.hook) return false;
    return end_by(plan_.hook({clock_.t(), clock_.log_t(), log_loss(), counts().steps, recorder_.event_list().count(),
                              elapsed, stepper_.groups()}));
}

void Flow::finish(Status status, std::string message) {
    status_ = status;
    message_ = std::move(message);
}

}  // namespace reluflow
