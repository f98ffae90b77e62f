/// What a crossing makes of the velocity of a network of more than two layers.
#include <cmath>

#include "layered/local_crossings.hpp"

namespace reluflow::layered {
namespace {

/// A quantity of one sample at u, all units of a node together.
Vector value_at(const SampleSeries& series, Index sample, int top, double u) {
    Vector value = series.order(top).row(sample);
    for (int k = top - 1; k >= 0; --k) value = value * u + series.order(k).row(sample).transpose();
    return value;
}

Matrix entries_at(const Jet& jet, int e, bool moves, double u) {
    Matrix value = jet.entries(e, moves ? jet.order() : 0);
    for (int k = jet.order() - 1; k >= 0 && moves; --k) value = value * u + jet.entries(e, k);
    return value;
}

}  // namespace

// Brings what arrives at z of a node on a sample to the node that an edge reads.
void LocalCrossings::send_back(const Edge& edge, const Matrix& entries, const Activity& activity, Index sample) {
    const bool reads_z = edge.tap == Tap::preactivation || graph_->node(edge.source).linear;
    const Vector sent = entries.transpose() * back_[edge.target];
    if (reads_z)
        back_[edge.source] += sent;
    else
        back_[edge.source] += activity.slopes(edge.source).row(sample).transpose().cwiseProduct(sent);
}

// The velocity jumps by Δs β ∇z: β is what arrives above the unit on the sample, with the sides that it has by now.
LocalCrossings::Push LocalCrossings::push_of_all(const Jet& jet, const Activity& activity, const Hit& hit,
                                                 double jump) {
    const Place& p = hit.place;
    const int last = graph_->count() - 1;
    double above = 0.0;
    for (Vector& back : back_) back.setZero();
    back_[last] = jet.duals().dual(jet.order() - 1).row(p.sample);
    for (int k = jet.order() - 2; k >= 0; --k)
        back_[last] = back_[last] * hit.u + jet.duals().dual(k).row(p.sample).transpose();
    if (!graph_->node(last).linear) back_[last].array() *= activity.slopes(last).row(p.sample).transpose().array();
    for (int v = last; v > p.node; --v)
        for (const int e : graph_->node(v).incoming) {
            const Edge& edge = graph_->edges()[e];
            if (edge.source < p.node) continue;
            const Matrix entries = entries_at(jet, e, edge.has_parameters, hit.u);
            if (edge.source > p.node)
                send_back(edge, entries, activity, p.sample);
            else if (edge.tap == Tap::activated)
                above += entries.col(p.unit).dot(back_[v]);
        }
    velocity_jump_.setZero(jet.theta(0).size());
    for (Vector& back : back_) back.setZero();
    back_[p.node][p.unit] = 1.0;
    for (int v = p.node; v >= 1; --v) {
        const Node& node = graph_->node(v);
        for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
            if (node.bias[u] >= 0) velocity_jump_[node.bias[u]] += back_[v][u];
        for (const int e : node.incoming) {
            const Edge& edge = graph_->edges()[e];
            if (edge.source > 0) send_back(edge, entries_at(jet, e, edge.has_parameters, hit.u), activity, p.sample);
            if (!edge.has_parameters) continue;
            const Vector read = value_at(jet.tapped(edge), p.sample, edge.source == 0 ? 0 : jet.order(), hit.u);
            for (Index r = 0; r < edge.rows; ++r)
                for (Index c = 0; c < edge.cols && back_[v][r] != 0.0; ++c)
                    if (edge.at(r, c) >= 0) velocity_jump_[edge.at(r, c)] += back_[v][r] * read[c];
        }
    }
    const double rate = jet.span() * jump * above;
    const double square = velocity_jump_.squaredNorm();
    velocity_jump_ *= rate;
    slope_jump_ = jump;
    return {rate * square, sizes_.part(velocity_jump_) * largest(jet.theta(0))};
}

}  // namespace reluflow::layered
