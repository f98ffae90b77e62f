"""Whether weight decay takes a layered network to zero, whatever its samples pull."""

from __future__ import annotations

import numpy as np

from .._validation import FloatArray
from ._graph import Node


def falls_to_zero(
    nodes: tuple[Node, ...],
    X: FloatArray,
    targets: FloatArray,
    loss: str,
    counts: FloatArray | None,
    decay: FloatArray,
    degree: int,
    norm: float,
) -> bool:
    """Tell whether decay outweighs all pulls at |θ| = `norm`, and at all smaller θ.

    Of degree L, θ·Σ λ ∇f = L Σ λ f, and |f(x)| <= r^L F(x) with r = |θ| and F the outputs of the network of ones
    on |x| without kinks. So |θ| falls for ever where L Σ |λ| F r^(L-2) is below the least decay. Of degree one that
    grows while θ falls: such a network ends at a critical point of its own norm.
    """
    if degree < 2 or not decay.min() > 0:
        return False
    if any(abs(node.leak or 0.0) > 1.0 for node in nodes):  # a kink may make |z| larger
        return False
    at_ones = [np.abs(X)]
    for node in nodes[1:]:
        reads = [(edge.idx >= 0) + (0.0 if edge.const is None else np.abs(edge.const)) for edge in node.edges]
        sums = sum(at_ones[edge.src] @ read.T for edge, read in zip(node.edges, reads, strict=True))
        at_ones.append(sums + (0.0 if node.bias is None else 1.0 * (node.bias >= 0)))
    outputs = norm**degree * at_ones[-1]
    if loss == "squared":
        most = np.abs(targets) + outputs
    else:
        most = np.exp(outputs) if loss == "exponential" else np.ones_like(outputs)
    each = np.ones(len(outputs)) if counts is None else counts
    pull = float((each[:, None] * most * at_ones[-1]).sum())
    return bool(degree * pull * norm ** (degree - 2) < decay.min())
