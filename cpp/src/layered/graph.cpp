#include "layered/graph.hpp"

#include <cmath>
#include <string>
#include <utility>

#include "base/errors.hpp"

namespace reluflow::layered {
namespace {

std::string label(int v) {
    return "spec[" + std::to_string(v) + "]";
}

}  // namespace

Graph::Graph(std::vector<Node> nodes, std::vector<Edge> edges, Index parameters)
    : nodes_(std::move(nodes)), edges_(std::move(edges)), parameters_(parameters) {
    if (nodes_.size() < 2) throw InvalidArgument("spec", std::to_string(nodes_.size()) + " nodes", "two nodes or more");
    for (std::size_t e = 0; e < edges_.size(); ++e) {
        Edge& edge = edges_[e];
        check_edge(edge);
        for (const Index g : edge.parameter) edge.has_parameters = edge.has_parameters || g >= 0;
        nodes_[edge.target].incoming.push_back(static_cast<int>(e));
        nodes_[edge.source].outgoing.push_back(static_cast<int>(e));
        if (edge.tap == Tap::preactivation) nodes_[edge.source].is_tapped_before = true;
    }
    for (int v = 0; v < count(); ++v) check_node(v);
    find_owned();
}

void Graph::find_owned() {
    uses_.assign(static_cast<std::size_t>(parameters_), 0);
    for (const Edge& edge : edges_)
        for (const Index g : edge.parameter)
            if (g >= 0) ++uses_[g];
    for (const Node& node : nodes_)
        for (const Index g : node.bias)
            if (g >= 0) ++uses_[g];
    for (const Node& node : nodes_) {
        std::vector<char>& owned = owned_.emplace_back(static_cast<std::size_t>(node.size), 1);
        for (Index u = 0; u < node.size; ++u) {
            if (!node.bias.empty() && node.bias[u] >= 0 && uses_[node.bias[u]] > 1) owned[u] = 0;
            for (const int e : node.incoming)
                for (Index c = 0; c < edges_[e].cols; ++c) {
                    const Index g = edges_[e].at(u, c);
                    if (edges_[e].connects(u, c) && (g < 0 || uses_[g] > 1)) owned[u] = 0;
                }
        }
    }
}

void Graph::check_node(int v) const {
    const Node& node = nodes_[v];
    if (node.size < 1) throw InvalidArgument(label(v) + ".size", std::to_string(node.size), "at least 1");
    if (!(node.leak >= 0.0 && node.leak < 1.0))
        throw InvalidArgument(label(v) + ".leak", std::to_string(node.leak), "in [0, 1)");
    if (v == 0) {
        if (!node.linear || !node.bias.empty() || !node.incoming.empty())
            throw InvalidArgument(label(0), "an activation, a bias or edges", "the inputs: a size alone");
        return;
    }
    if (node.incoming.empty() && node.bias.empty())
        throw InvalidArgument(label(v) + ".edges", "none", "one edge or more");
    if (v + 1 < count() && node.outgoing.empty())
        throw InvalidArgument(label(v), "a node that nothing reads", "read by a later node");
    if (!node.bias.empty() && static_cast<Index>(node.bias.size()) != node.size)
        throw InvalidArgument(label(v) + ".bias", std::to_string(node.bias.size()) + " indices",
                              "one index for each of " + std::to_string(node.size) + " units");
    for (const Index g : node.bias) check_index(g, v);
}

void Graph::check_edge(const Edge& edge) const {
    const int v = edge.target;
    if (edge.source < 0 || edge.source >= v)
        throw InvalidArgument(label(v) + ".edges.src", std::to_string(edge.source), "an earlier node");
    const Index rows = nodes_[v].size;
    const Index cols = nodes_[edge.source].size;
    const auto entries = static_cast<std::size_t>(rows * cols);
    if (edge.rows != rows || edge.cols != cols || edge.parameter.size() != entries ||
        (!edge.constant.empty() && edge.constant.size() != entries))
        throw InvalidArgument(label(v) + ".edges.idx",
                              std::to_string(edge.rows) + " x " + std::to_string(edge.cols) + " entries",
                              std::to_string(rows) + " x " + std::to_string(cols) + " entries");
    for (const Index g : edge.parameter) check_index(g, v);
    for (const double entry : edge.constant)
        if (!std::isfinite(entry)) throw InvalidArgument(label(v) + ".edges.const", std::to_string(entry), "finite");
}

void Graph::check_index(Index g, int v) const {
    if (g < -1 || g >= parameters_)
        throw InvalidArgument(label(v), "the parameter index " + std::to_string(g),
                              "made of indices below " + std::to_string(parameters_) + ", or -1");
}

}  // namespace reluflow::layered
