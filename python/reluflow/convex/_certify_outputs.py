"""Tell whether a network of K outputs is a critical point, or the global optimum, of L + γ/2 |θ|².

Over networks of any width that is the convex program min L(F) + γ Σ_j |a_j||w_j|, F = Σ_j φ(X w_j) a_jᵀ, with the dual

    max -Σ_i c_i ℓ_i*(-λ_i/c_i)  s.t.  |Λᵀ φ(Xu)| <= γ for all unit u.

The duals of the network itself, scaled until they are feasible, bound the program from below; where they are not, the
neuron that violates them most makes a better network, which bounds it from above.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax, xlogy

from .._validation import FloatArray, invalid, positive
from ..flow import TwoLayerSolution
from ..kinks._boundaries import boundaries
from ..layered._several import SEVERAL_LOSSES, Pair, pair_of
from ..limits._output_point import output_point
from ..losses import check_reduction, reduction_factor
from ..networks import Network
from ._certify_output_norm import certify_margins, certify_outputs_fit
from ._inputs import Deadline, fixed
from ._output_certificate import OutputCertificate
from ._output_norm import OutputNorm, output_norm
from ._regularised_certificate import RegularisedCertificate
from ._regularised_solution import relative_gap

# How closely the dual norm is bounded, as a part of the gap that counts as none.
_NORM_PART = 0.1
# An objective that is smaller by less than this, relatively, can be rounding.
_CLEAR_GAIN = 1e-9


class _Objective(NamedTuple):
    """The summed loss of outputs (n, K), and γ beside it."""

    X: FloatArray
    targets: FloatArray
    counts: FloatArray
    loss: str
    decay: float

    def value(self, F: FloatArray) -> float:
        if self.loss == "squared":
            return float(0.5 * self.counts @ ((F - self.targets) ** 2).sum(axis=1))
        return float(-self.counts @ (self.targets * log_softmax(F, axis=1)).sum(axis=1))

    def duals(self, F: FloatArray) -> FloatArray:
        guess = F if self.loss == "squared" else softmax(F, axis=1)
        return np.asarray(self.counts[:, None] * (self.targets - guess))

    def lower(self, duals: FloatArray, most: float) -> float:
        """Return the largest value of the dual at s Λ for s in [0, most]."""
        counted = self.counts > 0
        lam, c, y = duals[counted], self.counts[counted], self.targets[counted]
        if self.loss == "squared":
            along, square = float((lam * y).sum()), float(((lam**2).sum(axis=1) / c).sum())
            s = min(most, max(along / square, 0.0)) if square > 0 else 0.0
            return s * along - 0.5 * s**2 * square
        s = min(most, 1.0)  # beyond 1 the softmax leaves the simplex
        p = np.maximum(y - s * lam / c[:, None], 0.0)
        return float(-c @ xlogy(p, p).sum(axis=1))


def is_of_outputs(solution: object) -> bool:
    """Tell whether a network, or that of a run, has several outputs."""
    if isinstance(solution, TwoLayerSolution):
        return solution.final.n_outputs > 1
    return isinstance(solution, Network) and solution.n_outputs > 1


def certify_outputs(
    solution: Any, data: Any, asked: dict[str, Any], tolerances: Any, max_seconds: float | None
) -> RegularisedCertificate | OutputCertificate:
    """Compare a network of several outputs with the convex program of its objective; see `certify`.

    Raises
    ------
    ValueError
        Another problem than that of the run, or data that do not fit.
    """
    net, training = _asked(solution, asked)
    pair = pair_of(data, net, training["loss"])
    factor = reduction_factor(training["reduction"], pair.total)
    if not training["weight_decay"]:
        return _without_decay(net, pair, training["loss"], factor, tolerances, max_seconds)
    objective, at_zero = _objective(net, pair, training["loss"], training["weight_decay"] / factor)
    F = net(objective.X)
    value, duals = objective.value(F) + 0.5 * objective.decay * net.norm**2, objective.duals(F)
    residual = _residual(objective, net, duals, tolerances.boundary)
    norm = output_norm(objective.X, duals, net.leak, rtol=_NORM_PART * tolerances.gap, deadline=Deadline(max_seconds))
    lower = objective.lower(duals, min(1.0, objective.decay / norm.upper) if norm.upper > 0 else 1.0)
    upper = min(value, _with_neuron(objective, net, F, norm))
    value, lower, upper = value + at_zero, lower + at_zero, upper + at_zero
    verdict, message = _verdict(value, lower, upper, residual, tolerances)
    return RegularisedCertificate(
        verdict=verdict,
        message=f"{message}; {norm.n_points} directions of outputs were looked into",
        value=factor * value,
        lower=factor * lower,
        upper=factor * upper,
        residual=residual,
        dual_norm_lower=factor * norm.lower,
        dual_norm_upper=factor * norm.upper,
        convex=None,
        network=net,
        **training,
    )


def _objective(net: Network, pair: Pair, loss: str, decay: float) -> tuple[_Objective, float]:
    """Return the objective of the samples that are not zero, and the loss of the others, whose outputs are zero."""
    targets = pair.target_rows
    rows = np.asarray(targets, dtype=np.float64)
    counts = pair.each
    moves = pair.X.any(axis=1)
    X = np.ascontiguousarray(pair.X[moves])
    others = _Objective(pair.X[~moves], rows[~moves], counts[~moves], loss, decay)
    return _Objective(X, rows[moves], counts[moves], loss, decay), others.value(np.zeros_like(others.targets))


def _without_decay(
    net: Network, pair: Pair, loss: str, factor: float, tolerances: Any, max_seconds: float | None
) -> OutputCertificate:
    counts = pair.each
    used = counts > 0
    if loss == "squared":  # samples of zeros have the outputs 0 of any network
        used &= pair.X.any(axis=1)
        if not used.any():
            raise invalid("data", "have a sample that counts and is not zero", "none")
    X, targets = np.ascontiguousarray(pair.X[used]), pair.targets[used]
    plain = net._with(net.W, net.a)
    if loss == "cross_entropy":
        found = certify_margins(plain, X, targets.astype(np.int64), tolerances, max_seconds)
    else:
        Y = np.asarray(targets, dtype=np.float64)
        at_zero = 0.5 * factor * float(counts[~used] @ (pair.targets[~used] ** 2).sum(axis=1))
        found = certify_outputs_fit(plain, X, Y, factor * counts[used], at_zero, tolerances, max_seconds)
    duals = np.zeros((len(used), net.n_outputs))
    duals[used] = found.duals
    return replace(found, duals=fixed(duals))


def _asked(solution: Any, asked: dict[str, Any]) -> tuple[Network, dict[str, Any]]:
    """Return the network to judge and what it was trained for."""
    names = ("weight_decay", "loss", "reduction")
    if isinstance(solution, Network):
        if not isinstance(asked["loss"], str) or asked["loss"] not in SEVERAL_LOSSES:
            raise invalid("loss", "be 'squared' or 'cross_entropy' for several outputs", repr(asked["loss"]))
        decay = 0.0 if asked["weight_decay"] is None else positive(asked["weight_decay"], "weight_decay")
        reduction = check_reduction("sum" if asked["reduction"] is None else asked["reduction"])
        return solution, {"weight_decay": decay, "loss": asked["loss"], "reduction": reduction}
    own = {name: solution.settings[name] for name in names}
    for name in names:
        if asked[name] is not None and asked[name] != own[name]:
            raise invalid(name, f"be that of the run, {own[name]!r} (solution.final takes any)", repr(asked[name]))
    equal = solution._reader.train == "both" and solution._reader.rates[0] == solution._reader.rates[1]
    limit = solution.limit if equal else None
    return limit.network if limit is not None and limit.certified else solution.final, own


def _residual(objective: _Objective, net: Network, duals: FloatArray, wall_tol: float) -> float:
    """Return the norm of the least subgradient beside γ|θ|; slopes on boundaries are free."""
    heights = net.W @ objective.X.T
    sizes = np.outer(np.linalg.norm(net.W, axis=1), np.linalg.norm(objective.X, axis=1))
    pattern = np.where(np.abs(heights) <= wall_tol * sizes, 0, np.sign(heights)).astype(np.int8)
    signed = net._with(net.W, net.a, pattern)
    point = output_point(boundaries(objective.X), objective.X, signed, duals, objective.decay)
    return point.gradient / (objective.decay * net.norm) if net.norm > 0 else 0.0


def _with_neuron(objective: _Objective, net: Network, F: FloatArray, norm: OutputNorm) -> float:
    """Return the objective of the balanced network, with the neuron (u, v) that the duals ask for most, at its best."""
    balanced = objective.value(F) + objective.decay * float(
        np.linalg.norm(net.W, axis=1) @ np.linalg.norm(net.a, axis=1)
    )
    if not norm.lower > objective.decay:
        return balanced
    z = objective.X @ norm.u
    step = np.outer(np.maximum(z, net.leak * z), norm.v)
    slope, bend = norm.lower - objective.decay, float(objective.counts @ (step**2).sum(axis=1))
    found = minimize_scalar(
        lambda s: objective.value(F + s * step) + objective.decay * s,
        bounds=(0.0, 4.0 * slope / bend),
        method="bounded",
    )
    return min(balanced, balanced - objective.value(F) + float(found.fun))


def _verdict(value: float, lower: float, upper: float, residual: float, tolerances: Any) -> tuple[str, str]:
    gap = relative_gap(value, lower)
    numbers = f"Σ c ℓ + γ/2 |θ|² = {value:.12g}, {lower:.12g} <= least <= {upper:.12g}, residual {residual:.1e}"
    if gap <= tolerances.gap:
        return "global", f"{numbers}: the gap {max(gap, 0.0):.1e} is within gap_tol"
    if residual > tolerances.kkt:
        return "not_critical", f"{numbers}: the residual exceeds kkt_tol = {tolerances.kkt:g}"
    if upper < (1 - max(tolerances.gap, _CLEAR_GAIN)) * value:
        return "critical_not_global", f"{numbers}: one neuron more makes the objective smaller"
    return "undecided", f"{numbers}: the bounds leave the global optimum open"
