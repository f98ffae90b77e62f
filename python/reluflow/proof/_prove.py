"""Proves a run: the solution is a guess, the proof is about the flow."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import _core
from .._validation import instance, invalid, real, real_array, shown
from ..flow import Solution
from ..flow._progress import listeners
from ..layered._refused import refuse_layers
from ..losses import is_of_margins
from ._progress import Heard
from ._proof import KIND_OF_CODE, KINDS, START_SIDES, Proof, ProvedEvents, State, kind_names
from ._start import exact_signs, first_undecided, leave_boundaries
from ._units import Units

# Times beyond it leave the doubles' range for rates; steps grow with log² t, so that nothing is lost below.
LATEST = 1e100
# The bounds are rounded up for sums of at most this many terms (docs/proof.md, "Arithmetic").
MOST_TERMS = 2**22
_ORDERS = 20  # products of series have fewer terms a neuron
# Ends of a proof that errors may have caused.
_DIGITS_HELP = frozenset(
    {
        "event_not_excluded",
        "not_transversal",
        "order_in_neuron",
        "tube",
        "sign_of_output",
        "multiplier",
        "release_slope",
        "dependent_boundaries",
    }
)


def prove(
    sol: Solution,
    until: float | None = None,
    *,
    at: Sequence[float] = (),
    digits: int | str = "auto",
    progress: bool = False,
    callback: Callable[[float, int, int], object] | None = None,
) -> Proof:
    """Prove the events of a run, that there are no others, and where the state is.

    The solution is a guess: a proof starts from the exact doubles of ``sol.initial``, takes the order of each neuron's
    events from ``sol.events`` and finds times and states itself. It is about the flow of these doubles in exact
    arithmetic, under Clarke's rule, and rests on this code and on IEEE doubles, not on the run. Where a strict
    inequality fails it stops and says which.

    Crossings, sliding, leaving (alone, or at the instant at which another boundary is reached) and neurons that come
    to rest are proved, for either loss, either reduction and every leak. Branches end the proof with the reason
    ``unsupported``, and samples of one boundary where they meet it.

    Parameters
    ----------
    sol : Solution
    until : float, optional
        The time to prove to; by default the end of the run, at most 1e100.
    at : sequence of float
        Times at which to keep an enclosure of the state.
    digits : {16, 32, "auto"}
        16: states and times are doubles. 32: they are sums of two, so that errors begin at 1e-31 instead of 1e-16, and
        a step ends at every event; a proof then gets further where errors grow, in tens of times the time. "auto":
        doubles, and if these do not get to the end everything again with 32 digits; what gets further is returned.
    progress : bool, optional
        Show a live line on the standard error once the proof has lasted two seconds.
    callback : callable, optional
        Called now and then with time, steps and events so far; a true result ends the proof.

    Returns
    -------
    Proof

    Raises
    ------
    ValueError
        Bad arguments, a solution that is not of two classes, or data too large for the bounds.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
    >>> sol = rf.integrate(data, rf.Network.init(4, 2, scale=1e-2, seed=1), until=10.0)
    >>> proof = rf.prove(sol, at=[10.0])
    >>> proof.status, len(proof.events) == len(sol.events)
    ('proved', True)
    >>> bool(proof(10.0).radius.max() < 1e-9)
    True
    """
    refuse_layers(sol, "sol", "the proofs are of such runs, with one output")
    instance(sol, "sol", Solution, "a reluflow.Solution")
    _check_problem(sol)
    if isinstance(digits, bool) or not isinstance(digits, (int, np.integer, str)) or digits not in (16, 32, "auto"):
        raise invalid("digits", "be 16, 32 or 'auto'", shown(digits))
    listening = listeners(progress, callback)
    start = real(sol.t_start, "sol.t_start")
    end = min(sol.t_end, LATEST) if until is None else real(until, "until")
    if not start <= end <= min(sol.t_end, LATEST):
        raise invalid("until", f"lie between {start!r} and {min(sol.t_end, LATEST)!r}", repr(end))
    times = sorted(real_array(at, "at", "(k,)").tolist())
    if times and not start <= times[0] <= times[-1] <= end:
        raise invalid("at", f"lie between {start!r} and {end!r}", repr(times[0] if times[0] < start else times[-1]))
    _check_sizes(sol)
    settings = {"until": end, "at": times, "only_states": False}
    given = (_problem(sol), _claims(sol), sol.pattern0)
    heard = Heard(listening, end, int((sol.events.t <= end).sum()))

    def found(digits: int) -> Proof:
        with heard.hook(digits) as hook:
            return _prove(*given, {**settings, "digits": digits}, hook)

    proof = found(32 if digits == 32 else 16)
    if digits == "auto" and proof.reason in _DIGITS_HELP:
        longer = found(32)
        return longer if longer.proved_until > proof.proved_until else proof
    return proof


def _check_problem(sol: Solution) -> None:
    if not is_of_margins(sol.loss):
        raise invalid("sol", "have the logistic or the exponential loss, whose bounds are proved", repr(sol.loss))
    if sol.data.weights is not None:
        raise invalid("sol", "have samples that count one each", "weights in its data")
    if sol.settings.weight_decay:
        raise invalid("sol", "be a run without weight decay", f"weight_decay={sol.settings.weight_decay!r}")


def _check_sizes(sol: Solution) -> None:
    largest = max(sol.data.X.size, sol.initial.a.size * _ORDERS)
    if largest > MOST_TERMS:
        raise invalid(
            "sol", f"have at most {MOST_TERMS} numbers in X and {MOST_TERMS // _ORDERS} neurons", str(largest)
        )


def _problem(sol: Solution) -> dict[str, Any]:
    """Return what the proof is about: the exact doubles of data and start."""
    return {
        "X": np.array(sol.data.X, np.float64, order="C"),
        "y": np.array(sol.data.y, np.float64),
        "leak": float(sol.leak),
        "loss": sol.loss,
        "mean": sol.reduction == "mean",
        "t": float(sol.t_start),
        "W": np.array(sol.initial.W, np.float64, order="C"),
        "a": np.array(sol.initial.a, np.float64),
    }


def _claims(sol: Solution) -> dict[str, Any]:
    events = sol.events
    return {
        "t": np.array(events.t, np.float64),
        "neuron": np.array(events.neuron, np.int32),
        "sample": np.array(events.sample, np.int32),
        "kind": KIND_OF_CODE[events.code],
    }


def _prove(
    problem: dict[str, Any],
    claims: dict[str, Any],
    pattern: np.ndarray,
    settings: dict[str, Any],
    report: Callable[[dict[str, Any]], object] | None = None,
) -> Proof:
    """Prove from a problem and claims; `settings` go to the core, those of the tests too."""
    started = _start(problem, claims, pattern)
    if isinstance(started, tuple):
        return _refused(problem, claims, settings, *started)
    units = Units.of(problem, settings["until"], LATEST)
    given = {**units.problem(problem), **started}
    later = claims["kind"] <= len(KINDS)
    columns = tuple(np.ascontiguousarray(claims[name][later]) for name in ("t", "neuron", "sample", "kind"))
    columns = (units.time(columns[0]), *columns[1:])
    own = {**settings, "until": units.time(settings["until"]), "at": [units.time(t) for t in settings["at"]]}

    def hook(now: tuple[float, int, int]) -> object:
        assert report is not None  # for the type checker
        return report({"t": units.back(now[0]), "steps": now[1], "events": now[2]})

    raw = units.result(_core.prove(given, columns, own, None if report is None else hook))

    def again(t: float) -> State:
        once = {**own, "at": [units.time(t)], "only_states": True}
        return _states(units.result(_core.prove(given, columns, once, None)), t)[0]

    reason = raw["reason"]
    return Proof(
        status="proved" if reason == "none" else "not_proved",
        proved_until=raw["proved_until"],
        reason=reason,
        neuron=raw["neuron"],
        sample=raw["sample"],
        t_reason=math.nan if reason == "none" else raw["t"],
        events=_events(raw["events"], raw["proved_until"]),
        states=_states(raw, raw["proved_until"]),
        bound=raw["bound"],
        steps=raw["steps"],
        digits=settings.get("digits", 16),
        problem=problem,
        claims=claims,
        _again=again,
    )


def _start(problem: dict[str, Any], claims: dict[str, Any], pattern: np.ndarray) -> dict[str, Any] | tuple[int, int]:
    """Return the signs just after the start and what leaves a boundary there, or the pair that is not decided."""
    signs = exact_signs(problem["W"], problem["X"])
    zero = (problem["a"] == 0.0) & ~problem["W"].any(axis=1)
    undecided = first_undecided(signs, pattern, zero)
    if undecided is not None:
        return undecided
    sides = dict(zip(range(len(KINDS) + 1, len(KINDS) + 4), START_SIDES.values(), strict=True))
    at_start = claims["kind"] > len(KINDS)
    starts = [
        (int(neuron), int(sample), sides[int(kind)])
        for neuron, sample, kind in zip(*(claims[name][at_start] for name in ("neuron", "sample", "kind")), strict=True)
    ]
    left = leave_boundaries(np.where(zero[:, None], -1, signs).astype(np.int8), starts)
    if not isinstance(left[0], np.ndarray):
        return left
    return {"signs": left[0], "starting": left[1]}


def _events(raw: dict[str, Any], proved_until: float) -> ProvedEvents:
    """Return the events up to the end of what is proved: past it one of the claims is wrong."""
    keep = raw["t_lo"] <= proved_until
    columns = {name: raw[name][keep] for name in ("t_lo", "t_hi", "t", "t_low", "t_radius", "margin")}
    pairs = {name: raw[name][keep].astype(np.int64) for name in ("neuron", "sample")}
    return ProvedEvents(**columns, **pairs, kind=kind_names(raw["kind"][keep]))


def _states(raw: dict[str, Any], proved_until: float) -> tuple[State, ...]:
    found = raw["states"]
    return tuple(
        State(float(t), *(np.array(found[name][k]) for name in ("W", "a", "radius", "W_low", "a_low")))
        for k, t in enumerate(found["t"])
        if t <= proved_until
    )


def _refused(
    problem: dict[str, Any], claims: dict[str, Any], settings: dict[str, Any], neuron: int, sample: int
) -> Proof:
    """Return what can be said of a start that is not decided: nothing."""
    times = {name: np.empty(0) for name in ("t_lo", "t_hi", "t", "t_low", "t_radius", "margin")}
    none = ProvedEvents(neuron=np.empty(0, int), sample=np.empty(0, int), kind=np.empty(0, "U1"), **times)
    return Proof(
        status="not_proved",
        proved_until=problem["t"],
        reason="start_on_boundary",
        neuron=neuron,
        sample=sample,
        t_reason=problem["t"],
        events=none,
        states=(),
        bound=0.0,
        steps=0,
        digits=settings.get("digits", 16),
        problem=problem,
        claims=claims,
    )
