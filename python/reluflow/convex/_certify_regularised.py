"""Tell whether a network is a critical point, or the global optimum, of L + γ/2 |θ|²."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import norm
from scipy.optimize import lsq_linear

from .._validation import FloatArray, invalid, positive
from ..datasets import Dataset
from ..losses import LossName, ReductionName, check_loss, check_reduction, is_of_margins
from ..networks import Network
from ._inputs import Deadline, rectify
from ._kkt import on_boundary
from ._objective import Objective
from ._regularised import GAP_TOL, Setup
from ._regularised_certificate import RegularisedCertificate
from ._regularised_columns import Bounds, bounds
from ._regularised_polish import Network as Neurons
from ._regularised_pricing import CellPricing
from ._regularised_solution import RegularisedSolution, relative_gap
from ._solution import BoolArray

CLEAR_GAIN = 1e-9  # an objective that is smaller by less than this, relatively, can be rounding
# Roundings of what a subgradient is made of, as they add up over neurons and dimensions.
_ROUNDINGS = 8.0
# No residual above this is that of a critical point, whatever rounding leaves.
_LARGEST_TOL = 1e-6


class Training(NamedTuple):
    """What was minimised; a weight decay of 0 is none."""

    weight_decay: float
    loss: str
    reduction: str


class Tolerances(NamedTuple):
    """What counts as critical, as the global optimum, as a boundary, and as a least margin."""

    kkt: float
    gap: float
    boundary: float
    support: float


def training_of(
    solution: Any, weight_decay: float | None, loss: LossName | None, reduction: ReductionName | None
) -> Training | None:
    """Return what a run or a network was trained for, None for margins: a loss of them without weight decay.

    Raises
    ------
    ValueError
        A run is asked about another problem than its own, or a network with half of one.
    """
    given = {"weight_decay": weight_decay, "loss": loss, "reduction": reduction}
    settings = getattr(solution, "settings", None)
    if settings is not None:
        own = {name: settings[name] if isinstance(settings, dict) else getattr(settings, name) for name in given}
        for name, value in given.items():
            if value is not None and not (np.isscalar(value) and value == own[name]):
                raise invalid(name, f"be that of the run, {own[name]!r} (solution.final takes any)", repr(value))
        return Training(**own) if own["weight_decay"] or not is_of_margins(own["loss"]) else None
    used = "sum" if reduction is None else check_reduction(reduction)
    if weight_decay is None:
        if loss is not None and not is_of_margins(check_loss(loss)):
            return Training(0.0, loss, used)
        for name in ("loss", "reduction"):
            if given[name] is not None:
                raise invalid(name, "be left out without weight_decay, for the max-margin problem", repr(given[name]))
        return None
    if loss is None:
        raise invalid("loss", "be given beside weight_decay", "None")
    return Training(positive(weight_decay, "weight_decay"), loss, used)


def certify_regularised(
    net: Network, data: Dataset, training: Training, tolerances: Tolerances, max_seconds: float | None
) -> RegularisedCertificate:
    """Compare a network with the convex program of its objective; see `certify`."""
    setup = Setup.of(data, *training, net.leak)
    if net.dim != data.d:
        raise invalid("solution", f"have {data.d} inputs, as the data have", f"{net.dim}")
    objective, used = setup.objective, setup.used
    f = net(data.X)[used]
    value = objective.loss_value(f) + 0.5 * objective.decay * net.norm**2
    residual = subgradient(net, data, used, objective.duals(f), objective.decay, tolerances.boundary)
    residual = residual / (objective.decay * net.norm) if net.norm > 0 else 0.0
    start = Neurons(np.abs(net.a)[:, None] * (net.W @ setup.basis), np.sign(net.a))
    start = Neurons(start.neurons[start.neurons.any(axis=1)], start.signs[start.neurons.any(axis=1)])
    found = bounds(CellPricing(objective), start, objective.duals(f), tolerances.gap, Deadline(max_seconds))
    lower, upper, convex = found.lower, value, None
    if relative_gap(value, lower) > tolerances.gap:
        convex = setup.solve(start, min(GAP_TOL, tolerances.gap), Deadline(max_seconds))
        lower, upper = max(lower, convex.lower), min(value, convex.value)
    known_to = rounding(net, data.X[used], objective, f)
    verdict, message = _verdict(value, lower, upper, (residual, known_to), tolerances)
    message += _width_note(verdict, net, convex)
    return _certificate(verdict, message, (value, lower, upper, residual), found, training, convex, net)


def _certificate(
    verdict: str,
    message: str,
    numbers: tuple[float, float, float, float],
    found: Bounds,
    training: Training,
    convex: RegularisedSolution | None,
    net: Network,
) -> RegularisedCertificate:
    value, lower, upper, residual = numbers
    return RegularisedCertificate(
        verdict=verdict,
        message=message,
        value=value,
        lower=lower,
        upper=upper,
        residual=residual,
        dual_norm_lower=found.norm.lower,
        dual_norm_upper=found.norm.upper,
        weight_decay=training.weight_decay,
        loss=training.loss,
        reduction=training.reduction,
        convex=convex,
        network=net,
    )


def subgradient(
    net: Network, data: Dataset, used: BoolArray, duals: FloatArray, decay: float, wall_tol: float
) -> float:
    """Return the norm of the least subgradient of L + γ/2 |θ|²; slopes on boundaries are free in [α, 1]."""
    if not np.isfinite(duals).all():
        return float("inf")
    X, boundaries = data.X[used], on_boundary(net, data, wall_tol)[:, used]
    heights = net.W @ X.T
    slopes = np.where(boundaries, 0.0, np.where(heights > 0, 1.0, net.leak))
    short = decay * net.W - net.a[:, None] * ((slopes * duals) @ X)
    for j in np.flatnonzero(boundaries.any(axis=1) & (net.a != 0)):
        columns = (net.a[j] * duals[boundaries[j]])[:, None] * X[boundaries[j]]
        size = float(np.abs(columns).max(initial=0.0))
        if size > 0:
            share = lsq_linear(columns.T / size, short[j] / size, bounds=(net.leak, 1.0), method="bvls").x
            short[j] -= share @ columns
    outputs = decay * net.a - rectify(heights, net.leak) @ duals
    return float(norm(np.append(short, outputs)))  # that of SciPy squares no entry of 1e200


def rounding(net: Network, X: FloatArray, objective: Objective, f: FloatArray) -> float:
    """Return what rounding leaves of the least subgradient, beside γ |θ|: γ may be far below the weights of samples."""
    outputs = np.abs(net.a) @ (np.abs(net.W) @ np.abs(X).T) + np.abs(objective.y)
    terms = np.abs(objective.duals(f)) + objective.curvatures(f) * outputs
    return float(_ROUNDINGS * np.finfo(np.float64).eps * (terms @ np.linalg.norm(X, axis=1)) / objective.decay)


def _verdict(
    value: float, lower: float, upper: float, found: tuple[float, float], tolerances: Tolerances
) -> tuple[str, str]:
    gap = relative_gap(value, lower)
    residual, known_to = found
    numbers = f"L + γ/2 |θ|² = {value:.12g}, {lower:.12g} <= least <= {upper:.12g}, residual {residual:.1e}"
    if gap <= tolerances.gap:
        return "global", f"{numbers}: the gap {max(gap, 0.0):.1e} is within gap_tol"
    if residual > max(tolerances.kkt, min(known_to, _LARGEST_TOL)):
        return "not_critical", f"{numbers}: the residual exceeds kkt_tol = {tolerances.kkt:g}"
    if residual > tolerances.kkt:
        numbers += f", which is rounding up to {known_to:.1e}"
    if upper < (1 - max(tolerances.gap, CLEAR_GAIN)) * value:
        return "critical_not_global", f"{numbers}: another network has a smaller objective"
    return "undecided", f"{numbers}: the bounds leave the global optimum open"


def _width_note(verdict: str, net: Network, convex: RegularisedSolution | None) -> str:
    if verdict != "critical_not_global" or convex is None or len(convex.neurons) <= net.width:
        return ""
    return f"; that network has {len(convex.neurons)} neurons, this one {net.width}"
