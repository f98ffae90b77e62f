#include "layered/term_sizes.hpp"

#include <algorithm>
#include <cmath>

namespace reluflow::layered {

TermSizes::TermSizes(const Graph& graph, const Matrix& X) : graph_(&graph) {
    for (const Node& node : graph.nodes()) {
        most_.emplace_back(Vector::Zero(node.size));
        kept_.emplace_back(Vector::Ones(node.size));
    }
    most_[0] = X.cwiseAbs().colwise().maxCoeff().transpose();
    now_ = most_;
}

void TermSizes::see(const Vector& theta, const Vector& kept) {
    for (int v = 1; v < graph_->count(); ++v) {
        sum_up(v, theta);
        if (kept.size() > 0) fade(v, kept);
        most_[v] = most_[v].cwiseMax(now_[v]);
    }
}

void TermSizes::sum_up(int v, const Vector& theta) {
    const Node& node = graph_->node(v);
    now_[v].setZero();
    for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
        if (node.bias[u] >= 0) now_[v][u] += std::abs(theta[node.bias[u]]);
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index r = 0; r < edge.rows; ++r)
            for (Index c = 0; c < edge.cols; ++c)
                if (edge.connects(r, c)) now_[v][r] += std::abs(edge.entry(r, c, theta)) * now_[edge.source][c];
    }
}

// A term that is fixed keeps what it reads.
void TermSizes::fade(int v, const Vector& kept) {
    const Node& node = graph_->node(v);
    kept_[v].setZero();
    for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
        if (node.bias[u] >= 0) kept_[v][u] = kept[node.bias[u]];
    for (const int e : node.incoming) {
        const Edge& edge = graph_->edges()[e];
        for (Index r = 0; r < edge.rows; ++r)
            for (Index c = 0; c < edge.cols; ++c) {
                if (!edge.connects(r, c)) continue;
                const Index g = edge.at(r, c);
                const double own = g < 0 || edge.fixed(r, c) != 0.0 ? 1.0 : kept[g];
                kept_[v][r] = std::max(kept_[v][r], own * kept_[edge.source][c]);
            }
    }
    most_[v] = most_[v].cwiseProduct(kept_[v]);
}

}  // namespace reluflow::layered
