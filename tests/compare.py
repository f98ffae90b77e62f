"""Compare two runs of the flow field by field, with messages that say where they part.

Events count by their net effect: several transitions of one pair within `NET` of each other are one, and
`die` is the same trajectory as `slide`. The order of events is binding up to ties.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from reluflow.kinks import RENAMED_KINDS

# Transitions of one pair closer than this count by their net effect.
NET = 1e-9
# Two events closer than this (relative) are a tie: no order between them.
TIE = 1e-11
SIGN_AFTER = {"up": 1, "down": -1, "slide": 0, "die": 0}


@dataclass(frozen=True)
class Event:
    t: float
    neuron: int
    sample: int
    kind: str

    def __str__(self) -> str:
        return f"{self.kind:<12} neuron {self.neuron:>3} sample {self.sample:>3} at t = {self.t!r}"


def sign_after(kind: str) -> int:
    """The sign of a pair after an event of this kind."""
    return SIGN_AFTER[kind.rsplit("_", 1)[-1]]


def from_table(t, neuron, sample, kind) -> list[Event]:
    """Events out of parallel columns, `branch` left out: it changes no pattern. Kinds may have their old names."""
    rows = zip(t, neuron, sample, map(str, kind), strict=True)
    return [Event(float(u), int(j), int(i), RENAMED_KINDS.get(k, k)) for u, j, i, k in rows if k != "branch"]


def from_solution(sol) -> list[Event]:
    """The events of a reluflow solution."""
    table = sol.events
    return from_table(table.t, table.neuron, table.sample, table.kind)


def replay(pattern: np.ndarray, events: Iterable[Event]) -> np.ndarray:
    """The pattern after the events."""
    out = np.array(pattern, dtype=int)
    for e in events:
        out[e.neuron, e.sample] = sign_after(e.kind)
    return out


def rest_as_death(pattern: np.ndarray, events: Iterable[Event]) -> list[Event]:
    """The same events, with `die` wherever the last active sample of a ReLU neuron leaves.

    Such a neuron rests on its boundary; a record that reads signs off its states may call that a crossing.
    """
    state = np.array(pattern, dtype=int)
    out = []
    for e in events:
        was = state[e.neuron, e.sample]
        state[e.neuron, e.sample] = sign_after(e.kind)
        at_rest = was == 1 and not np.any(state[e.neuron] == 1)
        out.append(replace(e, kind="die") if at_rest else e)
    return out


def net_events(pattern: np.ndarray, events: Iterable[Event]) -> list[Event]:
    """The events by net effect: (time, pair, new sign as a kind), sorted by time."""
    per_pair: dict[tuple[int, int], list[Event]] = {}
    for e in events:
        per_pair.setdefault((e.neuron, e.sample), []).append(e)
    out = []
    for (j, i), chain in per_pair.items():
        sign = int(pattern[j, i])
        while chain:
            head = chain[0]
            group = [e for e in chain if e.t - head.t <= NET * max(1.0, abs(head.t))]
            chain = chain[len(group) :]
            new = sign_after(group[-1].kind)
            started = any(e.kind.startswith("start") for e in group)
            if new != sign or started:
                out.append(Event(group[-1].t, j, i, net_kind(sign, new, started)))
            sign = new
    return sorted(out, key=lambda e: (e.t, e.neuron, e.sample))


def net_kind(old: int, new: int, started: bool) -> str:
    way = {1: "up", -1: "down", 0: "slide"}[new]
    if started:
        return f"start_{way}"
    if new == 0:
        return "slide"
    return f"{'leave' if old == 0 else 'cross'}_{way}"


def close(t: float, u: float, rtol: float) -> bool:
    return abs(t - u) <= rtol * max(abs(t), abs(u))


def difference(
    expected: Sequence[Event], found: Sequence[Event], pattern: np.ndarray, rtol: float = 1e-9
) -> str | None:
    """What is wrong with `found`, or None. Both start from `pattern`."""
    want, have = net_events(pattern, expected), net_events(pattern, found)
    return pair_difference(want, have, rtol) or order_difference(want, have)


def by_pair(events: Sequence[Event]) -> dict[tuple[int, int], list[Event]]:
    out: dict[tuple[int, int], list[Event]] = {}
    for e in events:
        out.setdefault((e.neuron, e.sample), []).append(e)
    return out


def pair_difference(want: Sequence[Event], have: Sequence[Event], rtol: float) -> str | None:
    """The earliest disagreement in the history of any pair."""
    wanted, had = by_pair(want), by_pair(have)
    faults: list[tuple[float, str]] = []
    for pair in sorted(set(wanted) | set(had)):
        left, right = wanted.get(pair, []), had.get(pair, [])
        for k in range(max(len(left), len(right))):
            e = left[k] if k < len(left) else None
            f = right[k] if k < len(right) else None
            if e is None or f is None or e.kind != f.kind or not close(e.t, f.t, rtol):
                faults.append((min(x.t for x in (e, f) if x is not None), describe(e, f)))
                break
    if not faults:
        return None
    when, text = min(faults)
    around = "\n".join(neighbours(want, have, when))
    return f"{len(faults)} pairs disagree ({len(want)} events expected, {len(have)} found); first:\n{text}\n{around}"


def describe(e: Event | None, f: Event | None) -> str:
    if e is None:
        return f"  not expected: {f}"
    if f is None:
        return f"  missing:      {e}"
    off = abs(e.t - f.t) / max(abs(e.t), abs(f.t), 1e-300)
    return f"  expected: {e}\n  found:    {f}\n  relative time error {off:.2e}"


def neighbours(want: Sequence[Event], have: Sequence[Event], when: float, k: int = 3) -> list[str]:
    out = []
    for name, events in (("expected", want), ("found", have)):
        near = [n for n, e in enumerate(events) if e.t <= when]
        middle = near[-1] if near else 0
        out.append(f"  {name} around it:")
        out += [f"    {e}" for e in events[max(0, middle - k) : middle + k + 1]]
    return out


def order_difference(want: Sequence[Event], have: Sequence[Event]) -> str | None:
    """Events that come in another order than expected, ties aside."""
    position: dict[tuple[int, int, int], float] = {}
    count: dict[tuple[int, int], int] = {}
    for e in have:
        k = count.get((e.neuron, e.sample), 0)
        count[e.neuron, e.sample] = k + 1
        position[e.neuron, e.sample, k] = e.t
    count.clear()
    latest: tuple[float, Event] | None = None
    done: list[tuple[float, Event]] = []
    for e in want:
        while done and not close(done[0][1].t, e.t, TIE):
            latest = max(filter(None, (latest, done.pop(0))), key=lambda x: x[0])
        k = count.get((e.neuron, e.sample), 0)
        count[e.neuron, e.sample] = k + 1
        now = position[e.neuron, e.sample, k]
        if latest is not None and now < latest[0]:
            return f"found after its turn:\n  {latest[1]}\n  must come before\n  {e}"
        done.append((now, e))
    return None


def assert_same_events(expected, found, pattern, rtol: float = 1e-9) -> None:
    fault = difference(expected, found, pattern, rtol)
    assert fault is None, fault


def state_error(W, a, W_ref, a_ref, floor: float = 0.0) -> np.ndarray:
    """|theta_j - reference| / |reference_j| for each neuron, shape (m,)."""
    off = np.sqrt(np.sum((np.asarray(W) - W_ref) ** 2, axis=-1) + (np.asarray(a) - a_ref) ** 2)
    size = np.sqrt(np.sum(np.square(W_ref), axis=-1) + np.square(a_ref))
    return np.where(off == 0, 0.0, off / np.maximum(size, max(floor, np.finfo(float).tiny)))


def assert_same_state(W, a, W_ref, a_ref, rtol: float, where: str) -> None:
    error = state_error(W, a, np.asarray(W_ref), np.asarray(a_ref))
    worst = int(np.argmax(error))
    assert np.all(error <= rtol), (
        f"state {where}: neuron {worst} is off by {error[worst]:.2e} of its norm (allowed {rtol:.0e})\n"
        f"  expected w = {np.asarray(W_ref)[worst]}, a = {np.asarray(a_ref)[worst]!r}\n"
        f"  found    w = {np.asarray(W)[worst]}, a = {np.asarray(a)[worst]!r}"
    )
