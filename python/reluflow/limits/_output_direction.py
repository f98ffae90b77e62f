"""The limit direction of cross-entropy: a KKT point of min ½|θ|² s.t. f_y - f_k >= 1, polished and certified."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from .._validation import FloatArray, IntArray, freeze
from ..kinks._boundaries import names
from ..networks import Network
from ._checks import UNKNOWN, Residuals
from ._direction import CERTIFIED_TOL, MAX_TURN
from ._limit import Limit
from ._margin_polish import LARGEST, Margins, Polished, Row, polish_margins, rows_of, stand_ins
from ._output_follow import Follower
from ._output_point import _pull, _violation
from ._output_problem import OutputProblem

# Where multipliers and neurons are large and cancel, their rounding alone is more than that of a certified limit; no
# residual above this is certified.
_LARGEST_TOL = 1e-10
# |M| of a row may be above 1 by this much: rounding of the singular values.
_RATE_TOL = 1e-9


def direction_of_outputs(problem: OutputProblem, net: Network) -> Limit:
    """Polish the limit direction of a state whose margins are all positive, and say whether the flow ends there."""
    rows = rows_of(problem.boundaries, problem.X, net)
    number, shares, x = stand_ins(rows, net)
    margins = _margins(problem, tuple(rows[c].A for c in number), net.n_outputs)
    if len(x) + min(len(margins.sample), len(x)) > LARGEST:
        return _unpolished(problem, net, "the equations of the limit are too many to be set up")
    try:
        found = polish_margins(margins, x)
    except np.linalg.LinAlgError as error:
        return _unpolished(problem, net, f"the equations of the limit have no solution ({error})")
    if found is None:
        return _unpolished(problem, net, "the max-margin problem in the last pattern has no solution that was found")
    end = _network(rows, [number[k] for k in found.kept], [shares[k] for k in found.kept], margins, found, net)
    return _judged(problem, net, end, margins, found)


def _margins(problem: OutputProblem, maps: tuple[FloatArray, ...], n_outputs: int) -> Margins:
    """Every pair of a sample that counts and a class that is not its own."""
    counted = np.flatnonzero(problem.counts > 0)
    own = problem.targets.argmax(axis=1)
    sample, other = np.repeat(counted, n_outputs), np.tile(np.arange(n_outputs), len(counted))
    is_pair = other != own[sample]
    return Margins(maps, sample[is_pair], own[sample[is_pair]], other[is_pair], n_outputs)


def _network(
    rows: list[Row],
    number: list[int],
    shares: list[FloatArray],
    margins: Margins,
    found: Polished,
    net: Network,
) -> Network:
    """Give the neurons of each row their shares in those that stand for them; the norm is 1."""
    W, a = np.zeros_like(net.W), np.zeros_like(net.a)
    kept = Margins(tuple(rows[c].A for c in number), margins.sample, margins.own, margins.other, margins.n_outputs)
    for c, share, (q, out) in zip(number, shares, kept.split(found.x / np.linalg.norm(found.x)), strict=True):
        W[rows[c].members] += share[:, None] * (rows[c].Q @ q)
        a[rows[c].members] += share[:, None] * out
    size = float(np.hypot(np.linalg.norm(W), np.linalg.norm(a)))
    return net._with(W / size, a / size, net.pattern)


# --- the certificate, from the network and λ alone ---


@dataclass(frozen=True)
class _Checked:
    residuals: Residuals
    repels: tuple[int, ...]


def _check(problem: OutputProblem, net: Network, lam: FloatArray, values: FloatArray, mu: FloatArray) -> _Checked:
    """Check a network of norm 1 and multipliers of margins of at least 1; `values` are its margins, scaled so."""
    gaps, excess, repels = [0.0], 0.0, []
    for j in np.flatnonzero(net.W.any(axis=1) | net.a.any(axis=1)):
        assert net.pattern is not None  # for the type checker
        pull = _pull(problem.boundaries, problem.X, net, lam @ net.a[j], net.pattern[j])
        z = problem.X @ net.W[j]
        gaps.append(float(np.linalg.norm(net.W[j] - pull.w)))
        gaps.append(float(np.linalg.norm(net.a[j] - lam.T @ np.maximum(z, net.leak * z))))
        size = float(np.hypot(np.linalg.norm(net.W[j]), np.linalg.norm(net.a[j])))
        excess = max(excess, pull.excess / size)
        if pull.slack == -np.inf:
            repels.append(int(j))
    total = float(mu.sum())
    return _Checked(
        Residuals(
            stationarity=float(np.linalg.norm(gaps)),
            complementarity=float((np.abs(mu) * np.abs(values - 1.0)).max() / total),
            primal=max(0.0, float((1.0 - values).max())),
            sign=max(0.0, float(-mu.min()) / total, excess, _violation(problem.X, net)),
        ),
        tuple(repels),
    )


def _judged(problem: OutputProblem, state: Network, net: Network, margins: Margins, found: Polished) -> Limit:
    """Judge the polished network: whether it is a KKT point, and whether the state goes there."""
    f, n = net(problem.X), len(problem.X)
    values = (f[margins.sample, margins.own] - f[margins.sample, margins.other]) * (2 * float(found.mu.sum()))
    lam = margins.duals(found.mu, n)
    checked = _check(problem, net, lam, values, found.mu)
    turn = float(2 * np.arcsin(min(1.0, 0.5 * float(np.linalg.norm(state.theta / state.norm - net.theta)))))
    reasons = _doubts(problem, state, checked, turn, _tolerance(problem, net, lam))
    notes = []
    if found.free_neurons:
        notes.append(
            f"the network is not unique (a continuum of dimension {found.free_neurons}): the margin and the "
            "multipliers are certified, and of the networks this is near to the flow's"
        )
    if found.free_duals:
        notes.append(f"the multipliers are not unique ({found.free_duals} free dimensions)")
    if not reasons:
        reasons, joining = _outside(problem, state, net, lam)
        if joining:
            notes.append(f"neurons will join rows of the limit, which does not change its function: {names(joining)}")
    split = float(np.linalg.norm(state.theta[np.asarray(~net.theta.any(axis=1))]) / state.norm) * turn
    return _limit(problem, net, lam, checked.residuals, (reasons, notes), found.free_neurons, (turn, split))


def _doubts(problem: OutputProblem, state: Network, checked: _Checked, turn: float, tolerance: float) -> list[str]:
    residuals, reasons = checked.residuals, []
    loss, enough = _loss(problem, state), float(problem.counts[problem.counts > 0].min()) * np.log(2.0)
    if not loss < enough:
        reasons.append(f"the late phase is not reached: the loss is {loss:.3g}, not below {enough:.3g}")
    if not turn <= MAX_TURN:
        reasons.append(f"the state still turns a lot, {turn:.2g} rad to the limit of its pattern: integrate further")
    if not residuals.sign <= CERTIFIED_TOL:
        reasons.append(f"the limit of the last pattern violates its signs by {residuals.sign:.2g}: events are to come")
    if checked.repels:
        reasons.append(
            f"neurons stay on boundaries that repel, and whether they can is not checked: {names(checked.repels)}"
        )
    others = (residuals.stationarity, residuals.complementarity, residuals.primal)
    if not reasons and not max(others) <= tolerance:
        reasons.append(f"the largest residual is {max(others):.2g}")
    return reasons


def _loss(problem: OutputProblem, net: Network) -> float:
    f = net(problem.X)
    return float(problem.counts @ (logsumexp(f, axis=1) - (problem.targets * f).sum(axis=1)))


def _tolerance(problem: OutputProblem, net: Network, lam: FloatArray) -> float:
    """Return what rounding may leave of Mᵀa and of margins, whose terms cancel."""
    total = float(np.linalg.norm(lam, axis=1) @ np.linalg.norm(problem.X, axis=1))
    return min(max(CERTIFIED_TOL, float(np.finfo(np.float64).eps) * max(1.0, total) ** 2), _LARGEST_TOL)


def _outside(problem: OutputProblem, state: Network, net: Network, lam: FloatArray) -> tuple[list[str], list[int]]:
    """Follow each neuron under the multipliers of the limit to its end.

    Returns what speaks against the limit, and the neurons outside it that will join rows it has.
    """
    assert state.pattern is not None  # for the type checker
    found, live = problem.boundaries, np.asarray(net.theta.any(axis=1))
    follower = Follower(found, problem.X, lam, net.leak)
    sides = np.zeros((state.width, len(found.normal)))
    sides[:, found.boundary] = state.pattern * np.sign(found.reach)
    outgrow: list[int] = []
    start: list[int] = []
    join: list[int] = []
    undecided: list[int] = []
    for j in np.flatnonzero(state.W.any(axis=1) | state.a.any(axis=1)):
        end = follower.end(state.W[j], state.a[j], sides[j])
        if end.rate is None or (live[j] and not np.array_equal(end.sides, sides[j])):
            undecided.append(int(j))
        elif end.rate > 1 + _RATE_TOL:
            outgrow.append(int(j))
        elif end.rate >= 1 - _RATE_TOL and not live[j]:
            (join if (sides[live] == end.sides).all(axis=1).any() else start).append(int(j))
    reasons = []
    for numbers, what in ((outgrow, "outgrow it"), (start, "start new rows of it")):
        if numbers:
            reasons.append(f"neurons outside the limit will {what}: {names(numbers)}")
    if undecided:
        reasons.append(f"where neurons go under the multipliers of the limit is not decided: {names(undecided)}")
    return reasons, join


# --- what is returned ---


def _limit(
    problem: OutputProblem,
    net: Network,
    lam: FloatArray,
    residuals: Residuals,
    texts: tuple[list[str], list[str]],
    freedom: int,
    distances: tuple[float, float],
) -> Limit:
    reasons, notes = texts
    assert net.pattern is not None  # for the type checker
    moving = np.asarray(net.W.any(axis=1) & net.a.any(axis=1))
    held = np.argwhere((net.pattern == 0) & moving[:, None])
    support: IntArray = np.flatnonzero(lam.any(axis=1))
    for array in (support, held, lam):
        freeze(array)
    return Limit(
        kind="direction",
        network=net if residuals.sign <= CERTIFIED_TOL else net._with(net.W, net.a),
        margin=_margin(problem, net(problem.X)) / net.norm**2,
        duals=lam,
        support=support,
        held=held,
        residuals=residuals,
        certified=not reasons,
        reason="; ".join(reasons + notes),
        freedom=freedom,
        turn=distances[0],
        split_error=distances[1],
        gradient_norm=float("nan"),
    )


def _margin(problem: OutputProblem, f: FloatArray) -> float:
    """Return the least by which the output of a sample's class exceeds another one, over the samples that count."""
    own = (problem.targets * f).sum(axis=1, keepdims=True)
    return float(np.where(problem.targets == 1.0, np.inf, own - f)[problem.counts > 0].min())


def _unpolished(problem: OutputProblem, net: Network, reason: str) -> Limit:
    """Return the state's own direction, with multipliers in proportion to those of the flow."""
    f, counted = net(problem.X), problem.counts > 0
    with np.errstate(divide="ignore"):
        log_mu = np.where(problem.targets == 1.0, -np.inf, f) - logsumexp(f, axis=1, keepdims=True)
        log_mu = log_mu + np.log(problem.counts)[:, None]
    mu = np.exp(log_mu - log_mu[counted].max())
    margin = _margin(problem, f)
    total: npt.NDArray[np.float64] = mu.sum(axis=1, keepdims=True)
    scale = net.norm**2 / (2 * margin * float(total.sum()))  # Σ μ = ½ |θ|² of the margin 1
    lam = scale * (problem.targets * total - mu)
    nan = float("nan")
    directed = net._with(net.W / net.norm, net.a / net.norm, net.pattern)
    return _limit(problem, directed, lam, UNKNOWN, ([reason], []), 0, (nan, nan))
