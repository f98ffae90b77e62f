"""The limit of a run with K outputs: a critical point, polished by Newton in the last pattern and certified.

With λ_i = -c_i ∂ℓ_i/∂f in R^K, neuron j feels the duals ⟨a_j, λ_i⟩ as one with a single output does. Its weights are
written w_j = Q_j q_j with the columns of Q_j orthogonal to the boundaries that it holds; then f = Σ_j A_j q_j a_jᵀ with
A_j = S_j X Q_j, and the critical point is a zero of the gradient of Σ c_i ℓ_i + γ/2 |θ|² in (q, a).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._linear_algebra import least_squares, svd
from .._validation import FloatArray, IntArray, freeze
from ..kinks._boundaries import slopes, span
from ..networks import Network
from ._checks import UNKNOWN, Residuals
from ._direction import CERTIFIED_TOL
from ._finite import TAKEN_AWAY, doubts_of_point, is_nothing, rounding_left
from ._growing import doubts_of_rest
from ._limit import Limit
from ._output_direction import direction_of_outputs
from ._output_leaving import doubts_of_leaving, falls, parts_that_fall
from ._output_point import OutputPoint, is_off, output_point
from ._output_problem import OutputProblem
from ._point import FALL_TOL
from ._state import output_terms

# Steps of each method; from a state near the point some 5 are taken.
_STEPS = 30
# Eigenvalues below this part of the largest are those of directions that change nothing.
_RANK_TOL = 1e-11
# The same for a step of Newton, one after the other until a step brings the gradient down.
_CUTS = (1e-11, 1e-9, 1e-7, 1e-5)
# Errors below this part of the terms that they are the sum of are rounding.
_FIT_TOL = 1e-13
# With decay neurons of this part of |θ| vanish in the limit: what they add to the outputs is the square of it.
_VANISHING = 1e-9
# More entries of the Jacobian of the outputs than this, a gigabyte, are not set up.
_LARGEST = 1.2e8


class _Chart:
    """The networks of one pattern, by coordinates x = (q_j, a_j) of the neurons that samples that count can move."""

    def __init__(self, problem: OutputProblem, net: Network) -> None:
        assert net.pattern is not None  # for the type checker: the network of a run has one
        self.problem, self.net = problem, net
        slope = slopes(net.pattern, net.leak)
        found = problem.boundaries
        self.rows = np.flatnonzero(slope[:, problem.counts > 0].any(axis=1) & (net.W.any(axis=1) | net.a.any(axis=1)))
        self.Q = []
        for j in self.rows:
            held = span(found.normal[np.unique(found.boundary[net.pattern[j] == 0])])
            self.Q.append(svd(held, full_matrices=True)[2][len(held) :].T if len(held) else np.eye(net.dim))
        self.A = [slope[j, :, None] * problem.X @ Q for j, Q in zip(self.rows, self.Q, strict=True)]

    @property
    def start(self) -> FloatArray:
        """The coordinates of the network itself."""
        parts = [np.concatenate((Q.T @ self.net.W[j], self.net.a[j])) for j, Q in zip(self.rows, self.Q, strict=True)]
        return np.concatenate(parts) if parts else np.empty(0)

    @property
    def owner(self) -> IntArray:
        """Return the neuron that each coordinate is one of, shape (P,)."""
        return np.repeat(self.rows, [Q.shape[1] + self.net.n_outputs for Q in self.Q])

    def split(self, x: FloatArray) -> list[tuple[FloatArray, FloatArray]]:
        """Return (q_j, a_j) of each moving neuron."""
        K, first, parts = self.net.n_outputs, 0, []
        for Q in self.Q:
            last = first + Q.shape[1]
            parts.append((x[first:last], x[last : last + K]))
            first = last + K
        return parts

    def outputs(self, x: FloatArray) -> FloatArray:
        """F, shape (n, K), of the moving neurons, which are all that have any on samples that count."""
        f = np.zeros((len(self.problem.X), self.net.n_outputs))
        for A, (q, a) in zip(self.A, self.split(x), strict=True):
            f += np.outer(A @ q, a)
        return f

    def jacobian(self, x: FloatArray) -> FloatArray:
        """∂F/∂x, shape (n, K, P)."""
        columns = []
        for A, (q, a) in zip(self.A, self.split(x), strict=True):
            columns.append(a[None, :, None] * A[:, None, :])
            columns.append((A @ q)[:, None, None] * np.eye(len(a))[None])
        return np.concatenate(columns, axis=2)

    def gradient(self, x: FloatArray) -> FloatArray:
        """Return the gradient of the objective in x."""
        lam, parts = self.problem.duals(self.outputs(x)), []
        for A, (q, a) in zip(self.A, self.split(x), strict=True):
            M = lam.T @ A
            parts += [-(a @ M), -(M @ q)]
        return np.concatenate(parts) + self.problem.decay * x

    def hessian(self, x: FloatArray) -> FloatArray:
        """Return the second derivatives of the objective in x."""
        f, J = self.outputs(x), self.jacobian(x)
        lam = self.problem.duals(f)
        weighed = np.einsum("icd,idp->icp", self.problem.curvatures(f), J)
        H = J.reshape(-1, len(x)).T @ weighed.reshape(-1, len(x)) + self.problem.decay * np.eye(len(x))
        first = 0
        for A, (q, a) in zip(self.A, self.split(x), strict=True):
            middle, last = first + len(q), first + len(q) + len(a)
            M = lam.T @ A
            H[middle:last, first:middle] -= M
            H[first:middle, middle:last] -= M.T
            first = last
        return np.asarray(H)

    def network(self, x: FloatArray) -> Network:
        """Return the network at x; with decay nothing is left of neurons that do not move."""
        left = 0.0 if self.problem.decay > 0 else 1.0
        W, a = left * self.net.W, left * self.net.a
        for j, Q, (q, out) in zip(self.rows, self.Q, self.split(x), strict=True):
            W[j], a[j] = Q @ q, out
        return self.net._with(W, a, self.net.pattern)


def limit_of_outputs(problem: OutputProblem, net: Network, *, goes_on: bool = True) -> Limit:
    """Polish the limit of a flow that stands at `net`, whose pattern is that of the state.

    A saddle that the flow leaves is not its limit, unless one only asks where it rests on its way (`goes_on` False).
    """
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        f = net(problem.X)
        counted = problem.counts > 0
        if problem.loss == "cross_entropy" and problem.decay == 0 and (problem.margins(f)[counted] > 0).all():
            return direction_of_outputs(problem, net)
        chart = _Chart(problem, net)
        if len(problem.X) * net.n_outputs * len(chart.start) > _LARGEST:
            return _unpolished(problem, net, "the equations of the critical point are too many to be set up")
        try:
            x = _polished(chart)
        except np.linalg.LinAlgError as error:
            return _unpolished(problem, net, f"the equations of the critical point have no solution ({error})")
        return _finite(chart, x, goes_on)


def _polished(chart: _Chart) -> FloatArray:
    """Interpolate if the pattern can, else find a zero of the gradient."""
    x = chart.start
    if not len(x):
        return x
    problem = chart.problem
    if problem.loss == "squared" and problem.decay == 0:
        fitted = _interpolated(chart, x)
        if _is_fitted(problem, chart.network(fitted)):
            return fitted
    found = _newton(chart, x)
    if problem.decay == 0:
        return _without_vanished(chart, x, found)
    return _newton(chart, _without_vanishing(chart, found))


def _without_vanished(chart: _Chart, start: FloatArray, x: FloatArray) -> FloatArray:
    """Take neurons for zero that the polish takes away but for rounding: those whose product a w falls like 1/t."""
    parts, f = [], chart.outputs(x)
    for (q0, a0), (q, a) in zip(chart.split(start), chart.split(x), strict=True):
        before, part = np.concatenate((q0, a0)), np.concatenate((q, a))
        gone = np.linalg.norm(part - before) > TAKEN_AWAY * np.linalg.norm(before)
        parts.append(0.0 * part if gone and is_nothing(q[None], a[None], chart.problem.X, f)[0] else part)
    return np.concatenate(parts)


def _without_vanishing(chart: _Chart, x: FloatArray) -> FloatArray:
    """Take neurons for zero that are nothing beside the others: decay outweighs what pulls on them."""
    least = _VANISHING * float(np.linalg.norm(x))
    parts = [np.concatenate(part) for part in chart.split(x)]
    return np.concatenate([part if np.linalg.norm(part) > least else 0.0 * part for part in parts])


def _newton(chart: _Chart, x: FloatArray) -> FloatArray:
    """Find a zero of the gradient by steps that change what its value tells, and nothing else."""
    best, least = x, float(np.linalg.norm(chart.gradient(x)))
    for _ in range(_STEPS):
        values, vectors = np.linalg.eigh(chart.hessian(best))
        rest = vectors.T @ chart.gradient(best)
        before = least
        for part in _CUTS:  # what is almost flat may lead far away
            used = np.abs(values) > part * np.abs(values).max()
            trial = best - vectors[:, used] @ (rest[used] / values[used])
            size = float(np.linalg.norm(chart.gradient(trial)))
            if size < least:
                best, least = trial, size
                break
        if not least < before:
            break
    return best


def _interpolated(chart: _Chart, x: FloatArray) -> FloatArray:
    """Gauss-Newton on the errors."""
    root = np.sqrt(chart.problem.counts)[:, None]
    least = np.inf
    for _ in range(_STEPS):
        off_by = root * (chart.problem.targets - chart.outputs(x))
        size = float(np.linalg.norm(off_by))
        if not size < least:
            break
        least, J = size, root[:, :, None] * chart.jacobian(x)
        x = x + least_squares(J.reshape(-1, len(x)), off_by.ravel(), _RANK_TOL)
    return x


def _is_fitted(problem: OutputProblem, net: Network) -> bool:
    return bool(_fits(problem, net)[problem.counts > 0].all())


def _fits(problem: OutputProblem, net: Network) -> npt.NDArray[np.bool_]:
    """Which errors are rounding, shape (n, K)."""
    scale = _error_sizes(problem, net)[problem.counts > 0].max()
    return np.asarray(np.abs(problem.targets - net(problem.X)) <= 100 * _FIT_TOL * scale)


def _error_sizes(problem: OutputProblem, net: Network) -> FloatArray:
    """Sum the sizes of the terms of each error, shape (n, K): where targets are zero, outputs are what cancels."""
    return output_terms(problem.X, net) + np.abs(problem.targets)


def _known_duals(problem: OutputProblem, net: Network) -> FloatArray:
    """λ without those that are rounding: beside the error of a sample that nothing fits they would count."""
    lam = problem.duals(net(problem.X))
    return np.where(_fits(problem, net), 0.0, lam) if problem.loss == "squared" and problem.decay == 0 else lam


def _finite(chart: _Chart, x: FloatArray, goes_on: bool) -> Limit:
    problem, state = chart.problem, chart.net
    net = chart.network(x)
    size = max(state.norm, float(np.linalg.norm(problem.X, axis=1).max()) ** -0.5)
    distance = float(np.linalg.norm(state.theta - net.theta)) / size
    if not distance <= 1.0:
        return _unpolished(problem, state, f"the critical point of the last pattern is {distance:.2g} |θ| away")
    f = net(problem.X)
    fits = problem.loss == "squared" and problem.decay == 0 and _is_fitted(problem, net)
    lam = _known_duals(problem, net)
    point = output_point(problem.boundaries, problem.X, net, lam, problem.decay)
    sizes = problem.counts * _error_sizes(problem, net).sum(axis=1)
    weights = sizes if fits else np.linalg.norm(lam, axis=1)
    unit = float(weights @ np.linalg.norm(problem.X, axis=1)) + problem.decay
    missing = float(np.linalg.norm(problem.duals(f))) if fits else point.gradient
    relative = missing / (unit * (net.norm if net.norm > 0 else 1.0)) if unit > 0 else 0.0
    residuals = Residuals(relative, 0.0, 0.0, max(point.excess / unit if unit > 0 else 0.0, point.violation))
    tolerance = rounding_left(_rounded(problem, net, f) / unit) if unit > 0 else CERTIFIED_TOL
    reasons = doubts_of_point(residuals, distance, f"it is {residuals.stationarity:.2g} of its terms", tolerance)
    if not reasons and problem.loss == "cross_entropy" and problem.decay == 0 and len(x):
        reasons = _doubts_of_rest(chart, x, unit * net.norm)
    values, vectors = _second_derivatives(chart, x)
    if not reasons and goes_on and point.kind != "global":
        downhill = vectors[:, falls(values, unit)]
        own = parts_that_fall(downhill, chart.start - x, np.linalg.norm(state.theta, axis=1), chart.owner)
        reasons = doubts_of_leaving(problem, state, net, lam, own)
    decided = point.undecided() if reasons else _decided(chart, x, point, values, unit)
    if decided.kind == "local minimum" and is_nothing(net.W, net.a, problem.X, f)[chart.rows].any():
        decided = point.undecided()  # a neuron of rounding may rest at zero, where it has other ways to go
    return _limit(problem, net, lam, residuals, distance, reasons, decided, values)


def _second_derivatives(chart: _Chart, x: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Eigenvalues and eigenvectors of the second derivatives."""
    if not len(x):
        return np.empty(0), np.empty((0, 0))
    values, vectors = np.linalg.eigh(chart.hessian(x))
    return np.asarray(values), np.asarray(vectors)


def _doubts_of_rest(chart: _Chart, x: FloatArray, terms: float) -> list[str]:
    """Say which margins f_y - f_k may grow for ever."""
    problem = chart.problem
    sample, other = np.nonzero((problem.counts[:, None] > 0) & (problem.targets != 1.0))
    J, own = chart.jacobian(x), problem.targets.argmax(axis=1)[sample]
    weights = np.abs(problem.duals(chart.outputs(x))[sample, other])
    return doubts_of_rest(J[sample, own] - J[sample, other], weights, sample, terms)


def _rounded(problem: OutputProblem, net: Network, f: FloatArray) -> float:
    """Sum what the duals would change by, times |x_i|, if each output were off by all its terms."""
    terms = output_terms(problem.X, net) + (np.abs(problem.targets) if problem.loss == "squared" else 0.0)
    changes = np.einsum("ikl,il->ik", np.abs(problem.curvatures(f)), terms)
    return float(np.linalg.norm(changes, axis=1) @ np.linalg.norm(problem.X, axis=1))


def _decided(chart: _Chart, x: FloatArray, point: OutputPoint, values: FloatArray, unit: float) -> OutputPoint:
    """Add what the second derivatives say: a direction in which the objective falls makes a saddle.

    The fall is a part of the terms `unit` of the gradient: all second derivatives may be rounding.
    """
    is_flat = not len(values) or values[0] >= -FALL_TOL * unit
    if point.kind != "not decided" or is_flat or not is_off(chart.problem.X, chart.network(x)):
        return point
    vectors = np.linalg.eigh(chart.hessian(x))[1]
    turn = vectors[:, 0]
    parts = [float(np.hypot(np.linalg.norm(q), np.linalg.norm(a))) for q, a in chart.split(turn)]
    k = int(np.argmax(parts))
    q, a = chart.split(turn)[k]
    return point.leaving(int(chart.rows[k]), chart.Q[k] @ q / parts[k], a / parts[k], sum(p > 1e-6 for p in parts))


def _limit(
    problem: OutputProblem,
    net: Network,
    lam: FloatArray,
    residuals: Residuals,
    distance: float,
    reasons: list[str],
    point: OutputPoint,
    values: FloatArray,
) -> Limit:
    assert net.pattern is not None  # for the type checker
    support: IntArray = np.flatnonzero(lam.any(axis=1))
    moving = np.flatnonzero(net.W.any(axis=1) & net.a.any(axis=1))
    held = np.argwhere(net.pattern == 0)
    held = held[np.isin(held[:, 0], moving)]
    for array in (support, held, lam):
        freeze(array)
    tells = np.abs(values) > 1e-10 * np.abs(values).max(initial=0.0)
    said = reasons + ([point.note] if point.note and not reasons else [])
    return Limit(
        kind="finite",
        network=net if residuals.sign <= CERTIFIED_TOL else net._with(net.W, net.a),
        margin=_margin(problem, net),
        duals=lam,
        support=support,
        held=held,
        residuals=residuals,
        certified=not reasons,
        reason="; ".join(said),
        freedom=int((~tells).sum()),
        turn=distance,
        split_error=distance,
        gradient_norm=point.gradient,
        curvature=float(values[tells].min()) if tells.any() else float("nan"),
        point=point.kind,
        escape=point.escape,
    )


def _margin(problem: OutputProblem, net: Network) -> float:
    if problem.loss == "squared":
        return float("nan")
    size, counted = net.norm, problem.counts > 0
    return float(problem.margins(net(problem.X))[counted].min()) / size**2 if size > 0 else 0.0


def _unpolished(problem: OutputProblem, net: Network, reason: str) -> Limit:
    nan = float("nan")
    f = net(problem.X)
    point = output_point(problem.boundaries, problem.X, net, problem.duals(f), problem.decay).undecided()
    return _limit(problem, net, problem.duals(f), UNKNOWN, nan, [reason], point, np.empty(0))
