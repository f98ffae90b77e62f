"""Many runs in one call of the core: each on one thread, handed over as they end."""

from __future__ import annotations

import ctypes
import os
import weakref
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .. import _core
from ..datasets import Dataset
from ..losses import core_weights
from ..networks import Network
from ._arguments import core_options
from ._outcome import solution_of
from ._progress import Listeners, ManyProgress, Reporter
from ._scale import hold
from ._settings import Settings
from ._solution import Solution


class Launch(NamedTuple):
    """A run to be done. All runs of a batch have one loss and reduction."""

    data: Dataset
    net: Network
    settings: Settings
    told: Mapping[str, Any] = {}  # of the run that led to its start, as `told_of` says


# The batches of this process, for `_abandon`.
_alive: weakref.WeakSet[Batch] = weakref.WeakSet()


def _abandon() -> None:
    """Keep the batches of the parent for ever in a forked child, where their threads are not.

    Their destructor would wait for these threads. A reference that nobody gives back prevents it, at the end of the
    interpreter too.
    """
    for batch in list(_alive):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(batch._core))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_abandon)


class Batch:
    """Runs under way; going through it gives (index, solution or the exception of that run).

    The core begins them in order and never has more than `n_threads` that nobody has taken. After a stop, those under
    way end where their last step did, and with `begin_all` those not yet begun end at their start.
    """

    def __init__(
        self,
        launches: Sequence[Launch],
        n_threads: int,
        listening: Listeners,
        *,
        keep_steps: bool = True,
        begin_all: bool = False,
    ) -> None:
        """Start the threads."""
        self._launches = launches
        self._reporter = Reporter(listening, lambda report: ManyProgress._from_core(report, len(launches)))
        datasets = {id(launch.data): launch.data for launch in launches}
        place = {key: index for index, key in enumerate(datasets)}
        extra = {"n_threads": 1} | ({} if keep_steps else {"checkpoint_bytes": 0})
        jobs = [_job(launch, place[id(launch.data)], extra) for launch in launches]
        first = launches[0].settings
        self._core = _core.Batch(
            [(data.X, data.y, core_weights(data, first.reduction)) for data in datasets.values()],
            jobs,
            first.loss,
            first.reduction,
            n_threads,
            begin_all,
            self._reporter.hook,
        )
        self._process = os.getpid()
        _alive.add(self)

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the batch."""
        return bool(self._here().interrupted)

    def stop(self) -> None:
        """Ask the runs under way to end where their last step did."""
        self._here().stop()

    def _here(self) -> Any:
        """Return the batch of the core; a forked child has none, for threads are not forked."""
        if self._process != os.getpid():
            raise RuntimeError("these runs belong to the process that began them: a forked child begins its own")
        return self._core

    def __iter__(self) -> Iterator[tuple[int, Solution | Exception]]:
        """Hand over each run when it has ended."""
        try:
            while (taken := self._here().next()) is not None:
                yield self._outcome(*taken)
        finally:
            self._reporter.close()

    def _outcome(
        self, index: int, raw: dict[str, Any] | None, error: Exception | None
    ) -> tuple[int, Solution | Exception]:
        if raw is None:
            assert error is not None  # for the type checker: the core gives one of the two
            return index, error
        launch = self._launches[index]
        return index, solution_of(raw, launch.data, launch.net, launch.settings)


def _job(launch: Launch, place: int, extra: dict[str, Any]) -> tuple[Any, ...]:
    """Return what the core is told of a run; a start beyond the digits of log t is held smaller, as by `integrate`."""
    data, net, settings, told = launch
    held = hold(net.W, net.a, settings.start_log_time)
    options = {**core_options(data, net, settings), **extra, **told, "exponent": held.exponent}
    return place, held.W, held.a, net.leak, options
