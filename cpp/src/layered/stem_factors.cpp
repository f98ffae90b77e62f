#include "layered/stem_factors.hpp"

namespace reluflow::layered {

StemFactors::StemFactors(const Jet& jet, Index sample) : jet_(jet), sample_(sample) {}

const Row& StemFactors::of(int node, Index unit, const Input& root) {
    const Graph& graph = jet_.activity().graph();
    if (known_.empty() || root.node != root_.node || root.unit != root_.unit || root.tap != root_.tap) {
        known_.clear();
        for (int v = 0; v < graph.count(); ++v) known_.emplace_back(static_cast<std::size_t>(graph.node(v).size));
        root_ = root;
    }
    std::optional<Row>& known = known_[node][unit];
    if (!known) known = make(node, unit, root);
    return *known;
}

Row StemFactors::make(int node, Index unit, const Input& root) {
    const Activity& activity = jet_.activity();
    const Node& target = activity.graph().node(node);
    Row sum{};
    if (root.node < 0 && !target.bias.empty() && target.bias[unit] >= 0)
        for (int k = 0; k <= jet_.order(); ++k) sum[k] += jet_.theta(k)[target.bias[unit]];
    for (const int e : target.incoming) {
        const Edge& edge = activity.graph().edges()[e];
        for (Index c = 0; c < edge.cols; ++c) {
            if (!activity.reads(edge, {node, sample_, unit}, c)) continue;
            const bool is_root = edge.source == root.node && c == root.unit;
            Row sent{};
            sent[0] = 1.0;
            if (!is_root) sent = of(edge.source, c, root);
            // What is sent is z times the slope, or z; the value of the root itself is one of them.
            double slope =
                edge.tap == Tap::activated && edge.source > 0 ? activity.slopes(edge.source)(sample_, c) : 1.0;
            if (is_root && root.tap == Tap::activated && edge.source > 0)
                slope /= activity.slopes(edge.source)(sample_, c);
            for (int k = 0; k <= jet_.order(); ++k) sent[k] *= slope;
            add(edge, e, unit, c, sent, sum);
        }
    }
    return sum;
}

void StemFactors::add(const Edge& edge, int e, Index row, Index col, const Row& sent, Row& sum) const {
    for (int k = 0; k <= jet_.order(); ++k)
        for (int j = 0; j <= (edge.at(row, col) >= 0 ? k : 0); ++j) sum[k] += jet_.entry(e, j, row, col) * sent[k - j];
}

}  // namespace reluflow::layered
