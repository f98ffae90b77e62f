#include "layered/layered_flow.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "base/tolerances.hpp"
#include "numeric/polynomial.hpp"

namespace reluflow::layered {
namespace {

/// Steps without an event that move nothing mean rest.
constexpr int kRestingSteps = 3;
/// A step that moves θ by less than this part of it does not move it.
constexpr double kAtRest = 1e-15;
/// Steps in a row that no clock can tell from length zero mean that events follow each other without time.
constexpr int kMaxIdle = 50;
/// Pre-activations below this part of their terms' sizes are zero at a start.
constexpr double kZeroAtStart = 1e-15;
/// A first step moves θ by about this part.
constexpr double kFirstMove = 0.05;

Snapshot read_start(const Graph& graph, const Matrix& X, const Vector& theta, const Clock& clock) {
    Snapshot start{clock, theta, Activity(graph, X)};
    std::vector<Matrix> z;
    pre_activations(graph, X, theta, z);
    start.activity.read(z, theta);
    return start;
}

}  // namespace

LayeredFlow::LayeredFlow(const Graph& graph, const Matrix& X, const DualSeries& duals, const Vector& theta,
                         LayeredPlan plan)
    : LayeredFlow(graph, X, duals, read_start(graph, X, theta, plan.start), plan) {
    decide_start();
}

LayeredFlow::LayeredFlow(const Graph& graph, const Matrix& X, const DualSeries& duals, const Snapshot& from,
                         LayeredPlan plan)
    : graph_(&graph),
      X_(&X),
      plan_(std::move(plan)),
      now_(from),
      jet_(graph, X, duals, kMaxOrder),
      probe_(graph, X, duals, 1),
      resolution_(graph, X) {
    begin();
}

void LayeredFlow::begin() {
    jet_.start(now_.theta, now_.activity, 1.0);
    log_loss_ = log_loss_at_end_ = jet_.duals().log_loss(jet_.outputs());
    if (!jet_.advance()) {
        finish(Status::undecided_event, "the normals of what slides depend on each other");
        return;
    }
    const double rate = largest(jet_.theta(1));
    span_ = rate > 0.0 ? kFirstMove * std::max(largest(now_.theta), 1e-300) / rate : 1.0;
    jet_.start(now_.theta, now_.activity, span_);
}

// Places at zero at the start can go either way: all continuations are looked for.
void LayeredFlow::decide_start() {
    contacts_.clear();
    std::vector<Matrix> z;
    pre_activations(*graph_, *X_, now_.theta, z);
    const double scale = largest(now_.theta);
    for (int v = 1; v < graph_->count(); ++v)
        for (Index i = 0; i < X_->rows(); ++i)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place p{v, i, u};
                if (graph_->node(v).linear || now_.activity.mode(p) != Mode::moving) continue;
                const double size = scale * std::max(1.0, X_->row(i).cwiseAbs().maxCoeff());
                if (std::abs(z[v](i, u)) > kZeroAtStart * size) continue;
                Contact contact;
                contact.boundary = now_.activity.whole_boundary_of(p);
                const auto same = [&](const Contact& other) { return other.boundary.is_same(contact.boundary); };
                if (std::ranges::none_of(contacts_, same)) contacts_.push_back(std::move(contact));
            }
    if (contacts_.empty() || status_ != Status::running) return;
    const Outcome outcome = resolution_.resolve(jet_, now_.theta, now_.activity, contacts_, span_, true);
    if (outcome == Outcome::undecided)
        finish(Status::undecided_event, "at the start " + name_contacts() + ": " + resolution_.reason());
    else if (outcome == Outcome::branching)
        branch();
    else
        adopt(resolution_.options().front());
}

void LayeredFlow::run() {
    keep_state();
    save_within(0.0);
    while (status_ == Status::running && !check_stop()) advance();
}

// One step: expand, find the first event, shorten to what is accurate, move, and decide the event.
void LayeredFlow::advance() {
    if (!expand()) return;
    double u = reach(allowed(jet_.order()));
    if (status_ != Status::running) return;
    u = shorten(u);
    if (status_ != Status::running) return;
    commit(u);
    if (!contacts_.empty()) handle_events();
    if (plan_.keeps_steps && status_ == Status::running) keep_state();
}

void LayeredFlow::commit(double u) {
    save_within(u);
    const double longest = allowed(jet_.order());
    const bool quiet = contacts_.empty();
    if (quiet && pending_ == Status::running && is_at_rest(u)) pending_ = Status::stationary;
    log_gradient_ = std::log(jet_.theta(1).norm() / span_) - jet_.duals().log_unit();
    const Clock before = now_.clock;
    now_.clock = clock_at(u);
    if (pending_ == Status::reached_time) now_.clock = Clock(plan_.stop.time);
    if (pending_ == Status::reached_log_time) now_.clock = Clock::at_log(plan_.stop.log_time);
    now_.theta = end_;
    log_loss_ = log_loss_at_end_;
    for (const Boundary& boundary : now_.activity.sliding())
        if (boundary.is_parameter()) now_.theta[boundary.parameter] = -boundary.constant;
    ++steps_;
    idle_ = u == 0.0 || !before.is_before(now_.clock) ? idle_ + 1 : 0;
    if (std::isfinite(longest)) span_ *= longest;
    if (!now_.theta.allFinite()) finish(Status::non_finite, "a parameter is no longer finite");
    if (idle_ > kMaxIdle) finish(Status::undecided_event, "events follow each other without time");
    if (!quiet || status_ != Status::running) return;
    now_.activity.clear_zeros();
    jet_.start(now_.theta, now_.activity, span_);
}

bool LayeredFlow::is_at_rest(double u) {
    double moved = 0.0;
    double power = 1.0;
    for (int k = 1; k <= jet_.order(); ++k) moved += largest(jet_.theta(k)) * (power *= u);
    resting_ = moved < kAtRest * largest(now_.theta) ? resting_ + 1 : 0;
    return resting_ >= kRestingSteps;
}

void LayeredFlow::handle_events() {
    if (status_ != Status::running) return;
    for (const Contact& contact : contacts_)
        if (contact.boundary.is_parameter()) now_.theta[contact.boundary.parameter] = -contact.boundary.constant;
    const Outcome outcome = resolution_.resolve(jet_, now_.theta, now_.activity, contacts_, span_, false);
    if (outcome == Outcome::undecided) {
        finish(Status::undecided_event, name_contacts() + " meet: " + resolution_.reason());
        return;
    }
    if (outcome == Outcome::branching) {
        branch();
        return;
    }
    adopt(resolution_.options().front());
}

void LayeredFlow::adopt(Option& option) {
    record(option.changes);
    now_.activity = std::move(option.activity);
    jet_.rebind(now_.activity);
    contacts_.clear();
    if (pending_ != Status::running) return;
}

void LayeredFlow::branch() {
    LayeredBranching point;
    point.t = now_.clock.t();
    point.log_t = now_.clock.log_t();
    for (const Contact& contact : resolution_.contacts()) point.places.push_back(contact.boundary.members.front());
    std::vector<Option>& options = resolution_.options();
    const auto rank = [&](const Option& option) {
        int sum = 0;
        for (const int side : option.sides) sum += plan_.on_branch == BranchPolicy::stay ? (side == 0 ? 1 : 0) : side;
        return plan_.on_branch == BranchPolicy::inactive ? -sum : sum;
    };
    for (const Option& option : options) point.options.push_back(option.sides);
    const auto best = std::ranges::max_element(options, {}, rank);
    point.chosen = static_cast<int>(best - options.begin());
    branchings_.push_back(point);
    record({{point.places.front(), Kind::branch}});
    if (plan_.on_branch == BranchPolicy::raise) {
        finish(Status::branch, name_contacts() + " can go on in " + std::to_string(options.size()) + " ways");
        return;
    }
    Option chosen = *best;
    if (!resolution_.take(jet_, now_.theta, chosen.activity, span_)) {
        finish(Status::undecided_event, name_contacts() + ": the normals of what slides depend on each other");
        return;
    }
    adopt(chosen);
}

bool LayeredFlow::check_stop() {
    const LayeredStop& stop = plan_.stop;
    if (pending_ != Status::running) {
        finish(pending_, "the run ended as asked");
    } else if (static_cast<std::int64_t>(events_.size()) >= stop.events) {
        finish(Status::reached_events, "so many events have happened");
    } else if (steps_ >= stop.steps) {
        finish(Status::reached_steps, "so many steps have been taken");
    } else if (seconds() >= stop.seconds) {
        finish(Status::reached_seconds, "the run has taken the time it may take");
    } else if (std::log(now_.theta.norm()) >= stop.log_norm) {
        finish(Status::reached_log_norm, "log |θ| has reached its bound");
    } else if (steps_ > 0 && stop.gradient > 0.0 && log_gradient_ <= std::log(stop.gradient)) {
        finish(Status::reached_gradient, "the gradient has fallen to its bound");
    } else if (log_loss_ <= stop.log_loss) {
        finish(Status::reached_loss, "the loss has fallen to its bound");
    } else if (plan_.hook) {
        const Request request = plan_.hook({now_.clock.t(), now_.clock.log_t(), log_loss_, steps_,
                                            static_cast<std::int64_t>(events_.size()), seconds()});
        if (request == Request::stop) finish(Status::stopped_by_callback, "the callback asked for it");
        if (request == Request::interrupt) finish(Status::interrupted, "the run was interrupted");
    }
    return status_ != Status::running;
}

void LayeredFlow::finish(Status status, std::string message) {
    if (status_ != Status::running) return;
    status_ = status;
    char when[32];
    std::snprintf(when, sizeof when, ", at t = %.10g", now_.clock.t());
    message_ = std::move(message) + when;
}

std::string LayeredFlow::name_contacts() const {
    std::string names;
    const std::vector<Contact>& met = resolution_.contacts();
    for (std::size_t c = 0; c < met.size() && c < 4; ++c) {
        const Place& p = met[c].boundary.members.front();
        names += (c == 0 ? "" : "; ") + std::string("layer ") + std::to_string(p.node) + " unit " +
                 std::to_string(p.unit) + " sample " + std::to_string(p.sample);
    }
    return met.size() > 4 ? names + "; ..." : names;
}

double LayeredFlow::seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
}

}  // namespace reluflow::layered
