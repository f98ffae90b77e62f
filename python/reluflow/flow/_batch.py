"""Many runs in one call of the core: each on one thread, handed over as they end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from .. import _core
from ..datasets import Dataset
from ..networks import Network
from ._arguments import core_options
from ._outcome import solution_of
from ._progress import Listeners, ManyProgress, Reporter
from ._settings import Settings
from ._solution import Solution


class Launch(NamedTuple):
    """A run to be done. All runs of a batch have one loss and reduction."""

    data: Dataset
    net: Network
    settings: Settings


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
        jobs = [
            (place[id(data)], net.W, net.a, net.leak, core_options(data, net, settings) | extra)
            for data, net, settings in launches
        ]
        first = launches[0].settings
        self._core = _core.Batch(
            [(data.X, data.y, data.weights) for data in datasets.values()],
            jobs,
            first.loss,
            first.reduction,
            n_threads,
            begin_all,
            self._reporter.hook,
        )

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the batch."""
        return bool(self._core.interrupted)

    def stop(self) -> None:
        """Ask the runs under way to end where their last step did."""
        self._core.stop()

    def __iter__(self) -> Iterator[tuple[int, Solution | Exception]]:
        """Hand over each run when it has ended."""
        try:
            while (taken := self._core.next()) is not None:
                yield self._outcome(*taken)
        finally:
            self._reporter.close()

    def _outcome(
        self, index: int, raw: dict[str, Any] | None, error: Exception | None
    ) -> tuple[int, Solution | Exception]:
        if raw is None:
            assert error is not None  # for the type checker: the core gives one of the two
            return index, error
        return index, solution_of(raw, *self._launches[index])
