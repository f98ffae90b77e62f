"""Gradient descent of layers as data: the tables that its flow has, and the file that keeps its samples."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.layered import DeepDescentResult

RNG = np.random.default_rng(0)
X = RNG.standard_normal((9, 2))
LABELS = np.where(X[:, 0] > 0, 1.0, -1.0)
CLASSES = np.arange(9) % 3
WEIGHTS = RNG.integers(0, 3, 9) * 1.0
KINDS: dict[str, tuple[Any, int, str]] = {
    "labels": (rf.Dataset(X, LABELS), 1, "logistic"),
    "weights": ((X, LABELS, WEIGHTS), 1, "exponential"),
    "targets": ((X, X[:, :1] ** 2), 1, "squared"),
    "two targets": ((X, X**2, WEIGHTS), 2, "squared"),
    "classes": (rf.datasets.MultiClassDataset(X, np.array(["a", "b", "c"])[CLASSES]), 3, "cross_entropy"),
    "numbers": ((X.tolist(), CLASSES.tolist()), 3, "cross_entropy"),
}
each = pytest.mark.parametrize("kind", KINDS)


def network(outputs: int) -> rf.DeepNetwork:
    return rf.DeepNetwork.init([rf.Dense(5, bias=True), rf.Dense(4), rf.Dense(outputs)], dim=2, seed=1)


def descent(kind: str, **given: Any) -> DeepDescentResult:
    data, outputs, loss = KINDS[kind]
    options = {"step": 0.01, "n_steps": 60, "save_every": 20, "reduction": "mean", **given}
    return rf.descend(data, network(outputs), loss=loss, **options)  # type: ignore[call-overload, no-any-return]


@each
def test_tables_are_those_of_the_states_of_a_flow(kind: str) -> None:
    """Of one state both know the same: a flow that has just begun where the descent is."""
    run = descent(kind)
    data, _, loss = KINDS[kind]
    series, losses = rf.analysis.series(run), rf.analysis.losses(run, test=data)
    assert series["t"].tolist() == losses["t"].tolist() == run.t.tolist()
    assert series["log_loss"].tolist() == run.log_loss.tolist()
    assert losses["loss"].to_numpy() == pytest.approx(np.exp(run.log_loss), rel=1e-12)
    assert losses["test_loss"].tolist() == losses["loss"].tolist()
    for k in (0, 3):
        here = rf.integrate(data, run.initial._with(run.theta[k].copy()), until=1e-9, loss=loss, reduction="mean")
        flow = rf.analysis.series(here, [0.0])
        same = [name for name in flow if name not in ("t", "log_t", "balance_drift")]
        assert set(flow) == set(series)
        np.testing.assert_allclose(series[same].iloc[k], flow[same].iloc[0], rtol=1e-12)
        if loss == "squared":
            np.testing.assert_allclose(rf.analysis.errors(run)[k], rf.analysis.errors(here, [0.0])[0], rtol=1e-12)
        else:
            np.testing.assert_allclose(rf.analysis.margins(run)[k], rf.analysis.margins(here, [0.0])[0], rtol=1e-12)


@each
def test_the_file_keeps_the_data(kind: str, tmp_path: Path) -> None:
    run = descent(kind)
    run.save(tmp_path / "run.npz")
    back = DeepDescentResult.load(tmp_path / "run.npz")
    assert back.fingerprint == run.fingerprint
    assert type(back.data) is type(run.data)
    np.testing.assert_array_equal(rf.analysis.losses(back), rf.analysis.losses(run))


def test_arrays_are_kept_as_they_were() -> None:
    inputs, targets = X.copy(), LABELS.copy()
    run = rf.descend((inputs, targets), network(1), n_steps=5)
    before = rf.analysis.series(run)
    inputs[:], targets[:] = 7.0, -1.0
    assert rf.analysis.series(run).equals(before)
    assert not any(array.flags.writeable for array in run.data)


def test_held_out_samples_are_measured_along_the_descent() -> None:
    run = descent("labels")
    held = rf.Dataset(X + 0.1, LABELS)
    found = rf.analysis.losses(run, test=held)
    outputs = run.final(held.X)
    assert found["test_loss"].iloc[-1] == pytest.approx(np.log1p(np.exp(-LABELS * outputs)).mean(), rel=1e-12)
    with pytest.raises(ValueError, match="test must have the 2 inputs of the run, found 3 inputs"):
        rf.analysis.losses(run, test=rf.Dataset(np.ones((3, 3)), [1, 1, -1]))


def test_what_a_descent_has_not_is_said() -> None:
    run: Any = descent("labels")
    for table in (rf.analysis.series, rf.analysis.losses, rf.analysis.margins):
        with pytest.raises(
            ValueError, match=r"times must be left out, for gradient descent has its own \(save_every\)"
        ):
            table(run, [0.1])
    for other in (rf.analysis.directions, rf.analysis.pattern_distance, rf.analysis.timeline):
        with pytest.raises(ValueError, match="a descent of a layered network, which has series, margins, losses"):
            other(run)
    with pytest.raises(ValueError, match="source must be a run on labels or classes"):
        rf.analysis.margins(descent("targets"))


def test_figures_draw_the_tables_of_a_descent() -> None:
    run = descent("labels")
    table = rf.analysis.series(run)
    for draw in (rf.figures.loss, rf.figures.norms, rf.figures.margin):
        assert draw(table) is not None
