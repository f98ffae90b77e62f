/// Parts of small layered graphs for the tests.
#pragma once

#include "layered/graph.hpp"

namespace reluflow::tests {

/// All of `source` to all of `target`; the weights are the parameters from `first` on, row by row.
inline layered::Edge dense(int source, int target, Index rows, Index cols, Index first) {
    layered::Edge edge;
    edge.source = source;
    edge.target = target;
    edge.rows = rows;
    edge.cols = cols;
    for (Index i = 0; i < rows * cols; ++i) edge.parameter.push_back(first + i);
    return edge;
}

inline layered::Node node(Index size, bool linear) {
    layered::Node made;
    made.size = size;
    made.linear = linear;
    return made;
}

}  // namespace reluflow::tests
