"""The runs of an ensemble on an executor: packed in tasks, each done as a batch of one thread at a worker."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from ._batch import Batch, Launch
from ._ended import Run, ended
from ._progress import Listeners, ManyProgress, Reporter
from ._solution import Solution
from ._spread import WINDOW, as_ended, chunks


@dataclass(frozen=True)
class Task:
    """Some runs of an ensemble; it travels to a worker."""

    indices: tuple[int, ...]
    launches: tuple[Launch, ...]
    keep_steps: bool
    reduce: Callable[[Solution], Any] | None


@dataclass(frozen=True)
class Answer:
    """What comes back: the runs, reduced, and the work done for them."""

    runs: tuple[Run, ...]
    steps: int
    events: int


def answer(task: Task) -> Answer:
    """Do the runs of a task, at the worker."""
    runs, steps, events = [], 0, 0
    for place, outcome in Batch(task.launches, 1, Listeners(False, None), keep_steps=task.keep_steps):
        if isinstance(outcome, Solution):
            steps += outcome.stats["steps"]
            events += len(outcome.events)
        runs.append(ended(task.indices[place], outcome, task.reduce))
    return Answer(tuple(runs), steps, events)


class Outsourced:
    """Runs on an executor; going through it gives each `Run` when its task has ended."""

    def __init__(
        self,
        executor: Executor,
        tasks: Sequence[Any],
        listening: Listeners,
        total: int,
        answer: Callable[[Any], Answer] = answer,
        window: int = WINDOW,
    ) -> None:
        """Take the tasks and who answers them; the first are submitted when the first run is asked for."""
        self._executor, self._tasks, self._total = executor, tasks, total
        self._answer, self._window = answer, window
        self._reporter = Reporter(listening, lambda report: ManyProgress(total=total, running=(), **report))
        self._done = self._steps = self._events = 0
        self._began = perf_counter()
        self._stopped = False
        self.interrupted = False

    def stop(self) -> None:
        """Begin no other task; those that nobody has begun are cancelled."""
        self._stopped = True

    def __iter__(self) -> Iterator[Run]:
        """Hand over each run when its task has ended; a worker's end, if the executor tells it, is the runs' error."""
        try:
            yield from self._runs()
        except KeyboardInterrupt:
            self.interrupted = True
        finally:
            self._reporter.close()

    def _runs(self) -> Iterator[Run]:
        work = ((self._answer, task) for task in self._tasks)
        for task, future in as_ended(self._executor, work, self._turn, self._window):
            failure = future.exception()
            if failure is None:
                found: Answer = future.result()
                self._steps += found.steps
                self._events += found.events
                runs = found.runs
            elif isinstance(failure, Exception):
                runs = tuple(Run(index, None, failure) for index in task.indices)
            else:
                raise failure
            for run in runs:
                self._done += 1
                yield run

    def _turn(self) -> bool:
        hook = self._reporter.hook
        if hook is not None:
            report = {"done": self._done, "steps": self._steps, "events": self._events}
            if hook({**report, "seconds": perf_counter() - self._began}):
                self.stop()
        return self._stopped


def tasks_of(
    launches: Sequence[Launch], size: int, keep_steps: bool, reduce: Callable[[Solution], Any] | None
) -> list[Task]:
    """Pack runs into tasks of one size."""
    parts = chunks(range(len(launches)), size)
    return [Task(part, tuple(launches[index] for index in part), keep_steps, reduce) for part in parts]
