"""Ensembles of runs that the core does not batch: each run a task of a pool of threads, or of the caller's executor."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from dataclasses import replace
from threading import Event
from typing import Any, NamedTuple

from ._ended import Run
from ._outsourced import Answer, Outsourced
from ._progress import Listeners
from ._spread import check_executor

Reduce = Callable[[Any], Any]


class Worker(NamedTuple):
    """How a kind of task is done.

    A task is a dataclass with `index`, `indices`, `keep_steps`, `reduce` and `over`, an event that ends its run.
    """

    answer: Callable[[Any], Answer]
    ended: Callable[[Run, Reduce | None], Run]  # turns a branch point into an error, and reduces


class Pooled(Outsourced):
    """Runs on threads of this process, which `reduce` sees on the caller's thread."""

    def __init__(
        self, tasks: Sequence[Any], worker: Worker, threads: int, listening: Listeners, reduce: Reduce | None
    ) -> None:
        """Start no thread yet: the first tasks are submitted when the first run is asked for."""
        self._over = Event()
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="reluflow")
        self._worker, self._reduce = worker, reduce
        work = [replace(task, over=self._over) for task in tasks]
        super().__init__(self._pool, work, listening, len(tasks), worker.answer, window=2 * threads)

    def stop(self) -> None:
        """Begin no other run, and end those under way where their last step ended."""
        self._over.set()
        super().stop()

    def __iter__(self) -> Iterator[Run]:
        """Hand over each run when it has ended."""
        try:
            for run in super().__iter__():
                yield self._worker.ended(run, self._reduce)
        finally:
            self._over.set()
            self._pool.shutdown(wait=True, cancel_futures=True)


def run_tasks(
    tasks: Sequence[Any],
    worker: Worker,
    executor: Executor | None,
    threads: int,
    listening: Listeners,
    reduce: Reduce | None,
) -> Outsourced:
    """Give the tasks to the executor, or to threads of this process."""
    if executor is None:
        return Pooled(tasks, worker, threads, listening, reduce)
    there = [replace(task, reduce=reduce) for task in tasks]
    return Outsourced(check_executor(executor), there, listening, len(there), worker.answer)
