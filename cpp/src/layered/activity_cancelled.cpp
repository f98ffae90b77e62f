/// Places whose inputs cancel for good: a part of Activity.
#include <algorithm>
#include <map>

#include "layered/activity.hpp"

namespace reluflow::layered {
namespace {

/// True if one parameter multiplies several inputs of some unit.
bool any_shared(const Edge& edge) {
    std::vector<Index> row;
    for (Index r = 0; r < edge.rows; ++r) {
        row.clear();
        for (Index c = 0; c < edge.cols; ++c)
            if (edge.at(r, c) >= 0) row.push_back(edge.at(r, c));
        std::ranges::sort(row);
        if (std::ranges::adjacent_find(row) != row.end()) return true;
    }
    return false;
}

/// True if what each parameter multiplies in z of a unit adds up to exactly zero, and what fixed entries do, too.
bool cancels(const Edge& edge, const Matrix& X, Index sample, Index unit) {
    std::map<Index, double> sums;
    double fixed = 0.0;
    for (Index c = 0; c < edge.cols; ++c) {
        if (!edge.connects(unit, c)) continue;
        fixed += edge.fixed(unit, c) * X(sample, c);
        if (edge.at(unit, c) >= 0) sums[edge.at(unit, c)] += X(sample, c);
    }
    return fixed == 0.0 && std::ranges::all_of(sums, [](const auto& sum) { return sum.second == 0.0; });
}

}  // namespace

// A unit that reads the data through entries that it shares between them: on a sample where all that an entry
// multiplies adds up to zero z is zero whatever the entry is, so that the unit has no boundary there: it is empty.
void Activity::find_cancelled() {
    for (int v = 1; v < graph_->count(); ++v) {
        const Node& node = graph_->node(v);
        if (node.incoming.size() != 1) continue;
        const Edge& edge = graph_->edges()[node.incoming.front()];
        if (edge.source != 0 || !any_shared(edge)) continue;
        cancelled_.resize(static_cast<std::size_t>(graph_->count()));
        cancelled_[v] = SignMatrix::Zero(samples(), node.size);
        for (Index u = 0; u < node.size; ++u) {
            const bool has_bias = !node.bias.empty() && node.bias[u] >= 0;
            for (Index i = 0; i < samples() && !has_bias; ++i) cancelled_[v](i, u) = cancels(edge, *X_, i, u) ? 1 : 0;
        }
    }
}

}  // namespace reluflow::layered
