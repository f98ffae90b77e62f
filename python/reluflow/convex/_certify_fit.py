"""Tell whether a network has the least squared loss of all networks, and the least norm of those that fit alike."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._validation import FloatArray, instance, invalid
from ..datasets import Dataset
from ..losses import check_reduction, reduction_factor
from ..networks import Network
from ..networks._parts import one_output
from ._certify_regularised import CLEAR_GAIN, Tolerances, subgradient
from ._fit_certificate import FitCertificate
from ._inputs import Deadline, check_inputs, fixed, row_space
from ._interpolation import Interpolation
from ._mapping import network_of
from ._outputs import nearest_outputs, outputs_beside
from ._regularised_columns import Bounds
from ._regularised_polish import Network as Neurons
from ._regularised_solution import relative_gap


class _Loss(NamedTuple):
    """The loss of a network beside the least one."""

    value: float
    least: float
    residual: float
    is_least: bool


def certify_fit(
    net: Network, data: Dataset, reduction: str, tolerances: Tolerances, max_seconds: float | None
) -> FitCertificate:
    """Compare a network with the least squares of all networks and, where it has them, with the least norm."""
    check_inputs(data)
    instance(net, "solution", Network, "a reluflow.Network")
    one_output(net, "solution")
    if net.dim != data.d:
        raise invalid("solution", f"have {data.d} inputs, as the data have", f"{net.dim}")
    used = data.counts > 0
    X, y = data.X[used], data.y[used]
    counts = data.counts[used] * reduction_factor(check_reduction(reduction), data.total)
    nearest = nearest_outputs(X, y, counts)
    f = outputs_beside(X, net, nearest.outputs)
    errors = f - y
    loss = _Loss(
        0.5 * float(counts @ errors**2),
        0.5 * float(counts @ (nearest.outputs - y) ** 2),
        _residual(net, data, counts, errors, tolerances.boundary),
        bool(np.abs(f - nearest.outputs).max() <= tolerances.support * np.abs(y).max()),
    )
    if not loss.is_least:
        return _not_least(net, data, loss, tolerances)
    basis = row_space(X)
    neurons = np.abs(net.a)[:, None] * (net.W @ basis)
    live = neurons.any(axis=1)
    own = Neurons(neurons[live], np.sign(net.a[live]))
    found = _norm((X @ basis, f, net.leak, nearest.space), own, tolerances.gap, Deadline(max_seconds))
    return _of_norm(net, data, loss, found, basis, tolerances.gap)


def _residual(net: Network, data: Dataset, counts: FloatArray, errors: FloatArray, wall_tol: float) -> float:
    used = data.counts > 0
    size = float((counts * np.abs(errors)) @ np.linalg.norm(data.X[used], axis=1)) * net.norm
    if size == 0:
        return 0.0
    return subgradient(net, data, used, -counts * errors, 0.0, wall_tol) / size


def _norm(
    problem: tuple[FloatArray, FloatArray, float, FloatArray | None], own: Neurons, gap_tol: float, deadline: Deadline
) -> Bounds | None:
    """Return the bounds of the least norm, those of the network itself where they are enough; None for outputs 0.

    The tolerances of the search are those of inputs and outputs of size one, to which both are brought.
    """
    R, f, leak, space = problem
    if not f.any():
        return None
    rows, outputs = _power_of_two(float(np.linalg.norm(R, axis=1).max())), _power_of_two(float(np.abs(f).max()))
    program = Interpolation.of(np.ascontiguousarray(R / rows), f / outputs, leak, space)
    own = Neurons(own.neurons / outputs * rows, own.signs)
    found = program.own_bounds(own, gap_tol, deadline)
    if found.gap > gap_tol:
        found = found.with_better(program.solve(own, gap_tol, deadline))
    size = outputs / rows
    net = Neurons(found.net.neurons * outputs / rows, found.net.signs)
    return Bounds(net, found.upper * size, found.duals / rows, found.lower * size, found.norm)


def _power_of_two(size: float) -> float:
    """Return the power of two below a size: multiplying by it rounds nothing."""
    return float(2.0 ** np.floor(np.log2(size)))


def _of_norm(
    net: Network, data: Dataset, loss: _Loss, found: Bounds | None, basis: FloatArray, gap_tol: float
) -> FitCertificate:
    value = float(np.linalg.norm(net.W, axis=1) @ np.abs(net.a))
    lower, upper, duals, best = 0.0, 0.0, np.zeros(data.n), net
    if found is not None:
        lower, upper = min(found.lower, value), min(found.upper, value)
        duals[data.counts > 0] = found.duals
    clear = upper < (1 - max(gap_tol, CLEAR_GAIN)) * value
    if clear:
        neurons = np.empty((0, net.dim)) if found is None else found.net.neurons @ basis.T
        signs = np.empty(0) if found is None else found.net.signs
        best = network_of(neurons, signs, net.leak, max(len(neurons), 1))
    gap = relative_gap(value, lower)
    numbers = f"{_said(loss)}; Σ|a||w| = {value:.12g}, {lower:.12g} <= least <= {upper:.12g} for these outputs"
    if gap <= gap_tol:
        verdict, why = "global", f"the gap {max(gap, 0.0):.1e} is within gap_tol"
    elif clear:
        verdict, why = "least_loss", f"a network of {int((best.a != 0).sum())} neurons fits alike with a smaller norm"
    else:
        verdict, why = "undecided", "the bounds leave the least norm open"
    return _certificate(verdict, f"{numbers}: {why}", loss, (value, lower, upper), duals, best, net)


def _not_least(net: Network, data: Dataset, loss: _Loss, tolerances: Tolerances) -> FitCertificate:
    value = float(np.linalg.norm(net.W, axis=1) @ np.abs(net.a))
    if loss.residual <= tolerances.kkt:
        verdict, why = "critical_not_global", "a critical point, and other networks have a smaller loss"
    else:
        verdict, why = "not_critical", f"the residual exceeds kkt_tol = {tolerances.kkt:g}"
    numbers, nothing = (value, np.nan, np.nan), np.zeros(data.n)
    return _certificate(verdict, f"{_said(loss)}: {why}", loss, numbers, nothing, net, net)


def _said(loss: _Loss) -> str:
    if loss.is_least:
        return f"L = {loss.value:.6g}, the least of all networks"
    return f"L = {loss.value:.12g} > {loss.least:.12g}, the least of all networks, residual {loss.residual:.1e}"


def _certificate(
    verdict: str,
    message: str,
    loss: _Loss,
    numbers: tuple[float, float, float],
    duals: FloatArray,
    best: Network,
    net: Network,
) -> FitCertificate:
    value, lower, upper = numbers
    return FitCertificate(
        verdict=verdict,
        message=message,
        loss=loss.value,
        least_loss=loss.least,
        residual=loss.residual,
        value=value,
        lower=lower,
        upper=upper,
        duals=fixed(duals),
        best=best,
        network=net,
    )
