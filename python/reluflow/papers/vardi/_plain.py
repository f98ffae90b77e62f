"""Limits of flows of random ReLU networks without zero inputs: Theorems 4.3 and 5.4 beyond their example."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...convex import Certificate, certify, layer_margin
from ...datasets import Dataset, vardi_shamir_srebro
from ...flow import Stop, integrate
from ...networks import Network
from ._checks import net, scaled

MOST_DRAWS = 50  # for each limit that is wanted; about one draw in six has one
CLEAR = 1e-4  # cosines of a neuron with a sample below this count as zero inputs


@dataclass(frozen=True, eq=False)
class Plain:
    """A certified limit at least margin 1 without zero inputs, and its certificate."""

    data: Dataset
    network: Network
    certificate: Certificate


def plain_limits(count: int, seed: int) -> tuple[list[Plain], int]:
    """Return limits without zero inputs of random flows: two to four neurons on four to six samples.

    Beside them how many flows had no certified limit, so that it could not be told whether it is one of these.
    """
    found: list[Plain] = []
    loose = 0
    for k in range(MOST_DRAWS * count):
        if len(found) == count:
            break
        rng = np.random.default_rng([seed, k])
        X = rng.standard_normal((4 + k % 3, 3))
        data = Dataset(X, np.where(X @ rng.standard_normal(3) > 0, 1, -1))
        start = Network.init(2 + k % 3, 3, scale=0.3, seed=int(rng.integers(2**31)))
        limit = integrate(data, start, until=Stop(limit=True)).limit
        loose += not limit.certified
        if not limit.certified or limit.margin <= 0 or least_input(limit.network, data) < CLEAR:
            continue
        network = scaled(limit.network, data)
        found.append(Plain(data, network, certify(network, data)))
    return found, loose


def least_input(network: Network, data: Dataset) -> float:
    """Return the least |w_j·x_i|/(|w||x_i|) with |w| the largest neuron's size: 0 where a neuron is zero."""
    sizes = np.linalg.norm(network.W, axis=1).max() * np.linalg.norm(data.X, axis=1)
    return float((np.abs(network.W @ data.X.T) / sizes).min())


def duality_gap(found: Plain, factor: float = 1.0) -> float:
    """Return the relative gap of Problem (11) at the limit, between Σ|u_l| and its dual with the limit's multipliers.

    The multipliers may be put off by a factor. The dual is Σ λ_i over max(1, |Σ_i λ_i y_i A_il x_i|), for any λ >= 0.
    """
    kkt = found.certificate.kkt
    if kkt is None:  # no multipliers: nothing bounds the value from below
        return 1.0
    active = (found.network.W @ found.data.X.T > 0).astype(float)
    value = float(np.abs(found.network.a) @ np.linalg.norm(found.network.W, axis=1))
    duals = factor * kkt.duals
    pulls = np.linalg.norm(active @ (duals[:, None] * found.data.X), axis=1)
    return abs(float(np.abs(duals).sum()) / max(1.0, float(pulls.max())) / value - 1)


def layer_gaps(found: Plain) -> tuple[float, float]:
    """Return by how much each layer exceeds the optimum of its Problem (4) with its signs kept, relatively."""
    first, second = (layer_margin(found.data, found.network, layer) for layer in (1, 2))
    return first.current / first.value - 1, second.current / second.value - 1


def moved_outputs(found: Plain) -> float:
    """Return the relative excess of output weights that are moved by up to a fifth, at least margin 1."""
    a = found.network.a * np.linspace(1.0, 1.2, found.network.width)
    moved = Network(found.network.W, a / float((found.data.y * Network(found.network.W, a)(found.data.X)).min()))
    layer = layer_margin(found.data, moved, 2)
    return layer.current / layer.value - 1


def beaten_examples() -> int:
    """Return how many of the limits of Theorems 3.2 and 4.2, which have zero inputs, are no local optimum."""
    cases = [vardi_shamir_srebro(theorem) for theorem in ("3.2", "4.2")]
    return sum(certify(net(case.limit), case.data).local_optimum is False for case in cases)
