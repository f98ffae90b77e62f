"""Bad input with several outputs, `train` and `rates`: one sentence that names the argument and a way out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reluflow as rf

X = np.random.default_rng(1).standard_normal((6, 2))
CLASSES = np.arange(6) % 3
Y = np.random.default_rng(2).standard_normal((6, 3))
NET = rf.Network.init(4, 2, outputs=3, scale=0.5, seed=1)
ONE = rf.Network.init(4, 2, scale=0.5, seed=1)
REAL = rf.Dataset(X, Y[:, 0])
SOL = rf.integrate((X, CLASSES), NET, until=1.0, loss="cross_entropy")
FIRST = rf.integrate(REAL, ONE, until=1.0, loss="squared", train="first")


def run(data: Any, net: Any = NET, loss: str = "cross_entropy", **options: Any) -> Callable[[], Any]:
    return lambda: rf.integrate(data, net, **{"until": 1.0, "loss": loss, **options})


def with_sign_turned() -> rf.Network:
    pattern = np.sign(NET.W @ X.T).astype(int)
    pattern[1, 2] = 0
    W = NET.W.copy()
    W[1] -= (W[1] @ X[2]) / (X[2] @ X[2]) * X[2]
    return rf.Network(W, NET.a, pattern=pattern)


DATA = [
    (run(REAL, loss="squared"), "data.y must have the shape (6, 3), a target for each output (np.eye(K)[cl"),
    (run(REAL), "data.y must hold 6 class numbers 0 ... 2, one for each output, or as many one-hot rows, found"),
    (
        run(7),
        "data must be a Dataset, a MultiClassDataset, a pair (X, targets) or (X, targets, weights) for 3 outputs",
    ),
    (run((X, Y[:, :2]), loss="squared"), "data[1] must have the shape (6, 3), a target for each output, found the"),
    (run((X, Y[:, 0]), loss="squared"), "data[1] must have the shape (6, 3), a target for each output (np.eye(K)[c"),
    (run((X, np.full((6, 3), np.nan)), loss="squared"), "data[1] must hold finite numbers only, found nan at row 0"),
    (run((X, CLASSES[:5])), "data[1] must hold 6 class numbers 0 ... 2, one for each output, or as many one-hot rows"),
    (run((X, CLASSES + 1)), "or as many one-hot rows, found 3 at row 2"),
    (run((X, CLASSES - 1)), "or as many one-hot rows, found -1 at row 0"),
    (run((X, CLASSES + 0.5)), "or as many one-hot rows, found 0.5 at row 0"),
    (run((X, ["a", "b", "c"] * 2)), "(rf.datasets.MultiClassDataset numbers names of classes), found the dtype <U1"),
    (run((X, Y)), "or as many one-hot rows, found rows that are not one-hot"),
    (run((X, 2 * (CLASSES % 2))), "numbers the classes that are there), found no sample of class 1"),
    (run((X[:, :1], CLASSES)), "net must have dim 1, the columns of X, found dim 2"),
    (run((np.zeros((0, 2)), [])), "data[0] must hold at least one row, found none"),
    (run(rf.datasets.MultiClassDataset(X, CLASSES % 2)), "net must have an output for each of the 2 classes, found 3"),
    (
        run(rf.datasets.MultiClassDataset(X, CLASSES), loss="squared"),
        "loss must be 'cross_entropy' for data with class",
    ),
    (run((X, Y), ONE, "squared"), "data must have one target a sample (several are for a network of as many outputs"),
    (run((X, Y), ONE, "squared", train="first"), "data must have one target a sample (several are for a network of"),
]
OPTIONS = [
    (run((X, CLASSES), loss="exponential"), "loss must be 'squared' or 'cross_entropy' for 3 outputs (classes against"),
    (run((X, CLASSES), loss="logistic"), "are K networks of one output, rf.Network.init(..., classes=K)), found 'logi"),
    (run((X, CLASSES), weight_decay=-0.1), "weight_decay must be a finite number of at least 0, found -0.1"),
    (run((X, CLASSES, CLASSES - 1)), "data[2] must not be negative, found -1 at row 0"),
    (run((X, CLASSES, CLASSES[:5])), "data[2] must have one entry for each of the 6 rows of X, found 5 entries"),
    (run((X, CLASSES), atol=0.1), "atol must be left out with several outputs, train or rates, found 0.1"),
    (run((X, CLASSES), until=rf.Stop(limit=True), train="first"), "Stop.limit must be left out unless both layers are"),
    (run((X, CLASSES), until=rf.Stop(direction=0.1)), "Stop.direction must be left out: it ends runs of one output"),
    (run((X, CLASSES), save_at=[2.0]), "save_at must hold times that are reachable, up to the stop at 1.0, found 2.0"),
    (run((X, CLASSES), save_at=[-1.0]), "save_at must not be before the start of the run at t = 0.0, found -1.0"),
    (
        run((X, CLASSES), net=with_sign_turned()),
        "integrate(data, sol), or leave the pattern out, Network(W, a), found 0",
    ),
    (run((X, CLASSES), SOL, train="first"), "train must be 'both', as in the run that is continued, found 'first'"),
    (run((X, CLASSES), SOL, until=2.0, rates=(1, 2)), "rates must be None, as in the run that is continued, found (1,"),
    (
        run(REAL, FIRST, "squared", until=2.0, train="both"),
        "train must be 'first', as in the run that is continued, found 'both'",
    ),
    (run((X + 1, CLASSES), SOL, until=2.0), "data must be those of the solution that is continued, found other inputs"),
    (run(REAL, ONE, "squared", train="last"), "train must be one of 'both', 'first', found 'last'"),
    (run(REAL, ONE, "squared", rates=(1, 0)), "rates must be two numbers above 0, (η_w, η_a), found 0.0"),
    *(
        (run(REAL, ONE, "squared", rates=apart), f"(η_w, η_a), at most a factor of 1e+12 apart, found {apart}")
        for apart in ((1e200, 1e-200), (1e-200, 1e200), (1.0, 1e-320), (1e20, 1.0), (1e-7, 1e6))
    ),
    (run(REAL, ONE, "squared", rates=2.0), "rates must be two numbers above 0, (η_w, η_a), found 2.0"),
    (run(REAL, ONE, "squared", rates=(1, 2), train="first"), "rates must be left out with train='first', where one"),
    (run(REAL, ONE, rates=(1, 2)), "loss must be one of 'logistic', 'exponential', 'squared' for two layers with one"),
    (run(REAL, ONE, "squared", rates=(1, 2), until=rf.Stop(log_norm=1.0)), "Stop.log_norm must be left out with rates"),
    (
        run(REAL, rf.integrate(REAL, ONE, until=0.5, loss="squared"), "squared", train="first"),
        "train must be left out: it is for a Network that starts anew, found 'first'",
    ),
    (
        run(REAL, rf.DeepNetwork.init([rf.Dense(1)], dim=2), "squared", rates=(1, 2)),
        "rates must be left out: it is for a Network that starts anew, found (1, 2)",
    ),
]
NETWORKS = [
    (lambda: rf.Network.init(4, 2, outputs=0), "outputs must be an integer of at least 1, found 0"),
    (lambda: rf.Network.init(4, 2, outputs=3, signs=[1, 1, 1, 1]), "signs must be left out with several outputs, wher"),
    (lambda: rf.Network.init(4, 2, outputs=3, classes=3), "outputs must be left out with classes, which have a networ"),
    (lambda: rf.Network([[1.0]], [[1.0, 2.0], [3.0, 4.0]]), "a must have one weight for each of the 1 rows of W, foun"),
    (lambda: rf.Network([[1.0]], [[1.0, np.inf]]), "a must hold finite numbers only, found inf at row 0, column 1"),
]
ONE_OUTPUT = [
    (lambda: rf.networks.MultiClassNetwork([NET, NET]), "networks must have one output"),
    (lambda: rf.integrate(REAL, rf.integrate, until=1.0), "net must be a Network or a Solution"),
    (lambda: rf.integrate_many(REAL, [ONE, NET], until=1.0, loss="squared"), "net must have one output"),
    (lambda: rf.integrate_many((X, Y), [NET, 1], until=1.0, loss="squared"), "nets[1] must be a Network or a TwoLayer"),
    (lambda: rf.conditions.report(rf.Dataset(X, np.sign(Y[:, 0])), NET), "net must have one output"),
    (lambda: rf.certify(NET, REAL, loss="squared"), "data.y must have the shape (6, 3), a target for"),
    (lambda: rf.certify(NET, (X, Y)), "loss must be 'squared' or 'cross_entropy' for several outputs, found None"),
    (
        lambda: rf.certify(NET, REAL, loss="squared", weight_decay=1.0),
        "data.y must have the shape (6, 3), a target for",
    ),
    (lambda: rf.certify(SOL, REAL), "data.y must hold 6 class numbers"),
    (lambda: rf.certify(SOL, (X, Y), loss="squared"), "loss must be that of the run, 'cross_entropy'"),
    (lambda: rf.certify(ONE, (X, Y)), "data must have one target a sample (several are for a network of as many"),
    (lambda: rf.certify(7, [X, Y]), "data must be a Dataset, (X, y) or (X, y, weights) for one output, or a Multi"),
    (lambda: rf.prove(SOL), "sol must be a reluflow.Solution"),
    (lambda: rf.analysis.state_of(REAL, NET, loss="squared"), "net must have one output"),
    (
        lambda: rf.analysis.directions(SOL),
        "source must be a run of one output with both layers trained at one rate (others have losses, errors",
    ),
    (
        lambda: rf.analysis.margins(rf.integrate((X, Y), NET, until=0.1, loss="squared")),
        "source must be a run on labels or classes (real targets have no margins), found one of squared loss",
    ),
    (
        lambda: rf.analysis.series(rf.integrate(rf.Dataset(X, [1, -1] * 3), ONE, until=0.1, rates=(1, 2))),
        "source must be a run of one output with both layers trained at one rate (others",
    ),
    (lambda: rf.analysis.timeline(SOL), "solution must be a run of one output with both layers trained"),
    (lambda: rf.early_alignment(7, NET.W, [1] * 4), "data must be a Dataset, a pair (X, targets), or for K outputs a"),  # type: ignore[call-overload]
    (lambda: rf.descend((X, CLASSES), NET, n_steps=1), "loss must be 'squared' or 'cross_entropy' for 3 outputs"),
    (lambda: rf.descend((X, Y), NET, n_steps=1, loss="squared", weight_decay=-1.0), "weight_decay must be a finite"),
    (
        lambda: rf.descend(REAL, ONE, n_steps=1, loss="squared", train="last"),
        "train must be one of 'both', 'first', fo",
    ),
]


@pytest.mark.parametrize(("call", "message"), [*DATA, *OPTIONS, *NETWORKS, *ONE_OUTPUT])
def test_it_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_pattern_that_the_weights_say_by_themselves_is_taken() -> None:
    signs = np.sign(NET.W @ X.T).astype(int)
    known = rf.Network(NET.W, NET.a, pattern=signs)
    assert rf.integrate((X, CLASSES), known, until=1.0, loss="cross_entropy").final == SOL.final
