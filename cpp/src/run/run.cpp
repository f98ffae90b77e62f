#include "run/run.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "numeric/bracket.hpp"
#include "numeric/polynomial.hpp"

namespace reluflow {

namespace {

/// Halvings to locate the time at which the loss reaches its stop.
constexpr int kLossHalvings = 60;

bool is_time_stop(Status status) noexcept {
    return status == Status::reached_time || status == Status::reached_log_time;
}

}  // namespace

Run::Run(RunPlan plan)
    : plan_(std::move(plan)),
      interrupt_([this] { return ends_inside_step(); }, plan_.look_period),
      message_(status_sentence(Status::running)) {}

double Run::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

void Run::run() {
    start();
    if (status_ == Status::running) poll();  // a batch may have been stopped before this run began
    while (status_ == Status::running && advance()) {
    }
    close();
}

void Run::check_start() {
    if (!std::isinf(plan_.stop.log_loss) && log_loss() <= plan_.stop.log_loss)
        finish(plan_.stop.loss_status, "the initial loss is already at or below the requested value");
    else if (plan_.stop.log_norm <= kLargestLogNorm && log_norm() >= plan_.stop.log_norm)
        finish(Status::reached_log_norm, "the initial norm is already at or above the requested value");
}

Clock Run::time_stop() const {
    const Clock time(plan_.stop.time);
    const Clock log_time = Clock::at_log(plan_.stop.log_time);
    return log_time.is_before(time) ? log_time : time;
}

double Run::end_by_time(double end) {
    const Clock stop = time_stop();
    const double at_stop = std::isinf(stop.log_t()) ? kNoRoot : reach(stop, end);
    if (at_stop > end) return end;
    pending_ = stop.log_t() == std::log(plan_.stop.time) ? Status::reached_time : Status::reached_log_time;
    return at_stop;
}

double Run::end_by_loss(double end) {
    if (std::isinf(plan_.stop.log_loss)) return end;
    const auto is_before = [this](double u) { return log_loss_at(u) > plan_.stop.log_loss; };
    if (is_before(end)) return end;
    pending_ = plan_.stop.loss_status;
    return halved({0.0, end}, is_before, kLossHalvings).high;
}

Clock Run::clock_until_stop(double u) {
    const Clock stop = time_stop();
    const Clock there = clock_at(u);
    return stop.is_before(there) ? stop : there;
}

Clock Run::clock_at_end(double end) {
    return is_time_stop(pending_) ? time_stop() : clock_until_stop(end);
}

Clock Run::next_save() const {
    const double when = plan_.save_at[n_saved_];
    return plan_.save_by == SaveBy::log_time ? Clock::at_log(when) : Clock(when);
}

void Run::save_start() {
    for (; !is_saved() && !clock().is_before(next_save()); ++n_saved_) save_state(clock(), 0.0);
}

void Run::save_within(double end) {
    const Clock last = clock_at_end(end);
    for (; !is_saved() && !last.is_before(next_save()); ++n_saved_)
        save_state(next_save(), std::min(reach(next_save(), end), end));
}

Status Run::status_after(std::int64_t events) const noexcept {
    if (events >= plan_.stop.events) return Status::reached_events;
    return events >= plan_.settings.max_events ? Status::max_events : Status::running;
}

bool Run::has_ended() {
    const StopRule& stop = plan_.stop;
    if (pending_ != Status::running)
        finish(pending_);
    else if (steps() >= stop.steps)
        finish(Status::reached_steps);
    else if (stop.gradient > 0.0 && log_gradient_norm() <= std::log(stop.gradient))
        finish(Status::reached_gradient);
    return status_ != Status::running || poll();
}

bool Run::poll() {
    const double elapsed = seconds();
    if (elapsed >= plan_.stop.seconds) {
        finish(Status::reached_seconds);
        return true;
    }
    return plan_.hook &&
           end_by(plan_.hook({clock().t(), clock().log_t(), log_loss(), steps(), event_count(), elapsed, groups()}));
}

bool Run::ends_inside_step() {
    if (seconds() >= plan_.stop.seconds) {
        finish(Status::reached_seconds);
        return true;
    }
    return plan_.urgent && end_by(plan_.urgent());
}

bool Run::end_by(Request request) {
    if (request == Request::stop) finish(Status::stopped_by_callback);
    if (request == Request::interrupt) finish(Status::interrupted);
    return request != Request::go_on;
}

std::string Run::at_log_time() const {
    if (std::isinf(clock().log_t())) return "at the start";
    char text[48];
    std::snprintf(text, sizeof text, "at log t = %.10g", clock().log_t());
    return text;
}

void Run::finish(Status status, std::string message) {
    if (status_ != Status::running) return;
    status_ = status;
    message_ = message.empty() ? std::string(status_sentence(status)) : std::move(message);
}

}  // namespace reluflow
