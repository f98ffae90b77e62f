#include "layered/jet.hpp"

#include <algorithm>
#include <cmath>

#include "numeric/products.hpp"

namespace reluflow::layered {

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
    z_[0].set(0, X);
    gradient_.setZero(graph.parameters());
    step_.setZero(graph.parameters());
    dual_.setZero(n, graph.outputs());
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
    theta_[0] = theta;
    sliding_.start(activity);
    held_.assign(static_cast<std::size_t>(graph_->count()), 0.0);
    free_.setZero(sliding_.count());
    for (Member& member : sliding_.members())
        if (member.has_input && member.input.node == 0)
            member.factor[0] = (*X_)(member.place.sample, member.input.unit);
    load(0);
    forward(0);
    duals_.start(h_of(graph_->count() - 1).order(0), span);
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
        const Node& node = graph_->node(v);
        Matrix& sum = change_[v];
        sum.setZero();
        for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
            if (node.bias[u] >= 0) sum.col(u).array() += theta_[k][node.bias[u]];
        for (const int e : node.incoming) {
            const Edge& edge = graph_->edges()[e];
            const SampleSeries& t = tapped(edge);
            if (edge.source == 0) {
                if (k == 0 || edge.has_parameters) add_product(t.order(0), entries_[e].transposed_order(k), sum);
            } else if (!edge.has_parameters) {
                add_product(t.order(k), entries_[e].transposed_order(0), sum);
            } else {
                add_product(t.down_from(k), entries_[e].transposed(k), sum);
            }
        }
        z_[v].set(k, sum);
        finish(k, v, k == 0 || sliding_.empty());
    }
}

// What is known to be zero becomes exactly zero, then h. What an event has set to zero is zero only with the
// multipliers of this order: before them it must go on to the units above as it is.
void Jet::finish(int k, int v, bool is_final) {
    const Node& node = graph_->node(v);
    for (const Zero& zero : activity_->zeros())
        if (is_final && at_event_ && zero.place.node == v && k < zero.orders)
            z_[v].set(k, zero.place.sample, zero.place.unit, 0.0);
    for (const Member& member : sliding_.members()) {
        if (member.place.node != v) continue;
        if (k == 0) held_[v] = std::max(held_[v], std::abs(z_[v].at(0, member.place.sample, member.place.unit)));
        if (member.carry != 0.0)
            free_[member.boundary] = member.carry * z_[v].at(k, member.place.sample, member.place.unit);
        z_[v].set(k, member.place.sample, member.place.unit, 0.0);
    }
    if (!node.linear) h_[v].set(k, z_[v].order(k).cwiseProduct(activity_->slopes(v)));
    for (Member& member : sliding_.members())
        if (member.has_input && member.input.node == v)
            member.factor[k] = (member.input.tap == Tap::preactivation ? z_[v] : h_of(v))
                                   .at(k, member.place.sample, member.input.unit);
}

void Jet::pull_back(const Edge& edge, int k, Matrix& above) {
    const std::size_t e = &edge - graph_->edges().data();
    if (edge.has_parameters)
        add_product(delta_[edge.target].down_from(k), entries_[e].plain(k), above);
    else
        add_product(delta_[edge.target].order(k), entries_[e].plain_order(0), above);
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
    const int last = graph_->count() - 1;
    for (int v = last; v > 0; --v) {
        const Node& node = graph_->node(v);
        Matrix& above = above_[v];
        above.setZero();
        if (node.is_tapped_before) skip_[v].setZero();
        if (v == last) above += dual_;
        for (const int e : node.outgoing) {
            const Edge& edge = graph_->edges()[e];
            pull_back(edge, k, edge.tap == Tap::preactivation ? skip_[v] : above);
        }
        if (node.linear)
            delta_[v].set(k, above);
        else
            delta_[v].set(k, above.cwiseProduct(activity_->slopes(v)));
        if (node.is_tapped_before) delta_[v].add(k, skip_[v]);
        read_above(k, v);
    }
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
    dual_ = duals_.dual(k - 1);
    backward(k - 1);
    gradient(k - 1, gradient_);
    theta_[k] = gradient_ * (span_ / k);
    if (duals_.decays()) {
        step_.setZero();
        duals_.add_decay(theta_, k - 1, step_);
        theta_[k] += step_ / k;
    }
    if (k == 1 && !sliding_.empty()) {
        std::vector<const SampleSeries*> z;
        std::vector<const SampleSeries*> h;
        for (int v = 0; v < graph_->count(); ++v) {
            z.push_back(&z_[v]);
            h.push_back(&h_of(v));
        }
        if (!sliding_.factor({*graph_, *activity_, entries_, z, h}, graph_->parameters())) return false;
    }
    load(k);
    forward(k);
    if (!sliding_.empty()) correct(k);
    order_ = k;
    duals_.next(k, h_of(graph_->count() - 1).order(k));
    return true;
}

double Jet::boundary_coefficient(const Boundary& boundary, int k) const {
    if (boundary.is_parameter()) return theta_[k][boundary.parameter] + (k == 0 ? boundary.constant : 0.0);
    const Place& p = boundary.members.front();
    const int turn = boundary.inputs.empty() ? 1 : activity_->input_sign(p, boundary.inputs.front());
    return turn * z_[p.node].at(k, p.sample, p.unit);
}

double Jet::rate_size(const Place& p) const {
    const Node& node = graph_->node(p.node);
    double sum = 0.0;
    if (!node.bias.empty() && node.bias[p.unit] >= 0) sum += std::abs(theta_[1][node.bias[p.unit]]);
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        const SampleSeries& t = tapped(edge);
        for (Index c = 0; c < edge.cols; ++c) {
            if (edge.has_parameters) sum += std::abs(entry(e, 1, p.unit, c) * t.at(0, p.sample, c));
            if (edge.source > 0) sum += std::abs(entry(e, 0, p.unit, c) * t.at(1, p.sample, c));
        }
    }
    return sum;
}

// Finds the multipliers of order k - 1 that keep w_k = 0, and adds what they do.
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
    for (const Boundary& boundary : sliding_.boundaries())
        if (boundary.is_parameter()) theta_[k][boundary.parameter] = 0.0;
    sliding_.spread(k - 1, delta_);
    load(k);
    tangent(step_, k);
}

// Adds the change of z and h of order k that belongs to a change of θ_k.
void Jet::tangent(const Vector& change, int k) {
    for (int v = 1; v < graph_->count(); ++v) {
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
        for (const Member& member : sliding_.members())
            if (member.place.node == v) sum(member.place.sample, member.place.unit) = 0.0;
        z_[v].add(k, sum);
        if (!node.linear) change_[v] = sum.cwiseProduct(activity_->slopes(v));
        finish(k, v, true);
    }
}

double Jet::misplaced() const {
    double worst = 0.0;
    for (int v = 1; v < graph_->count(); ++v) {
        if (graph_->node(v).linear) continue;
        const auto z = z_[v].order(0).array();
        const double size = std::max(z.cwiseAbs().maxCoeff(), held_[v]);
        if (size <= 0.0) continue;
        const auto moving = activity_->modes(v).array() == static_cast<std::int8_t>(Mode::moving);
        const auto wrong = moving.select(-z * activity_->sides(v).array().cast<double>(), 0.0).maxCoeff();
        worst = std::max({worst, wrong / size, held_[v] / size});
    }
    return worst;
}

void Jet::theta_at(double u, Vector& theta) const {
    theta = theta_[order_];
    for (int k = order_ - 1; k >= 0; --k) theta = theta * u + theta_[k];
}

void Jet::rate_at(double u, Vector& rate) const {
    rate = theta_[order_] * order_;
    for (int k = order_ - 1; k >= 1; --k) rate = rate * u + theta_[k] * k;
}

void Jet::velocity(const double* mu, Vector& out) {
    dual_ = duals_.dual(0);
    const int last = graph_->count() - 1;
    for (int v = last; v > 0; --v) {
        const Node& node = graph_->node(v);
        Matrix& above = above_[v];
        above.setZero();
        if (node.is_tapped_before) skip_[v].setZero();
        if (v == last) above += dual_;
        for (const int e : node.outgoing) {
            const Edge& edge = graph_->edges()[e];
            pull_back(edge, 0, edge.tap == Tap::preactivation ? skip_[v] : above);
        }
        if (node.linear)
            delta_[v].set(0, above);
        else
            delta_[v].set(0, above.cwiseProduct(activity_->slopes(v)));
        if (node.is_tapped_before) delta_[v].add(0, skip_[v]);
        for (const Member& member : sliding_.members())
            if (member.place.node == v)
                delta_[v].set(0, member.place.sample, member.place.unit, member.carry * mu[member.boundary]);
    }
    gradient(0, out);
    for (int b = 0; b < sliding_.count(); ++b)
        if (sliding_.boundaries()[b].acts_on_parameter()) out[sliding_.boundaries()[b].parameter] += mu[b];
    out *= span_;
    duals_.add_decay(theta_, 0, out);
}

}  // namespace reluflow::layered
