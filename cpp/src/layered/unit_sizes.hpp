/// What errors of θ are compared with: its largest entry, or in a network of two layers the largest entry of each unit.
///
/// Units that are far smaller than the others add nothing to the outputs, so that their own motion is linear, but a
/// step that is accurate for the others need not be so for them. From a tiny start they are most units for most of the
/// time, and each of them grows in its turn.
#pragma once

#include <vector>

#include "base/types.hpp"
#include "layered/graph.hpp"
#include "layered/jet.hpp"

namespace reluflow::layered {

/// True of two layers whose units have their parameters for themselves: they feel each other through the outputs alone.
bool feels_outputs_alone(const Graph& graph);

class UnitSizes {
  public:
    explicit UnitSizes(const Graph& graph);
    /// Of any network, with what enters a unit compared with the largest entry of it.
    static UnitSizes by_row(const Graph& graph);

    /// Each unit is measured for itself, as it feels the others through the outputs alone.
    bool by_unit() const noexcept { return !unit_.empty(); }
    /// Measures θ.
    void take(const Vector& theta);
    /// The largest part by which an entry of `change` changes what it belongs to. Units at zero do not count.
    double part(const Vector& change) const;
    /// True if what is missed is below this part of the sizes and this part of the rates, unit by unit.
    bool are_within(const Vector& missed, const Vector& rate, double of_size, double of_rate);
    /// The rate of growth of the unit that grows fastest, of those below this part of the largest; -∞ if there is none,
    /// or units are not measured for themselves.
    double growth_of_small(const Vector& theta, const Vector& rate, double part);
    /// True if the unit is so small that the terms of the others hide its own.
    bool is_hidden(Index unit) const;
    /// 1 for each parameter of a unit, 0 for all others.
    std::vector<char> parameters_of(Index unit) const;

  private:
    UnitSizes() = default;
    void resize(std::size_t units);

    std::vector<Index> unit_;  // of each parameter; empty if all are compared with the largest entry
    std::vector<double> size_;
    std::vector<double> first_, second_;  // workspace, a number for each unit
};

}  // namespace reluflow::layered
