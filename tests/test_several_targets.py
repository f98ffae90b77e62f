"""Data with several targets a sample, or with class numbers, in a `Dataset`: the same runs as from pairs of arrays."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.cli import main

RNG = np.random.default_rng(3)
X = RNG.standard_normal((9, 3))
Y = RNG.standard_normal((9, 2))
CLASSES = np.array([0, 1, 1, 0, 1, 0, 0, 1, 1])
COUNTS = np.arange(1.0, 10.0)
NET = rf.Network.init(6, 3, outputs=2, scale=0.3, seed=2)
ONE = rf.Network.init(6, 3, scale=0.3, seed=2)


def same(first: Any, second: Any) -> bool:
    return bool(np.array_equal(first.final.W, second.final.W) and np.array_equal(first.final.a, second.final.a))


@pytest.mark.parametrize("weights", [None, COUNTS])
def test_targets_in_a_dataset_run_like_a_pair(weights: Any) -> None:
    pair: Any = (X, Y) if weights is None else (X, Y, weights)
    run = rf.integrate(rf.Dataset(X, Y, weights=weights), NET, until=3.0, loss="squared")
    assert same(run, rf.integrate(pair, NET, until=3.0, loss="squared"))
    assert len(run.events) > 0


@pytest.mark.parametrize("y", [CLASSES, np.eye(2)[CLASSES], np.eye(2, dtype=bool)[CLASSES], CLASSES == 1])
def test_classes_in_a_dataset_run_like_those_of_a_multi_class_dataset(y: Any) -> None:
    run = rf.integrate(rf.Dataset(X, y, weights=COUNTS), NET, until=3.0, loss="cross_entropy")
    known = rf.datasets.MultiClassDataset(X, CLASSES, weights=COUNTS)
    assert same(run, rf.integrate(known, NET, until=3.0, loss="cross_entropy"))


def test_layered_networks_take_them_too() -> None:
    deep = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(2)], dim=3, scale=0.7, seed=4)
    run = rf.integrate(rf.Dataset(X, Y), deep, until=1.0, loss="squared")
    assert np.array_equal(run.final.theta, rf.integrate((X, Y), deep, until=1.0, loss="squared").final.theta)
    run = rf.integrate(rf.Dataset(X, np.eye(2)[CLASSES]), deep, until=1.0, loss="cross_entropy")
    assert np.array_equal(
        run.final.theta, rf.integrate((X, CLASSES), deep, until=1.0, loss="cross_entropy").final.theta
    )


def test_everything_after_a_run_takes_them(tmp_path: Path) -> None:
    data = rf.Dataset(X, Y, name="pairs").with_bias(1.0)
    net = rf.Network.init(6, 4, outputs=2, scale=0.3, seed=2)
    run = rf.integrate(data, net, until=3.0, loss="squared")
    run.save(tmp_path / "run.npz")
    kept = rf.load(tmp_path / "run.npz")
    assert kept.data == data
    assert same(rf.integrate(data, kept, until=5.0), rf.integrate(data, run, until=5.0))
    assert rf.integrate_many(data, [net], until=3.0, loss="squared").collect()[0].value.final == run.final
    errors = rf.analysis.losses(run, [3.0], test=rf.Dataset(X, Y))
    assert errors["test_loss"][0] == errors["loss"][0]
    steps = rf.descend(data, net, step=1e-4, n_steps=100, loss="squared")
    assert np.abs(steps.W[-1] - run(0.01).W).max() < 1e-3
    early = rf.early_alignment(data, net.W, net.a, loss="squared")
    assert np.array_equal(early.duals, Y)
    assert run.limit.kind == "finite"


def test_what_is_known_of_them() -> None:
    data = rf.Dataset(X, Y)
    assert (data.n_targets, rf.Dataset(X, CLASSES).n_targets, data.has_labels) == (2, 1, False)
    assert repr(data) == f"Dataset(n=9, d=3, 2 targets a sample, y from {Y.min():g} to {Y.max():g})"
    assert data == rf.Dataset(X, Y.tolist()) != rf.Dataset(X, Y + 1)
    assert data.fingerprint != rf.Dataset(X, Y.T.reshape(9, 2)).fingerprint
    assert not data.y.flags.writeable
    signs = np.where(Y > 0, 1.0, -1.0)
    assert not rf.Dataset(X, signs).has_labels  # labels of two outputs are no labels of one
    assert np.array_equal(rf.datasets.standardise(data).y, Y)


MANY = "must have one target a sample (several are for a network of as many outputs, rf.Network.init(..., outputs=K)), "


@pytest.mark.parametrize(
    "call",
    [
        lambda data: rf.integrate(data, ONE, until=1.0, loss="squared"),
        lambda data: rf.integrate(data, ONE, until=1.0),
        lambda data: rf.integrate(data, ONE, until=1.0, loss="squared", train="first"),
        lambda data: rf.integrate_many(data, [ONE], until=1.0, loss="squared"),
        lambda data: rf.integrate_many([data], [ONE], until=1.0, loss="squared"),
        lambda data: rf.descend(data, ONE, step=0.1, n_steps=1, loss="squared"),
        lambda data: rf.early_alignment(data, ONE.W, np.sign(ONE.a), loss="squared"),
        lambda data: rf.saddle_to_saddle(data, ONE.W, np.sign(ONE.a)),
        lambda data: rf.conditions.report(data, loss="squared"),
        lambda data: rf.conditions.orthogonal_separability(data),
        lambda data: rf.convex.max_margin(data),
        lambda data: rf.convex.regularised(data, 0.1, loss="squared"),
        lambda data: rf.certify(ONE, data, loss="squared"),
        lambda data: rf.analysis.losses(rf.integrate(RIGHT, ONE, until=0.1, loss="squared"), test=data),
        lambda data: rf.analysis.extremal_directions(data),
        lambda data: rf.datasets.symmetrise(data),
        lambda data: rf.datasets.hinted(data, H=60, K=1, eps=0.125),
    ],
)
def test_what_is_about_one_output_refuses_them(call: Callable[[Any], Any]) -> None:
    with pytest.raises(ValueError, match="one target a sample") as info:
        call(rf.Dataset(X, Y))
    assert MANY in str(info.value)


RIGHT = rf.Dataset(X, Y[:, 0])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rf.Dataset(X, np.zeros((9, 0))), "y must hold at least one target a sample, found the shape (9, 0)"),
        (lambda: rf.Dataset(X, Y[:8]), "y must have one row for each of the 9 rows of X, found 8 rows"),
        (lambda: rf.Dataset(X, Y[:, :1]), "y must have the shape (n,), found the shape (9, 1)"),
        (lambda: rf.Dataset([[1.0]] * 2, [[1, 2], [3]]), "y must be an array of shape (n,), found 1 entries at row 1"),
        (lambda: rf.Dataset(X, np.where(Y > 1, np.nan, Y)), "y must hold finite numbers only, found nan at row"),
        (
            lambda: rf.integrate(RIGHT, NET, until=1.0, loss="squared"),
            "data.y must have the shape (9, 2), a target for each output (np.eye(K)[classes] makes targets of",
        ),
        (
            lambda: rf.integrate(rf.Dataset(X, np.tile(Y, 2)), NET, until=1.0, loss="squared"),
            "data.y must have the shape (9, 2), a target for each output, found the shape (9, 4)",
        ),
        (
            lambda: rf.integrate(RIGHT, NET, until=1.0, loss="cross_entropy"),
            "data.y must hold 9 class numbers 0 ... 1, one for each output, or as many one-hot rows, found",
        ),
        (
            lambda: rf.integrate(rf.Dataset(X, Y), NET, until=1.0, loss="cross_entropy"),
            "data.y must hold 9 class numbers 0 ... 1, one for each output, or as many one-hot rows, found rows that",
        ),
        (lambda: rf.integrate(rf.Dataset(X, Y), NET, until=1.0), "loss must be 'squared' or 'cross_entropy'"),
    ],
)
def test_what_does_not_fit_is_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match="must") as info:
        call()
    assert message in str(info.value)


# --- in files and on the command line ---


TABLE = "a,b,u,v\n1,2,0.5,1\n-1,1,0.2,-1\n0.5,-1,1,2\n2,0.3,-.5,.1\n"


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "robot.csv"
    path.write_text(TABLE)
    return path


def test_columns_of_a_file_are_targets(table: Path) -> None:
    data = rf.datasets.from_csv(table, target=["u", "v"])
    assert data.feature_names == ("a", "b")
    assert data.y.tolist() == [[0.5, 1.0], [0.2, -1.0], [1.0, 2.0], [-0.5, 0.1]]
    assert rf.datasets.from_csv(table, target=["u"], features=["a"]).y.shape == (4,)


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (["u", "w"], "target must name columns of the file ('a', 'b', 'u', 'v'), found 'w'"),
        ([], "target must name columns, each once, found []"),
        (["u", "u"], "target must name columns, each once, found ['u', 'u']"),
    ],
)
def test_targets_that_the_file_does_not_have(table: Path, target: list[str], message: str) -> None:
    with pytest.raises(ValueError, match="must") as info:
        rf.datasets.from_csv(table, target=target)
    assert message in str(info.value)


def run(*words: object) -> int:
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    code = ended.value.code
    assert isinstance(code, int)
    return code


def test_the_command_line_runs_several_targets(table: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = ("--data", table, "--target", "u,v", "--loss", "squared", "--width", 6, "--scale", 0.1, "--until", 5)
    assert run("run", *words, "--out", out, "--quiet") == 0
    kept = rf.load(out / "run.npz")
    net = rf.Network.init(6, 2, outputs=2, scale=0.1)
    assert same(kept, rf.integrate(rf.datasets.from_csv(table, target=["u", "v"]), net, until=5.0, loss="squared"))


def test_the_command_line_takes_them_from_an_archive(tmp_path: Path) -> None:
    np.savez(tmp_path / "two.npz", X=X, y=Y)
    words = ("--data", tmp_path / "two.npz", "--loss", "squared", "--width", 6, "--until", 1, "--quiet")
    assert run("run", *words, "--out", tmp_path / "out") == 0
    assert rf.load(tmp_path / "out" / "run.npz").final.n_outputs == 2


def test_the_command_line_refuses_what_they_do_not_have(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run("run", "--data", table, "--target", "u,v", "--loss", "squared", "--until", 5, "--euler") == 2
    assert "--euler must be left out with several targets" in capsys.readouterr().err


# --- in sweeps ---


def test_a_sweep_draws_a_network_of_as_many_outputs(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    pytest.importorskip("xarray")
    measure = ["mean_loss", "n_events", "log_loss", "norm", "log_t", "n_branchings"]
    options: dict[str, Any] = {"until": 2.0, "width": 6, "loss": "squared", "scale": 0.3, "store": tmp_path}
    found = rf.sweep(rf.Dataset(X, Y), grid={"seed": [2, 3]}, measure=measure, **options)
    alone = rf.integrate(rf.Dataset(X, Y), NET, until=2.0, loss="squared")
    square = ((alone.final(X) - Y) ** 2).sum()
    assert found["log_loss"][0] == pytest.approx(np.log(0.5 * square), rel=1e-12)
    assert found["mean_loss"][0] == pytest.approx(0.5 * square / 9, rel=1e-12)
    assert found["n_events"][0] == len(alone.events)
    with pytest.raises(ValueError, match=r"measure must name numbers among log_t, .* for several outputs"):
        rf.sweep(rf.Dataset(X, Y), grid={"seed": [2]}, measure="min_margin", **options)


def test_a_sweep_of_cross_entropy_has_an_output_for_each_class(tmp_path: Path) -> None:
    pytest.importorskip("zarr")
    pytest.importorskip("xarray")
    data = rf.datasets.MultiClassDataset(X, CLASSES)
    options: dict[str, Any] = {"until": 2.0, "width": 6, "loss": "cross_entropy", "scale": 0.3, "store": tmp_path}
    found = rf.sweep(data, grid={"seed": [2]}, measure=lambda sol: sol.final.n_outputs, **options)
    assert found["value"][0] == 2
