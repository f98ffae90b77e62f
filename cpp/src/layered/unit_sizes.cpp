#include "layered/unit_sizes.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace reluflow::layered {
namespace {

/// A unit below this part of the largest is hidden by the rounding of a sum of both, with some digits to spare.
constexpr double kHidden = 1e-9;
constexpr int kHiddenNode = 1;

void raise(double& most, double value) noexcept {
    most = std::max(most, value);
}

}  // namespace

bool feels_outputs_alone(const Graph& graph) {
    if (graph.count() != 3 || graph.edges().size() != 2) return false;
    const Node& hidden = graph.node(kHiddenNode);
    if (hidden.linear || !hidden.bias.empty() || !graph.node(2).bias.empty() || !graph.node(2).linear) return false;
    const Edge& in = graph.edges()[0];
    const Edge& out = graph.edges()[1];
    if (in.source != 0 || in.target != kHiddenNode || out.source != kHiddenNode || out.tap != Tap::activated)
        return false;
    for (Index u = 0; u < hidden.size; ++u)
        if (!graph.owns_row(kHiddenNode, u)) return false;
    for (Index r = 0; r < out.rows; ++r)
        if (!graph.owns_row(2, r)) return false;
    return true;
}

UnitSizes::UnitSizes(const Graph& graph) : size_(1, 0.0), first_(1, 0.0), second_(1, 0.0) {
    if (!feels_outputs_alone(graph)) return;
    unit_.assign(static_cast<std::size_t>(graph.parameters()), 0);
    for (const Edge& edge : graph.edges())
        for (Index row = 0; row < edge.rows; ++row)
            for (Index col = 0; col < edge.cols; ++col)
                if (const Index g = edge.at(row, col); g >= 0) unit_[g] = edge.source == 0 ? row : col;
    resize(static_cast<std::size_t>(graph.node(1).size));
}

UnitSizes UnitSizes::by_row(const Graph& graph) {
    UnitSizes sizes;
    sizes.unit_.assign(static_cast<std::size_t>(graph.parameters()), 0);
    Index first = 0;
    for (int v = 1; v < graph.count(); ++v) {
        const Node& node = graph.node(v);
        for (Index u = 0; u < static_cast<Index>(node.bias.size()); ++u)
            if (node.bias[u] >= 0) sizes.unit_[node.bias[u]] = first + u;
        for (const int e : node.incoming) {
            const Edge& edge = graph.edges()[e];
            for (Index row = 0; row < edge.rows; ++row)
                for (Index col = 0; col < edge.cols; ++col)
                    if (const Index g = edge.at(row, col); g >= 0) sizes.unit_[g] = first + row;
        }
        first += node.size;
    }
    sizes.resize(static_cast<std::size_t>(first));
    return sizes;
}

void UnitSizes::resize(std::size_t units) {
    size_.assign(units, 0.0);
    first_.assign(units, 0.0);
    second_.assign(units, 0.0);
}

void UnitSizes::take(const Vector& theta) {
    if (!by_unit()) {
        size_[0] = largest(theta);
        return;
    }
    std::ranges::fill(size_, 0.0);
    for (Index g = 0; g < theta.size(); ++g) raise(size_[unit_[g]], std::abs(theta[g]));
}

double UnitSizes::part(const Vector& change) const {
    if (!by_unit()) return largest(change) / size_[0];
    double most = 0.0;
    for (Index g = 0; g < change.size(); ++g)
        if (const double size = size_[unit_[g]]; size > 0.0) raise(most, std::abs(change[g]) / size);
    return most;
}

bool UnitSizes::are_within(const Vector& missed, const Vector& rate, double of_size, double of_rate) {
    std::ranges::fill(first_, 0.0);
    std::ranges::fill(second_, 0.0);
    for (Index g = 0; g < missed.size(); ++g) {
        raise(first_[unit_[g]], std::abs(missed[g]));
        raise(second_[unit_[g]], std::abs(rate[g]));
    }
    for (std::size_t u = 0; u < size_.size(); ++u)
        if (!(first_[u] <= of_size * size_[u] + of_rate * second_[u])) return false;
    return true;
}

double UnitSizes::growth_of_small(const Vector& theta, const Vector& rate, double part) {
    double fastest = -std::numeric_limits<double>::infinity();
    if (!by_unit()) return fastest;
    take(theta);
    std::ranges::fill(first_, 0.0);
    std::ranges::fill(second_, 0.0);
    for (Index g = 0; g < theta.size(); ++g) {
        const double size = size_[unit_[g]];
        if (size == 0.0) continue;
        first_[unit_[g]] += (theta[g] / size) * (theta[g] / size);
        second_[unit_[g]] += (theta[g] / size) * (rate[g] / size);
    }
    const double most = part * *std::ranges::max_element(size_);
    for (std::size_t u = 0; u < size_.size(); ++u)
        if (size_[u] > 0.0 && size_[u] < most) raise(fastest, second_[u] / first_[u]);
    return fastest;
}

std::vector<char> UnitSizes::parameters_of(Index unit) const {
    std::vector<char> is_its(unit_.size(), 0);
    for (std::size_t g = 0; g < unit_.size(); ++g) is_its[g] = unit_[g] == unit ? 1 : 0;
    return is_its;
}

bool UnitSizes::is_hidden(Index unit) const {
    return by_unit() && size_[unit] < kHidden * *std::ranges::max_element(size_);
}

}  // namespace reluflow::layered
