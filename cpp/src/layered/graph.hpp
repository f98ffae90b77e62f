/// A layered network as a graph of nodes (layers of units) in topological order; node 0 holds the inputs.
///
///     z_v = Σ_e A_e t_e + b_v,   A_e = C_e + θ[g_e],   h_v = z_v (linear) or max(z_v, leak z_v)
///
/// t_e is h, or for a skip z, of an earlier node. Dense, masked, diagonal, convolutional and residual layers are all of
/// this form: they differ in the index matrix g_e and the fixed entries C_e.
#pragma once

#include <vector>

#include "base/types.hpp"

namespace reluflow::layered {

/// What an edge reads of its source: after the activation, or before it.
enum class Tap { activated, preactivation };

struct Edge {
    int source = 0;
    int target = 0;
    Tap tap = Tap::activated;
    Index rows = 0;                ///< units of the target
    Index cols = 0;                ///< units of the source
    std::vector<Index> parameter;  ///< (rows, cols) row by row: index into θ, or -1
    std::vector<double> constant;  ///< fixed entries C of the same shape; empty for none
    bool has_parameters = false;

    Index at(Index row, Index col) const noexcept { return parameter[row * cols + col]; }
    double fixed(Index row, Index col) const noexcept { return constant.empty() ? 0.0 : constant[row * cols + col]; }
    bool connects(Index row, Index col) const noexcept { return at(row, col) >= 0 || fixed(row, col) != 0.0; }
    /// The entry at θ.
    double entry(Index row, Index col, const Vector& theta) const noexcept {
        const Index g = at(row, col);
        return fixed(row, col) + (g < 0 ? 0.0 : theta[g]);
    }
};

struct Node {
    Index size = 0;
    bool linear = true;
    double leak = 0.0;
    std::vector<Index> bias;    ///< index into θ for each unit, or empty
    std::vector<int> incoming;  ///< edges, filled in by Graph
    std::vector<int> outgoing;
    bool is_tapped_before = false;  ///< some edge reads z
};

/// One pre-activation: a unit of a node on a sample.
struct Place {
    int node = 0;
    Index sample = 0;
    Index unit = 0;

    bool operator==(const Place&) const = default;
};

class Graph {
  public:
    /// Checks that everything fits; throws InvalidArgument that names the node.
    Graph(std::vector<Node> nodes, std::vector<Edge> edges, Index parameters);

    const std::vector<Node>& nodes() const noexcept { return nodes_; }
    const std::vector<Edge>& edges() const noexcept { return edges_; }
    const Node& node(int v) const noexcept { return nodes_[v]; }
    int count() const noexcept { return static_cast<int>(nodes_.size()); }
    Index parameters() const noexcept { return parameters_; }
    /// True if all that a unit reads comes through parameters that nothing else reads.
    bool owns_row(int v, Index unit) const noexcept { return owned_[v][unit] != 0; }
    /// How many places read a parameter, biases among them.
    int uses(Index g) const noexcept { return uses_[g]; }
    Index outputs() const noexcept { return nodes_.back().size; }

  private:
    void check_node(int v) const;
    void check_edge(const Edge& edge) const;
    void check_index(Index g, int v) const;

    void find_owned();

    std::vector<Node> nodes_;
    std::vector<Edge> edges_;
    std::vector<int> uses_;                 // by parameter
    std::vector<std::vector<char>> owned_;  // by node and unit
    Index parameters_;
};

}  // namespace reluflow::layered
