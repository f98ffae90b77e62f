"""An ensemble of layered networks: each run a task of a pool of threads, or of the caller's executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Event
from typing import Any

from .._validation import instance, invalid
from ..layered import DeepNetwork, DeepSolution
from ..networks import Network
from ._ended import Run
from ._layers import LayeredRun
from ._outcome import BranchingError
from ._outsourced import Answer
from ._pooled import Worker
from ._stop import Stop
from ._two_layer_solution import TwoLayerSolution
from ._two_layers import TwoLayerRun, run_of

Reduce = Callable[[Any], Any]


@dataclass(frozen=True)
class LayeredTask:
    """One run of an ensemble; it travels to a worker."""

    index: int
    run: LayeredRun | TwoLayerRun
    keep_steps: bool = True
    reduce: Reduce | None = None
    over: Event | None = None

    @property
    def indices(self) -> tuple[int, ...]:
        """The places of its runs."""
        return (self.index,)


def layered_tasks(
    data: object, nets: Sequence[Any], until: Stop, keep_steps: bool, options: dict[str, Any]
) -> list[LayeredTask]:
    """Check everything that can be wrong before a run begins.

    Raises
    ------
    ValueError
        A bad argument; the message or its note names the run.
    """

    def made(problem: Any, net: Any) -> LayeredRun:
        run = LayeredRun.of(problem, net, until, options)
        run.check()
        return run

    kinds = (DeepNetwork, DeepSolution), "a DeepNetwork or a DeepSolution, as the first is"
    return _tasks(data, nets, kinds, made, keep_steps)


def two_layer_tasks(
    data: object, nets: Sequence[Any], until: Stop, keep_steps: bool, options: dict[str, Any]
) -> list[LayeredTask]:
    """Do the same for networks of two layers with several outputs, one part trained, or two rates.

    Raises
    ------
    ValueError
        A bad argument; the message or its note names the run.
    """
    kinds = (Network, TwoLayerSolution), "a Network or a TwoLayerSolution, as the first is"
    return _tasks(data, nets, kinds, lambda problem, net: run_of(problem, net, until, options), keep_steps)


def _tasks(
    data: object,
    nets: Sequence[Any],
    kinds: tuple[tuple[type, ...], str],
    made: Callable[[Any, Any], LayeredRun | TwoLayerRun],
    keep_steps: bool,
) -> list[LayeredTask]:
    tasks = []
    for index, (problem, net) in enumerate(zip(_problems(data, len(nets)), nets, strict=True)):
        instance(net, f"nets[{index}]", *kinds)
        with named(index):
            tasks.append(LayeredTask(index, made(problem, net), keep_steps))
    return tasks


@contextmanager
def named(index: int) -> Iterator[None]:
    """Note of an error which run it is about."""
    try:
        yield
    except ValueError as error:
        error.add_note(f"in run {index}")
        raise


def _problems(data: Any, count: int) -> Sequence[Any]:
    if not isinstance(data, list):
        return [data] * count
    if len(data) != count:
        raise invalid("data", f"be one for all nets, or a list with one for each of the {count}", f"{len(data)}")
    return data


def answer(task: LayeredTask) -> Answer:
    """Do one run, at the worker."""
    over = task.over
    try:
        solution = task.run.go(None if over is None else lambda _: over.is_set())
    except Exception as error:  # it is this run's alone
        return Answer((Run(task.index, None, error),), 0, 0)
    if not task.keep_steps:
        solution = solution._thinned()
    run = ended(Run(task.index, solution, None), task.reduce)
    return Answer((run,), solution.stats["steps"], len(solution.events))


def ended(run: Run, reduce: Reduce | None) -> Run:
    """Turn a branch point that was to be raised into an error, and reduce what is left; an exception is its error."""
    solution = run.value
    if isinstance(solution, (DeepSolution, TwoLayerSolution)) and solution.status == "branch":
        return Run(run.index, None, BranchingError(solution))
    if run.error is not None or reduce is None:
        return run
    try:
        return Run(run.index, reduce(solution), None)
    except Exception as error:
        return Run(run.index, None, error)


WORKER = Worker(answer, ended)
