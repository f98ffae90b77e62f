"""`sweep`: run every point of a grid that is not finished yet, keep each as it ends, return all as one dataset."""

from __future__ import annotations

import inspect
import os
import signal
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .. import _core
from .._digest import build_digest, content_digest
from .._validation import integer, invalid, optional_module, truth
from ..datasets import MultiClassDataset
from ..datasets._arrays import dataset_of
from ..flow import Stop
from ..flow._arguments import Asked, start_of, thread_count
from ..flow._layers import LayeredRun
from ..flow._progress import Listeners, listeners
from ..flow._spread import as_ended, check_executor, task_size
from ..flow._two_layers import run_of
from ..layered import DeepNetwork
from ..layered._problem import ArrayData
from ..losses import LossName, ReductionName
from ..networks import Network
from ._grid import Grid, grid_of
from ._measures import CLASS, Measure, check_measure_of_outputs, dims_of, measure_of
from ._points import (
    DATA,
    ERROR,
    FLOW,
    START,
    Block,
    Data,
    Net,
    drawn,
    made,
    named_by,
    parameters_of,
    required_of,
    run_block,
)
from ._points import start_of as network_of
from ._progress import SweepProgress, Watch
from ._store import EXTRA, Store, open_store

if TYPE_CHECKING:
    import xarray as xr


def sweep(
    data: Data | ArrayData,
    *,
    grid: Mapping[str, Sequence[Any]],
    measure: Measure | str | Sequence[str],
    until: Stop | float | None = None,
    network: Net | None = None,
    width: int = 50,
    scale: float = 1e-3,
    balanced: bool = True,
    leak: float = 0.0,
    seed: int = 0,
    loss: LossName | Literal["cross_entropy"] = "logistic",
    reduction: ReductionName = "sum",
    weight_decay: float = 0.0,
    rtol: float = 1e-9,
    atol: float | None = None,
    on_branch: str = "inactive",
    max_events: int | None = None,
    executor: Executor | None = None,
    n_threads: int | None = None,
    chunk: int | None = None,
    store: str | os.PathLike[str] | None = None,
    resume: bool = True,
    progress: bool = False,
    callback: Callable[[SweepProgress], object] | None = None,
) -> xr.Dataset:
    """Integrate one flow for each point of a grid of parameters, from random starts, and measure each.

    Every point is ``integrate(data, Network.init(width, data.d, ...), ...)`` with the parameters of that point, on one
    thread: the same bits on every executor. Parameters and seeds travel to the workers, and numbers come back.

    Parameters
    ----------
    data : Dataset, MultiClassDataset, tuple of arrays or callable
        The data of all points, also as arrays (X, y) or (X, y, weights), as for `integrate`; or a function that makes
        those of a point, called at the worker with the parameters that it names: ``lambda n, seed: ...`` makes ``n`` a
        parameter of the grid.
    grid : mapping of str to sequence
        The values of each parameter that varies: any of `width` ... `max_events` below, and those of `data`.
    measure : callable, str or sequence of str
        What is kept of a run, done at the worker: a function of the `Solution` that returns a number, an array, or
        several of them by name; or names of numbers of `reluflow.analysis.summarise`, see `MEASURES` (with several
        outputs, or layers, `MEASURES_OF_OUTPUTS`). Of K classes, one against the rest, these have the dimension
        ``class``.
    until : Stop or float
        When each run stops; left out where `grid` has times of its own.
    network : callable, optional
        A function that makes the first network of a point, a `Network` or a `DeepNetwork`, called at the worker with
        the parameters that it names, among them ``data``, those of the point: ``lambda data, depth, seed: ...`` makes
        ``depth`` a parameter of the grid. `width` ... `seed` go to it where it names them, those of which it has
        a default of its own if they are given or in the grid.
    width, scale, balanced, leak, seed
        Of `Network.init`, for all points; left out where `grid` has them.
    loss, reduction, weight_decay, rtol, atol, on_branch, max_events
        Of `integrate`, for all points; left out where `grid` has them. `rtol` is 1e-9 here, to a limit too. Networks
        have an output for each target of the data, and with ``"cross_entropy"`` for each class.
    executor : Executor, optional
        Where to run instead of threads here: any executor of the kind of `concurrent.futures`, such as that of a
        process pool, loky, MPI, submitit, or Dask's ``client.get_executor()``.
    n_threads : int, optional
        Runs at a time without an executor, by default one for each core.
    chunk : int, optional
        Points of one task, along the last parameter of the grid: they are sent and stored together. By default one,
        and more where there are thousands of points. A store that is there keeps its own.
    store : path, optional
        A folder, in which the results are kept as they come: a Zarr group, named after the data, the grid, the
        measure, the settings and the build. Without it they are kept in memory. One process at a time should write:
        two do the same points twice.
    resume : bool, optional
        True: points that are finished in the store are not run again, those that ended with an error, or of which
        something is damaged, are. False: begin anew.
    progress : bool, optional
        Show a live line on the standard error, with the time left.
    callback : callable, optional
        Called with a `SweepProgress` about every 0.1 s; the sweep ends when it returns True, with the points so far.

    Returns
    -------
    xarray.Dataset
        What was measured over the grid, nan where there is nothing, with ``status`` (of the solution; ``"error"`` where
        a run or the measure raised; empty where it has not run), ``error`` (its text) and ``seconds``. After Ctrl-C it
        has the points so far, unless there is a store.

    Raises
    ------
    ValueError
        A bad argument, a damaged store that cannot go on, or with a store data or a measure that hold what has no
        content to read; no run has begun then. What goes wrong at a point later is its ``error``.
    ImportError
        xarray or zarr is not installed (extra ``sweep``).
    KeyboardInterrupt
        Ctrl-C, where there is a store: it has the finished points.
    Exception
        What the executor reports of a task that it lost; all others are finished and stored first, and the same call
        runs what is missing.

    Notes
    -----
    Of a measure, and of a function that makes data, count for the name of the store its code, the values that it reads
    from its module, and functions and classes there that it uses; of an object that is called its class and what it
    holds. What other modules hold does not count: after a change there, pass ``resume=False``. An attribute
    ``fingerprint`` of a function or an object counts in its place.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> grid = dict(scale=[1e-3, 1e-2], seed=range(3))
    >>> found = rf.sweep(data, grid=grid, measure="n_events", until=100.0, width=10)
    >>> found["n_events"].dims, found["n_events"].sel(scale=1e-3).to_numpy()
    (('scale', 'seed'), array([7., 5., 5.]))
    >>> set(found["status"].to_numpy().ravel().tolist())
    {'reached_time'}
    >>> def deep(data, depth, seed):
    ...     return rf.DeepNetwork.init([rf.Dense(6)] * depth + [rf.Dense(1)], dim=data.d, seed=seed)
    >>> rf.sweep(data, grid=dict(depth=[1, 2], seed=range(2)), network=deep, measure="norm", until=1.0)["norm"].shape
    (2, 2)
    """
    optional_module("xarray", EXTRA)
    fixed = {name: value for name, value in locals().items() if name in (*START, *FLOW)}
    plan = _plan(data, grid, measure, network, fixed)
    truth(resume, "resume")
    if executor is not None and n_threads is not None:
        raise invalid("n_threads", "be left out where an executor is given", repr(n_threads))
    size = task_size(None if chunk is None else integer(chunk, "chunk"), plan.grid.size)
    listening = listeners(progress, callback)
    threads = thread_count(n_threads)
    if executor is not None:
        check_executor(executor)
    key = plan.key_for(store)  # before the runs, for a measure may change what it reads
    kept = open_store(store, key, plan.grid, min(size, plan.grid.shape[-1]), resume, dims_of(plan.measure))
    try:
        _run_all(plan, kept, executor, threads, listening)
    except KeyboardInterrupt:
        if store is not None:  # nothing is lost, and the program may end
            raise
    found = kept.dataset({"reluflow": _core.__version__, "key": key, **plan.attrs})
    if isinstance(data, MultiClassDataset) and CLASS in found.dims:
        return found.assign_coords({CLASS: list(data.classes)})
    return found


@dataclass(frozen=True, eq=False)
class _Plan:
    """What a sweep is, checked: all that its results depend on."""

    data: Data
    grid: Grid
    measure: Measure
    network: Net | None
    fixed: dict[str, Any]

    @property
    def key(self) -> str:
        """The name of the store.

        Raises
        ------
        ValueError
            The data or the measure hold what has no content to read.
        """
        fixed = {name: str(value) if isinstance(value, Stop) else value for name, value in self.fixed.items()}
        axes = list(self.grid.axes.items())
        data, measure = _digest(self.data, "data"), _digest(self.measure, "measure")
        made = () if self.network is None else (_digest(self.network, "network"),)
        return content_digest(data, axes, measure, fixed, build_digest(), *made)

    def key_for(self, store: object) -> str:
        """Return the name in a store, or nothing where there is no content to read and no store that needs a name.

        Raises
        ------
        ValueError
            There is a store, and no name for it.
        """
        try:
            return self.key
        except ValueError:
            if store is not None:
                raise
            return ""

    @property
    def attrs(self) -> dict[str, Any]:
        """Settings that are the same at all points, as a netCDF file takes them."""
        left = {name: value for name, value in self.fixed.items() if name not in self.grid.names and value is not None}
        texts = {name: str(value) for name, value in left.items() if isinstance(value, (Stop, bool))}
        return {**left, **texts, "data": str(getattr(self.data, "name", "")) or type(self.data).__name__}

    def block(self, outer: tuple[int, ...], places: tuple[int, ...]) -> Block:
        points = tuple({**self.fixed, **self.grid.point((*outer, place))} for place in places)
        return Block(outer, places, points, self.data, self.network, self.measure, _core.__version__)


def _plan(data: Any, grid: object, measure: object, network: Net | None, fixed: dict[str, Any]) -> _Plan:
    """Check everything, and try the first point's data and start, so that a wrong setting speaks before any run."""
    if network is not None and not callable(network):
        found = f"a value of type {type(network).__name__}"
        raise invalid("network", "be a function that makes a Network or a DeepNetwork", found)
    start = START if network is None else tuple(name for name in named_by(network) if name != DATA)
    others = " and what the function given as network names" if callable(network) else ""
    points = grid_of(grid, tuple(dict.fromkeys((*start, *FLOW, *parameters_of(data)))), others)
    losses = points.axes.get("loss", [fixed["loss"]])
    data = dataset_of(data, losses=losses)
    fixed = fixed if network is None else _without_defaults(fixed, network)
    plan = _Plan(data, points, measure_of(measure), network, fixed)
    _check_no_contradiction(plan)
    first = {**fixed, **plan.grid.point((0,) * len(plan.grid.shape))}
    asked_for = required_of(data) if network is None else (*required_of(data), *named_by(network, required=True))
    absent = [name for name in asked_for if name not in first and name != DATA]
    if absent:
        askers = "data ask" if network is None else "data and network ask"
        raise invalid("grid", f"name each parameter that {askers} for", f"no {', '.join(absent)}")
    problem = made(data, first)
    _check_start(
        plan, problem, network_of(problem, first) if network is None else drawn(network, problem, first), first
    )
    return plan


def _without_defaults(fixed: dict[str, Any], network: Net) -> dict[str, Any]:
    """Leave out of the parameters of a start those that a function which makes it does not need, at their defaults.

    Raises
    ------
    ValueError
        One that is given, and that the function does not name.
    """
    named, needed = named_by(network), named_by(network, required=True)
    given = [name for name in START if not _is_default(name, fixed[name])]
    for name in given:
        if name not in named:
            raise invalid(name, "be left out where network makes the start without it", repr(fixed[name]))
    return {name: value for name, value in fixed.items() if name not in START or name in (*needed, *given)}


def _check_start(plan: _Plan, problem: Any, net: Any, first: dict[str, Any]) -> None:
    """Check the settings of the first point with its data and network."""
    given = {name: first[name] for name in FLOW}
    unused = dict.fromkeys(("save_at", "save_at_log", "save_at_log_norm"))
    if isinstance(net, DeepNetwork):
        LayeredRun.of(problem, net, Stop.of(given.pop("until")), {**given, **unused}).check()
        check_measure_of_outputs(plan.measure)
    elif isinstance(net, Network) and net.n_outputs > 1:
        run_of(problem, net, given.pop("until"), {**given, **unused, "train": None, "rates": None})
        check_measure_of_outputs(plan.measure)
    else:
        asked = Asked(**given, save_at=None, save_at_log=None)
        one = (problem.binary(0), net[0]) if isinstance(problem, MultiClassDataset) else (problem, net)
        asked.settings(start_of(*one))


def _check_no_contradiction(plan: _Plan) -> None:
    """Refuse a parameter that stands in the grid and beside it, and a stop that stands nowhere."""
    for name in plan.grid.names:
        if name in plan.fixed and not _is_default(name, plan.fixed[name]):
            raise invalid(name, "be left out where grid has it", repr(plan.fixed[name]))
    if plan.fixed["until"] is None and "until" not in plan.grid.names:
        raise invalid("until", "be a Stop, or a time above 0, unless grid has it", "None")


def _is_default(name: str, value: object) -> bool:
    default = inspect.signature(sweep).parameters[name].default
    return value is default or (isinstance(value, (int, float, str)) and value == default)


def _digest(value: object, name: str) -> str:
    """Return the digest of what results depend on, by which a store finds them again."""
    try:
        return content_digest(value)
    except (TypeError, RecursionError) as error:
        expected = (
            "hold nothing whose content cannot be read, where store is given (an attribute fingerprint replaces it)"
        )
        raise invalid(name, expected, str(error)) from error


def _run_all(plan: _Plan, store: Store, executor: Executor | None, threads: int, listening: Listeners) -> None:
    """Run what is not finished, and store it as it ends."""
    missing = store.unfinished()
    watch = Watch(listening, plan.grid.size, int(missing.size - missing.sum()))
    blocks = [
        plan.block(outer, places)
        for outer, first, end in plan.grid.blocks(store.length)
        if (places := tuple(place for place in range(first, end) if missing[(*outer, place)]))
    ]
    lost: list[BaseException] = []
    try:
        with _workers(executor, threads) as (workers, function, stop):
            for block, future in as_ended(workers, ((function, block) for block in blocks), watch.tell):
                failure = future.exception()
                if failure is not None:
                    lost.append(failure)
                    continue
                outcomes = future.result()
                with _uninterrupted():
                    store.write(block.outer, outcomes)
                watch.add(len(outcomes), sum(outcome.status == ERROR for outcome in outcomes))
            stop()
    finally:
        watch.close()
    if lost:
        lost[0].add_note(f"{len(lost)} tasks of the sweep were lost; the same call runs their points again")
        raise lost[0]


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """Let Ctrl-C wait: it would leave locks of the store's threads behind, and the program could not end."""
    known = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(known):
        yield
        return
    came: list[Any] = []
    signal.signal(signal.SIGINT, lambda *args: came.append(args))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, known)
    if came:
        known(*came[0])


@contextmanager
def _workers(
    executor: Executor | None, threads: int
) -> Iterator[tuple[Executor, Callable[[Block], Any], Callable[[], None]]]:
    """Give the executor, the function for it, and a way to end; threads of our own end when the block does."""
    if executor is not None:
        yield executor, run_block, lambda: None
        return
    over = threading.Event()
    pool = ThreadPoolExecutor(threads, thread_name_prefix="reluflow-sweep")
    try:
        yield pool, lambda block: run_block(block, over.is_set), over.set
    finally:
        over.set()
        pool.shutdown(cancel_futures=True)
