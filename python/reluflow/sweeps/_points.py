"""The runs of a block of points, done at a worker: only parameters and seeds travel there, and numbers back."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from .. import _core
from .._validation import invalid
from ..datasets import Dataset, MultiClassDataset
from ..datasets._arrays import dataset_of, is_arrays
from ..flow import integrate
from ..layered import DeepNetwork
from ..layered._problem import ArrayData
from ..networks import Network
from ._grid import Index
from ._measures import Measure, Measured, measured

ERROR = "error"  # the status of a point whose run or measure raised
_INTERRUPTED = "interrupted"

DATA = "data"  # what a function that makes a network calls the data of the point
START = ("width", "scale", "balanced", "leak", "seed")
FLOW = ("until", "loss", "reduction", "weight_decay", "rtol", "atol", "on_branch", "max_events")
Net = Callable[..., Network | DeepNetwork]
Data = Dataset | MultiClassDataset | Callable[..., Dataset | MultiClassDataset | ArrayData]


@dataclass(frozen=True)
class Block:
    """Some points of a grid that a worker does one after the other."""

    outer: Index
    places: tuple[int, ...]
    points: tuple[dict[str, Any], ...]
    data: Data
    network: Net | None
    measure: Measure
    version: str


@dataclass(frozen=True)
class Outcome:
    """What became of a point; `values` is empty after an error."""

    place: int
    status: str
    error: str
    seconds: float
    values: Measured


def parameters_of(data: Data | ArrayData) -> tuple[str, ...]:
    """Return the names that a function which makes data takes; none for data themselves."""
    if isinstance(data, (Dataset, MultiClassDataset)) or is_arrays(data):
        return ()
    if not callable(data):
        expected = "be a Dataset, a MultiClassDataset, (X, y), (X, y, weights), or a function that makes one"
        raise invalid("data", expected, f"a value of type {type(data).__name__}")
    return tuple(inspect.signature(data).parameters)


def required_of(data: Data) -> tuple[str, ...]:
    """Return the names without a default that a function which makes data takes."""
    if isinstance(data, (Dataset, MultiClassDataset)):
        return ()
    return named_by(data, required=True)


def named_by(function: Callable[..., Any], *, required: bool = False) -> tuple[str, ...]:
    """Return the names of parameters of a function, or of those alone that have no default."""
    named = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    parameters = [(name, one) for name, one in inspect.signature(function).parameters.items() if one.kind in named]
    return tuple(name for name, one in parameters if not required or one.default is inspect.Parameter.empty)


def run_block(block: Block, is_over: Callable[[], bool] | None = None) -> list[Outcome]:
    """Run the points of a block; `is_over` is asked during each run, and ends the block where it is.

    Raises
    ------
    RuntimeError
        The worker has another version than the program that sent the block.
    """
    if block.version != _core.__version__:
        raise RuntimeError(f"a worker has reluflow {_core.__version__}, the sweep is of {block.version}")
    outcomes = []
    for place, point in zip(block.places, block.points, strict=True):
        outcome = _run(block, place, point, is_over)
        if outcome.status == _INTERRUPTED:
            break
        outcomes.append(outcome)
    return outcomes


def _run(block: Block, place: int, point: dict[str, Any], is_over: Callable[[], bool] | None) -> Outcome:
    began = perf_counter()
    try:
        data = made(block.data, point)
        net = start_of(data, point) if block.network is None else drawn(block.network, data, point)
        callback = None if is_over is None else lambda _: is_over()
        options = {name: point[name] for name in FLOW}
        solution: Any = integrate(data, net, n_threads=1, callback=callback, **options)
        status = str(solution.status)
        values = {} if status == _INTERRUPTED else measured(block.measure, solution)
        return Outcome(place, status, "", perf_counter() - began, values)
    except Exception as error:
        text = f"{type(error).__name__}: {error}"
        return Outcome(place, ERROR, text, perf_counter() - began, {})


def made(data: Data, point: dict[str, Any]) -> Dataset | MultiClassDataset:
    """Return the data of a point: they are given, or made of those of its parameters that the function takes."""
    if isinstance(data, (Dataset, MultiClassDataset)):
        return data
    found: object = data(**{name: point[name] for name in parameters_of(data) if name in point})
    found = dataset_of(found, losses=[point["loss"]])
    if not isinstance(found, (Dataset, MultiClassDataset)):
        expected = "be a function that returns a Dataset or a MultiClassDataset"
        raise invalid("data", expected, f"one that returns a value of type {type(found).__name__}")
    return found


def start_of(data: Dataset | MultiClassDataset, point: dict[str, Any]) -> Any:
    """Draw the first network of a point: of K outputs for K targets and for cross-entropy, K of one for K classes."""
    options = {name: point[name] for name in START if name != "width"}
    if isinstance(data, Dataset) and data.n_targets > 1:
        options["outputs"] = data.n_targets
    elif isinstance(data, MultiClassDataset) and point["loss"] == "cross_entropy":
        options["outputs"] = data.K
    elif isinstance(data, MultiClassDataset):
        options["classes"] = data.K
    return Network.init(point["width"], data.d, **options)


def drawn(network: Net, data: Dataset | MultiClassDataset, point: dict[str, Any]) -> Network | DeepNetwork:
    """Return the first network of a point that a function makes of those of its parameters that it names.

    Raises
    ------
    ValueError
        It makes something else.
    """
    known = {**point, DATA: data}
    net: object = network(**{name: known[name] for name in named_by(network) if name in known})
    if not isinstance(net, (Network, DeepNetwork)):
        expected = "be a function that returns a Network or a DeepNetwork"
        raise invalid("network", expected, f"one that returns a value of type {type(net).__name__}")
    return net
