"""Wrong arguments of methods of results and functions of matrices: a ValueError names them, or the answer is right."""

from __future__ import annotations

import functools
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf

X = [[1.65, -0.47], [-0.47, 1.35]]
DATA = rf.Dataset(X, [1, -1])
FAR = np.array(X) * 1e300
LAYERS = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(1)], dim=2, seed=0)
FIT = rf.analysis.TailFit(limit=2.0, slope=3.0, loglog=0.0, limit_error=0.0, rms=0.0, n_points=3, from_log_t=1.0)
READ_ONLY = np.zeros((2, 2), dtype=np.int8)
READ_ONLY.flags.writeable = False


@functools.cache
def run() -> rf.Solution:
    return rf.integrate(DATA, rf.Network.init(4, 2, scale=1e-2, seed=1), until=5.0)


@functools.cache
def classes() -> rf.flow.MultiClassSolution:
    data = rf.datasets.MultiClassDataset([[2.0, 0.1], [0.1, 2.0], [-1.0, -1.0]], [3, 5, 8])
    return rf.integrate(data, rf.Network.init(8, 2, classes=3, seed=1), until=0.1)


def critical(**options: Any) -> Any:
    return rf.certify(rf.Network([[1.0, 0.0]], [1.0]), DATA, **options)


def papers(**options: Any) -> rf.papers.Reproduction:
    with tempfile.TemporaryDirectory() as folder:
        return rf.papers.reproduce("PL-OS", out=folder, **{"quick": True, **options})


ROWS: list[tuple[str, Callable[[], Any], str]] = [
    ("node", lambda: LAYERS.matrix("last"), "node must be an integer of at least 1, found 'last'"),
    ("inputs", lambda: LAYERS.matrix(0), "node must be an integer of at least 1, found 0"),
    ("node beyond", lambda: LAYERS.matrix(3), "node must be an integer of at most 2, found 3"),
    ("edge", lambda: LAYERS.matrix(1, 1), "edge must be an integer of at most 0, found 1"),
    ("index", lambda: rf.analysis.ends(run()).at(2), "index must be an integer of at most 1, found 2"),
    ("no index", lambda: rf.analysis.ends(run()).at(None), "index must be an integer of at least -2, found None"),
    ("log t", lambda: FIT([10.0, 0.0]), "log_t must hold numbers above 0, found 0 at row 1"),
    ("log t infinite", lambda: FIT(np.inf), "log_t must hold finite numbers only, found inf at row 0"),
    ("log t a text", lambda: FIT("10"), "log_t must hold real numbers, found a value of type str"),
    (
        "a date",
        lambda: FIT(np.array(["2020-01-01"], "M8[D]")),
        "log_t must hold real numbers, found a value of type ndarray",
    ),
    (
        "n_axes",
        lambda: rf.analysis.directions(run(), n_axes=np.float32(2)),
        "n_axes must be the integer 2 or 3, found 2.0",
    ),
    (
        "seed of numpy",
        lambda: rf.Network.init(2, 2, seed=np.float64(0.5)),
        "seed must be an integer of at least 0, a numpy Generator or None, found 0.5",
    ),
    (
        "shapes",
        lambda: rf.analysis.limit_time([0.0, 0.5, 0.9], [1.0, 2.0], delta=0.1),
        "pull must have the shape of start, (3,), or one that numpy broadcasts with it, found the shape (2,)",
    ),
    ("pull", lambda: rf.analysis.limit_time(0.0, -1.0, delta=0.1), "pull must hold norms of at least 0, found -1"),
    ("reduction", lambda: critical(loss="squared", reduction=""), "reduction must be one of 'sum', 'mean', found ''"),
    (
        "reduction an array",
        lambda: critical(loss="logistic", weight_decay=0.1, reduction=np.ones(2)),
        "reduction must be one of 'sum', 'mean', found array([1., 1.])",
    ),
    *(
        (
            f"{name} beyond range",
            lambda call=call: call(FAR),
            "X must have a largest entry between 1e-100 and 1e+100 in each row, found 1.65e+300 at row 0",
        )
        for name, call in {
            "arrangements": rf.convex.arrangements,
            "sampled": lambda A: rf.convex.sample_arrangements(A, 10, seed=0),
            "spikes": rf.convex.spikes,
            "outline": rf.convex.rectified_outline,
            "polar set": lambda A: rf.convex.polar_set(A, [[1.0, 0.0]]),
        }.items()
    ),
    (
        "no vectors",
        lambda: rf.convex.polar_set(X, [[1.0, 0.0]], vectors=np.zeros((0, 2))),
        "vectors must have at least one row, and 2 columns as X, found the shape (0, 2)",
    ),
    *(
        (
            f"leak of {call.__name__}",
            lambda call=call: call(DATA, leak=1e-300),
            "leak must be 0 or at least 1e-100, for margins of leaky samples, found 1e-300",
        )
        for call in (rf.conditions.one_sign_margin, rf.convex.leaky_linear_margin)
    ),
    (
        "half",
        lambda: rf.datasets.symmetrise(np.zeros((1, 2))),
        "half must have no row of zeros, found zeros only at row 0",
    ),
    (
        "film",
        lambda: rf.figures.animate_directions(rf.analysis.directions(run()), None),
        "path must be the path of a file, found None",
    ),
    (
        "infinite log t",
        lambda: rf.figures.gathering([1.0, 2.0], [0.0, np.inf], np.zeros((2, 1)), [1]),
        "log_t must hold finite numbers, or -inf where t is 0, found inf at row 1",
    ),
    (
        "signs",
        lambda: run().events.replay([[0.5, 1.0]] * 4),
        "pattern must hold the signs -1, 0 and 1 only, found 0.5 at row 0, column 0",
    ),
    (
        "a list",
        lambda: run().events.apply([[1, 1]], 0, 0),
        "pattern must be an array of integers of shape (m, n), which is changed in place, found a value of type list",
    ),
    (
        "read-only",
        lambda: run().events.apply(READ_ONLY, 0, 0),
        "pattern must be C-contiguous and not read-only, as np.array(pattern) is, found another array",
    ),
    (
        "columns first",
        lambda: run().events.apply(np.zeros((4, 2), np.int8, order="F"), 0, 1),
        "pattern must be C-contiguous and not read-only, as np.array(pattern) is, found another array",
    ),
    (
        "last",
        lambda: run().events.apply(np.zeros((4, 2), np.int8), 0, 99),
        f"last must be an integer of at most {len(run().events)}, found 99",
    ),
    ("ids", lambda: rf.papers.claims(3), "ids must be 'all', papers or ids of claims, found 3"),
    (
        "out",
        lambda: rf.papers.reproduce("PL-OS", out=None),
        "out must be the path of a folder, found a value of type NoneType",
    ),
    ("mnist", lambda: papers(mnist=3), "mnist must be None or the path of a folder, found a value of type int"),
    ("quick", lambda: papers(quick=1), "quick must be True or False, found a value of type int"),
    ("again", lambda: papers(again="no"), "again must be True or False, found a value of type str"),
    ("progress", lambda: papers(progress=True), "progress must be None or callable, found a value of type bool"),
    ("label", lambda: classes().of(np.ones(2)), "label must be one of 3, 5, 8, found an array"),
]


@pytest.mark.parametrize(("call", "message"), [pytest.param(call, says, id=name) for name, call, says in ROWS])
def test_it_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        call()
    assert str(caught.value).startswith(message)


def test_what_has_no_size_is_taken_at_any_size() -> None:
    separator = rf.conditions.linear_margin(rf.datasets.lyu_figure1("left")).direction
    ways = np.array([[1.0, 0.5], [0.0, -1.0]])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        held = [
            rf.conditions.principal_direction(rf.datasets.lyu_figure1("left"), leak=0.5, w=c * separator)
            for c in (1.0, 1e300, 1e-300)
        ]
        sets = [rf.convex.polar_set(X, c * ways) for c in (1.0, 2.0**1000, 2.0**-1000)]
        steps = rf.analysis.suggest_steps(run(), budget=1e-300)
    assert len({verdict.holds for verdict in held}) == 1
    np.testing.assert_allclose([verdict.value for verdict in held], held[0].value, rtol=1e-12)
    assert all((found == sets[0]).all() for found in sets)
    assert steps == (1.0, 0.1)


def test_the_last_state_is_the_one_before_the_end() -> None:
    states = rf.analysis.ends(run())
    assert states.at(-1) == states.at(1)
    assert states.at(-2).W.tolist() == run().initial.W.tolist()


def test_a_film_has_a_path(tmp_path: Path) -> None:
    film = rf.analysis.directions(rf.analysis.snapshots(run(), 2))
    assert rf.figures.animate_directions(film, str(tmp_path / "film.gif")) == tmp_path / "film.gif"
