#include "run/layered_flow.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <tuple>
#include <utility>

#include "base/tolerances.hpp"
#include "layered/joint.hpp"
#include "numeric/polynomial.hpp"

namespace reluflow::layered {
namespace {

/// So many steps in a row in which nothing moves, and no time passes that a clock could tell from none, lead nowhere.
/// One that ends in events counts for many: fifty of these follow each other without time.
constexpr int kMaxIdle = 20000;
constexpr int kIdleEvents = 400;

Snapshot read_start(const Graph& graph, const Matrix& X, const Vector& theta, const Clock& clock) {
    Snapshot start{clock, theta, Activity(graph, X)};
    std::vector<Matrix> z;
    pre_activations(graph, X, theta, z);
    start.activity.read(z, theta);
    return start;
}

/// True if a policy takes one continuation and not the other: by the number of places that are as it wants them; if
/// equal, by the first that differs.
bool is_preferred(BranchPolicy policy, const std::vector<Place>& met, const Activity& one, const Activity& other) {
    const auto score = [&](int side) {
        if (policy == BranchPolicy::stay) return side == 0 ? 2 : side < 0 ? 1 : 0;
        return policy == BranchPolicy::active ? side : -side;
    };
    int difference = 0;
    int first = 0;
    for (const Place& p : met) {
        const int here = score(one.side(p)) - score(other.side(p));
        difference += here;
        if (first == 0) first = here;
    }
    return difference != 0 ? difference > 0 : first > 0;
}

/// Kept states take at most so much, each with the snapshot from which dense output goes on.
constexpr std::size_t kKeptBytes = std::size_t{64} << 20;

std::size_t bytes_of_kept(const Graph& graph, const Matrix& X) {
    Index units = 0;
    for (const Node& node : graph.nodes()) units += node.size;
    return sizeof(double) * 2 * (graph.parameters() + units * X.rows());
}

}  // namespace

LayeredFlow::LayeredFlow(const Graph& graph, const Matrix& X, const DualSeries& duals, const Vector& theta,
                         RunPlan plan)
    : LayeredFlow(graph, X, duals, read_start(graph, X, theta, plan.start), plan) {
    decide_start();
}

LayeredFlow::LayeredFlow(const Graph& graph, const Matrix& X, const DualSeries& duals, const Snapshot& from,
                         RunPlan plan)
    : Run(std::move(plan)),
      graph_(&graph),
      X_(&X),
      state_(from),
      balance_(graph, state_.theta, duals.decay(), state_.clock.t(), state_.balance),
      twins_(graph, state_.theta, duals.decay()),
      sizes_of_units_(graph),
      jet_(graph, X, duals, kMaxOrder),
      probe_(graph, X, duals, 1),
      crossings_(graph, X),
      moved_(state_.activity),
      late_(graph, duals, plan_.settings.rtol),
      implicit_(graph, X, duals, plan_.settings.rtol),
      implicit_pace_(kNoRoot),
      resolution_(graph, X),
      stride_(std::min(plan_.settings.checkpoint_bytes, kKeptBytes), bytes_of_kept(graph, X)),
      saved_(state_.theta.size()),
      kept_(state_.theta.size()),
      rtol_(plan_.settings.rtol) {
    begin();
}

void LayeredFlow::begin() {
    balance_.read(state_.clock.t(), state_.balance);
    balance_.see(state_.activity, *X_);
    joint_ = joint_boundaries(state_.activity, *X_, state_.theta);
    resolution_.listen_to(interrupt_);
    sizes_of_units_.take(state_.theta);
    if (sizes_of_units_.by_unit()) resolution_.compare_with(sizes_of_units_);
    jet_.start(state_.theta, state_.activity, 1.0);
    log_loss_ = log_loss_at_end_ = jet_.duals().log_loss(jet_.outputs());
    take_unit();
}

void LayeredFlow::start() {
    keep_state();
    save_start();
    check_start();
    if (const Status status = status_after(event_count()); status != Status::running) finish(status);
}

// One step: expand, find the first event that ends it, shorten to what is accurate, move, and decide the event.
bool LayeredFlow::go_on() {
    is_cut_ = shares_ = false;
    save_end_ = kNoRoot;
    see_sizes();
    double u = 0.0;
    if (!go_late(u) && !go_implicit(u)) u = status_ == Status::running ? go_plain() : -1.0;
    if (status_ != Status::running || u < 0.0) return false;
    const double longest = std::exchange(u, end_of_joint_slide(u));
    if (u < longest && !(is_late_ ? is_accurate_late(u) : is_implicit_ ? is_accurate_implicit(u) : is_accurate(u))) {
        finish(Status::accuracy_not_reached, "a step of any length misses the tolerance " + at_log_time());
        return false;
    }
    const auto before = sets_;
    if (!contacts_.empty()) {
        keep_begin();
        look_ahead(u, longest);
    }
    search_.passes(jet_, u);
    commit(u);
    if (!contacts_.empty()) handle_events();
    begin_.reset();
    if (!contacts_.empty() || sets_ != before) {  // the weights have a kink
        pace_.leave();
        implicit_pace_.leave();
        implicit_.forget();
        crawl_ = {};
    }
    if (status_ == Status::running) keep_state();
    if (pending_ == Status::running) pending_ = status_after(event_count());
    if (pending_ == Status::running && log_norm() >= plan_.stop.log_norm) pending_ = Status::reached_log_norm;
    if (status_ == Status::running && pending_ == Status::stationary) rest();
    return status_ == Status::running && !has_ended();
}

// Of what is zero at events, its size before.
void LayeredFlow::see_sizes() {
    const Vector& decay = jet_.duals().decay();
    const double passed = state_.clock.t() - std::exchange(seen_at_, state_.clock.t());
    if (decay.size() > 0 && passed > 0.0)
        resolution_.see(state_.theta, (-passed * decay.array()).exp().matrix());
    else
        resolution_.see(state_.theta);
}

// How far an explicit step goes; a negative value if the run is interrupted.
double LayeredFlow::go_plain() {
    double u = go(true);
    if (!crossings_.crossings().empty() && status_ == Status::running && (is_cut_ || !is_accurate(u))) {
        crossings_.distrust();
        crossings_.clear();
        jet_.start(state_.theta, state_.activity, span_);
        u = go(false);
    }
    if (status_ == Status::running && u >= 0.0 && crossings_.crossings().empty()) u = shorten(u);
    return u;
}

// Expands and says how far to go; a negative value if the run is interrupted.
double LayeredFlow::go(bool with_crossings) {
    if (!expand(with_crossings)) return -1.0;
    double u = find_end(with_crossings);
    if (status_ == Status::running && fine_ == 0 && is_in_doubt()) {
        fine_ = 1;
        if (!expand(with_crossings)) return -1.0;
        u = find_end(with_crossings);
    }
    if (!is_doubtful() || jet_.order() == jet_.top() || !crossings_.crossings().empty()) return u;
    return expand_fully() ? find_end(with_crossings) : -1.0;
}

// Whether the step ends where a place would no longer be known to be on its side.
bool LayeredFlow::is_doubtful() const {
    return shares_ ? crossings_.is_doubtful() : search_.is_doubtful();
}

// Where crossings share the step nothing slides.
bool LayeredFlow::is_in_doubt() const {
    return !shares_ && search_.is_in_doubt();
}

double LayeredFlow::find_end(bool with_crossings) {
    const double end = allowed(jet_.order());
    contacts_.clear();
    pending_ = Status::running;
    shares_ = with_crossings && std::isfinite(end) && may_share();
    return shares_ ? follow_crossings(end) : end_of_step(end);
}

double LayeredFlow::log_norm() {
    return std::log(state_.theta.norm());
}

void LayeredFlow::commit(double u) {
    save_within(u);
    const double longest = is_late_ || is_implicit_ ? kNoRoot : allowed(jet_.order());
    const double size_before = state_.theta.norm();
    const double log_loss_before = log_loss_;
    const bool quiet = contacts_.empty();
    // A step made shorter, as its end was not that of the network, does not tell rest by itself.
    const double natural = std::isfinite(longest) ? std::max(u, longest) : u;
    if (quiet && !is_doubtful() && pending_ == Status::running && is_at_rest(natural)) pending_ = Status::stationary;
    log_gradient_ = std::log(rate_at_start_ / span_) - jet_.duals().log_unit();
    const Clock before = state_.clock;
    const bool moves = (end_ - state_.theta).norm() > plan_.settings.rtol * size_before;
    record_crossings();
    state_.clock = clock_at_end(u);
    state_.theta = end_;
    balance_.let_go(state_.theta);
    balance_.move(state_.theta);
    if (jet_.duals().decays()) balance_.read(state_.clock.t(), state_.balance);
    log_loss_ = log_loss_at_end_;
    if (is_late_)
        commit_late(u, log_loss_before, size_before);
    else if (is_implicit_)
        commit_implicit(u);
    else
        report_plain(u, size_before);
    put_on_boundaries();
    for (const Boundary& boundary : state_.activity.sliding())
        if (boundary.is_parameter()) state_.theta[boundary.parameter] = -boundary.constant;
    twins_.part(state_.theta);
    if (twins_.join(state_.activity, state_.theta)) probed_ = false;
    ++steps_;
    // What has grown out of far smaller weights moves, and comes to rest, in times below the last digit of t.
    const bool is_idle = !moves && !before.is_before(state_.clock);
    idle_ = is_idle ? idle_ + (quiet && u > 0.0 ? 1 : kIdleEvents) : 0;
    if (pending_ == Status::running && (has_settled() || stands(is_idle && quiet))) pending_ = Status::stationary;
    if (pending_ == Status::running && quiet) watch_rounding(u, longest);
    if (!is_late_ && !is_implicit_) span_ *= std::isfinite(longest) ? longest : std::max(u, 1.0);
    refine(quiet);
    if (!state_.theta.allFinite()) finish(Status::non_finite, "a parameter is no longer finite " + at_log_time());
    if (idle_ > kMaxIdle)
        finish_undecided(quiet ? "steps are below the last digit of t" : "events follow each other without time");
    if (!quiet || status_ != Status::running) return;
    state_.activity.clear_zeros();
    if (const Jet* here = known_here(); here != nullptr && here->is_at(state_.theta))
        jet_.start_from(*here, state_.activity, span_, {});
    else
        jet_.start(state_.theta, state_.activity, span_);
    jet_.set_missed(left_);
}

// The check of a step has left the probe at its end, unless states were saved since.
const Jet* LayeredFlow::known_here() const {
    return probed_ ? &probe_ : nullptr;
}

// Crossings inside the step, each with its own time.
void LayeredFlow::record_crossings() {
    for (const Crossing& crossing : crossings_.crossings()) {
        const Clock when = clock_until_stop(crossing.u);
        events_.push_back({when.t(), when.log_t(), crossing.change, sets_++});
    }
    if (!crossings_.crossings().empty()) {
        state_.activity.take_over(moved_);
        balance_.see(state_.activity, *X_);
    }
    crossings_.clear();
}

void LayeredFlow::handle_events() {
    if (status_ != Status::running) return;
    if (sizes_of_units_.by_unit() && !is_joint_event_) {  // in an instant nobody feels what is hidden
        const auto unit = [](const Contact& c) { return c.boundary.members.front().unit; };
        const Index first = unit(contacts_.front());
        const bool is_alone = sizes_of_units_.is_hidden(first);
        std::erase_if(contacts_, [&](const Contact& c) {
            return unit(c) != first && (is_alone || sizes_of_units_.is_hidden(unit(c)));
        });
    }
    for (const Contact& contact : contacts_)
        if (contact.boundary.is_parameter()) state_.theta[contact.boundary.parameter] = -contact.boundary.constant;
    const Outcome outcome = resolve_contacts();
    if (outcome == Outcome::undecided) {
        finish_undecided(name_contacts() + " meet: " + resolution_.reason());
        return;
    }
    if (outcome == Outcome::branching) {
        branch();
        return;
    }
    adopt(resolution_.options().front());
}

void LayeredFlow::adopt(const Option& option) {
    record(option.changes);
    resolution_.hand_over(option, state_.activity, moved_);
    balance_.see(state_.activity, *X_);
    joint_ = joint_boundaries(state_.activity, *X_, state_.theta);
    probed_ = false;
    jet_.rebind(state_.activity);
    std::ranges::copy_if(resolution_.contacts(), std::inserter(contacts_, contacts_.begin()), &Contact::turns);
    search_.stays(contacts_, state_.activity);
    contacts_.clear();
}

void LayeredFlow::record(const std::vector<Change>& changes) {
    if (changes.empty()) return;
    for (const Change& change : changes) events_.push_back({state_.clock.t(), state_.clock.log_t(), change, sets_});
    ++sets_;
    if (chatter_.takes(changes)) rtol_ = std::min(rtol_, kFinest);
}

void LayeredFlow::branch() {
    LayeredBranching point;
    point.t = state_.clock.t();
    point.log_t = state_.clock.log_t();
    std::vector<Place> met;
    for (const Contact& contact : resolution_.contacts()) {
        point.places.push_back(contact.boundary.members.front());
        met.insert(met.end(), contact.boundary.members.begin(), contact.boundary.members.end());
    }
    std::ranges::sort(met, {}, [](const Place& p) { return std::tuple(p.node, p.unit, p.sample); });
    std::vector<Option>& options = resolution_.options();
    for (const Option& option : options) {
        std::vector<int>& sides = point.options.emplace_back();
        for (const Place& p : point.places) sides.push_back(option.activity->side(p));
    }
    const BranchPolicy policy = plan_.settings.on_branch;
    const auto best = std::ranges::max_element(options, [&](const Option& one, const Option& other) {
        if (policy != BranchPolicy::stay && one.is_for_stay != other.is_for_stay) return one.is_for_stay;
        return is_preferred(policy, met, *other.activity, *one.activity);
    });
    point.chosen = static_cast<int>(best - options.begin());
    point.lists_all = resolution_.lists_all();
    branchings_.push_back(point);
    std::vector<Change> branches;
    if (options.size() > 1)
        for (const Place& p : met) branches.push_back({p, Kind::branch});
    record(branches);
    if (plan_.settings.on_branch == BranchPolicy::raise) {
        finish(Status::branch, name_contacts() + " can go on in " +
                                   (point.lists_all ? std::to_string(options.size()) : "too many") + " ways " +
                                   at_log_time() + "; choose a continuation with on_branch");
        return;
    }
    Option chosen = *best;
    if (!resolution_.take(jet_, state_.theta, *chosen.activity, span_)) {
        finish_undecided(name_contacts() + ": " + kDependent);
        return;
    }
    adopt(chosen);
}

std::string LayeredFlow::full_message() const {
    const auto count = std::ranges::count(branchings_, false, &LayeredBranching::lists_all);
    if (count == 0) return message();
    return message() + "; of " + std::to_string(count) + (count == 1 ? " branch" : " branches") +
           " not all ways to go on are listed";
}

void LayeredFlow::keep_state() {
    const auto thin = [this] {
        kept_.thin();
        keep_every_second(snapshots_);
    };
    if (!stride_.takes(kept_.count(), thin)) return;
    kept_.add(state_.clock, log_loss_, event_count(), {span_of(state_.theta)});
    snapshots_.push_back(state());
}

void LayeredFlow::save_state(const Clock& when, double u) {
    if (u == 0.0) return saved_.add(when, log_loss_, event_count(), {span_of(state_.theta)});
    Vector theta = state_.theta;
    jet_.theta_at(u, theta);
    balance_.let_go(theta);
    twins_.join(state_.activity, theta);
    saved_.add(when, log_loss_of(theta), event_count(), {span_of(theta)});
}

void LayeredFlow::finish_undecided(const std::string& what) {
    finish(Status::undecided_event, "cannot determine the continuation " + at_log_time() + ": " + what);
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

}  // namespace reluflow::layered
