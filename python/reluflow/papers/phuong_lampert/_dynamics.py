"""[PL] on the flow itself: its equations, balance, absorbing sectors and the two linear nets that it becomes."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from ..._validation import FloatArray
from ...analysis import sample
from ...datasets import Dataset, orthogonally_separable, wang_pilanci
from ...flow import Solution, Stop, integrate
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._early import WITH_ZERO, predicted_sector

BoolArray: TypeAlias = npt.NDArray[np.bool_]

_LATE = 50.0  # a log time at which every neuron has long chosen its sector
_STEP = 1e-3  # of the central difference that stands for the derivative


def _runs(context: Context) -> list[Solution]:
    """Integrate small starts on separable data, one with a sample that is orthogonal to the other class."""
    n_draws = context.pick(3, 30)
    draws = [orthogonally_separable(20, 4, seed=context.seed + k) for k in range(n_draws)]
    draws += [wang_pilanci("obtuse"), WITH_ZERO]
    nets = [Network.init(15, data.d, scale=1e-2, seed=context.seed + k) for k, data in enumerate(draws)]
    return [integrate(data, net, until=Stop(log_time=_LATE)) for data, net in zip(draws, nets, strict=True)]


def _absorbing(context: Context) -> Outcome:
    """Replay every event: none after a neuron has entered its extremal sector, none that leaves an own sample."""
    runs = _runs(context)
    leaving = lost = entered = 0
    falling = other = 0.0
    for sol in runs:
        counted = _replay(sol)
        leaving, lost, entered = leaving + counted[0], lost + counted[1], entered + counted[2]
        falling = max(falling, _largest_fall(sol))
        other = max(other, _largest_fall(sol, of_other=True))
    numbers = (
        Number(
            "events of neurons that are in their extremal sector already; control: of all neurons",
            leaving,
            0,
            control=sum(len(sol.events) for sol in runs),
        ),
        Number(
            "events by which a neuron leaves a sample of its own class; control: of the other class",
            lost,
            0,
            control=sum(_left_behind(sol) for sol in runs),
        ),
        Number(
            "largest fall of w·x_k along the runs, relative to |w||x_k|; control: on samples of the other class",
            falling,
            0.0,
            1e-9,
            "at_most",
            control=other,
        ),
        Number("neurons in an extremal sector at the end", entered, 1, relation="at_least", source="exact"),
    )
    n_events = sum(len(sol.events) for sol in runs)
    ran = f"{len(runs)} runs with 15 neurons on separable data to log t = {_LATE:g}; {n_events:,} events, one by one."
    return Outcome(ran, numbers)


def _replay(sol: Solution) -> tuple[int, int, int]:
    """Return the numbers of events that leave an extremal sector, that leave an own sample, and of neurons in one."""
    signs = np.array(sol.pattern0)
    side = np.sign(sol.initial.a)
    goal = np.where(side[:, None] > 0, predicted_sector(sol.data, 1), predicted_sector(sol.data, -1))
    own = np.equal.outer(side, sol.data.y)
    leaving = lost = 0
    for tie in np.unique(sol.events.tie):
        rows = np.flatnonzero(sol.events.tie == tie)
        before = signs.copy()
        sol.events.apply(signs, int(rows[0]), int(rows[-1]) + 1)
        changed = (before != signs).any(axis=1)
        leaving += int((changed & (before == goal).all(axis=1)).sum())
        lost += int(((before > 0) & (signs <= 0) & own).sum())
    return leaving, lost, int((signs == goal).all(axis=1).sum())


def _left_behind(sol: Solution) -> int:
    """Return how many events take a neuron off a sample of the other class."""
    own = np.equal.outer(np.sign(sol.initial.a), sol.data.y)
    return sum(event.kind in ("cross_down", "slide") and not own[event.neuron, event.sample] for event in sol.events)


def _largest_fall(sol: Solution, *, of_other: bool = False) -> float:
    """Return the largest relative fall of w_j·x_k from one time to the next, over own samples once they are active.

    Or over those of the other class.
    """
    run = sample(sol, 200)
    z = run.W @ sol.data.X.T
    own = np.equal.outer(np.sign(sol.initial.a), sol.data.y)
    size = np.linalg.norm(run.W, axis=2)[:-1, :, None] * np.linalg.norm(sol.data.X, axis=1)
    fall = np.where((own != of_other) & (z[:-1] > 0), (z[:-1] - z[1:]) / size, 0.0)
    return float(np.maximum(fall, 0.0).max())


def _equations(context: Context) -> Outcome:
    """Compare the derivative of the flow with (45) and (46), while pairs are held on their boundaries."""
    rng = np.random.default_rng(context.seed)
    error_a = error_w = plain = straight = 0.0
    held = looked = 0
    for k in range(context.pick(3, 20)):
        data = Dataset(rng.standard_normal((12, 4)), rng.choice([-1.0, 1.0], 12))
        sol = integrate(data, Network.init(10, 4, scale=0.3, seed=context.seed + k), until=8.0, rtol=1e-12)
        for t in np.linspace(0.5, 7.5, 12):
            if (np.abs(sol.events.t - t) <= _STEP).any():
                continue
            here = sol(float(t))
            da, dw = _right_side(here, data)
            assert here.pattern is not None  # networks of a solution carry their pattern
            ahead, behind = sol(float(t) + _STEP), sol(float(t) - _STEP)
            scale = float(np.abs(dw).max())
            error_a = max(error_a, float(np.abs((ahead.a - behind.a) / (2 * _STEP) - da).max()) / scale)
            error_w = max(error_w, float(np.abs((ahead.W - behind.W) / (2 * _STEP) - dw).max()) / scale)
            dual = data.y / (1.0 + np.exp(data.y * here(data.X)))
            linear = (here.W @ data.X.T) @ dual
            straight = max(straight, float(np.abs((ahead.a - behind.a) / (2 * _STEP) - linear).max()) / scale)
            plain = max(plain, _unprojected(here, data, ahead, behind) / scale)
            held += int((here.pattern == 0).sum())
            looked += 1
    numbers = (
        Number("largest relative error of (45) for a; control: w·x for (w·x)₊", error_a, 0.0, 1e-5, control=straight),
        Number("largest relative error of (46) for w; control: without P_w", error_w, 0.0, 1e-5, control=plain),
        Number("held pairs at the times looked at", held, 1, relation="at_least", source="exact"),
        Number("times looked at", looked),
    )
    ran = "12 random samples in 4 dimensions with random labels, 10 neurons, rtol 1e-12; central differences."
    note = (
        "Where w_j is held on boundaries, P_w takes the samples of these boundaries out of the pull: the flow slides."
    )
    return Outcome(ran, numbers, note=note)


def _unprojected(here: Network, data: Dataset, ahead: Network, behind: Network) -> float:
    """Return the largest error of (46) without the projection P_w."""
    assert here.pattern is not None  # the caller's networks carry it
    dual = data.y / (1.0 + np.exp(data.y * here(data.X)))
    dw = here.a[:, None] * (((here.pattern > 0) * dual) @ data.X)
    return float(np.abs((ahead.W - behind.W) / (2 * _STEP) - dw).max())


def _right_side(net: Network, data: Dataset) -> tuple[FloatArray, FloatArray]:
    """Return the right sides of (45) and (46), with the held pairs of the network's pattern."""
    assert net.pattern is not None  # the caller's networks carry it
    dual = data.y / (1.0 + np.exp(data.y * net(data.X)))  # -ℓ'_i of the logistic loss
    da = np.maximum(net.W @ data.X.T, 0.0) @ dual
    dw = net.a[:, None] * (((net.pattern > 0) * dual) @ data.X)
    for j, row in enumerate(net.pattern):
        held = data.X[row == 0]
        if len(held):
            dw[j] -= np.linalg.pinv(held) @ (held @ dw[j])
    return da, dw


def _balance(context: Context) -> Outcome:
    """Follow balanced runs: |a| = |w| with the sign of the start, and growth within the corrected bounds."""
    drift, flips, excess = 0.0, 0, -np.inf
    for sol in _runs(context):
        run = sample(sol, 200)
        size = np.linalg.norm(run.W, axis=2)
        drift = max(drift, float(np.abs(np.abs(run.a) / size - 1.0).max()))
        flips += int((np.sign(run.a) != np.sign(run.a[0])).sum())
        rate = sol.data.n * float(np.linalg.norm(sol.data.X, axis=1).max())  # n B V with B = sup|ℓ'| = 1
        growth = np.abs(np.log(run.a[1:] ** 2 / run.a[0] ** 2)).max(axis=1)
        excess = max(excess, float((growth - 2 * rate * run.t[1:]).max()))
    data = sol.data
    off = integrate(data, Network(sol.initial.W, 1.1 * sol.initial.a), until=Stop(log_time=3.0))
    free = float(np.abs(np.abs(off.a) / np.linalg.norm(off.W, axis=2) - 1.0).max())
    low = sample(integrate(data, Network(sol.initial.W, 0.1 * sol.initial.a), until=Stop(log_time=3.0)), 200)
    numbers = (
        Number(
            "largest relative difference of |a_j| and |w_j|; control: a start with 1.1", drift, 0.0, 1e-7, control=free
        ),
        Number(
            "changes of sign of an a_j; control: a start with 0.1",
            flips,
            0,
            control=int((np.sign(low.a) != np.sign(low.a[0])).sum()),
        ),
        Number("largest |log a²(t)/a²(0)| - 2nBVt", excess, 0.0, relation="at_most", source="exact"),
    )
    return Outcome(f"Balanced starts on separable data to log t = {_LATE:g}, 200 times each.", numbers)


def _growth_bound(context: Context) -> Outcome:
    """Let a large neuron shrink on one sample that it gets wrong, and compare with the printed rate."""
    data = Dataset([[1.0]], [-1])
    sol = integrate(data, Network([[3.0]], [3.0]), until=1.0)
    times = np.linspace(0.1, 1.0, 10)
    a = np.array([sol(float(t)).a[0] for t in times])
    fall = -np.log(a**2 / 9.0)
    numbers = (
        Number("a²(t) ≥ a²(0) e^(-nBVt) at all times looked at", bool((fall <= times).all()), True),
        Number("largest log(a²(0)/a²(t)) / (nBVt)", float((fall / times).max()), 1.0, relation="at_most"),
        Number("largest log(a²(0)/a²(t)) / (2nBVt)", float((fall / times).max()) / 2, 1.0, 0, "at_most", "exact"),
    )
    return Outcome("One sample x = 1 with y = -1, one neuron w = a = 3, t to 1 (n = B = V = 1).", numbers)


def _two_linear_nets(context: Context) -> Outcome:
    """Cut a run where all neurons have chosen, and integrate the two halves on the two classes alone."""
    worst, mixed, on_other, at_first = 0.0, 0.0, 0, 0
    n_draws = context.pick(3, 30)
    for k in range(n_draws):
        data = orthogonally_separable(20, 4, seed=context.seed + k)
        sol = integrate(data, Network.init(15, 4, scale=1e-2, seed=context.seed + k), until=Stop(log_time=12.0))
        begin = max(float(sol.events.t[-1]) * 1.01, 1.0)
        middle = sol(begin)
        for sign in (1.0, -1.0):
            chosen = _living(middle, data, sign)
            early = np.sign(sol.initial.a) == sign
            at_first += int((sol.initial.W[early] @ data.X[data.y != sign].T > 1e-12).sum())
            on_other += int((middle.W[chosen] @ data.X[data.y != sign].T > 1e-12).sum())
            worst = max(worst, _difference(sol, middle, begin, chosen, sign))
            mixed = max(mixed, _difference(sol, middle, begin, chosen, -sign))
    numbers = (
        Number(
            "largest relative difference of the half run alone; control: on the other class",
            worst,
            0.0,
            1e-7,
            control=mixed,
        ),
        Number(
            "pairs of a living neuron and an active sample of the other class; control: at the start",
            on_other,
            0,
            control=at_first,
        ),
    )
    ran = (
        f"{n_draws} separable data sets (n = 20, d = 4), 15 neurons, cut after the last event and run on to log t = 12."
    )
    return Outcome(ran, numbers)


def _living(net: Network, data: Dataset, sign: float) -> BoolArray:
    assert net.pattern is not None  # the caller's networks carry it
    return np.asarray((net.pattern > 0).any(axis=1) & (np.sign(net.a) == sign))


def _difference(sol: Solution, middle: Network, begin: float, chosen: BoolArray, sign: float) -> float:
    """Return how far the neurons of one class, alone on its samples, end from where the whole run takes them."""
    if not chosen.any():
        return 0.0
    rows = sol.data.y == sign
    part = Dataset(sol.data.X[rows], sol.data.y[rows])
    alone = integrate(part, Network(middle.W[chosen], middle.a[chosen]), until=sol.t_end - begin).final
    whole = sol.final.W[chosen]
    return float(np.linalg.norm(alone.W - whole) / np.linalg.norm(whole))


CLAIMS = (
    Claim(
        "PL-L3",
        "PL",
        "Lemma 3 and Lemma B.1",
        "Extremal sectors absorb",
        "A neuron that is in the extremal sector of its sign stays there for ever. A positive neuron that is active on"
        " a positive sample stays so, with w·x_k that never falls; a negative neuron likewise on a negative sample.",
        ("B-004-L3", "B-004-B.1"),
        _absorbing,
    ),
    Claim(
        "PL-LA3",
        "PL",
        "Lemma A.3",
        "The equations of the flow",
        "For samples in general position a' = -Σ ℓ'_i (w·x_i)₊ and w' = -Σ ℓ'_i 1[w·x_i > 0] a P_w x_i, with P_w the"
        " projection off the samples on whose boundaries w lies.",
        ("B-004-A3",),
        _equations,
    ),
    Claim(
        "PL-LA4",
        "PL",
        "Lemma A.4",
        "Balance and signs are kept",
        "From a balanced start a_j(t) = sign a_j(0) |w_j(t)| for all times: no output weight changes its sign.",
        ("B-004-A4",),
        _balance,
    ),
    Claim(
        "PL-LA4x",
        "PL",
        "Lemma A.4, proof",
        "The rate of growth in the proof",
        "a_j² stays between a_j(0)² e^(-nBVt) and a_j(0)² e^(nBVt), with B a bound of |ℓ'| and V of |x_i|.",
        ("B-004-A4",),
        _growth_bound,
        "differs",
        "'|∂a_j²/∂t| ≤ nBa_j²V' (Lemma A.4, proof, after (58)). The derivative of a² is 2 a a', so |(log a²)'| ≤ "
        "2nBV; (58) leaves out the same factor 2 on its left. One neuron that is large and wrong on one sample has "
        "-ℓ' near 1 and shrinks at twice the printed rate. Corrected: the exponents are ±2nBVt. That a_j cannot "
        "reach 0 in finite time, which is all the lemma needs, remains true.",
    ),
    Claim(
        "PL-16",
        "PL",
        "Theorem 1, (15) and (16)",
        "Late, the network is two linear nets",
        "Once every neuron has chosen, the positive neurons move as a linear network on the positive samples alone,"
        " and the negative ones on the negative samples alone.",
        ("B-004-(16)",),
        _two_linear_nets,
    ),
)
