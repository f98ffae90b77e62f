#include "layered/unit_sizes.hpp"

#include <algorithm>
#include <cmath>

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

UnitSizes::UnitSizes(const Graph& graph) : size_(1, 0.0), missed_(1, 0.0), rate_(1, 0.0) {
    if (!feels_outputs_alone(graph)) return;
    unit_.assign(static_cast<std::size_t>(graph.parameters()), 0);
    for (const Edge& edge : graph.edges())
        for (Index row = 0; row < edge.rows; ++row)
            for (Index col = 0; col < edge.cols; ++col)
                if (const Index g = edge.at(row, col); g >= 0) unit_[g] = edge.source == 0 ? row : col;
    const auto units = static_cast<std::size_t>(graph.node(1).size);
    size_.resize(units);
    missed_.resize(units);
    rate_.resize(units);
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
    std::ranges::fill(missed_, 0.0);
    std::ranges::fill(rate_, 0.0);
    for (Index g = 0; g < missed.size(); ++g) {
        raise(missed_[unit_[g]], std::abs(missed[g]));
        raise(rate_[unit_[g]], std::abs(rate[g]));
    }
    for (std::size_t u = 0; u < size_.size(); ++u)
        if (!(missed_[u] <= of_size * size_[u] + of_rate * rate_[u])) return false;
    return true;
}

bool UnitSizes::is_hidden(Index unit) const {
    return by_unit() && size_[unit] < kHidden * *std::ranges::max_element(size_);
}

}  // namespace reluflow::layered
