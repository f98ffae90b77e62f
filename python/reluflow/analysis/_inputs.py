"""Checks of what the functions of this subpackage are given: a run, data, a network."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from .._validation import REAL_KINDS, FloatArray, instance, invalid
from ..datasets._dataset import one_target
from ..descent import DescentResult
from ..flow import MultiClassSolution, Solution, TwoLayerSolution
from ..layered import DeepDescentResult, DeepNetwork, DeepSolution
from ..networks import Network
from ..networks._parts import one_output

# What a layered run is told: its units have no output weight of their own, and so no sectors, groups or directions.
TWO_LAYERS = (
    "be a run of two layers, whose neurons have sectors and groups; for layers there are series, margins, losses, "
    "errors, sample, snapshots, ends, to_xarray, decision_plane, layer_singular_values, row_plane, layer_raster, "
    "layer_timeline, pattern_distance, tangent_kernel, kernel_distance and compare_with_descent"
)


# What else a run of K outputs, of one part or of two rates can be given to.
ONE_OUTPUT = (
    "be a run of one output with both layers trained at one rate (others have losses, errors, fit_curves, "
    "pattern_distance, tangent_kernel, kernel_distance, raster, to_xarray and, with both layers trained at one rate, "
    "series and margins, and .layered is a run for layer_raster and its like)"
)


def numbers(value: npt.ArrayLike, name: str) -> FloatArray:
    """Return floats of any shape; missing ones may be nan."""
    try:
        if np.asarray(value).dtype.kind in REAL_KINDS + "O":
            return np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        pass
    raise invalid(name, "hold real numbers", f"a value of type {type(value).__name__}")


def check_run(value: object, name: str = "solution", *, or_states: bool = False) -> None:
    """Refuse what is not the solution of one run."""
    if isinstance(value, MultiClassSolution):
        raise invalid(name, "be one run: take the solution of one class, sol[k]", "those of several classes")
    if isinstance(value, TwoLayerSolution):
        raise invalid(name, ONE_OUTPUT, "a TwoLayerSolution")
    if isinstance(value, DeepSolution):
        raise invalid(name, TWO_LAYERS, "the run of a layered network")
    if isinstance(value, DeepDescentResult):
        raise invalid(name, TWO_LAYERS, "a descent of a layered network, which has series, margins, losses and errors")
    instance(value, name, Solution, "a Solution or States" if or_states else "a Solution")


def check_descent(run: DescentResult) -> None:
    """Refuse a descent of several outputs, of one part or of two rates."""
    used = run.settings
    if run.initial.n_outputs > 1 or used.get("train", "both") != "both" or used.get("rates") is not None:
        raise invalid("source", ONE_OUTPUT, "a descent of another kind")


def check_data(value: object) -> None:
    """Refuse what is not a dataset of two classes."""
    one_target(value)


def check_net(value: object, name: str = "net") -> None:
    """Refuse what is not a network."""
    if isinstance(value, DeepNetwork):
        raise invalid(name, "be a Network of two layers, whose neurons have sectors and groups", "a DeepNetwork")
    instance(value, name, Network, "a Network")
    assert isinstance(value, Network)  # for the type checker
    one_output(value, name)
