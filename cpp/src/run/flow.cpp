#include "run/flow.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/errors.hpp"
#include "base/tolerances.hpp"
#include "numeric/polynomial.hpp"
#include "numeric/products.hpp"

namespace reluflow {

namespace {

/// A run ends after this many steps in a row without progress in time. Cascades need a few per boundary; beyond that
/// the events do not settle.
constexpr int kStillPerBoundary = 4;
constexpr int kStillAtLeast = 64;
/// If the time stop is nearer than this many time constants, the state at it is the present one.
constexpr double kNoMove = 1e-100;
/// A run ends once an underflowed weight would move a margin by e^-30, 1e-13.
constexpr double kLostLog = -30.0;
/// Stop once the smallest margin exceeds this, 1.1e12: doubles are then 2.4e-4 apart, so the weights carry fewer than
/// four digits and event decisions become arbitrary. Only reached with Stop(direction=), see flow_scale.cpp.
constexpr double kLostMargin = 2.5e-4 / std::numeric_limits<double>::epsilon();
/// Neurons per task of a loop that threads share.
constexpr Index kPiece = 64;
/// What is not known of z in working coordinates, as a part of |w| of the whole neuron: some roundings of a product.
constexpr double kSideRounding = 32.0 * std::numeric_limits<double>::epsilon();
/// Roundings of a plain sum over the inputs that bound what working coordinates change of z: those of the basis, of w
/// and of the normal in it, and of their product.
constexpr double kBasisRoundings = 4.0;

/// Threads are started only if a step has loops that are worth sharing: enough neurons, and enough work in one order.
int useful_threads(int asked, const Dataset& data, Index neurons) noexcept {
    const double work = static_cast<double>(neurons * data.n() * data.rank());
    return neurons >= kFewestShared && work >= kLeastSharedWork ? asked : 1;
}

void check_length(const char* name, const Vector& numbers, Index n) {
    if (numbers.size() != 0 && numbers.size() != n)
        throw InvalidArgument(name, std::to_string(numbers.size()) + " numbers",
                              std::to_string(n) + " numbers, one a sample");
}

RunPlan checked(RunPlan plan, Index n) {
    check_length("offsets", plan.offsets, n);
    check_length("sample_weights", plan.weights, n);
    check_length("rest_scales", plan.objective.resting.scales, n);
    return plan;
}

}  // namespace

Flow::Flow(const Dataset& data, const MatrixView& W, const VectorView& a, double leak, RunPlan plan,
           const SignMatrix* pattern)
    : Run(checked(std::move(plan), data.n())),
      data_(data),
      state_(data, W, a, leak, plan_.start),
      known_sides_(!pattern        ? KnownSides::none
                   : plan_.goes_on ? KnownSides::held
                                   : KnownSides::given),
      pool_(useful_threads(plan_.n_threads, data, W.rows())),
      stepper_(std::in_place, data, plan_.objective, plan_.settings, state_, pool_),
      recorder_(data, W.rows(), plan_.settings.checkpoint_bytes),
      log_factor_(std::log(reduction_factor(plan_.objective.reduction, data.n()))),
      w_(state_.parameters.w),
      a_(state_.parameters.a),
      q_(data.n()),
      weights_(data.n()) {
    state_.parameters.start_at(plan_.exponent);
    if (plan_.offsets.size() > 0) state_.offsets = plan_.offsets;
    pool_.listen_to(&interrupt_);
    read_pattern(W, pattern);
}

/// True if a neuron with a row of this norm, beside a boundary to the rounding of that, stands on its other side in
/// working coordinates, which leave out what is orthogonal to the samples: that is the side that is integrated.
bool Flow::is_off_span(double norm, Index neuron, Index boundary, int side) const {
    const double z = data_.normals().row(boundary).dot(state_.parameters.w.col(neuron));
    return z * side < 0.0 && std::abs(z) <= kSideRounding * norm;
}

void Flow::read_pattern(const MatrixView& W, const SignMatrix* given) {
    if (given && (given->rows() != W.rows() || given->cols() != data_.n()))
        throw InvalidArgument("pattern",
                              "shape (" + std::to_string(given->rows()) + ", " + std::to_string(given->cols()) + ")",
                              "of shape (" + std::to_string(W.rows()) + ", " + std::to_string(data_.n()) + ")");
    const std::size_t d = data_.d();
    // Plain sums tell the sign where they are above their rounding, by norms, and what may underflow.
    const auto first_sample = [&](std::size_t boundary) {
        return data_.raw().row(data_.samples_of(static_cast<int>(boundary))[0]).data();
    };
    Vector lengths(given ? 0 : data_.n_boundaries());
    for (Index boundary = 0; boundary < lengths.size(); ++boundary)
        lengths[boundary] = data_.raw().row(data_.samples_of(static_cast<int>(boundary))[0]).stableNorm();
    const double terms = static_cast<double>(d) + 4.0;
    const double rounding = terms * std::numeric_limits<double>::epsilon();
    const double least = terms * std::numeric_limits<double>::min();
    const double work = static_cast<double>(W.rows() * data_.n_boundaries() * data_.d());
    pool_.run_pieces(W.rows(), kPiece, work, [&](Index begin, Index end) {
        Vector z(given ? 0 : data_.n_boundaries());
        for (Index j = begin; j < end; ++j) {
            if (!given) multiply_rows(data_.n_boundaries(), first_sample, W.row(j).data(), data_.d(), z.data());
            const double norm = given ? 0.0 : W.row(j).stableNorm();
            const double unknown = rounding * norm;
            const double near = (kBasisRoundings * rounding + kSideRounding) * norm;
            for (Index boundary = 0; boundary < data_.n_boundaries(); ++boundary) {
                const int sample = data_.samples_of(static_cast<int>(boundary))[0];
                int sign = 0;
                if (given)
                    sign = (*given)(j, sample);
                else if (std::abs(z[boundary]) > unknown * lengths[boundary] + least)
                    sign = z[boundary] > 0.0 ? 1 : -1;
                else
                    sign = exact_sign_of_dot({W.row(j).data(), d}, {data_.raw().row(sample).data(), d});
                int side = sign * data_.orientation(sample);
                const bool is_near = !given && std::abs(z[boundary]) <= near * lengths[boundary] + least;
                if (is_near && !data_.is_full_rank() && is_off_span(norm, j, boundary, side)) side = -side;
                state_.mode.set_side(j, boundary, static_cast<std::int8_t>(side));
            }
        }
    });
    first_pattern_ = state_.mode.pattern().sample_signs(data_);
}

void Flow::start() {
    stepper_->stand();
    if (plan_.weights.size() > 0) {
        weights_ = plan_.weights;
        restore_weights();
    }
    const bool decided = stepper_->decide_start(known_sides_);
    record_events();
    stepper_->begin();
    stepper_->resume(plan_.pace);
    log_loss_ = stepper_->waveform().log_loss() + log_factor_;
    keep_checkpoint();
    plan_.save_by == SaveBy::log_norm ? save_start_norms() : save_start();
    if (decided)
        check_start();
    else
        check_unresolved();
    if (const Status status = status_after(event_count()); status != Status::running) finish(status);
    if (status_ == Status::running && plan_.at_rest && !fades()) rest_or_stall(0.0);
    if (status_ == Status::running && begins_beside_rest()) go_beside_rest(true);
}

void Flow::close() {
    stepper_->settle();
}

bool Flow::advance() {
    if (is_beyond_digits()) {
        if (is_beside_rest()) {
            finish_hidden_tails();
            return false;
        }
        shrink();
    }
    if (stepper_->is_at_rest() && !rest_or_stall(0.0)) return false;
    if (!follow_rests()) return false;
    if (!keeps_roles() && !change_roles()) {
        are_tails_held() ? rest() : finish_roles();
        return false;
    }
    follow_share();
    if (plan_.objective.decay == 0.0 && largest_step() * stepper_->expansion().fastest() < kNoMove) {
        wait("");
        return false;
    }
    if (!take_step() || check_unresolved()) return false;
    if (pending_ != Status::running) {
        finish(pending_, pending_ == Status::accuracy_not_reached ? beyond_range_message() : beside_message());
        return false;
    }
    if (still_ > kStillPerBoundary * data_.n_boundaries() + kStillAtLeast) {
        finish_without_progress();
        return false;
    }
    return watch_trend() && !has_ended();
}

/// Tries a step; false if the run is over. An abandoned step leaves everything as after the last accepted one.
bool Flow::attempt() {
    try {
        if (stepper_->attempt(largest_step())) return true;
        finish_non_finite();
    } catch (const Abandoned&) {  // ends_inside_step() has set the status
    }
    return false;
}

/// One step: expand, cut by the stop rules and by the loss, record, commit.
bool Flow::take_step() {
    if (!attempt()) return false;
    if (stepper_->worst_inconsistency() > kWrongSide) {
        finish_wrong_side();
        return false;
    }
    const double end = end_by_rules();
    if (end < stepper_->end()) stepper_->cut(end);
    if (!shorten_to_fall()) {
        finish_risen(rise_until(stepper_->end()));
        return false;
    }
    // In a step of length H a sample of weight p moves its own margin by about H p |x|² |θ|².
    const double lost = stepper_->waveform().lost_log_weight() + std::log(stepper_->waveform().step());
    if (lost > kLostLog) {
        stepper_->cut(0.0);
        pending_ = Status::running;
        if (go_beside_rest()) return true;
        finish_underflow();
        return false;
    }
    if (stepper_->is_separated() && stepper_->waveform().smallest_margin() > kLostMargin) {
        finish_coarse_margins();
        return false;
    }
    if (crosses_unknown()) return false;
    plan_.save_by == SaveBy::log_norm ? save_norms(stepper_->end()) : save_within(stepper_->end());
    record_events();
    state_.clock = clock_at_end(stepper_->end());
    still_ = stepper_->end() > 0.0 ? 0 : still_ + 1;
    rest_trend_.add(stepper_->relative_rate(), taken_, stepper_->knows_rate());
    taken_ = stepper_->end() * stepper_->waveform().step();
    const double before = log_objective(log_loss_, stepper_->square());
    const double rounding = loss_rounding() + rise_of_placing();
    const bool knows_better = keep_weights();
    stepper_->commit();
    stepper_->begin();
    log_loss_ = stepper_->waveform().log_loss() + log_factor_;
    const double rise = log_objective(log_loss_, stepper_->square()) - before;
    if (knows_better) {  // which may raise the loss of the same state, and is no step
        restore_weights();
        log_loss_ = stepper_->waveform().log_loss() + log_factor_;
    }
    follow_direction();
    checkpoint();
    return has_fallen(rise, rounding);
}

void Flow::follow_direction() {
    if (plan_.stop.direction == 0.0) return;
    const double square = stepper_->square() + state_.parameters.resting_square();
    if (direction_trend_.wants_state(square, stepper_->is_separated())) stepper_->settle();
    direction_trend_.add(state_.parameters.w, state_.parameters.a, square, stepper_->is_separated());
}

/// Length of a step, in rescaled time, that reaches the time stop.
double Flow::largest_step() const {
    if (exponent() > 0) return std::numeric_limits<double>::infinity();
    return state_.clock.amount_to(time_stop(), -stepper_->waveform().log_mass() - log_factor_);
}

double Flow::end_by_rules() {
    pending_ = Status::running;
    double end = end_by_time(stepper_->end());
    end = end_by_loss(end);
    end = end_by_norm(end);
    return end_by_events(end);
}

/// Behind an event the margins of the series do not know of the kink in the path of its neuron: there they are those of
/// the neurons themselves. With weight decay they always are: a step has the order that its motion without the decay
/// asks for, and margins shrink by the decay as well.
double Flow::log_loss_at(double u) {
    const auto& events = stepper_->events();
    if (stepper_->waveform().decays() || (!events.empty() && events.front().u < u)) {
        load_stored(u);
        log_loss_of(w_, a_);  // leaves the margins in q_
        return true_log_loss(q_);
    }
    stepper_->waveform().margins_at(u, q_);
    return true_log_loss(q_);
}

/// Of what the flow descends.
double Flow::loss_of_margins(const Vector& margins) const {
    const Objective& objective = plan_.objective;
    return log_loss_sum(objective.resting, objective.loss, span_of(margins), data_.counts_span()) + log_factor_;
}

/// Counts what record_events() would record, an instant at a time: the choices at branch points are events too.
double Flow::end_by_events(double end) {
    auto event = stepper_->events().begin();
    auto branch = stepper_->branches().begin();
    const auto last_event = stepper_->events().end();
    const auto last_branch = stepper_->branches().end();
    const auto rows = [this](int boundary) { return static_cast<std::int64_t>(data_.samples_of(boundary).size()); };
    std::int64_t count = event_count();
    while (event != last_event || branch != last_branch) {
        const double u =
            std::min(event != last_event ? event->u : kNoRoot, branch != last_branch ? branch->u : kNoRoot);
        if (u > end) break;
        for (; branch != last_branch && branch->u <= u; ++branch)
            for (const int boundary : branch->boundaries) count += rows(boundary);
        for (; event != last_event && event->u <= u; ++event) count += rows(event->boundary);
        const Status status = status_after(count);
        if (status == Status::running) continue;
        pending_ = status;
        return u;
    }
    return end;
}

bool Flow::check_unresolved() {
    const UnresolvedEvent& unresolved = stepper_->unresolved();
    if (!unresolved.present) return false;
    finish_undecided(unresolved);
    return true;
}

}  // namespace reluflow
