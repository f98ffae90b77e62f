"""Ensembles and classes whose runs end with certified limits: each goes in legs, which the core does not batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event
from typing import Any

from ._batch import Launch
from ._ended import Run, ended
from ._one import Watching, integrate_one
from ._outsourced import Answer
from ._pooled import Reduce, Worker
from ._progress import Listeners, ManyProgress, Progress, Reporter
from ._solution import Solution
from ._to_limit import ended_as

INTERRUPTED, STOPPED = "interrupted", "stopped_by_callback"
_AT_ONCE = Listeners(False, lambda _: True, 0.0)


@dataclass(frozen=True)
class LimitTask:
    """One run of an ensemble; it travels to a worker."""

    index: int
    launch: Launch
    keep_steps: bool
    reduce: Reduce | None = None
    over: Event | None = None

    @property
    def indices(self) -> tuple[int, ...]:
        """The places of its runs."""
        return (self.index,)


def limit_tasks(launches: Sequence[Launch], keep_steps: bool) -> list[LimitTask]:
    """List the runs of an ensemble."""
    return [LimitTask(index, launch, keep_steps) for index, launch in enumerate(launches)]


def answer(task: LimitTask) -> Answer:
    """Do one run on one thread, at the worker."""
    over = _never if task.over is None else task.over.is_set
    try:
        listening, watching = Listeners(False, lambda _: over()), Watching(None, 0.0, over, task.keep_steps)
        solution = _run(task.launch, 1, listening, watching)
    except Exception as error:  # it is this run's alone
        return Answer((Run(task.index, None, error),), 0, 0)
    if over() and solution.status == STOPPED:
        solution = ended_as(solution, INTERRUPTED, False, "the ensemble was ended")
    run = Run(task.index, solution, None) if task.reduce is None else ended(task.index, solution, task.reduce)
    return Answer((run,), solution.stats["steps"], len(solution.events))


def _run(launch: Launch, threads: int, listening: Listeners, watching: Watching | None = None) -> Solution:
    data, net, settings, told = launch
    return integrate_one(data, net, settings, threads, listening, watching, told=told)


def _never() -> bool:
    return False


def _ended(run: Run, reduce: Reduce | None) -> Run:
    outcome = run.value if run.error is None else run.error
    return ended(run.index, outcome, reduce) if isinstance(outcome, (Solution, Exception)) else run


WORKER = Worker(answer, _ended)


def classes_to_limit(launches: Sequence[Launch], n_threads: int, listening: Listeners) -> list[Solution]:
    """Run one class after the other; after Ctrl-C, or when the callback ends a run, the others end with a step."""
    reporter = Reporter(listening, lambda report: ManyProgress(total=len(launches), **report))
    found: list[Solution] = []
    try:
        for launch in launches:
            if found and found[-1].status in (INTERRUPTED, STOPPED):
                first = _run(launch, n_threads, _AT_ONCE)
                found.append(ended_as(first, found[-1].status, False, found[-1].message))
                continue
            hook = _of_class(reporter.hook, found)
            found.append(_run(launch, n_threads, Listeners(False, hook)))
    finally:
        reporter.close()
    return found


def _of_class(
    hook: Callable[[dict[str, Any]], object] | None, done: Sequence[Solution]
) -> Callable[[Progress], object] | None:
    if hook is None:
        return None
    before = [solution.stats for solution in done]

    def report(progress: Progress) -> object:
        return hook(
            {
                "done": len(before),
                "steps": progress.steps + sum(stats["steps"] for stats in before),
                "events": progress.events + sum(stats["n_events"] for stats in before),
                "seconds": progress.seconds + sum(stats["seconds"] for stats in before),
                "running": ((len(before), progress),),
            }
        )

    return report
