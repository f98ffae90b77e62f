#include "layered/local_crossings.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/polynomial.hpp"

namespace reluflow::layered {
namespace {

/// Hits closer than this part of the step are one set, which ends it.
constexpr double kOneSet = 1e-12;
/// A unit crosses if it leaves at no less than this part of the speed at which it came; otherwise the event is decided
/// as any other is.
constexpr double kLeastSpeed = 1e-6;
/// What is measured may be larger than in the steps before by so much.
constexpr double kCaution = 1.5;
/// The estimate falls by no more than this from step to step.
constexpr double kLeastFall = 0.5;

/// The estimate falls by so much where it leaves no room for any crossing, so that it is measured again.
constexpr double kDoubt = 0.9;
/// The same before anything was measured: the first bound is too large by far.
constexpr double kFirstDoubt = 0.3;
/// The first guess with more layers, over the rate at which the velocity changes.
constexpr double kFirstGuess = 10.0;

constexpr int kHidden = 1;

}  // namespace

LocalCrossings::LocalCrossings(const Graph& graph, const Matrix& X)
    : graph_(&graph),
      X_(&X),
      is_two_layers_(feels_outputs_alone(graph)),
      sizes_(is_two_layers_ ? UnitSizes(graph) : UnitSizes::by_row(graph)) {
    for (const Node& node : graph.nodes()) {
        zero_.emplace_back(node.size, 0);
        rate_.emplace_back(node.size, 0.0);
        back_.emplace_back(Vector::Zero(node.size));
    }
}

// Before anything is measured: all weights of one sign, all duals as steep as they can be. With more layers, several
// times as much as the velocity changes by itself.
double LocalCrossings::first_bound(const Jet& jet) const {
    if (!is_two_layers_) return kFirstGuess * 2.0 * largest(jet.theta(2)) / (largest(jet.theta(1)) * jet.span());
    const Edge& out = graph_->edges()[1];
    double largest_out = 0.0;
    for (Index r = 0; r < out.rows; ++r)
        for (Index c = 0; c < out.cols; ++c) largest_out = std::max(largest_out, std::abs(jet.entry(1, 0, r, c)));
    double norms = 0.0;
    double longest = 0.0;
    for (Index i = 0; i < X_->rows(); ++i) {
        norms += X_->row(i).squaredNorm();
        longest = std::max(longest, X_->row(i).norm());
    }
    return largest_out * largest_out * norms * longest;
}

double LocalCrossings::follow(Jet& jet, Activity& activity, double end, double budget, std::int64_t most,
                              std::vector<Contact>& contacts) {
    crossings_.clear();
    contacts.clear();
    pushed_ = pushed_at_ = 0.0;
    is_doubtful_ = false;
    span_ = jet.span();
    if (!(worth_ > 0.0)) worth_ = first_bound(jet);
    if (!is_two_layers_) sizes_.take(jet.theta(0));
    hits_.clear();
    search(jet, activity, 0.0, end);
    while (!hits_.empty()) {
        std::ranges::sort(hits_, {}, &Hit::u);
        const Hit hit = hits_.front();
        is_doubtful_ = !hit.is_known;
        if (is_doubtful_) return hit.u;
        const double next = hits_.size() > 1 ? hits_[1].u : end;
        const auto meets_too = [&](const Hit& other) {
            return other.u <= hit.u + kOneSet * end || (other.is_known && is_met_at(jet, other.place, hit.u));
        };
        const bool is_alone = hits_.size() == 1 || !meets_too(hits_[1]);
        const double before = pushed_;
        const double before_at = pushed_at_;
        const bool has_room = is_alone && static_cast<std::int64_t>(crossings_.size()) < most;
        if (has_room && cross(jet, activity, hit)) {
            if (expected(next) <= budget) {
                push(jet, activity, hit);
                if (is_two_layers_)
                    search_unit(jet, activity, hit.place.unit, hit.u, end);
                else
                    search(jet, activity, hit.u, end);
                continue;
            }
            activity.set(hit.place, -activity.side(hit.place), Mode::moving);
            rewire(activity, jet.theta(0), hit.place.sample);
            crossings_.pop_back();
            if (crossings_.empty()) worth_ *= is_measured_ ? kDoubt : kFirstDoubt;
        }
        pushed_ = before;
        pushed_at_ = before_at;
        for (const Hit& other : hits_) {
            if (!meets_too(other)) break;
            if (!other.is_known) continue;
            EventSearch::add_contact(activity, other.place, contacts);
        }
        return hit.u;
    }
    return kNoRoot;
}

// The first zero of every z after `from`. Most places are far from zero: |z_0| > Σ |z_k| end^k drops them.
void LocalCrossings::search(const Jet& jet, const Activity& activity, double from, double end) {
    hits_.clear();
    Approach approach(jet);
    for (int v = 1; v < graph_->count(); ++v) {
        if (graph_->node(v).linear) continue;
        const SampleSeries& z = jet.z(v);
        reach_ = z.order(jet.order()).cwiseAbs() * end;
        for (int k = jet.order() - 1; k >= 1; --k) reach_ = (reach_ + z.order(k).cwiseAbs()) * end;
        const SignMatrix& sides = activity.sides(v);
        for (Index i = 0; i < X_->rows(); ++i)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place p{v, i, u};
                const int side = sides(i, u);
                if (side * z.at(0, i, u) > reach_(i, u) || activity.mode(p) != Mode::moving) continue;
                look_at(approach, jet, p, side, from, end);
            }
    }
}

// The same of one unit of the only layer.
void LocalCrossings::search_unit(const Jet& jet, const Activity& activity, Index unit, double from, double end) {
    std::erase_if(hits_, [&](const Hit& hit) { return hit.place.unit == unit; });
    const SampleSeries& z = jet.z(kHidden);
    Approach approach(jet);
    for (Index i = 0; i < X_->rows(); ++i) {
        const Place p{kHidden, i, unit};
        if (activity.mode(p) != Mode::moving) continue;
        double reach = 0.0;
        for (int k = jet.order(); k >= 1; --k) reach = (reach + std::abs(z.at(k, i, unit))) * end;
        const int side = activity.side(p);
        if (side * z.at(0, i, unit) <= reach) look_at(approach, jet, p, side, from, end);
    }
}

void LocalCrossings::look_at(Approach& approach, const Jet& jet, const Place& p, int side, double from, double end) {
    const int order = jet.order();
    Row c;
    for (int k = 0; k <= order; ++k) c[k] = side * jet.z(p.node).at(k, p.sample, p.unit);
    if (from > 0.0) shift_origin(c.data(), order, from);
    const bool has_just_crossed =
        !crossings_.empty() && crossings_.back().u == from && from > 0.0 && crossings_.back().change.place == p;
    if (has_just_crossed) c[0] = 0.0;
    const Descent found = approach.of(p, c, end - from);
    if (found.u <= end - from) hits_.push_back({from + found.u, p, found.is_known});
}

// True if the unit goes on to the far side; then what push() adds is known.
bool LocalCrossings::cross(Jet& jet, Activity& activity, const Hit& hit) {
    const Place& p = hit.place;
    if (p.node == graph_->count() - 1) return false;  // an output that is cut itself
    if (activity.whole_boundary_of(p).members.size() != 1 || is_last_input(activity, p)) return false;
    const int order = jet.order();
    const int side = activity.side(p);
    const double leak = graph_->node(p.node).leak;
    const double jump = side > 0 ? leak - 1.0 : 1.0 - leak;
    const Push found = is_two_layers_ ? push_of_row(jet, hit, jump) : push_of_all(jet, activity, hit, jump);
    Row c{};
    for (int k = 0; k <= order; ++k) c[k] = jet.z(p.node).at(k, p.sample, p.unit);
    const double before = evaluate_derivative(c.data(), order, hit.u);
    const double after = before + found.rate;
    if (before * side >= 0.0 || after * before <= 0.0 || std::abs(after) < kLeastSpeed * std::abs(before)) return false;
    activity.set(p, -side, Mode::moving);
    if (!rewire(activity, jet.theta(0), p.sample)) {
        activity.set(p, side, Mode::moving);
        rewire(activity, jet.theta(0), p.sample);
        return false;
    }
    crossings_.push_back({hit.u, {p, side > 0 ? Kind::cross_down : Kind::cross_up}});
    pushed_ += found.speed / jet.span();
    pushed_at_ += found.speed / jet.span() * hit.u;
    return true;
}

// Of two layers: `series_` is what its row gets along the sample.
LocalCrossings::Push LocalCrossings::push_of_row(const Jet& jet, const Hit& hit, double jump) {
    const int order = jet.order();
    const Index outputs = graph_->outputs();
    series_.fill(0.0);
    for (int k = 0; k < order; ++k) {
        double above = 0.0;
        for (int j = 0; j <= k; ++j)
            for (Index r = 0; r < outputs; ++r)
                above += jet.entry(1, j, r, hit.place.unit) * jet.duals().dual(k - j)(hit.place.sample, r);
        series_[k + 1] = jet.span() * jump * above / (k + 1);
    }
    const double push_rate = evaluate_derivative(series_.data(), order, hit.u);
    series_[0] = -evaluate(series_.data(), order, hit.u);
    return {push_rate * X_->row(hit.place.sample).squaredNorm(), std::abs(push_rate)};
}

// Whether something reads nothing live on the sample but this unit, so that it wakes or falls asleep as the unit
// crosses. If that is an output, other samples make up the mass that all weights are parts of, and a step that goes on
// has the wrong one.
bool LocalCrossings::is_last_input(const Activity& activity, const Place& p) const {
    if (graph_->node(p.node).leak > 0.0) return false;
    for (const int e : graph_->node(p.node).outgoing) {
        const Edge& out = graph_->edges()[e];
        for (Index r = 0; r < out.rows; ++r)
            if (out.connects(r, p.unit) && activity.reads_only({out.target, p.sample, r}, {p})) return true;
    }
    return false;
}

// Follows the wiring of a sample; false if anything else than the sides just set has changed.
bool LocalCrossings::rewire(Activity& activity, const Vector& theta, Index sample) {
    for (int v = 1; v < graph_->count(); ++v)
        for (Index u = 0; u < graph_->node(v).size; ++u) {
            zero_[v][u] = activity.mode({v, sample, u}) == Mode::empty;
            rate_[v][u] = 0.0;
        }
    followed_.clear();
    activity.rewire(sample, theta, 1, zero_, rate_, followed_);
    return followed_.empty();
}

// Its row, and to second order the unit's own outputs: where units are small that is far more than the others feel.
// With more layers θ and what the sample sends on.
void LocalCrossings::push(Jet& jet, const Activity& activity, const Hit& hit) {
    if (!is_two_layers_) {
        jet.bend_sample(hit.place, slope_jump_, activity);
        jet.push(velocity_jump_, hit.u, activity);
        return;
    }
    const int order = jet.order();
    const Index unit = hit.place.unit;
    products_.noalias() = *X_ * X_->row(hit.place.sample).transpose();
    jet.push_row(unit, products_, hit.place.sample, series_);
    duals_ = jet.duals().dual(order - 1);
    for (int k = order - 2; k >= 0; --k) duals_ = duals_ * hit.u + jet.duals().dual(k);
    const double rate = evaluate_derivative(series_.data(), order, hit.u);
    bend_.noalias() =
        (0.5 * jet.span() * rate) * (duals_.transpose() * products_.cwiseProduct(activity.slopes(kHidden).col(unit)));
    jet.bend_column(unit, bend_, hit.u);
}

void LocalCrossings::learn(double u, double defect) noexcept {
    if (crossings_.empty() || !(share(u) > 0.0)) return;
    is_measured_ = true;
    worth_ = std::max(kCaution * defect / share(u), kLeastFall * worth_);
}

}  // namespace reluflow::layered
