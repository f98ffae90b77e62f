"""The compiled core: what cpp/bindings defines. It checks little: the package's own functions check first."""

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

_Array = npt.NDArray[np.float64]
_Hook = Callable[[dict[str, Any]], object] | None

__version__: str
SMALLEST_NEURON: float
LARGEST_NEURON: float
LARGEST_OUTPUT: float

def descend(
    X: _Array,
    y: _Array,
    W: _Array,
    a: _Array,
    leak: float,
    loss: str,
    reduction: str,
    step: float,
    n_steps: int,
    batch_size: int,
    seed: int,
    save_every: int,
    hook: _Hook,
    weights: _Array | None = None,
    weight_decay: float = 0.0,
) -> dict[str, Any]: ...
def integrate(
    X: _Array,
    y: _Array,
    W: _Array,
    a: _Array,
    leak: float,
    loss: str,
    reduction: str,
    options: dict[str, Any],
    hook: _Hook,
) -> dict[str, Any]: ...

class Batch:
    def __init__(
        self,
        datasets: list[tuple[_Array, _Array, _Array | None]],
        jobs: list[tuple[int, _Array, _Array, float, dict[str, Any]]],
        loss: str,
        reduction: str,
        n_threads: int,
        begin_all: bool,
        hook: _Hook,
    ) -> None: ...
    def next(self) -> tuple[int, dict[str, Any] | None, Exception | None] | None: ...
    def stop(self) -> None: ...
    @property
    def interrupted(self) -> bool: ...

def arrangements(X: _Array, max_count: int, hook: _Hook) -> dict[str, Any]: ...
def count_boundaries(X: _Array) -> int: ...
def bound_polar(
    vectors: _Array,
    n_up: int,
    lower: float,
    target: float,
    rtol: float,
    max_nodes: int,
    hook: _Hook,
) -> dict[str, Any]: ...
def climb_polar(vectors: _Array, n_up: int, choices: npt.NDArray[np.int8]) -> _Array: ...
def log_losses(margins: _Array, loss: str) -> _Array: ...
def log_weights(margins: _Array, loss: str) -> _Array: ...
def log_curvatures(margins: _Array, loss: str) -> _Array: ...
def log_separation(loss: str) -> float: ...
def continuations(
    normals: _Array, below: _Array, above: _Array, rest: _Array, sign: float, weight: float
) -> tuple[list[list[int]], bool]: ...
def find_parallels(X: _Array) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]: ...
def prove(
    problem: dict[str, Any],
    claims: tuple[npt.NDArray[Any], ...],
    settings: dict[str, Any],
    hook: Callable[[tuple[float, int, int]], object] | None,
) -> dict[str, Any]: ...

PROOF_TERMS: list[str]

def spectral_norm_up(X: _Array) -> float: ...
def proof_weights(margins: _Array, loss: str) -> _Array: ...
def proof_arithmetic(operation: str, x: _Array, y: _Array) -> _Array: ...
def proof_combine(coefficients: _Array, rows: _Array) -> _Array: ...
def proof_exact_dot(v: _Array, w: _Array) -> tuple[float, float, float]: ...

class LayeredModel:
    def __init__(
        self,
        nodes: list[Any],
        edges: list[Any],
        parameters: int,
        X: _Array,
        targets: _Array,
        loss: str,
        factor: float,
        counts: _Array | None = None,
        decay: _Array | None = None,
    ) -> None: ...
    def run(self, start: _Array | dict[str, Any], options: dict[str, Any], hook: _Hook) -> dict[str, Any]: ...
    def states(self, count: int) -> list[dict[str, Any]]: ...
    def restore(self, states: list[dict[str, Any]]) -> None: ...
    def state_at(self, time: float, in_log: bool, rtol: float) -> dict[str, Any]: ...
