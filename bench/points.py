"""What is compared: a case is a problem with an end time; a point is one run of one method on it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from time import process_time
from typing import Any, TypeVar

import numpy as np

import problems
import reluflow as rf

T = TypeVar("T")
MAX_REPEATS = 5  # the fastest of so many is the least disturbed
REPEAT_SECONDS = 1.0  # no repeat begins after so many
MOST = 250.0  # times by which a batch grows at once, as that clock can even show none
SHORT = 0.05  # seconds: shorter runs are measured several at a time, as the clock of the processor can be coarse


@dataclass(frozen=True)
class Case:
    """A problem, its end time, Euler's steps from large to small, the peers, and the seconds that each run of one has.

    `peers` are labels of `peers.WAYS`.
    """

    name: str
    t: float
    steps: tuple[float, ...]
    peers: tuple[str, ...] = ()
    seconds: float = 5.0

    @property
    def title(self) -> str:
        return f"{self.name}, t = {self.t:g}"


@dataclass(frozen=True)
class Point:
    """One run of one method.

    `error` is |θ - θ_ref| / |θ_ref| at the end time, infinite where the run did not come there; `reached` is the time
    that it came to, and `ended` says why it ended. `n_events` is None for a method that locates none; `event_error` is
    the largest relative error of the times of its events, taken in order. `build` are the processor seconds spent
    before the first run, on compiling above all; they are not in `seconds`.
    """

    method: str
    setting: float
    error: float
    seconds: float
    n_steps: int
    reached: float
    n_events: int | None = None
    event_error: float | None = None
    build: float = 0.0
    ended: str = "finished"

    @property
    def finished(self) -> bool:
        return self.ended == "finished" and math.isfinite(self.error)

    def __str__(self) -> str:
        end = f"error {self.error:.1e}" if self.finished else f"{self.ended}, t = {self.reached:.3g}"
        events = "" if self.n_events is None else f", {self.n_events} events"
        return f"{self.method} {self.setting:g}: {end}{events}, {self.n_steps} steps, {self.seconds:.4g} s"

    def as_json(self) -> dict[str, Any]:
        """Plain values; an infinite error becomes None, as JSON has no infinity."""
        return {name: None if value == math.inf else value for name, value in asdict(self).items()}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Point:
        return cls(**{**values, "error": math.inf if values["error"] is None else values["error"]})


@dataclass(frozen=True)
class Target:
    """What a right answer is: the state at the end time, and the times of all events up to it in order."""

    W: np.ndarray
    a: np.ndarray
    event_t: np.ndarray

    @property
    def net(self) -> rf.Network:
        return rf.Network(self.W, self.a)


def start(name: str) -> tuple[rf.Dataset, rf.Network]:
    problem = problems.load(name)
    return rf.Dataset(problem.X, problem.y), rf.Network(problem.W, problem.a)


def stored(case: Case) -> Target:
    """The target of a case from the stored references (P4 has none)."""
    reference = problems.reference(case.name)
    W, a = reference.state(case.t)
    return Target(W, a, np.sort(reference.event_t[reference.event_t <= case.t]))


def event_error(found: np.ndarray, expected: np.ndarray) -> float:
    """Largest relative error of event times taken in order; infinite if there are more than expected."""
    if len(found) > len(expected):
        return math.inf
    if not len(found):
        return 0.0
    return float(np.max(np.abs(np.sort(found) / expected[: len(found)] - 1.0)))


def timed(
    run: Callable[[], T], *, max_repeats: int = MAX_REPEATS, max_seconds: float = REPEAT_SECONDS
) -> tuple[T, float]:
    """The result, and the processor seconds of the fastest repeat."""
    times: list[float] = []
    spent, batch = 0.0, 1
    while not times or (len(times) < max_repeats and spent < max_seconds):
        begin = process_time()
        for _ in range(batch):
            result = run()
        took = process_time() - begin
        spent += took
        if took < SHORT:  # too short to be told, even if an earlier one that warmed up was not
            times, batch = [], math.ceil(batch * min(MOST, 1.2 * SHORT / max(took, 1e-9)))
        else:
            times.append(took / batch)
    return result, min(times)
