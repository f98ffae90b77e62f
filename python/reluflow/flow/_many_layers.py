"""An ensemble of layered networks: each run a task of a pool of threads, or of the caller's executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

from .._validation import instance, invalid
from ..layered import DeepNetwork, DeepSolution
from ..layered._integrate import Layered, check_start, integrate_layers
from ._ended import Run
from ._layers import refuse
from ._outcome import BranchingError
from ._outsourced import Answer, Outsourced
from ._progress import Listeners
from ._spread import check_executor
from ._stop import Stop

Reduce = Callable[[Any], Any]


@dataclass(frozen=True)
class LayeredTask:
    """One run of an ensemble; it travels to a worker."""

    index: int
    data: Any
    net: DeepNetwork | DeepSolution
    asked: Layered
    keep_steps: bool = True
    reduce: Reduce | None = None
    over: Event | None = None

    @property
    def indices(self) -> tuple[int, ...]:
        """The places of its runs."""
        return (self.index,)


def layered_tasks(
    data: object, nets: Sequence[Any], until: Stop, atol: float | None, options: Any
) -> list[LayeredTask]:
    """Check everything that can be wrong before a run begins.

    Raises
    ------
    ValueError
        A bad argument; the message or its note names the run.
    """
    refuse(atol, None)
    asked = Layered(criteria=until.as_dict(), **options)
    tasks = []
    for index, (problem, net) in enumerate(zip(_problems(data, len(nets)), nets, strict=True)):
        instance(net, f"nets[{index}]", (DeepNetwork, DeepSolution), "a DeepNetwork or a DeepSolution, as the first is")
        try:
            check_start(problem, net, asked)
        except ValueError as error:
            error.add_note(f"in run {index}")
            raise
        tasks.append(LayeredTask(index, problem, net, asked))
    return tasks


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
        solution = integrate_layers(task.data, task.net, task.asked, None if over is None else lambda _: over.is_set())
    except Exception as error:  # it is this run's alone
        return Answer((Run(task.index, None, error),), 0, 0)
    if not task.keep_steps:
        solution = solution._thinned()
    run = ended(Run(task.index, solution, None), task.reduce)
    return Answer((run,), solution.stats["steps"], len(solution.events))


def ended(run: Run, reduce: Reduce | None) -> Run:
    """Turn a branch point that was to be raised into an error, and reduce what is left; an exception is its error."""
    solution = run.value
    if isinstance(solution, DeepSolution) and solution.status == "branch":
        return Run(run.index, None, BranchingError(solution))
    if run.error is not None or reduce is None:
        return run
    try:
        return Run(run.index, reduce(solution), None)
    except Exception as error:
        return Run(run.index, None, error)


class Pooled(Outsourced):
    """Runs on threads of this process, which `reduce` sees on the caller's thread."""

    def __init__(self, tasks: list[LayeredTask], threads: int, listening: Listeners, reduce: Reduce | None) -> None:
        self._over = Event()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="reluflow")
        self._reduce = reduce
        work = [replace(task, over=self._over) for task in tasks]
        super().__init__(self._pool, work, listening, len(tasks), answer, window=2 * threads)

    def stop(self) -> None:
        """Begin no other run, and end those under way where their last step ended."""
        self._over.set()
        super().stop()

    def __iter__(self) -> Iterator[Run]:
        """Hand over each run when it has ended."""
        try:
            for run in super().__iter__():
                yield ended(run, self._reduce)
        finally:
            self._over.set()
            self._pool.shutdown(wait=True, cancel_futures=True)


def run_tasks(
    tasks: list[LayeredTask],
    executor: Executor | None,
    threads: int,
    listening: Listeners,
    keep_steps: bool,
    reduce: Reduce | None,
) -> Outsourced:
    """Give the tasks to the executor, or to threads of this process."""
    work = [replace(task, keep_steps=keep_steps) for task in tasks]
    if executor is None:
        return Pooled(work, threads, listening, reduce)
    there = [replace(task, reduce=reduce) for task in work]
    return Outsourced(check_executor(executor), there, listening, len(there), answer)
