"""The critical point at which a grown network with several outputs rests, and whether it can leave it by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from .._validation import FloatArray
from ..kinks._boundaries import names
from ..limits import Limit
from ..limits._outputs import _Chart, limit_of_outputs
from ..networks import Network
from ._at_bounds import edge_of
from ._bodies import Body, network_of, spread
from ._saddle import Saddle
from ._several_flow import OutputFlow
from ._several_rest import pull_of, sector_map

# Singular values below this part of the largest are zero.
_RANK_TOL = 1e-9
# An eigenvalue above this part of the largest is one of its rounding; a pull below this part of what λ could make too.
_FALLS, _PULLS = 1e-10, 1e-10
# Neurons of one sector that are dependent up to this part are so but for infinitesimal differences.
_SAME = 1e-6
# Neurons below this part of |θ| shrink to the origin: their outputs are the square of it.
_VANISHING = 1e-9


def saddle_at_zero(flow: OutputFlow, net: Network) -> Saddle:
    """Describe the point where every neuron is infinitesimal."""
    f = np.zeros_like(flow.problem.targets)
    return Saddle(net, flow.problem.duals(f), flow.loss_at(f), None, 0)


def saddle_of(flow: OutputFlow, bodies: Sequence[Body]) -> Saddle:
    """Describe the critical point at which bodies stand."""
    alone, net = network_of(bodies, flow.leak), spread(bodies, flow.leak)
    f = flow.outputs(alone)
    duals = flow.problem.duals(f) + 0.0
    limit = limit_of_outputs(flow.problem, net, goes_on=False)
    return Saddle(net, duals, flow.loss_at(f), limit, _freedom(flow, alone))


def polished(bodies: Sequence[Body], limit: Limit) -> tuple[Body, ...]:
    """Put bodies at the critical point of a limit, with |w| = |a|, which the polish keeps up to its square."""
    found = []
    for k, body in enumerate(bodies):
        if not body.is_grown:
            found.append(body)
            continue
        w, a = limit.network.W[k], limit.network.a[k]
        factor = np.sqrt(np.linalg.norm(a) / np.linalg.norm(w))
        found.append(replace(body, unit=body.unit.at(factor * w, a / factor)))
    return tuple(found)


def vanishing(bodies: Sequence[Body], limit: Limit) -> list[Body]:
    """Return the grown bodies that are at the origin in a limit, but for what the polish leaves of them."""
    sizes = np.linalg.norm(limit.network.theta, axis=1)
    least = _VANISHING * float(np.linalg.norm(sizes))
    return [body for body, size in zip(bodies, sizes, strict=True) if body.is_grown and size <= least]


def what_parts(flow: OutputFlow, saddle: Saddle, bodies: Sequence[Body]) -> str:
    """Say what of the grown network would leave the saddle by itself; an empty text if nothing does."""
    X, lam = flow.problem.X, saddle.duals
    weights = pull_of(X, lam)
    if not weights > 0 or not any(body.is_grown for body in bodies):
        return ""
    for group in _sectors(bodies):
        M = sector_map(X, lam, group[0].unit.sides, flow.leak)
        if not np.linalg.norm(M, 2) > _PULLS * weights:
            continue
        members = np.concatenate([body.members for body in group])
        found = [body.lost or edge_of(flow, flow.factor * lam, body) for body in group]
        lost = [why for why in found if why]
        rank = _rank(np.array([np.concatenate((body.unit.w, body.unit.a)) for body in group]), _SAME)
        if lost or len(members) - sum(len(body.rows) for body in group) > rank:
            why = f" ({lost[0]})" if lost else ""
            return (
                f"neurons {names(members)} have grown together in one sector, and what is left of their differences "
                f"grows at this saddle: it would part them, and that is not followed{why}"
            )
    chart = _Chart(flow.problem, network_of(bodies, flow.leak))
    if not len(chart.rows):
        return ""
    values, vectors = np.linalg.eigh(chart.hessian(chart.start))
    if values[0] >= -_FALLS * np.abs(values).max():
        return ""
    parts = [float(np.hypot(np.linalg.norm(q), np.linalg.norm(a))) for q, a in chart.split(vectors[:, 0])]
    body = bodies[int(chart.rows[int(np.argmax(parts))])]
    return (
        f"the neurons that have grown can leave this saddle by themselves, neurons {names(body.members)} the most: "
        "what is left of the way they came grows, and that is not followed"
    )


def _sectors(bodies: Sequence[Body]) -> list[list[Body]]:
    """Sort the bodies that have grown by their sectors."""
    found: dict[bytes, list[Body]] = {}
    for body in bodies:
        if body.is_grown:
            found.setdefault(body.unit.sides.tobytes(), []).append(body)
    return list(found.values())


def _freedom(flow: OutputFlow, net: Network) -> int:
    """Count the directions of Σ w_j a_jᵀ of the sectors, of the ranks that they have, in which no output changes."""
    chart = _Chart(flow.problem, net)
    if not len(chart.rows):
        return 0
    J = chart.jacobian(chart.start)
    sizes = np.linalg.svd(J.reshape(-1, J.shape[2]), compute_uv=False)
    moves = int((sizes > _RANK_TOL * sizes[0]).sum())
    sectors: dict[bytes, list[int]] = {}
    assert net.pattern is not None  # for the type checker
    for k, row in enumerate(chart.rows):
        sectors.setdefault(net.pattern[row].tobytes(), []).append(k)
    total = 0
    for members in sectors.values():
        rows = chart.rows[members]
        held = net.dim - chart.Q[members[0]].shape[1]
        reach, rank = _rank(flow.problem.X) - held, _rank(net.W[rows].T @ net.a[rows])
        total += rank * (reach + net.n_outputs - rank)
    return max(0, total - moves)


def _rank(matrix: FloatArray, part: float = _RANK_TOL) -> int:
    sizes = np.linalg.svd(matrix, compute_uv=False)
    return int((sizes > part * sizes[0]).sum()) if sizes[0] > 0 else 0
