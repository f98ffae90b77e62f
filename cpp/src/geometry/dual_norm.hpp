/// The dual norm max Σ μ_i φ(x_i·u) over the unit ball: bounds from both sides, which decide whether a dual vector is
/// in the polar set Q* of the rectified ellipsoid.
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
    double target;    ///< the search ends at an upper bound of at most this
    double rtol;      ///< or at one of at most (1 + rtol) times the best lower bound
    Index max_nodes;  ///< subproblems to bound before giving up
};

struct DualNormResult {
    double lower = 0;  ///< the value of `choice`, or settings.lower if that is larger
    double upper = 0;
    std::vector<std::int8_t> choice;  ///< the σ of the best value found, entries 0 and 1; empty if none was found
    Index n_nodes = 0;
    DualNormStatus status = DualNormStatus::proven;
};

/// Called after every node with the number of nodes and the current upper bound.
using PolarHook = std::function<Request(Index, double)>;

/// Bounds max over σ in {0,1}^k of min over τ in [0,1]^l of |b + Σ σ_i p_i + Σ τ_j q_j|. The rows of `vectors` are b,
/// p_1..p_k, q_1..q_l in this order; k = n_up. A convex term μ_i φ (μ_i > 0) is the maximum of two linear functions,
/// hence the maximum over σ; a concave term is the minimum over a segment of them, hence the minimum over τ. Branch and
/// bound on σ: the bound of a node is the semidefinite relaxation over its free σ at a fixed τ, improved by alternation
/// and made valid by a shift of the multipliers. Throws InvalidArgument for shapes that do not fit.
DualNormResult bound_polar(MatrixView vectors, Index n_up, const DualNormSettings& settings, const PolarHook& hook);

/// Climbs from each row of `choices` (σ, entries 0 and 1): optimise τ for σ, then set σ_i = 1 where p_i points along
/// the sum, until nothing changes; the value never decreases. Returns the weights of b, p, q in each final sum, a row
/// each.
Matrix climb_polar(MatrixView vectors, Index n_up, const SignMatrixView& choices);

}  // namespace reluflow
