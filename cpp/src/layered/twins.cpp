#include "layered/twins.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace reluflow::layered {
namespace {

/// Rounding parts twins by less in one step, as a part of their largest parameter: some digits are lost where normals
/// all but depend on each other.
constexpr double kParted = 1e-9;

/// Numbers of each place: whether it has a parameter, what is fixed, the value and the decay of the parameter.
constexpr std::size_t kNumbers = 4;

/// What a unit has in each place where its node may have parameters: the values, their decays, and which they are.
struct Wiring {
    std::vector<double> values;
    std::vector<Index> parameters;
    bool is_own = true;  ///< nothing else reads its parameters

    void add(const Graph& graph, Index g, double fixed, const Vector& theta, const Vector& decay) {
        values.insert(values.end(),
                      {g < 0 ? 0.0 : 1.0, fixed, g < 0 ? 0.0 : theta[g], g < 0 ? 0.0 : decay_of(decay, g)});
        if (g < 0) return;
        parameters.push_back(g);
        is_own = is_own && graph.uses(g) == 1;
    }
    static double decay_of(const Vector& decay, Index g) { return decay.size() == 0 ? 0.0 : decay[g]; }
};

Wiring wiring_of(const Graph& graph, int v, Index u, const Vector& theta, const Vector& decay) {
    Wiring wiring;
    const Node& node = graph.node(v);
    if (!node.bias.empty()) wiring.add(graph, node.bias[u], 0.0, theta, decay);
    for (const int e : node.incoming) {
        const Edge& edge = graph.edges()[e];
        for (Index c = 0; c < edge.cols; ++c) wiring.add(graph, edge.at(u, c), edge.fixed(u, c), theta, decay);
    }
    for (const int e : node.outgoing) {
        const Edge& edge = graph.edges()[e];
        for (Index r = 0; r < edge.rows; ++r) wiring.add(graph, edge.at(r, u), edge.fixed(r, u), theta, decay);
    }
    return wiring;
}

bool act_alike(const Activity& activity, int v, Index one, Index other) {
    return activity.sides(v).col(one) == activity.sides(v).col(other) &&
           activity.modes(v).col(one) == activity.modes(v).col(other);
}

}  // namespace

bool are_multiples(const Graph& graph, int node, Index one, Index other, const Vector& theta) {
    const Wiring first = wiring_of(graph, node, one, theta, {});
    const Wiring second = wiring_of(graph, node, other, theta, {});
    if (!first.is_own || !second.is_own || first.values.size() != second.values.size()) return false;
    std::size_t largest = 0;
    for (std::size_t k = 0; k < first.parameters.size(); ++k)
        if (std::abs(theta[first.parameters[k]]) > std::abs(theta[first.parameters[largest]])) largest = k;
    if (first.parameters.empty() || theta[first.parameters[largest]] == 0.0) return false;
    if (first.parameters.size() != second.parameters.size()) return false;
    const double factor = theta[second.parameters[largest]] / theta[first.parameters[largest]];
    if (!(factor > 0.0)) return false;
    const double most = kParted * std::abs(theta[second.parameters[largest]]);
    for (std::size_t k = 0; k < first.values.size(); k += kNumbers) {
        const bool is_free = first.values[k] != 0.0;
        if (first.values[k] != second.values[k] || first.values[k + 1] * factor != second.values[k + 1]) return false;
        if (is_free && !(std::abs(factor * first.values[k + 2] - second.values[k + 2]) <= most)) return false;
    }
    return true;
}

Twins::Twins(const Graph& graph, const Vector& theta, const Vector& decay) {
    for (int v = 1; v + 1 < graph.count(); ++v) {
        std::map<std::vector<double>, Set> found;
        for (Index u = 0; u < graph.node(v).size; ++u) {
            Wiring wiring = wiring_of(graph, v, u, theta, decay);
            if (!wiring.is_own || wiring.parameters.empty()) continue;
            Set& set = found[wiring.values];
            set.node = v;
            set.units.push_back({u, std::move(wiring.parameters)});
        }
        for (auto& [values, set] : found)
            if (set.units.size() > 1) sets_.push_back(std::move(set));
    }
}

bool Twins::are_near(const Unit& one, const Unit& other, const Vector& theta) {
    double size = 0.0;
    double apart = 0.0;
    for (std::size_t k = 0; k < one.parameters.size(); ++k) {
        const double first = theta[one.parameters[k]];
        const double second = theta[other.parameters[k]];
        size = std::max({size, std::abs(first), std::abs(second)});
        apart = std::max(apart, std::abs(first - second));
    }
    return apart <= kParted * size;
}

bool Twins::join(const Activity& activity, Vector& theta) const {
    bool is_changed = false;
    for (const Set& set : sets_) {
        const Unit& first = set.units.front();
        for (const Unit& unit : set.units) {
            if (!act_alike(activity, set.node, first.number, unit.number) || !are_near(first, unit, theta)) continue;
            for (std::size_t k = 0; k < unit.parameters.size(); ++k) {
                const double value = theta[first.parameters[k]];
                is_changed = is_changed || theta[unit.parameters[k]] != value;
                theta[unit.parameters[k]] = value;
            }
        }
    }
    return is_changed;
}

void Twins::part(const Vector& theta) {
    for (Set& set : sets_) {
        const Unit first = set.units.front();
        std::erase_if(set.units, [&](const Unit& unit) { return !are_near(first, unit, theta); });
    }
    std::erase_if(sets_, [](const Set& set) { return set.units.size() < 2; });
}

}  // namespace reluflow::layered
