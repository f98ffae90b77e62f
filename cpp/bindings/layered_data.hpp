/// Graphs, states and results of layered networks between Python and the core.
#pragma once

#include <pybind11/pybind11.h>

#include "base/types.hpp"
#include "layered/graph.hpp"
#include "run/layered_flow.hpp"

namespace reluflow::bindings {

/// A graph of nodes (size, linear, leak, bias or None) and edges (source, target, tap, idx, const or None).
layered::Graph graph_in(const pybind11::list& nodes, const pybind11::list& edges, Index parameters);

/// A state as arrays, and back.
pybind11::dict snapshot_out(const layered::Snapshot& snapshot, const layered::Graph& graph);
layered::Snapshot snapshot_in(const pybind11::dict& stored, const layered::Graph& graph, const Matrix& X);

/// Everything a run returns but its snapshots.
pybind11::dict layered_result_out(const layered::LayeredFlow& flow);

}  // namespace reluflow::bindings
