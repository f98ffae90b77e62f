#include "layered/jet.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/products.hpp"

namespace reluflow::layered {
namespace {

/// Samples of one tile: what is read again at once stays in the cache.
constexpr Index kTile = 64;
/// Of velocities that are less than this part of what multipliers take from them rounding hides a part of 1e-10.
constexpr double kLeft = 1e-6;

template <class Body>
void in_tiles(Index samples, const Body& body) {
    for (Index begin = 0; begin < samples; begin += kTile) body(Range{begin, std::min(begin + kTile, samples)});
}

}  // namespace

Jet::Jet(const Graph& graph, const Matrix& X, const DualSeries& duals, int top)
    : graph_(&graph), X_(&X), duals_(duals), top_(top) {
    const Index n = X.rows();
    theta_.assign(top + 1, Vector::Zero(graph.parameters()));
    for (const Edge& edge : graph.edges()) {
        entries_.emplace_back(edge.rows, edge.cols, top);
        edge_gradient_.emplace_back(Matrix::Zero(edge.rows, edge.cols));
        edge_change_.emplace_back(Matrix::Zero(edge.cols, edge.rows));
    }
    for (int v = 0; v < graph.count(); ++v) {
        const Node& node = graph.node(v);
        z_.emplace_back(n, node.size, v == 0 ? 0 : top, true);
        h_.emplace_back(n, node.linear ? 0 : node.size, top, true);
        delta_.emplace_back(n, v == 0 ? 0 : node.size, top, false);
        above_.emplace_back(Matrix::Zero(n, node.size));
        skip_.emplace_back(Matrix::Zero(n, node.is_tapped_before ? node.size : 0));
        change_.emplace_back(Matrix::Zero(n, node.size));
    }
    z_[0].order(0) = X;
    gradient_.setZero(graph.parameters());
    step_.setZero(graph.parameters());
}

void Jet::rebind(const Activity& activity) {
    activity_ = &activity;
    sliding_.rebind(activity);
}

void Jet::start(const Vector& theta, const Activity& activity, double span, bool at_event) {
    activity_ = &activity;
    at_event_ = at_event;
    span_ = span;
    order_ = 0;
    has_delta_ = false;
    missed_ = {};
    degree_ = 0;
    theta_error_ = 0.0;
    theta_[0] = theta;
    sliding_.start(activity);
    held_.assign(static_cast<std::size_t>(graph_->count()), 0.0);
    free_.setZero(sliding_.count());
    for (Member& member : sliding_.members())
        if (member.has_input && member.input.node == 0)
            member.factor[0] = (*X_)(member.place.sample, member.input.unit);
    load(0);
    forward(0);
    find_idle();
    duals_.start(h_of(graph_->count() - 1).order(0), span, idle_);
}

void Jet::find_idle() {
    const SignMatrix& modes = activity_->modes(graph_->count() - 1);
    idle_.assign(static_cast<std::size_t>(modes.rows()), 0);
    bool any = false;
    for (Index i = 0; i < modes.rows(); ++i) {
        idle_[i] = (modes.row(i).array() == static_cast<std::int8_t>(Mode::empty)).all();
        any = any || idle_[i] != 0;
    }
    if (!any) idle_.clear();
}

void Jet::start_from(const Jet& other, const Activity& activity, double span, std::span<const Index> samples) {
    activity_ = &activity;
    find_idle();
    if (idle_ != other.idle_) return start(Vector(other.theta_[0]), activity, span);  // other weights for all
    at_event_ = true;
    span_ = span;
    order_ = 0;
    missed_ = {};
    degree_ = 0;
    theta_error_ = 0.0;
    theta_[0] = other.theta_[0];
    sliding_.start(activity);
    held_.assign(static_cast<std::size_t>(graph_->count()), 0.0);
    free_.setZero(0);
    load(0);
    for (int v = 1; v < graph_->count(); ++v) {
        z_[v].order(0) = other.z_[v].order(0);
        delta_[v].order(0) = other.delta_[v].order(0);
        if (!graph_->node(v).linear) h_[v].order(0) = other.h_[v].order(0);
    }
    duals_.start_from(other.duals_, span);
    for (int v = 1; v < graph_->count(); ++v) {
        for (const Index i : samples) forward(0, v, {i, i + 1});
        finish(0, v, true);
    }
    for (int v = graph_->count() - 1; v > 0; --v)
        for (const Index i : samples) backward(0, v, {i, i + 1});
    has_delta_ = true;
}

// Entries of order k of every edge; fixed entries are of order 0.
void Jet::load(int k) {
    const Vector& theta = theta_[k];
    for (std::size_t e = 0; e < entries_.size(); ++e) {
        const Edge& edge = graph_->edges()[e];
        if (k > 0 && !edge.has_parameters) continue;
        for (Index r = 0; r < edge.rows; ++r)
            for (Index c = 0; c < edge.cols; ++c) {
                const Index g = edge.at(r, c);
                const double fixed = k == 0 ? edge.fixed(r, c) : 0.0;
                entries_[e].set(k, r, c, g < 0 ? fixed : fixed + theta[g]);
            }
    }
}

void Jet::forward(int k) {
    for (int v = 1; v < graph_->count(); ++v) {
        in_tiles(X_->rows(), [&](const Range& samples) { forward(k, v, samples); });
        finish(k, v, k == 0 || sliding_.empty());
    }
}

void Jet::forward(int k, int v, const Range& samples) {
    const Node& node = graph_->node(v);
    auto sum = z_[v].rows(k, samples);
    sum.setZero();
    for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
        if (node.bias[u] >= 0) sum.col(u).array() += theta_[k][node.bias[u]];
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        const SampleSeries& t = tapped(edge);
        if (edge.source == 0) {
            if (k == 0 || edge.has_parameters) add_product(t.rows(0, samples), entries_[e].transposed_order(k), sum);
            continue;
        }
        for (int j = 0; j <= (edge.has_parameters ? k : 0); ++j)
            add_product(t.rows(k - j, samples), entries_[e].transposed_order(j), sum);
    }
    if (!node.linear)
        h_[v].rows(k, samples) = sum.cwiseProduct(activity_->slopes(v).middleRows(samples.begin, samples.count()));
}

// What is known to be zero becomes exactly zero, and so does its h. What an event has set to zero is zero only with the
// multipliers of this order: before them it must go on to the units above as it is.
void Jet::finish(int k, int v, bool is_final) {
    const Node& node = graph_->node(v);
    const auto clear = [&](const Place& p) {
        z_[v].set(k, p.sample, p.unit, 0.0);
        if (!node.linear) h_[v].set(k, p.sample, p.unit, 0.0);
    };
    for (const Zero& zero : activity_->zeros())
        if (is_final && at_event_ && zero.place.node == v && k < zero.orders) clear(zero.place);
    for (const Member& member : sliding_.members()) {
        if (member.place.node != v) continue;
        if (k == 0) held_[v] = std::max(held_[v], std::abs(z_[v].at(0, member.place.sample, member.place.unit)));
        if (member.carry != 0.0)
            free_[member.boundary] = member.carry * z_[v].at(k, member.place.sample, member.place.unit);
        clear(member.place);
    }
    for (Member& member : sliding_.members())
        if (member.has_input && member.input.node == v)
            member.factor[k] = (member.input.tap == Tap::preactivation ? z_[v] : h_of(v))
                                   .at(k, member.place.sample, member.input.unit);
}

void Jet::read_above(int k, int v) {
    for (Member& member : sliding_.members()) {
        if (member.place.node != v) continue;
        member.above[k] = above_[v](member.place.sample, member.place.unit);
        member.skip[k] = skip_[v].size() > 0 ? skip_[v](member.place.sample, member.place.unit) : 0.0;
        delta_[v].set(k, member.place.sample, member.place.unit, 0.0);
    }
}

void Jet::backward(int k) {
    for (int v = graph_->count() - 1; v > 0; --v) {
        backward(k, v);
        read_above(k, v);
    }
}

void Jet::backward(int k, int v) {
    in_tiles(X_->rows(), [&](const Range& samples) { backward(k, v, samples); });
}

void Jet::backward(int k, int v, const Range& samples) {
    const Node& node = graph_->node(v);
    const auto rows_of = [&](auto& matrix) { return matrix.middleRows(samples.begin, samples.count()); };
    auto above = rows_of(above_[v]);
    above.setZero();
    if (node.is_tapped_before) rows_of(skip_[v]).setZero();
    if (v == graph_->count() - 1) above += rows_of(duals_.dual(k));
    for (const int e : node.outgoing) {
        const Edge& edge = graph_->edges()[e];
        for (int j = 0; j <= (edge.has_parameters ? k : 0); ++j)
            add_product(delta_[edge.target].rows(k - j, samples), entries_[e].plain_order(j),
                        edge.tap == Tap::preactivation ? rows_of(skip_[v]) : above);
    }
    auto delta = delta_[v].rows(k, samples);
    if (node.linear)
        delta = above;
    else
        delta = above.cwiseProduct(rows_of(activity_->slopes(v)));
    if (node.is_tapped_before) delta += rows_of(skip_[v]);
}

void Jet::add_edge_gradient(std::size_t e, int k, Vector& out) {
    const Edge& edge = graph_->edges()[e];
    if (!edge.has_parameters) return;
    Matrix& G = edge_gradient_[e];
    const SampleSeries& t = tapped(edge);
    if (edge.source == 0)
        transposed_multiply(delta_[edge.target].order(k), t.order(0), G);
    else
        transposed_multiply(delta_[edge.target].stacked(k), t.stacked(k), G);
    for (Index r = 0; r < edge.rows; ++r)
        for (Index c = 0; c < edge.cols; ++c)
            if (edge.at(r, c) >= 0) out[edge.at(r, c)] += G(r, c);
}

void Jet::gradient(int k, Vector& out) {
    out.setZero();
    for (std::size_t e = 0; e < entries_.size(); ++e) add_edge_gradient(e, k, out);
    for (int v = 1; v < graph_->count(); ++v) {
        const Node& node = graph_->node(v);
        for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
            if (node.bias[u] >= 0) out[node.bias[u]] += delta_[v].order(k).col(u).sum();
    }
}

bool Jet::advance() {
    const int k = order_ + 1;
    if (!has_delta_) backward(k - 1);
    has_delta_ = false;
    // All of it, never by the difference: where a parameter has no velocity any more it is zero to the last bit.
    gradient(k - 1, gradient_);
    theta_[k] = gradient_ * (span_ / k);
    if (duals_.decays()) {
        step_.setZero();
        duals_.add_decay(theta_, k - 1, step_);
        theta_[k] += step_ / k;
    }
    if (k == 1 && !factor_sliding()) return false;
    load(k);
    forward(k);
    if (!sliding_.empty()) correct(k);
    order_ = k;
    duals_.next(k, h_of(graph_->count() - 1).order(k));
    return true;
}

bool Jet::factor_sliding() {
    if (sliding_.empty()) return true;
    std::vector<const SampleSeries*> z;
    std::vector<const SampleSeries*> h;
    for (int v = 0; v < graph_->count(); ++v) {
        z.push_back(&z_[v]);
        h.push_back(&h_of(v));
    }
    return sliding_.factor({*graph_, *activity_, entries_, z, h}, graph_->parameters());
}

// Finds the multipliers of order k - 1 that keep w_k = 0, and adds what they do. Where duals cancel, velocities are
// small beside what multipliers take from them: what rounding leaves of that would take θ off its boundaries, and z of
// what sees them is made of θ anew.
void Jet::correct(int k) {
    for (int b = 0; b < sliding_.count(); ++b) {
        const Boundary& boundary = sliding_.boundaries()[b];
        const double rate = boundary.acts_on_parameter() ? theta_[k][boundary.parameter] : free_[b];
        free_[b] = -rate * (k / span_);
    }
    sliding_.solve(k - 1, free_);
    step_.setZero();
    for (int b = 0; b < sliding_.count(); ++b)
        step_ += (sliding_.multiplier(b)[k - 1] * span_ / k) * sliding_.normal(b).transpose();
    theta_[k] += step_;
    const bool is_anew = k == 1 && theta_[k].norm() < kLeft * step_.norm();
    if (is_anew) sliding_.project(theta_[k]);
    for (const Boundary& boundary : sliding_.boundaries())
        if (boundary.is_parameter()) theta_[k][boundary.parameter] = 0.0;
    sliding_.spread(k - 1, delta_);
    if (is_anew) return forward_as_given(k);
    load(k);
    tangent(step_, k);
}

// Fills above_ with the change of z of a node that belongs to a change of θ; change_ has that of h of the nodes below.
void Jet::add_up_change(const Vector& change, int v) {
    const Node& node = graph_->node(v);
    Matrix& sum = above_[v];
    sum.setZero();
    for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
        if (node.bias[u] >= 0) sum.col(u).array() += change[node.bias[u]];
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        if (edge.has_parameters) {
            Matrix& A = edge_change_[e];
            for (Index r = 0; r < edge.rows; ++r)
                for (Index c = 0; c < edge.cols; ++c) A(c, r) = edge.at(r, c) < 0 ? 0.0 : change[edge.at(r, c)];
            add_product(tapped(edge).order(0), A, sum);
        }
        if (edge.source > 0) {
            // The change of what the source sends: its z, or its h by the slope.
            const Matrix& moved = edge.tap == Tap::preactivation || graph_->node(edge.source).linear
                                      ? above_[edge.source]
                                      : change_[edge.source];
            add_product(moved, entries_[e].transposed_order(0), sum);
        }
    }
}

// Adds the change of z and h of order k that belongs to a change of θ_k.
void Jet::tangent(const Vector& change, int k) {
    for (int v = 1; v < graph_->count(); ++v) {
        add_up_change(change, v);
        Matrix& sum = above_[v];
        for (const Member& member : sliding_.members())
            if (member.place.node == v) sum(member.place.sample, member.place.unit) = 0.0;
        z_[v].order(k) += sum;
        if (!graph_->node(v).linear) {
            change_[v] = sum.cwiseProduct(activity_->slopes(v));
            h_[v].order(k) = z_[v].order(k).cwiseProduct(activity_->slopes(v));
        }
        finish(k, v, true);
    }
}

void Jet::velocity(const double* mu, Vector& out) {
    for (int v = graph_->count() - 1; v > 0; --v) {
        backward(0, v);
        for (const Member& member : sliding_.members())
            if (member.place.node == v)
                delta_[v].set(0, member.place.sample, member.place.unit, member.carry * mu[member.boundary]);
    }
    gradient(0, gradient_);
    has_delta_ = true;
    out = gradient_;
    for (int b = 0; b < sliding_.count(); ++b)
        if (sliding_.boundaries()[b].acts_on_parameter()) out[sliding_.boundaries()[b].parameter] += mu[b];
    out *= span_;
    duals_.add_decay(theta_, 0, out);
}

}  // namespace reluflow::layered
