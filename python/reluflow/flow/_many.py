"""`integrate_many`: an ensemble of runs on threads, handed over as they end."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy.typing as npt

from .._validation import instance, integer, invalid, one_of, optional_callable
from ..datasets import Dataset, MultiClassDataset
from ..datasets._arrays import is_arrays, name_of_targets, one_target_of
from ..datasets._dataset import one_target
from ..layered import DeepNetwork, DeepSolution
from ..losses import LossName, ReductionName, check_targets
from ..networks import Network
from ._arguments import Asked, Start, start_of, thread_count, told_of
from ._batch import Batch, Launch
from ._ended import Run, ended
from ._going_on import flow_of
from ._many_layers import WORKER as LAYERED
from ._many_layers import LayeredTask, layered_tasks, named, two_layer_tasks
from ._many_to_limit import WORKER as TO_LIMIT
from ._many_to_limit import limit_tasks
from ._outsourced import Outsourced, tasks_of
from ._pooled import run_tasks
from ._progress import Listeners, ManyCallback, listeners
from ._settings import Settings
from ._solution import Solution
from ._spread import check_executor, task_size
from ._stop import Stop
from ._two_layer_solution import TwoLayerSolution
from ._two_layers import is_of_layers, refuse_parts

KEEP = ("all", "final")
Reduce: TypeAlias = Callable[[Solution], Any]


class Runs(Iterator[Run]):
    """An ensemble under way: go through it once, in the order in which runs end or with `in_order`.

    The runs go on while you look at one, up to `n_threads` runs ahead of you; on an executor, up to 1024 tasks.

    Attributes
    ----------
    total : int
        Number of runs.
    """

    def __init__(self, source: Batch | Outsourced | None, total: int, reduce: Reduce | None) -> None:
        """Take what hands the runs over: a batch that has begun, or tasks for an executor, which reduces them."""
        self.total = total
        self._source = source
        self._left: Iterator[Run]
        if isinstance(source, Batch):
            self._left = (ended(index, outcome, reduce) for index, outcome in source)
        else:
            self._left = iter(()) if source is None else iter(source)

    def __repr__(self) -> str:
        """Say how many runs there are: going through them is what shows the rest."""
        return f"Runs({self.total} runs)"

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the ensemble: runs that had not begun are missing, those under way are cut short."""
        return self._source is not None and self._source.interrupted

    def __iter__(self) -> Runs:
        """Return itself."""
        return self

    def __next__(self) -> Run:
        """Wait for the next run to end."""
        return next(self._left)

    def in_order(self) -> Iterator[Run]:
        """Go through the runs in the order of `nets`; those that end early wait for the ones before them."""
        waiting: dict[int, Run] = {}
        due = 0
        for run in self:
            waiting[run.index] = run
            while due in waiting:
                yield waiting.pop(due)
                due += 1
        for index in sorted(waiting):  # after a stop some are missing
            yield waiting[index]

    def collect(self) -> list[Run]:
        """Wait for all runs and return them in the order of `nets`."""
        return list(self.in_order())

    def stop(self) -> None:
        """End the runs under way where their last step ended, and begin no other."""
        if self._source is not None:
            self._source.stop()


def integrate_many(
    data: Dataset | MultiClassDataset | tuple[npt.ArrayLike, npt.ArrayLike] | Sequence[Any],
    nets: Sequence[Network | Solution] | Sequence[Network | TwoLayerSolution] | Sequence[DeepNetwork | DeepSolution],
    *,
    until: Stop | float,
    n_threads: int | None = None,
    executor: Executor | None = None,
    chunk: int | None = None,
    keep: str = "all",
    reduce: Reduce | None = None,
    loss: LossName | Literal["cross_entropy"] | None = None,
    reduction: ReductionName | None = None,
    weight_decay: float | None = None,
    rtol: float | None = None,
    atol: float | None = None,
    save_at: npt.ArrayLike | None = None,
    save_at_log: npt.ArrayLike | None = None,
    save_at_log_norm: npt.ArrayLike | None = None,
    on_branch: str = "inactive",
    max_events: int | None = None,
    train: Literal["both", "first"] | None = None,
    rates: tuple[float, float] | None = None,
    progress: bool = False,
    callback: ManyCallback | None = None,
) -> Runs:
    """Integrate many networks, on one dataset or each on its own, and hand over each run as it ends.

    Each run is `integrate` on one thread, with the same bits whatever the number of threads.

    Parameters
    ----------
    data : Dataset or sequence of Dataset
        One for all networks, or one for each; also arrays (X, y) or (X, y, weights), or a list of them. For layered
        networks and several outputs also of the other kinds that `integrate` takes.
    nets : sequence of Network or Solution, or of DeepNetwork or DeepSolution
        The starts.
    until, loss, reduction, weight_decay, rtol, atol, save_at, save_at_log, save_at_log_norm, on_branch, max_events,
    train, rates
        As for `integrate`, the same for all runs.
    n_threads : int, optional
        Runs at a time, by default one for each core.
    executor : Executor, optional
        Where to run instead of threads here: any executor of the kind of `concurrent.futures`, such as that of a
        process pool, loky, MPI, submitit, or Dask's ``client.get_executor()``. What it is given must be picklable.
    chunk : int, optional
        Runs in one task of the executor; by default one, and more where there are thousands of runs.
    keep : {"all", "final"}, optional
        "final" keeps of each run its end and its events, not its steps; ``sol(t)`` then integrates again from the
        start.
    reduce : callable, optional
        Called with each Solution; the run's value is what it returns, and the Solution is dropped. It runs on the
        caller's thread, and with an executor at the worker.
    progress : bool, optional
        One live line for all runs.
    callback : callable, optional
        Called with a `ManyProgress` about every 0.1 s while the caller waits; all runs stop when it returns True.

    Returns
    -------
    Runs
        An iterator of `Run`, in the order in which they end; ``.in_order()`` and ``.collect()`` follow `nets`. At most
        `n_threads` runs wait to be taken, so that memory is bounded by what the caller keeps.

    Raises
    ------
    ValueError
        A bad argument; no run has begun then. What goes wrong in one run later, a `BranchingError` or an exception
        of `reduce`, is that run's ``error``, and the others go on.

    Notes
    -----
    After Ctrl-C the runs under way come with the status ``interrupted``, the others are missing, and
    ``runs.interrupted`` is True.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> nets = [rf.Network.init(10, 2, seed=seed) for seed in range(4)]
    >>> runs = rf.integrate_many(data, nets, until=100.0, reduce=lambda sol: len(sol.events))
    >>> [run.value for run in runs.collect()]
    [7, 5, 5, 6]
    """
    _check_where(n_threads, executor, chunk, reduce)
    keep_steps = one_of(keep, "keep", KEEP) == "all"
    threads, listening = thread_count(n_threads), listeners(progress, callback)
    size = None if chunk is None else integer(chunk, "chunk")
    starts = nets if isinstance(nets, Sequence) else [nets]
    options: dict[str, Any] = {
        **flow_of(starts, {"loss": loss, "reduction": reduction, "weight_decay": weight_decay}),
        "rtol": rtol,
        "atol": atol,
        "save_at": save_at,
        "save_at_log": save_at_log,
        "save_at_log_norm": save_at_log_norm,
        "on_branch": on_branch,
        "max_events": max_events,
    }
    work = _by_layers(data, nets, Stop.of(until), keep_steps, options, (train, rates))
    if work is not None:
        return Runs(run_tasks(work, LAYERED, executor, threads, listening, reduce), len(nets), reduce)
    launches = _launches(data, nets, Asked(until=until, **options))
    where = _Where(executor, size, threads, listening)
    return Runs(_begun(launches, where, keep_steps, reduce), len(launches), reduce)


class _Where(NamedTuple):
    """Where runs are done, and who hears of them."""

    executor: Executor | None
    chunk: int | None
    threads: int
    listening: Listeners


def _begun(launches: list[Launch], where: _Where, keep_steps: bool, reduce: Reduce | None) -> Batch | Outsourced | None:
    """Begin the runs: as a batch of the core, at an executor, or each in legs to its limit."""
    if not launches:
        return None
    executor, chunk, threads, listening = where
    if launches[0].settings.until.limit:
        return run_tasks(limit_tasks(launches, keep_steps), TO_LIMIT, executor, threads, listening, reduce)
    if executor is None:
        return Batch(launches, threads, listening, keep_steps=keep_steps)
    tasks = tasks_of(launches, task_size(chunk, len(launches)), keep_steps, reduce)
    return Outsourced(check_executor(executor), tasks, listening, len(launches))


def _check_where(n_threads: object, executor: object, chunk: object, reduce: object) -> None:
    """Refuse threads beside an executor, a chunk without one, and what cannot reduce."""
    if executor is not None and n_threads is not None:
        raise invalid("n_threads", "be left out where an executor is given", repr(n_threads))
    if chunk is not None and executor is None:
        raise invalid("chunk", "be left out without an executor", repr(chunk))
    optional_callable(reduce, "reduce")


def _by_layers(
    data: Any, nets: Any, until: Stop, keep_steps: bool, options: dict[str, Any], parts: tuple[Any, Any]
) -> list[LayeredTask] | None:
    """Return the runs of the layered core, or None for an ensemble of one output with both layers trained."""
    first = nets[0] if isinstance(nets, Sequence) and len(nets) else None
    train, rates = parts
    if is_of_layers(first, train, rates):
        return two_layer_tasks(data, nets, until, keep_steps, {**options, "train": train, "rates": rates})
    refuse_parts(train, rates)
    if isinstance(first, (DeepNetwork, DeepSolution)):
        return layered_tasks(data, nets, until, keep_steps, options)
    return None


def _launches(data: Any, nets: Any, asked: Asked) -> list[Launch]:
    if isinstance(nets, (Network, Solution)) or not isinstance(nets, Sequence):
        raise invalid("nets", "be a sequence of Networks or Solutions", f"a value of type {type(nets).__name__}")
    known: dict[tuple[float, float], Settings] = {}
    made: dict[tuple[int, int, float | None], Dataset] = {}  # arrays are checked and copied once, not for each run
    launches = []
    for index, (given, net) in enumerate(zip(_problems(data, len(nets)), nets, strict=True)):
        instance(net, f"nets[{index}]", (Network, Solution), "a Network or a Solution")
        with named(index):
            first = net.final if isinstance(net, Solution) else net
            key = id(given), first.dim, first.bias_input
            problem = made[key] = made.get(key) or one_target_of(given, first)
            start = start_of(problem, net)
            settings = known.get((start.t, start.log_t)) or asked.settings(start)
            check_targets(problem, settings.loss, name_of_targets(given))
        known[start.t, start.log_t] = settings
        launches.append(Launch(problem, start.net, settings, told_of(problem, net, settings)))
    if not launches:
        asked.settings(Start(Network([[1.0]], [1.0]), 0.0, float("-inf")))  # bad options speak even then
    return launches


def _problems(data: Any, count: int) -> Sequence[Any]:
    if isinstance(data, Dataset):
        return [one_target(data)] * count
    if is_arrays(data):
        return [data] * count
    if not isinstance(data, Sequence):
        raise invalid("data", "be a Dataset or a sequence of them", f"a value of type {type(data).__name__}")
    for index, problem in enumerate(data):
        if not is_arrays(problem):
            one_target(problem, f"data[{index}]")
    if len(data) != count:
        raise invalid("data", f"hold one Dataset for each of the {count} nets", f"{len(data)}")
    return data
