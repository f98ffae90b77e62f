"""diffrax on a layered network: `python -m peers.layered_with_diffrax NAME RTOL SECONDS` prints one line of JSON.

Dopri8 goes straight through the kinks, compiled by XLA as a whole; the slope at a kink is that of z < 0. Compiling is
not counted. After so many processor seconds the system ends the process.
"""

from __future__ import annotations

import json
import signal
import sys
from time import process_time
from typing import Any

import diffrax
import jax
import jax.numpy as jnp
import numpy as np

import layers

jax.config.update("jax_enable_x64", True)
MAX_STEPS = 2**20


def losses(f: Any, targets: Any, loss: str) -> Any:
    """The loss of each sample from the outputs (n, K)."""
    if loss == "cross_entropy":
        return -(targets * jax.nn.log_softmax(f, axis=1)).sum(axis=1)
    if loss == "squared":
        return 0.5 * ((f - targets) ** 2).sum(axis=1)
    margins = (f * targets)[:, 0]
    return jnp.exp(-margins) if loss == "exponential" else jax.nn.softplus(-margins)


def velocity_of(start: layers.Start) -> Any:
    """dθ/dt = -∇L, traced once for the network's wiring."""
    data, targets = layers.samples_of(start)
    X, targets, nodes = jnp.asarray(data), jnp.asarray(targets), start.net.nodes
    reduce = jnp.mean if start.reduction == "mean" else jnp.sum

    def total(theta: Any) -> Any:
        z, h = [X], [X]
        for node in nodes[1:]:
            value = jnp.zeros((len(X), node.size))
            if node.bias is not None:
                value = value + jnp.where(node.bias >= 0, theta[node.bias], 0.0)
            for edge in node.edges:
                matrix = jnp.where(edge.idx >= 0, theta[edge.idx], 0.0)
                matrix = matrix if edge.const is None else matrix + edge.const
                value = value + (z if edge.tap == "z" else h)[edge.src] @ matrix.T
            z.append(value)
            h.append(value if node.leak is None else jnp.where(value > 0.0, value, node.leak * value))
        return reduce(losses(h[-1], targets, start.loss))

    slope = jax.grad(total)
    return lambda theta: -slope(theta)


def main(name: str, rtol: float, limit: float) -> None:
    start = layers.load(name)
    velocity, size = velocity_of(start), float(np.abs(start.net.theta).max())
    term = diffrax.ODETerm(lambda t, theta, args: velocity(theta))

    @jax.jit
    def solve(theta: Any, end: Any) -> Any:
        control = diffrax.PIDController(rtol=rtol, atol=rtol * size)
        out = diffrax.diffeqsolve(
            term, diffrax.Dopri8(), 0.0, end, None, theta, stepsize_controller=control, max_steps=MAX_STEPS, throw=False
        )
        return out.ys[-1], out.result == diffrax.RESULTS.successful

    theta = jnp.asarray(start.net.theta)
    jax.block_until_ready(solve(theta, start.end * 1e-9))
    signal.setitimer(signal.ITIMER_PROF, limit)
    begin = process_time()
    found, good = jax.block_until_ready(solve(theta, start.end))
    spent = process_time() - begin
    print(json.dumps({"seconds": spent, "theta": np.asarray(found).tolist() if good else None}))


if __name__ == "__main__":
    main(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
