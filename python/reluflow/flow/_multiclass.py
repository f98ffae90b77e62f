"""The flows of K classes, each against the rest [WP, Sec. 2]: one run of the core, one solution."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from time import perf_counter
from typing import Any

import numpy as np

from .._digest import fingerprint_of
from .._validation import FloatArray, instance, invalid, shown
from ..datasets import MultiClassDataset
from ..networks import MultiClassNetwork
from ._arguments import Asked, start_of, told_of
from ._batch import Batch, Launch
from ._facts import end_of
from ._many_to_limit import classes_to_limit
from ._progress import Listeners
from ._settings import Settings
from ._solution import Solution
from ._writing import write_classes

MIXED = "mixed"  # the status of classes that did not all end in the same way
# Numbers of `Solution.stats` that add up over the classes.
_SUMS = (
    "steps",
    "orders",
    "late_steps",
    "carried_steps",
    "late_refused",
    "late_iterations",
    "rhs_equivalents",
    "event_sets",
)


@dataclass(frozen=True, eq=False, repr=False)
class MultiClassSolution:
    """What `integrate` returns for K classes: K solutions, one for each class against the rest.

    ``sol[k]`` is the `Solution` of class index k, ``sol["setosa"]`` that of a class by its name, ``sol.of(label)``
    that of any label, numbers too. What belongs to one flow is asked of these: ``sol[k].events``, ``sol[k].limit``,
    ``sol[k].explore()``.

    Attributes
    ----------
    data : MultiClassDataset
    solutions : tuple of Solution
        In the order of ``data.classes``.
    seconds : float
        Wall-clock time of all runs together.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.MultiClassDataset([[2.0, 0.1], [0.1, 2.0], [-1.0, -1.0]], ["red", "green", "blue"])
    >>> sol = rf.integrate(data, rf.Network.init(8, 2, classes=3, seed=1), until=1.0)
    >>> sol["red"].explore(None, n_times=5)
    Explorer(red against the rest, 8 neurons, 5 events, 6 times)
    """

    data: MultiClassDataset
    solutions: tuple[Solution, ...]
    seconds: float

    @property
    def K(self) -> int:
        """Number of classes."""
        return len(self.solutions)

    @property
    def classes(self) -> tuple[Any, ...]:
        """The user's value of each class index."""
        return self.data.classes

    def __len__(self) -> int:
        """Return K."""
        return self.K

    def __iter__(self) -> Iterator[Solution]:
        """Go through the solutions in the order of the classes."""
        return iter(self.solutions)

    def __getitem__(self, key: int | str) -> Solution:
        """Return the solution of a class index 0 ... K-1, or of a class whose label is a string.

        Raises
        ------
        ValueError
            There is no such class.
        """
        if isinstance(key, str):
            return self.of(key)
        if isinstance(key, (bool, np.bool_)) or not isinstance(key, (int, np.integer)) or not 0 <= key < self.K:
            raise invalid("k", f"be a class index 0 ... {self.K - 1} or a label that is a string", shown(key))
        return self.solutions[int(key)]

    def of(self, label: object) -> Solution:
        """Return the solution of a class by its label, one of `classes`.

        Raises
        ------
        ValueError
            There is no such class.

        Examples
        --------
        >>> import reluflow as rf
        >>> data = rf.datasets.MultiClassDataset([[2.0, 0.1], [0.1, 2.0], [-1.0, -1.0]], [3, 5, 8])
        >>> sol = rf.integrate(data, rf.Network.init(8, 2, classes=3, seed=1), until=rf.Stop(mean_loss=0.1))
        >>> sol.of(8) is sol[2]
        True
        """
        if isinstance(label, np.ndarray):  # to compare it with a class is no question of yes or no
            raise invalid("label", "be one of " + ", ".join(repr(known) for known in self.classes), "an array")
        for known, solution in zip(self.classes, self.solutions, strict=True):
            if type(known) is type(label) and known == label:
                return solution
        for known, solution in zip(self.classes, self.solutions, strict=True):
            if known == label:
                return solution
        raise invalid("label", "be one of " + ", ".join(repr(known) for known in self.classes), shown(label))

    # --- states ---

    @property
    def initial(self) -> MultiClassNetwork:
        """The networks at the start, with their patterns."""
        return MultiClassNetwork(solution.initial for solution in self.solutions)

    @property
    def final(self) -> MultiClassNetwork:
        """The networks at the end, each at its own last time, with their patterns."""
        return MultiClassNetwork(solution.final for solution in self.solutions)

    def __call__(self, t: float) -> MultiClassNetwork:
        """Return the networks at a time that every run covers.

        Raises
        ------
        ValueError
            t is outside one of the runs; the message names the range.
        """
        return MultiClassNetwork(solution(t) for solution in self.solutions)

    @property
    def t_end(self) -> FloatArray:
        """Time at which each run ended, shape (K,); inf where it overflows."""
        return np.array([solution.t_end for solution in self.solutions])

    @property
    def log_t_end(self) -> FloatArray:
        """Natural logarithms of the times at which the runs ended, shape (K,)."""
        return np.array([solution.log_t_end for solution in self.solutions])

    @property
    def log_loss_end(self) -> FloatArray:
        """Natural logarithm of the loss of each class at its end, shape (K,)."""
        return np.array([solution.log_loss_end for solution in self.solutions])

    # --- outcome ---

    @property
    def statuses(self) -> tuple[str, ...]:
        """Why each run ended, one word each."""
        return tuple(solution.status for solution in self.solutions)

    @property
    def status(self) -> str:
        """The status that all classes share, or else "mixed"."""
        found = set(self.statuses)
        return found.pop() if len(found) == 1 else MIXED

    @property
    def message(self) -> str:
        """Why the runs ended: one sentence if it is the same for all, else one for each class."""
        messages = [solution.message for solution in self.solutions]
        if len(set(messages)) == 1:
            return f"all {self.K} classes: {messages[0]}"
        return "; ".join(f"class {name!r}: {text}" for name, text in zip(self.classes, messages, strict=True))

    @property
    def success(self) -> bool:
        """Whether every run ended by a criterion of its Stop, or at rest."""
        return all(solution.success for solution in self.solutions)

    @property
    def branched(self) -> bool:
        """Whether a run ended at a branch point, as ``on_branch="raise"`` asks."""
        return any(solution.branched for solution in self.solutions)

    @property
    def stats(self) -> dict[str, Any]:
        """Work done by all classes: sums, ``seconds`` of wall-clock time, ``run_seconds`` the sum over the runs."""
        every = [solution.stats for solution in self.solutions]
        events: Counter[str] = Counter()
        for stats in every:
            events.update(stats["events"])
        return {
            **{name: sum(stats[name] for stats in every) for name in _SUMS},
            "events": dict(events),
            "n_events": sum(stats["n_events"] for stats in every),
            "run_seconds": sum(stats["seconds"] for stats in every),
            "seconds": self.seconds,
        }

    @property
    def settings(self) -> Settings:
        """The settings of class 0. The others differ from them in nothing but the start times of continued runs."""
        return self.solutions[0].settings

    @property
    def leak(self) -> float:
        """Slope of the activation on the negative side."""
        return self.solutions[0].leak

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return self.settings.loss

    @property
    def reduction(self) -> str:
        """``"sum"`` or ``"mean"``."""
        return self.settings.reduction

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of the runs: the same for the same runs, however long they took, in every process."""
        return fingerprint_of(self)

    # --- storage and text ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all solutions to one .npz file, whole or not at all; `reluflow.load` reads it back exactly.

        Raises
        ------
        ValueError
            The folder does not exist or cannot be written to; the message names the path.
        """
        write_classes(self, path)

    def summary(self) -> str:
        """Return a few lines of text: the outcome as a whole and of each class."""
        rows = [f"status      {self.status}: {self.message}", f"data        {self.data!r}"]
        for name, solution in zip(self.classes, self.solutions, strict=True):
            rows.append(
                f"class {name!r}: {solution.status} at t = {end_of(solution)}, log loss = {solution.log_loss_end:.8g}, "
                f"{len(solution.events)} events, {solution.stats['steps']} steps"
            )
        return "\n".join(rows)

    def __repr__(self) -> str:
        """One line: the outcome and the sizes."""
        n_events = sum(len(solution.events) for solution in self.solutions)
        return f"MultiClassSolution({self.status}, K={self.K}, {n_events} events, dim={self.data.d})"


def integrate_classes(
    data: MultiClassDataset, net: object, asked: Asked, n_threads: int, listening: Listeners
) -> MultiClassSolution:
    """Integrate the K flows, `n_threads` at a time; those that end with certified limits one after the other."""
    instance(net, "net", (MultiClassNetwork, MultiClassSolution), "a MultiClassNetwork or a MultiClassSolution")
    assert isinstance(net, (MultiClassNetwork, MultiClassSolution))  # for the type checker
    if len(net) != data.K:
        raise invalid("net", f"hold one network for each of the {data.K} classes", f"{len(net)}")
    launches = []
    for k in range(data.K):
        problem = data.binary(k)
        start = start_of(problem, net[k])
        settings = asked.settings(start)
        launches.append(Launch(problem, start.net, settings, told_of(problem, net[k], settings)))
    began = perf_counter()
    if launches[0].settings.until.limit:
        solutions = tuple(classes_to_limit(launches, n_threads, listening))
        return MultiClassSolution(data, solutions, perf_counter() - began)
    found: dict[int, Solution] = {}
    for k, outcome in Batch(launches, n_threads, listening, begin_all=True):
        if isinstance(outcome, Exception):
            raise outcome
        found[k] = outcome
    return MultiClassSolution(data, tuple(found[k] for k in range(data.K)), perf_counter() - began)
