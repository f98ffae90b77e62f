"""Whatever is given for an argument, it is used or refused by a ValueError that names it."""

from __future__ import annotations

import inspect
import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

import reluflow as rf

DATA = rf.Dataset([[1.0, 0.5], [-0.5, 1.0], [0.25, -1.0], [-1.0, -0.5]], [1.0, -1.0, 1.0, -1.0])
NET = rf.Network.init(3, 2, scale=0.1, seed=0)
SOL = rf.integrate(DATA, NET, until=1.0)

RUN = rf.analysis.sample(SOL, 4)
TABLE = rf.analysis.series(RUN)
DIRECTIONS = rf.analysis.directions(RUN)
PLANAR = rf.datasets.wang_pilanci("obtuse")
SETS = rf.analysis.rectified_ellipsoid(PLANAR)

LAYERS = [rf.Dense(2, "relu"), rf.Dense(1)]
DEEP = rf.DeepNetwork.init(LAYERS, dim=2, seed=0)

ODD = {
    "nan": float("nan"),
    "infinite": float("inf"),
    "text": "zzz",
    "empty text": "",
    "bytes": b"x",
    "negative": -1,
    "a fraction": 2.5,
    "zero": 0,
    "beyond floats": 10**400,
    "beyond floats in a list": [10**400],
    "complex": 1 + 2j,
    "a list": [],
    "ragged": [[1, 2], [3]],
    "a dictionary": {},
    "an object": object(),
    "no rows": np.zeros((0, 2)),
    "three axes": np.zeros((3, 3, 3)),
    "texts": np.array(["a", "b"]),
    "a function": lambda *given: True,
}

FUNCTIONS = {
    "integrate": (rf.integrate, {"data": DATA, "net": NET, "until": 0.01}),
    "integrate_many": (rf.integrate_many, {"data": DATA, "nets": [NET], "until": 0.01}),
    "descend": (rf.descend, {"data": DATA, "net": NET, "n_steps": 2}),
    "prove": (rf.prove, {"sol": SOL, "until": 0.01}),
    "certify": (rf.certify, {"solution": SOL, "data": DATA}),
    "Dataset": (rf.Dataset, {"X": DATA.X, "y": DATA.y}),
    "Network.init": (rf.Network.init, {"width": 3, "dim": 2}),
    "EventTable.of": (SOL.events.of, {}),
    "directions": (rf.analysis.directions, {"source": SOL}),
    "groups": (rf.analysis.groups, {"source": SOL}),
    "margins": (rf.analysis.margins, {"source": SOL}),
    "alignment_times": (rf.analysis.alignment_times, {"solution": SOL}),
    "state_of": (rf.analysis.state_of, {"data": DATA, "net": NET}),
    "decision_plane": (rf.analysis.decision_plane, {"data": DATA, "net": NET, "n_grid": 3}),
    "suggest_steps": (rf.analysis.suggest_steps, {"solution": SOL}),
    "tangent_kernel": (rf.analysis.tangent_kernel, {"source": rf.integrate(DATA, DEEP, until=0.01)}),
    "kernel_distance": (rf.analysis.kernel_distance, {"source": rf.integrate(DATA, DEEP, until=0.01)}),
    "pattern_distance": (rf.analysis.pattern_distance, {"source": rf.integrate(DATA, DEEP, until=0.01)}),
    "compare_with_descent": (
        rf.analysis.compare_with_descent,
        {"solution": rf.integrate(DATA, DEEP, until=0.01), "steps": [0.01]},
    ),
    "summarise": (rf.analysis.summarise, {"solution": SOL}),
    "unit_vectors": (rf.convex.unit_vectors, {"dimension": 2, "count": 4}),
    "rectified_outline": (rf.convex.rectified_outline, {"X": DATA.X}),
    "max_margin": (rf.convex.max_margin, {"data": DATA}),
    "alignment_bound": (rf.analysis.alignment_bound, {"start": 0.1, "pull": 1.0, "delta": 0.1}),
    "limit_time": (rf.analysis.limit_time, {"start": 0.1, "pull": 1.0, "delta": 0.1}),
    "tail_fit": (rf.analysis.tail_fit, {"log_t": np.arange(1.0, 9.0), "values": np.ones(8)}),
    "panels": (rf.figures.panels, {}),
    "margin": (rf.figures.margin, {"table": TABLE}),
    "norm_growth": (rf.figures.norm_growth, {"table": rf.analysis.series(rf.integrate(DATA, NET, until=1e3))}),
    "direction_disc": (rf.figures.direction_disc, {"directions": DIRECTIONS}),
    "neuron_plane": (rf.figures.neuron_plane, {"directions": DIRECTIONS}),
    "gathering": (
        rf.figures.gathering,
        {"t": RUN.t, "log_t": RUN.log_t, "angles": rf.analysis.angles_to_group(RUN), "sign": RUN.signs},
    ),
    "correlation_histogram": (
        rf.figures.correlation_histogram,
        {"table": rf.analysis.correlations(SOL, [1.0, 0.0], [0.0, 1.0])},
    ),
    "rectified_ellipsoid": (rf.figures.rectified_ellipsoid, {"sets": SETS}),
    "polar_set": (rf.figures.polar_set, {"sets": SETS}),
    "decision": (rf.figures.decision, {"plane": rf.analysis.decision_plane(DATA, NET, n_grid=3)}),
    "early_alignment": (rf.early_alignment, {"data": DATA, "directions": NET.W, "signs": np.sign(NET.a)}),
    "saddle_to_saddle": (rf.saddle_to_saddle, {"data": DATA, "directions": NET.W, "signs": np.sign(NET.a)}),
    "regularised": (rf.convex.regularised, {"data": DATA, "weight_decay": 0.1}),
    "Stop": (rf.Stop, {"events": 3}),
    "sweep": (rf.sweep, {"data": DATA, "grid": {"seed": [0]}, "measure": "log_loss", "until": 0.01, "width": 2}),
    "Dense": (rf.Dense, {"width": 2}),
    "Conv1d": (rf.Conv1d, {"channels": 1, "width": 2}),
    "Conv2d": (rf.Conv2d, {"channels": 1, "size": 2}),
    "Diagonal": (rf.Diagonal, {}),
    "Residual": (rf.Residual, {"layer": rf.Dense(2)}),
    "Shared": (rf.Shared, {"index": [[0, 1]]}),
    "DeepNetwork.init": (rf.DeepNetwork.init, {"layers": LAYERS, "dim": 2}),
    "deep": (rf.integrate, {"data": DATA, "net": DEEP, "until": 0.01}),
    "descend deep": (rf.descend, {"data": DATA, "net": DEEP, "n_steps": 2}),
    "DeepSolution.at": (rf.integrate(DATA, DEEP, until=0.01).at, {"log_t": 0.0}),
}

PLAIN = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
CASES = [
    (name, parameter.name)
    for name, (function, _) in FUNCTIONS.items()
    for parameter in inspect.signature(function).parameters.values()
    if parameter.kind in PLAIN
]
# Errors of inputs and targets name what of the data is wrong.
OTHER_NAMES = {"X": ("X", "data"), "data": ("data", "X", "y"), "half": ("half", "X")}


def refusal(call):
    """Return what a ValueError says, None if nothing is raised."""
    try:
        call()
    except ValueError as error:
        return str(error)
    return None


@pytest.mark.parametrize(("name", "argument"), CASES, ids=[f"{name}-{argument}" for name, argument in CASES])
def test_odd_values_are_used_or_named(name, argument, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # for what is taken as the name of a file
    function, given = FUNCTIONS[name]
    for odd, value in ODD.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            said = refusal(lambda given={**given, argument: value}: function(**given))
        plt.close("all")
        assert said is None or any(one in said for one in OTHER_NAMES.get(argument, (argument,))), (odd, said)


def test_a_part_that_is_trained_is_one_of_two():
    for empty in (0, "", [], {}):
        with pytest.raises(ValueError, match="train must be one of 'both', 'first', found"):
            rf.integrate(DATA, NET, until=0.01, train=empty)


def test_a_plane_takes_a_direction_for_its_reference():
    plane = rf.analysis.decision_plane(DATA, NET, n_grid=3)
    for odd in ([0.0, 0.0], [1.0], "zzz"):
        with pytest.raises(ValueError, match="reference must "):
            rf.figures.decision(plane, reference=odd)


def test_a_proof_to_the_least_time_there_is_ends():
    assert rf.prove(SOL, until=1e-320).proved_until == 1e-320


def test_a_witness_of_spikes_is_looked_for_without_dividing_by_zero():
    X = np.random.default_rng(0).normal(size=(8, 2))  # of the same source as the directions that are tried
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = rf.conditions.is_spike_free(rf.Dataset(X, np.sign(X[:, 0])))
    assert not found.holds
    assert found.witness.outside > 1e-3
