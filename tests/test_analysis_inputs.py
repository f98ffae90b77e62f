"""Functions of the analysis say what they were given instead of what they work on."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import reluflow as rf
from reluflow import analysis

FUNCTIONS = [name for name in analysis.__all__ if not inspect.isclass(getattr(analysis, name))]
ON_NUMBERS = {"alignment_bound", "limit_time"}  # broadcast whatever numpy takes
DATA = rf.datasets.wang_pilanci("obtuse")
NET = rf.Network.init(4, 2, seed=0)


@pytest.mark.parametrize("name", sorted(set(FUNCTIONS) - ON_NUMBERS))
@pytest.mark.parametrize("given", ["text", None, np.zeros((3, 2))], ids=["text", "None", "array"])
def test_a_value_of_the_wrong_kind_is_named(name, given):
    function = getattr(analysis, name)
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    parameters = [
        p for p in inspect.signature(function).parameters.values() if p.default is p.empty and p.kind in kinds
    ]
    with pytest.raises(ValueError, match=f"^({'|'.join(p.name for p in parameters)}) must "):
        function(*[given] * len(parameters))


def test_a_run_of_several_classes_is_not_one_run():
    several = rf.datasets.MultiClassDataset([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0]], [0, 1, 2])
    found = rf.integrate(several, rf.Network.init(3, 2, classes=3, seed=0), until=1.0)
    for function in (analysis.ends, analysis.raster, analysis.to_xarray):
        with pytest.raises(ValueError, match=r"solution must be one run: take the solution of one class, sol\[k\]"):
            function(found)


def test_a_network_and_data_in_the_wrong_order_are_named():
    with pytest.raises(ValueError, match="data must be a Dataset, found a value of type Network"):
        analysis.decision_plane(NET, DATA)
    with pytest.raises(ValueError, match="net must be a Network, found a value of type Solution"):
        analysis.distance_to_linear(rf.integrate(DATA, NET, until=1.0))


def test_a_summary_of_several_outputs_names_its_argument():
    several = rf.integrate(
        ([[1.0], [2.0]], np.eye(2)), rf.Network.init(4, 1, outputs=2, seed=0), loss="squared", until=1.0
    )
    with pytest.raises(ValueError, match=r"^solution must be a run of one output .* found a TwoLayerSolution$"):
        analysis.summarise(several)
