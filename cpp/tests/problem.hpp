/// Random data and neurons, and the sides on which neurons stand.
#pragma once

#include "base/types.hpp"
#include "two_layer/state.hpp"
#include "uniform.hpp"

namespace reluflow::tests {

struct Problem {
    Matrix X, W;
    Vector y, a;
};

/// Samples of both labels in turn.
inline Problem problem(Uniform& number, Index n, Index d, Index m) {
    Problem p{Matrix(n, d), Matrix(m, d), Vector(n), Vector(m)};
    for (Index i = 0; i < n; ++i) {
        p.y[i] = i % 2 == 0 ? 1.0 : -1.0;
        for (Index k = 0; k < d; ++k) p.X(i, k) = number();
    }
    for (Index j = 0; j < m; ++j) {
        p.a[j] = number();
        for (Index k = 0; k < d; ++k) p.W(j, k) = number();
    }
    return p;
}

/// The sides that the neurons have.
inline void take_sides(const Dataset& data, State& state) {
    for (Index j = 0; j < state.neurons(); ++j)
        for (Index boundary = 0; boundary < data.n_boundaries(); ++boundary)
            state.mode.set_side(j, boundary,
                                data.normals().row(boundary).dot(state.parameters.w.col(j)) > 0.0 ? 1 : -1);
}

}  // namespace reluflow::tests
