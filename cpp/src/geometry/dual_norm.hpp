/// How large Σ μ_i φ(x_i·u) gets on the unit ball: bounds from both sides, which decide whether a dual vector lies in
/// the polar set Q* of the rectified ellipsoid.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/observer.hpp"
#include "base/types.hpp"

namespace reluflow {

enum class DualNormStatus { proven, node_limit, stopped, interrupted };

/// The name the bindings give to Python.
const char* name(DualNormStatus status) noexcept;

struct DualNormSettings {
    double lower;     ///< a value that is known to be attained; 0 if none is
    double target;    ///< an upper bound of at most this is good enough
    double rtol;      ///< and so is one of at most (1 + rtol) times the best lower bound
    Index max_nodes;  ///< subproblems to bound before giving up
};

struct DualNormResult {
    double lower = 0;  ///< the value of `choice`, or settings.lower if that is larger
    double upper = 0;
    std::vector<std::int8_t> choice;  ///< the σ of the best value met, one of 0, 1 each; empty if no value was met
    Index n_nodes = 0;
    DualNormStatus status = DualNormStatus::proven;
};

/// Asked after every node with the nodes done and the current upper bound.
using PolarHook = std::function<Request(Index, double)>;

/// Bounds  max over σ in {0,1}^k  of  min over τ in [0,1]^l  of  |b + Σ σ_i p_i + Σ τ_j q_j|.
/// The rows of `vectors` are b, p_1..p_k, q_1..q_l in this order; k = n_up. A convex term μ_i φ (μ_i > 0) is
/// the larger of two linear ones, a concave term the least of a segment of them: that is why one maximises and one
/// minimises. Branch and bound on σ; a node's bound is the semidefinite relaxation over its free σ, at a fixed τ that
/// is improved by turns, made valid by a shift of the multipliers. Throws InvalidArgument for shapes that do not fit.
DualNormResult bound_polar(MatrixView vectors, Index n_up, const DualNormSettings& settings, const PolarHook& hook);

/// Climbs from each row of `choices` (σ, entries 0 and 1): τ replies best to σ, then each σ_i becomes 1 where p_i
/// points along the sum, until nothing changes; the value never falls. Returns the weights of b, p, q in each final
/// sum, a row each.
Matrix climb_polar(MatrixView vectors, Index n_up, const SignMatrixView& choices);

}  // namespace reluflow
