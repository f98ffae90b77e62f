/// What is read off a jet: values along the step, and sizes of what its order 0 and 1 are made of.
#include <algorithm>
#include <cmath>

#include "layered/jet.hpp"

namespace reluflow::layered {

namespace {

/// The least size of z, in parts of the largest entry of θ times what is read: of it the part by which places may be
/// off is the tolerance of θ.
constexpr double kLeastSize = 1e-4;

}  // namespace

double Jet::boundary_coefficient(const Boundary& boundary, int k) const {
    if (boundary.is_parameter()) return theta_[k][boundary.parameter] + (k == 0 ? boundary.constant : 0.0);
    const Place& p = boundary.members.front();
    const int turn = boundary.inputs.empty() ? 1 : activity_->input_sign(p, boundary.inputs.front());
    return turn * z_[p.node].at(k, p.sample, p.unit);
}

PlaceRate Jet::rate(const Place& p) const {
    const Node& node = graph_->node(p.node);
    PlaceRate rate;
    const auto add = [&](double term) {
        rate.value += term;
        rate.size += std::abs(term);
    };
    if (!node.bias.empty() && node.bias[p.unit] >= 0) add(theta_[1][node.bias[p.unit]]);
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        const SampleSeries& t = tapped(edge);
        for (Index c = 0; c < edge.cols; ++c) {
            if (edge.has_parameters) add(entry(e, 1, p.unit, c) * t.at(0, p.sample, c));
            if (edge.source > 0) add(entry(e, 0, p.unit, c) * t.at(1, p.sample, c));
        }
    }
    return rate;
}

double Jet::terms(const Place& p, int k) const {
    const Node& node = graph_->node(p.node);
    double sum = node.bias.empty() || node.bias[p.unit] < 0 ? 0.0 : std::abs(theta_[k][node.bias[p.unit]]);
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        const SampleSeries& t = tapped(edge);
        for (int j = edge.source > 0 ? 0 : k; j <= k; ++j)
            for (Index c = 0; c < edge.cols && (j == 0 || edge.has_parameters); ++c)
                sum += std::abs(entry(e, j, p.unit, c) * t.at(k - j, p.sample, c));
    }
    return sum;
}

double Jet::reach(const Place& p) const {
    const Node& node = graph_->node(p.node);
    double sum = node.bias.empty() || node.bias[p.unit] < 0 ? 0.0 : 1.0;
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index c = 0; c < edge.cols; ++c)
            if (edge.at(p.unit, c) >= 0) sum += std::abs(tapped(edge).at(0, p.sample, c));
    }
    return sum;
}

Vector Jet::velocity_terms() const {
    Vector terms = Vector::Zero(graph_->parameters());
    duals_.add_decay(theta_, 0, terms);
    terms = terms.cwiseAbs();
    for (int v = 1; v < graph_->count(); ++v) {
        const Node& node = graph_->node(v);
        const Matrix delta = span_ * delta_[v].order(0).cwiseAbs();
        for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
            if (node.bias[u] >= 0) terms[node.bias[u]] += delta.col(u).sum();
        for (const int e : node.incoming) {
            const Edge& edge = graph_->edges()[e];
            if (!edge.has_parameters) continue;
            const Matrix sums = delta.transpose() * tapped(edge).order(0).cwiseAbs();
            for (Index r = 0; r < edge.rows; ++r)
                for (Index c = 0; c < edge.cols; ++c)
                    if (edge.at(r, c) >= 0) terms[edge.at(r, c)] += sums(r, c);
        }
    }
    return terms;
}

// Terms of velocities that cancel count, also of what is read below: an order that is less than all of that by far is
// not known, whatever is left of it.
double Jet::rate_terms(const Place& p, const Vector& velocity_terms) const {
    std::vector<Vector> sizes(static_cast<std::size_t>(p.node) + 1);
    for (int v = 1; v <= p.node; ++v) {
        const Node& node = graph_->node(v);
        sizes[v] = Vector::Zero(node.size);
        for (Index u = 0; u < node.size; ++u) {
            if (!node.linear && activity_->mode({v, p.sample, u}) != Mode::moving) continue;  // it rests
            double& sum = sizes[v][u];
            if (!node.bias.empty() && node.bias[u] >= 0) sum += velocity_terms[node.bias[u]];
            for (const int e : node.incoming) {
                const Edge& edge = graph_->edges()[e];
                for (Index c = 0; c < edge.cols; ++c) {
                    const Index g = edge.has_parameters ? edge.at(u, c) : -1;
                    if (g >= 0) sum += velocity_terms[g] * std::abs(tapped(edge).at(0, p.sample, c));
                    if (edge.source == 0) continue;
                    const bool is_cut = edge.tap != Tap::preactivation && !graph_->node(edge.source).linear;
                    const double slope = is_cut ? activity_->slopes(edge.source)(p.sample, c) : 1.0;
                    sum += std::abs(entry(e, 0, u, c) * slope) * sizes[edge.source][c];
                }
            }
        }
    }
    return sizes[p.node][p.unit];
}

// `sizes`: what nodes below count as, at least.
double Jet::largest_read(int v, const std::vector<double>& sizes) const {
    double most = graph_->node(v).bias.empty() ? 0.0 : 1.0;
    for (const int e : graph_->node(v).incoming) {
        const Edge& edge = graph_->edges()[e];
        most = std::max({most, sizes[edge.source], tapped(edge).order(0).cwiseAbs().maxCoeff()});
    }
    return most;
}

// A layer may be all but zero, where it passes through zero as a whole or its units have died. θ is known to a
// tolerance of its largest entry, and z to that times what it reads; what reads such a layer is known no better.
double Jet::misplaced() const {
    const double largest_parameter = largest(theta_[0]);
    std::vector<double> sizes(static_cast<std::size_t>(graph_->count()), 0.0);
    double worst = 0.0;
    for (int v = 1; v < graph_->count(); ++v) {
        const double* z = z_[v].data(0);
        const std::int8_t* sides = activity_->sides(v).data();
        const std::int8_t* modes = activity_->modes(v).data();
        double size = std::max(held_[v], kLeastSize * largest_parameter * largest_read(v, sizes));
        double wrong = 0.0;
        for (Index p = 0; p < activity_->sides(v).size(); ++p) {
            size = std::max(size, std::abs(z[p]));
            const bool moves = modes[p] == static_cast<std::int8_t>(Mode::moving);
            wrong = std::max(wrong, moves ? -z[p] * sides[p] : 0.0);
        }
        sizes[v] = size;
        if (size > 0.0 && !graph_->node(v).linear) worst = std::max({worst, wrong / size, held_[v] / size});
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

void Jet::squared_gradients(Vector& out) const {
    out.setZero(X_->rows());
    for (const Edge& edge : graph_->edges())
        if (edge.has_parameters)
            out += delta_[edge.target].order(0).rowwise().squaredNorm().cwiseProduct(
                tapped(edge).order(0).rowwise().squaredNorm());
    for (int v = 1; v < graph_->count(); ++v)
        for (Index u = 0; u < static_cast<Index>(graph_->node(v).bias.size()); ++u)
            if (graph_->node(v).bias[u] >= 0) out += delta_[v].order(0).col(u).cwiseAbs2();
}

}  // namespace reluflow::layered
