#include "layered/activity.hpp"

#include <algorithm>
#include <utility>

namespace reluflow::layered {

Activity::Activity(const Graph& graph, const Matrix& X) : graph_(&graph), X_(&X) {
    for (const Node& node : graph.nodes()) {
        side_.emplace_back(SignMatrix::Zero(X.rows(), node.size));
        mode_.emplace_back(SignMatrix::Zero(X.rows(), node.size));
        single_.emplace_back(SignMatrix::Zero(X.rows(), node.size));
        slope_.emplace_back(Matrix::Ones(X.rows(), node.size));
    }
}

void Activity::set(const Place& p, int side, Mode mode) {
    const Node& node = graph_->node(p.node);
    side_[p.node](p.sample, p.unit) = static_cast<std::int8_t>(side);
    mode_[p.node](p.sample, p.unit) = static_cast<std::int8_t>(mode);
    if (!node.linear) slope_[p.node](p.sample, p.unit) = mode == Mode::sliding ? 0.0 : side > 0 ? 1.0 : node.leak;
}

void Activity::slide(Boundary boundary) {
    for (const Place& p : boundary.members) set(p, 0, Mode::sliding);
    sliding_.push_back(std::move(boundary));
}

bool Activity::is_live(const Edge& edge, Index sample, Index col) const noexcept {
    if (edge.source == 0) return (*X_)(sample, col) != 0.0;
    const Place p{edge.source, sample, col};
    if (mode(p) != Mode::moving) return false;
    const Node& node = graph_->node(edge.source);
    return node.linear || edge.tap == Tap::preactivation || side(p) > 0 || node.leak > 0.0;
}

double Activity::input_rate(const Edge& edge, Index sample, Index col,
                            const std::vector<std::vector<double>>& rate) const {
    const double z = rate[edge.source][col];
    if (edge.tap == Tap::preactivation || graph_->node(edge.source).linear) return z;
    return z * slope_[edge.source](sample, col);
}

Activity::Wiring Activity::wiring(const Place& p, const Vector& theta, const std::vector<std::vector<char>>& zero,
                                  const std::vector<std::vector<double>>& rate) const {
    Wiring found;
    const Node& node = graph_->node(p.node);
    bool up = false;
    bool down = false;
    bool linear_source = false;
    if (!node.bias.empty() && node.bias[p.unit] >= 0) {
        ++found.live;
        found.all_zero = false;
    }
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols && (found.live < 2 || found.all_zero); ++c) {
            if (!edge.connects(p.unit, c) || !is_live(edge, p.sample, c)) continue;
            ++found.live;
            linear_source = edge.source > 0 && graph_->node(edge.source).linear;
            if (edge.source == 0 || !zero[edge.source][c]) {
                found.all_zero = false;
                continue;
            }
            const double term = edge.entry(p.unit, c, theta) * input_rate(edge, p.sample, c, rate);
            found.rate += term;
            up = up || term > 0.0;
            down = down || term < 0.0;
        }
    }
    found.mixed = up && down;
    found.single = found.live == 1 && !linear_source;
    return found;
}

// The rate of an empty unit when what slides below it would leave upwards: Σ A over what would wake it.
double Activity::awaited_rate(const Place& p, const Vector& theta, const std::vector<std::vector<double>>& rate) const {
    double sum = 0.0;
    for (const int e : graph_->node(p.node).incoming) {
        const Edge& edge = graph_->edges()[e];
        if (edge.source == 0) continue;
        const Node& source = graph_->node(edge.source);
        for (Index c = 0; c < edge.cols; ++c) {
            const Place q{edge.source, p.sample, c};
            double t = 0.0;
            if (mode(q) == Mode::sliding) t = 1.0;
            if (mode(q) == Mode::empty) t = rate[q.node][c];
            if (!source.linear && edge.tap == Tap::activated) t = std::max(t, source.leak * t);
            if (t != 0.0) sum += edge.entry(p.unit, c, theta) * t;
        }
    }
    return sum;
}

void Activity::rewire(Index sample, const Vector& theta, int orders, std::vector<std::vector<char>>& zero,
                      std::vector<std::vector<double>>& rate, std::vector<Change>& changes) {
    for (int v = 1; v < graph_->count(); ++v) {
        for (Index u = 0; u < graph_->node(v).size; ++u) {
            const Place p{v, sample, u};
            const Wiring wires = wiring(p, theta, zero, rate);
            if (wires.live == 0) {
                rate[v][u] = awaited_rate(p, theta, rate);
                zero[v][u] = 1;
                make_empty(p, rate[v][u], changes);
                continue;
            }
            const bool was_single = has_one_input(p);
            set_single(p, wires.single);
            if (wires.all_zero) {
                zero[v][u] = 1;
                rate[v][u] = wires.rate;
                used_rates_ = used_rates_ || wires.mixed;
                update(p, wires, orders, changes);
            } else if (mode(p) == Mode::sliding && was_single != has_one_input(p)) {
                reattach(p, orders, changes);
                zero[v][u] = 1;
                rate[v][u] = mode(p) == Mode::moving ? side(p) : 0.0;
            }
            if (wires.single && mode(p) == Mode::moving && !graph_->node(v).linear && join_boundary(p)) {
                zero[v][u] = 1;
                rate[v][u] = 0.0;
                changes.push_back({p, Kind::slide});
            }
        }
    }
}

void Activity::update(const Place& p, const Wiring& wires, int orders, std::vector<Change>& changes) {
    const Node& node = graph_->node(p.node);
    const Mode before = mode(p);
    if (before == Mode::sliding) leave_boundary(p);
    if (node.linear) {
        set(p, 1, Mode::moving);
        return;
    }
    const int now = wires.rate > 0.0 ? 1 : -1;
    const bool changed = before != Mode::moving || side(p) != now;
    if (changed) {
        if (before == Mode::empty)
            changes.push_back({p, now > 0 ? Kind::wake_up : Kind::wake_down});
        else if (before == Mode::sliding)
            changes.push_back({p, now > 0 ? Kind::leave_up : Kind::leave_down});
        else
            changes.push_back({p, now > 0 ? Kind::cross_up : Kind::cross_down});
    }
    set(p, now, Mode::moving);
    zeros_.push_back({p, orders});
}

void Activity::make_empty(const Place& p, double awaited, std::vector<Change>& changes) {
    const Mode before = mode(p);
    if (before == Mode::sliding) leave_boundary(p);
    if (before != Mode::empty && !graph_->node(p.node).linear) changes.push_back({p, Kind::void_unit});
    set(p, awaited > 0.0 ? 1 : -1, Mode::empty);
    set_single(p, false);
}

void Activity::set_single(const Place& p, bool single) {
    std::int8_t& flag = single_[p.node](p.sample, p.unit);
    if (graph_->node(p.node).linear) single = false;
    n_single_ += (single ? 1 : 0) - flag;
    flag = single ? 1 : 0;
}

void Activity::leave_boundary(const Place& p) {
    for (Boundary& boundary : sliding_) {
        const auto found = std::find(boundary.members.begin(), boundary.members.end(), p);
        if (found == boundary.members.end()) continue;
        if (boundary.is_parameter())
            boundary.inputs.erase(boundary.inputs.begin() + (found - boundary.members.begin()));
        boundary.members.erase(found);
    }
    std::erase_if(sliding_, [](const Boundary& boundary) { return boundary.members.empty(); });
}

bool Activity::join_boundary(const Place& p) {
    const Boundary own = boundary_of(p);
    if (!own.is_parameter()) return false;
    for (Boundary& boundary : sliding_) {
        if (!boundary.is_same(own)) continue;
        boundary.members.push_back(p);
        boundary.inputs.push_back(own.inputs.front());
        set(p, 0, Mode::sliding);
        return true;
    }
    return false;
}

// The inputs of a sliding place have changed: it slides where z vanishes with two of them or more, and with one where
// that entry vanishes, together with all that reads nothing else.
void Activity::reattach(const Place& p, int orders, std::vector<Change>& changes) {
    leave_boundary(p);
    if (join_boundary(p)) return;
    Boundary own = whole_boundary_of(p);
    if (own.members.size() == 1) {  // nothing else reads that entry alone: its own z says the same
        own = Boundary{};
        own.members = {p};
    }
    for (std::size_t m = 0; m < own.members.size(); ++m) {
        const Place q = own.members[m];
        const auto is_q = [&](const Zero& zero) { return zero.place == q; };
        if (q == p || mode(q) != Mode::moving || std::ranges::none_of(zeros_, is_q)) continue;
        // The entry has just been given a sign.
        const int sign = side(q) * input_sign(q, own.inputs[m]) * input_sign(p, boundary_of(p).inputs.front());
        set(p, sign, Mode::moving);
        zeros_.push_back({p, orders});
        changes.push_back({p, sign > 0 ? Kind::leave_up : Kind::leave_down});
        return;
    }
    for (const Place& q : own.members) {
        if (q == p) continue;
        if (mode(q) == Mode::sliding)
            leave_boundary(q);
        else
            changes.push_back({q, Kind::slide});
        if (q.sample != p.sample) touched_.push_back(q.sample);
    }
    slide(std::move(own));
}

bool Activity::reads_only(const Place& p, const std::vector<Place>& places) const {
    const Node& node = graph_->node(p.node);
    if (!node.bias.empty() && node.bias[p.unit] >= 0) return false;
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols; ++c) {
            if (!edge.connects(p.unit, c) || !is_live(edge, p.sample, c)) continue;
            if (std::ranges::find(places, Place{edge.source, p.sample, c}) == places.end()) return false;
        }
    }
    return true;
}

void Activity::restore(const std::vector<SignMatrix>& sides, const std::vector<SignMatrix>& modes,
                       std::vector<Boundary> sliding, std::vector<Zero> zeros) {
    std::vector<std::vector<char>> zero;
    std::vector<std::vector<double>> rate;
    for (const Node& node : graph_->nodes()) {
        zero.emplace_back(node.size, 0);
        rate.emplace_back(node.size, 0.0);
    }
    const Vector theta = Vector::Zero(graph_->parameters());
    for (int v = 1; v < graph_->count(); ++v)
        for (Index i = 0; i < samples(); ++i)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place p{v, i, u};
                set(p, sides[v](i, u), static_cast<Mode>(modes[v](i, u)));
                set_single(p, mode(p) != Mode::empty && wiring(p, theta, zero, rate).single);
            }
    sliding_ = std::move(sliding);
    zeros_ = std::move(zeros);
}

int Activity::input_sign(const Place& p, const Input& input) const noexcept {
    if (input.node < 0) return 1;
    if (input.node == 0) return (*X_)(p.sample, input.unit) > 0.0 ? 1 : -1;
    return side({input.node, p.sample, input.unit}) >= 0 ? 1 : -1;
}

Boundary Activity::boundary_of(const Place& p) const {
    const Node& node = graph_->node(p.node);
    Boundary own;
    own.members = {p};
    if (!has_one_input(p)) return own;
    if (!node.bias.empty() && node.bias[p.unit] >= 0) {
        own.parameter = node.bias[p.unit];
        own.inputs = {Input{}};
        return own;
    }
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols; ++c) {
            if (!edge.connects(p.unit, c) || !is_live(edge, p.sample, c)) continue;
            own.parameter = edge.at(p.unit, c);
            own.constant = edge.fixed(p.unit, c);
            if (own.is_parameter()) own.inputs = {Input{edge.source, edge.tap, c}};
            return own;
        }
    }
    return own;
}

Boundary Activity::whole_boundary_of(const Place& p) const {
    Boundary own = boundary_of(p);
    if (!own.is_parameter()) return own;
    own.members.clear();
    own.inputs.clear();
    for (int v = 1; v < graph_->count(); ++v)
        for (Index i = 0; i < samples(); ++i)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                const Place q{v, i, u};
                if (!has_one_input(q) || mode(q) == Mode::empty) continue;
                const Boundary other = boundary_of(q);
                if (!other.is_same(own)) continue;
                own.members.push_back(q);
                own.inputs.push_back(other.inputs.front());
            }
    return own;
}

void Activity::read(const std::vector<Matrix>& z, const Vector& theta) {
    sliding_.clear();
    zeros_.clear();
    std::vector<std::vector<char>> zero;
    std::vector<std::vector<double>> rate;
    for (const Node& node : graph_->nodes()) {
        zero.emplace_back(node.size, 0);
        rate.emplace_back(node.size, 0.0);
    }
    std::vector<Change> ignored;
    for (Index i = 0; i < samples(); ++i) {
        for (int v = 1; v < graph_->count(); ++v)
            for (Index u = 0; u < graph_->node(v).size; ++u) {
                set({v, i, u}, graph_->node(v).linear || z[v](i, u) > 0.0 ? 1 : -1, Mode::moving);
                zero[v][u] = 0;
                rate[v][u] = 0.0;
            }
        rewire(i, theta, 1, zero, rate, ignored);
    }
    zeros_.clear();
}

void pre_activations(const Graph& graph, const Matrix& X, const Vector& theta, std::vector<Matrix>& z) {
    z.assign(graph.count(), Matrix());
    std::vector<Matrix> h(graph.count());
    z[0] = h[0] = X;
    for (int v = 1; v < graph.count(); ++v) {
        const Node& node = graph.node(v);
        z[v].setZero(X.rows(), node.size);
        for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
            if (node.bias[u] >= 0) z[v].col(u).array() += theta[node.bias[u]];
        for (const int e : node.incoming) {
            const Edge& edge = graph.edges()[e];
            const Matrix& t = edge.tap == Tap::preactivation ? z[edge.source] : h[edge.source];
            for (Index r = 0; r < edge.rows; ++r)
                for (Index c = 0; c < edge.cols; ++c)
                    if (edge.connects(r, c)) z[v].col(r) += edge.entry(r, c, theta) * t.col(c);
        }
        h[v] = node.linear ? z[v] : z[v].cwiseMax(node.leak * z[v]);
    }
}

}  // namespace reluflow::layered
