"""Tell whether a network of K outputs, trained without weight decay, has the least norm of all networks like it.

Of cross-entropy that are the networks with the same margins, the multi-class max-margin problem; of the squared loss,
where it is the least, those with the same outputs.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .._least_distance import nonnegative
from .._linear_algebra import least_squares
from .._validation import FloatArray, IntArray
from ..kinks._boundaries import boundaries, off, span
from ..limits._output_point import output_point
from ..networks import Network
from ._certify_regularised import CLEAR_GAIN
from ._inputs import Deadline, fixed
from ._output_certificate import OutputCertificate
from ._output_columns import NO_NORM, Conditions, OutputBounds, output_bounds
from ._outputs import nearest_outputs, outputs_beside
from ._regularised_solution import relative_gap

_NAN = float("nan")
# Singular values of the equations of the multipliers below this part of the largest are zero.
_RANK_TOL = 1e-12
# A smaller norm by less than this, relatively, can come of outputs that the linear program does not quite keep.
_CLEAR_FIT = 1e-6


class Signs:
    """The network with its signs, and the linear maps from Λ to the pulls on its neurons off what they hold."""

    def __init__(self, net: Network, X: FloatArray, wall_tol: float) -> None:
        self.net, self.X = net, X
        heights = net.W @ X.T
        sizes = np.outer(np.linalg.norm(net.W, axis=1), np.linalg.norm(X, axis=1))
        self.pattern = np.where(np.abs(heights) <= wall_tol * sizes, 0, np.sign(heights)).astype(np.int8)
        self.boundaries = boundaries(X)
        self.signed = net._with(net.W, net.a, self.pattern)

    def gradients(self, own: IntArray, sample: IntArray, other: IntArray | None) -> FloatArray:
        """Return ∂(f_y - f_k), or ∂f_y without k, of constraints (r,): the rows of a matrix (r, P)."""
        columns, places = [], np.arange(len(sample))
        slope = np.where(self.pattern > 0, 1.0, np.where(self.pattern < 0, self.net.leak, 0.0))
        for j in np.flatnonzero(self.net.W.any(axis=1) | self.net.a.any(axis=1)):
            held = span(self.boundaries.normal[np.unique(self.boundaries.boundary[self.pattern[j] == 0])])
            a, z = self.net.a[j], self.X[sample] @ self.net.W[j]
            z = np.maximum(z, self.net.leak * z)
            factor = a[own] - (a[other] if other is not None else 0.0)
            columns.append(factor[:, None] * off(slope[j, sample, None] * self.X[sample], held))
            turn = np.zeros((len(sample), self.net.n_outputs))
            turn[places, own] += z
            if other is not None:
                turn[places, other] -= z
            columns.append(turn)
        return np.hstack(columns)

    def target(self) -> FloatArray:
        """Return θ of the same neurons, w off what each holds."""
        parts = []
        for j in np.flatnonzero(self.net.W.any(axis=1) | self.net.a.any(axis=1)):
            held = span(self.boundaries.normal[np.unique(self.boundaries.boundary[self.pattern[j] == 0])])
            parts += [off(self.net.W[j][None], held)[0], self.net.a[j]]
        return np.concatenate(parts)

    def residual(self, lam: FloatArray) -> float:
        """Return |θ - what Λ pulls| / |θ| with the best slopes on boundaries."""
        point = output_point(self.boundaries, self.X, self.signed, lam, 1.0)
        return point.gradient / self.net.norm


def certify_margins(
    net: Network, X: FloatArray, own: IntArray, tolerances: Any, max_seconds: float | None
) -> OutputCertificate:
    """Compare a network with the multi-class max-margin problem of samples and classes."""
    K = net.n_outputs
    conditions = Conditions(X, net.leak, own, net(X))
    margins = conditions.parts(net(X))
    least = float(margins.min())
    if least <= 0:
        message = f"the least margin is {least:.6g}: the network does not separate the data"
        nothing = OutputBounds(0.0, np.inf, np.zeros((len(X), K)), NO_NORM)
        return _certificate("not_kkt", message, np.inf, nothing, np.inf, (_NAN, _NAN), net)
    scaled = net._with(net.W / np.sqrt(least), net.a / np.sqrt(least), net.pattern)
    signs = Signs(scaled, X, tolerances.boundary)
    active = margins <= least * (1 + tolerances.support)
    sample, other = np.nonzero(conditions.others)
    mu = np.zeros(len(margins))
    mu[active] = nonnegative(signs.gradients(own[sample[active]], sample[active], other[active]).T, signs.target())
    residual = signs.residual(conditions.duals(mu))
    value = 0.5 * scaled.norm**2
    found = output_bounds(conditions, mu, scaled, tolerances.gap, Deadline(max_seconds))
    verdict, why = _verdict_of_margins(value, found, residual, tolerances)
    numbers = f"P = {value:.12g}, {found.lower:.12g} <= P* <= {found.upper:.12g}, KKT residual {residual:.1e}"
    return _certificate(verdict, f"{numbers}: {why}", value, found, residual, (_NAN, _NAN), scaled)


def _verdict_of_margins(value: float, found: OutputBounds, residual: float, tolerances: Any) -> tuple[str, str]:
    gap = relative_gap(value, found.lower)
    if gap <= tolerances.gap:
        return "global", f"the gap {max(gap, 0.0):.1e} is within gap_tol"
    if residual > tolerances.kkt:
        return "not_kkt", f"the residual exceeds kkt_tol = {tolerances.kkt:g} for the best multipliers"
    if found.upper < (1 - max(tolerances.gap, CLEAR_GAIN)) * value:
        return "kkt_not_global", "a network of smaller norm has the same margins"
    return "undecided", "the bounds of P* leave the global optimum open"


def certify_outputs_fit(
    net: Network,
    X: FloatArray,
    Y: FloatArray,
    counts: FloatArray,
    at_zero: float,
    tolerances: Any,
    max_seconds: float | None,
) -> OutputCertificate:
    """Compare a network with the least squares of all networks and, where it has them, with the least norm.

    No row of X is zero; `at_zero` is the loss of those that are.
    """
    nearest = np.column_stack([nearest_outputs(X, column, counts).outputs for column in Y.T])
    f = outputs_beside(X, net, nearest)
    own, least = (0.5 * float(counts @ ((outputs - Y) ** 2).sum(axis=1)) for outputs in (f, nearest))
    loss = own + at_zero, least + at_zero
    residual = _residual_of_fit(net, X, counts[:, None] * (Y - f), tolerances.boundary)
    value = float(np.linalg.norm(net.W, axis=1) @ np.linalg.norm(net.a, axis=1))
    if np.abs(f - nearest).max() > tolerances.support * np.abs(Y).max():
        found = OutputBounds(_NAN, _NAN, np.zeros_like(f), NO_NORM)
        said = f"L = {loss[0]:.12g} > {loss[1]:.12g}, the least of all networks, residual {residual:.1e}"
        if residual <= tolerances.kkt:
            verdict, why = "critical_not_global", "a critical point, and other networks have a smaller loss"
        else:
            verdict, why = "not_critical", f"the residual exceeds kkt_tol = {tolerances.kkt:g}"
        return _certificate(verdict, f"{said}: {why}", value, found, residual, loss, net)
    found = _least_norm(net, X, f, tolerances, Deadline(max_seconds))
    gap = relative_gap(value, found.lower)
    if gap <= tolerances.gap:
        verdict, why = "global", f"the gap {max(gap, 0.0):.1e} is within gap_tol"
    elif found.upper < (1 - max(tolerances.gap, _CLEAR_FIT)) * value:
        verdict, why = "least_loss", "a network of smaller norm fits alike"
    else:
        verdict, why = "undecided", "the bounds leave the least norm open"
    numbers = f"Σ|a||w| = {value:.12g}, {found.lower:.12g} <= least <= {found.upper:.12g} for these outputs"
    said = f"L = {loss[0]:.6g}, the least of all networks; {numbers}"
    return _certificate(verdict, f"{said}: {why}", value, found, residual, loss, net)


def _residual_of_fit(net: Network, X: FloatArray, lam: FloatArray, wall_tol: float) -> float:
    size = float(np.linalg.norm(lam, axis=1) @ np.linalg.norm(X, axis=1)) * net.norm
    signs = Signs(net, X, wall_tol)
    return output_point(signs.boundaries, X, signs.signed, lam, 0.0).gradient / size if size > 0 else 0.0


def _least_norm(net: Network, X: FloatArray, f: FloatArray, tolerances: Any, deadline: Deadline) -> OutputBounds:
    """Bound the least norm of networks with the outputs f of this one, first by the multipliers that explain it."""
    sizes = np.linalg.norm(net.W, axis=1), np.linalg.norm(net.a, axis=1)
    live = (sizes[0] > 0) & (sizes[1] > 0)
    if not live.any() or not f.any():
        return OutputBounds(0.0, 0.0, np.zeros_like(f), NO_NORM)
    share = np.sqrt(sizes[1][live] / sizes[0][live])[:, None]
    balanced = Network(net.W[live] * share, net.a[live] / share, leak=net.leak)
    signs = Signs(balanced, X, tolerances.boundary)
    sample, own = np.repeat(np.arange(len(X)), net.n_outputs), np.tile(np.arange(net.n_outputs), len(X))
    found = least_squares(signs.gradients(own, sample, None).T, signs.target(), _RANK_TOL)
    mu = np.asarray(found, dtype=np.float64)
    return output_bounds(Conditions(X, net.leak, None, f), mu, balanced, tolerances.gap, deadline)


def _certificate(
    verdict: str,
    message: str,
    value: float,
    found: OutputBounds,
    residual: float,
    loss: tuple[float, float],
    net: Network,
) -> OutputCertificate:
    return OutputCertificate(
        verdict=verdict,
        message=f"{message}; {found.norm.n_points} directions of outputs were looked into",
        value=value,
        lower=found.lower,
        upper=found.upper,
        residual=residual,
        dual_norm_lower=found.norm.lower,
        dual_norm_upper=found.norm.upper,
        duals=fixed(found.duals),
        loss=loss[0],
        least_loss=loss[1],
        network=net,
    )
