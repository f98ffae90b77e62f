"""Work on any executor of `concurrent.futures`: submitted in a bounded number of tasks, taken as they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from itertools import islice
from queue import Empty, SimpleQueue
from typing import Any

from .._validation import invalid

# Tasks submitted and not yet taken: enough for the workers of a large cluster, and few enough that the results which
# wait, and the copies of the data, have a bound.
WINDOW = 1024
_PATIENCE = 0.1  # seconds to wait for a result before a callback is called, and Ctrl-C is seen
_MOST_IN_TASK = 32
_TASKS = 512  # so many tasks at least, where there are so many runs: what a dead worker had under way is then little


def check_executor(executor: object) -> Executor:
    """Refuse what work cannot be submitted to; Dask's, MPI's and submitit's executors are of other classes."""
    if not callable(getattr(executor, "submit", None)):
        raise invalid("executor", "have a method submit, as concurrent.futures.Executor", type(executor).__name__)
    return executor  # type: ignore[return-value]


def task_size(chunk: int | None, total: int) -> int:
    """Return how many runs make one task: those asked for, or one while they are few."""
    return chunk if chunk is not None else min(_MOST_IN_TASK, max(1, total // _TASKS))


def chunks(indices: Sequence[int], size: int) -> Iterator[tuple[int, ...]]:
    """Cut a sequence into tuples of `size`."""
    left = iter(indices)
    while part := tuple(islice(left, size)):
        yield part


def as_ended(
    executor: Executor,
    tasks: Iterator[tuple[Callable[..., Any], Any]],
    turn: Callable[[], object],
    window: int = WINDOW,
) -> Iterator[tuple[Any, Future[Any]]]:
    """Submit ``function(task)`` for every (function, task), and yield each task with its future when it has ended.

    At most `window` tasks are submitted and not yet taken. `turn` is called on this thread about every 0.1 s; when it
    returns True, no more is submitted or handed over. What is left when the caller goes away is cancelled.
    """
    pending: dict[Future[Any], Any] = {}
    ended: SimpleQueue[Future[Any]] = SimpleQueue()
    try:
        while True:
            for function, task in islice(tasks, window - len(pending)):
                future = executor.submit(function, task)
                pending[future] = task
                future.add_done_callback(ended.put)
            if not pending:
                return
            for future in _taken(ended):
                yield pending.pop(future), future
            if turn():
                return
    finally:
        for future in pending:
            future.cancel()


def _taken(ended: SimpleQueue[Future[Any]]) -> list[Future[Any]]:
    """Wait a moment for futures that have ended.

    `concurrent.futures.wait` holds the locks of all futures for a moment. Ctrl-C in it left them locked, and the
    program waited for ever for a worker that could not hand over its result.
    """
    taken: list[Future[Any]] = []
    try:
        taken.append(ended.get(timeout=_PATIENCE))
        while True:
            taken.append(ended.get_nowait())
    except Empty:
        return taken
