/// What crossings inside a step add to its series.
#include "layered/jet.hpp"
#include "numeric/products.hpp"

namespace reluflow::layered {

void Jet::push_row(Index unit, const Vector& products, Index sample, const Row& b) {
    const Edge& edge = graph_->edges().front();
    for (int k = 0; k <= order_; ++k) {
        for (Index c = 0; c < edge.cols; ++c)
            if (edge.at(unit, c) >= 0) theta_[k][edge.at(unit, c)] += b[k] * (*X_)(sample, c);
        z_[edge.target].order(k).col(unit) += b[k] * products;
    }
}

void Jet::bend_column(Index unit, const Vector& bend, double at) {
    const Edge& edge = graph_->edges().back();
    const double parts[] = {at * at, -2.0 * at, 1.0};
    for (Index r = 0; r < edge.rows; ++r)
        for (int k = 0; k < 3 && edge.at(r, unit) >= 0; ++k) theta_[k][edge.at(r, unit)] += parts[k] * bend[r];
}

void Jet::push(const Vector& b, double at, const Activity& activity) {
    theta_[0] -= at * b;
    theta_[1] += b;
    for (int v = 1; v < graph_->count(); ++v) {
        add_up_change(b, v);
        z_[v].order(0) -= at * above_[v];
        z_[v].order(1) += above_[v];
        if (graph_->node(v).linear) continue;
        change_[v] = above_[v].cwiseProduct(activity.slopes(v));
        h_[v].order(0) -= at * change_[v];
        h_[v].order(1) += change_[v];
    }
}

void Jet::bend_sample(const Place& p, double jump, const Activity& activity) {
    // Of each node a row for each order; empty where nothing changes.
    std::vector<Matrix> of_z(graph_->count());
    std::vector<Matrix> of_h(graph_->count());
    of_z[p.node].setZero(order_ + 1, graph_->node(p.node).size);
    of_h[p.node] = of_z[p.node];
    for (int k = 0; k <= order_; ++k) of_h[p.node](k, p.unit) = jump * z_[p.node].at(k, p.sample, p.unit);
    for (int v = p.node; v < graph_->count(); ++v) {
        const Node& node = graph_->node(v);
        for (const int e : node.incoming) {
            const Edge& edge = graph_->edges()[e];
            const bool reads_z = edge.tap == Tap::preactivation || graph_->node(edge.source).linear;
            const Matrix& sent = reads_z ? of_z[edge.source] : of_h[edge.source];
            if (sent.size() == 0) continue;
            if (of_z[v].size() == 0) of_z[v].setZero(order_ + 1, node.size);
            for (int j = 0; j <= (edge.has_parameters ? order_ : 0); ++j)
                add_product(sent.topRows(order_ + 1 - j), entries_[e].transposed_order(j),
                            of_z[v].bottomRows(order_ + 1 - j));
        }
        if (of_z[v].size() == 0) continue;
        const Range sample{p.sample, p.sample + 1};
        if (v > p.node && !node.linear) of_h[v] = of_z[v].array().rowwise() * activity.slopes(v).row(p.sample).array();
        for (int k = 0; k <= order_; ++k) {
            z_[v].rows(k, sample) += of_z[v].row(k);
            if (!node.linear) h_[v].rows(k, sample) += of_h[v].row(k);
        }
    }
}

}  // namespace reluflow::layered
