"""Loss, norms, margins and events of runs of layers and of several outputs, as of two layers."""

from __future__ import annotations

import functools
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import reluflow as rf
from reluflow import analysis, figures

mpl.use("agg")
RNG = np.random.default_rng(3)
X = RNG.standard_normal((10, 2))
LABELS = np.sign(X[:, 0] + 0.3)
CLASSES = (X @ RNG.standard_normal((2, 3))).argmax(axis=1)
COUNTS = np.array([0.0, 2.0, *[1.0] * 8])
DATA = rf.Dataset(X, LABELS, weights=COUNTS)
TWO = rf.Network.init(5, 2, scale=0.4, seed=1)


def as_layers(net: rf.Network) -> rf.DeepNetwork:
    theta = np.concatenate((net.W.ravel(), net.a))
    return rf.DeepNetwork([rf.Dense(net.width), rf.Dense(1)], theta, dim=net.dim)


@functools.cache
def deep(loss: Any = "logistic") -> rf.layered.DeepSolution:
    net = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(4), rf.Dense(1)], dim=2, scale=0.8, seed=3)
    return rf.integrate(DATA, net, until=30.0, loss=loss, reduction="mean")


@functools.cache
def classes() -> rf.flow.TwoLayerSolution:
    net = rf.Network.init(6, 2, outputs=3, scale=0.5, seed=1)
    return rf.integrate((X, CLASSES), net, loss="cross_entropy", until=30.0)


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared"])
def test_two_layers_as_layers_have_the_numbers_of_two_layers(loss: Any) -> None:
    how: dict[str, Any] = {"until": 20.0, "loss": loss, "save_at": [0.5, 5.0, 20.0], "reduction": "mean", "rtol": 1e-11}
    known = analysis.series(rf.integrate(DATA, TWO, **how))
    found = analysis.series(rf.integrate(DATA, as_layers(TWO), **how))
    shared = [name for name in found if name in known and name != "balance_drift"]
    # Of the squared loss, labels are targets for layers, which have no margins.
    of_loss = {"rmse", "largest_error"} if loss == "squared" else {"normalised_margin", "smoothed_margin", "n_wrong"}
    assert {"t", "log_t", "log_loss", "loss", "norm", *of_loss} <= set(shared)
    for name in shared:
        np.testing.assert_allclose(found[name], known[name], rtol=1e-7, atol=1e-9, err_msg=name)
    np.testing.assert_allclose(found["norm_1"], known["norm_W"], rtol=1e-7)
    np.testing.assert_allclose(found["norm_2"], known["norm_a"], rtol=1e-7)
    assert found["balance_drift"].max() < 1e-9


def test_margins_of_layers_are_over_the_power_of_their_degree() -> None:
    sol = deep()
    found = analysis.margins(sol, [1.0, 10.0], normalised=True)
    for k, t in enumerate((1.0, 10.0)):
        net = sol(t)
        np.testing.assert_allclose(found[k], LABELS * net(X) / net.norm**3, rtol=1e-12)
    assert found.attrs["degree"] == 3
    table = analysis.series(sol, [1.0, 10.0])
    np.testing.assert_allclose(table["normalised_margin"], found[:, 1:].min(axis=1), rtol=1e-12)  # 0 counts nothing
    assert table["n_wrong"].tolist() == [(LABELS[1:] * sol(t)(X)[1:] <= 0).sum() for t in (1.0, 10.0)]


def test_the_smoothed_margin_of_layers_grows_once_the_data_are_separated() -> None:
    table = analysis.series(deep("exponential"))
    separated = table["log_loss"] + np.log(COUNTS.sum()) < 0
    assert separated.sum() > 5
    values = table["smoothed_margin"][separated].to_numpy()
    assert (np.diff(values) > -1e-12).all()
    assert (values <= table["normalised_margin"][separated] + 1e-12).all()


def test_margins_of_several_outputs_are_those_to_the_next_class() -> None:
    sol = classes()
    f = sol.final(X)
    others = np.where(np.eye(3)[CLASSES] == 1.0, -np.inf, f).max(axis=1)
    expected = f[np.arange(10), CLASSES] - others
    np.testing.assert_allclose(analysis.margins(sol)[-1], expected, rtol=1e-12)
    table = analysis.series(sol)
    assert table["normalised_margin"].iloc[-1] == pytest.approx(expected.min() / sol.final.norm**2, rel=1e-12)
    assert "smoothed_margin" not in table
    np.testing.assert_array_equal(table["log_loss"], sol.log_loss)


def test_errors_of_several_targets_are_lengths() -> None:
    targets = np.column_stack((X[:, 0], X[:, 1] ** 2))
    net = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(2)], dim=2, seed=1)
    sol = rf.integrate((X, targets), net, loss="squared", until=1.0)
    table, error = analysis.series(sol), np.linalg.norm(sol.final(X) - targets, axis=1)
    assert table["largest_error"].iloc[-1] == pytest.approx(error.max(), rel=1e-12)
    assert table["rmse"].iloc[-1] == pytest.approx(np.sqrt((error**2).mean()), rel=1e-12)
    assert "min_margin" not in table


def test_a_network_without_a_degree_has_margins_but_none_over_a_power() -> None:
    net = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(1, bias=True)], dim=2, seed=1)
    sol = rf.integrate(DATA, net, until=1.0)
    np.testing.assert_allclose(analysis.margins(sol)[-1], LABELS * sol.final(X), rtol=1e-12)
    table = analysis.series(sol)
    assert "normalised_margin" not in table
    assert "min_margin" in table
    with pytest.raises(ValueError, match="normalised must be False for a network that is not homogeneous, found True"):
        analysis.margins(sol, normalised=True)


def test_figures_draw_layers_and_classes() -> None:
    table = analysis.series(deep())
    lines = {line.get_label(): line for line in figures.norms(table).lines}
    assert [label for label in lines if label != "_child0"][0:4] == [r"$|\theta|$", "layer 1", "layer 2", "layer 3"]
    np.testing.assert_array_equal(lines["layer 2"].get_ydata(), table["norm_2"])
    assert figures.margin(table).get_ylabel() == r"margin$\,/\,|\theta|^3$"
    assert figures.margins(analysis.margins(deep(), normalised=True)).get_ylabel() == r"$q_i/|\theta|^3$"
    shown = figures.margins(analysis.margins(classes()))
    assert [text.get_text() for text in shown.get_legend().get_texts()] == ["class 0", "class 1", "class 2"]
    assert len(shown.lines) == 10 + 1  # and the line at 0
    assert figures.loss(table).get_ylabel() == "loss"


def test_the_plane_of_outputs_of_layers_is_that_of_the_network() -> None:
    net = deep().final
    plane = analysis.decision_plane(DATA, net, n_grid=5)
    U, V = np.meshgrid(plane.u, plane.v)
    np.testing.assert_allclose(plane.values.ravel(), net(np.column_stack((U.ravel(), V.ravel()))), rtol=1e-12)
    biased = DATA.with_bias(2.0)
    start = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(1)], dim=3, seed=1)
    plane = analysis.decision_plane(biased, start, n_grid=5)
    inputs = np.column_stack((U.ravel(), V.ravel(), np.full(25, 2.0)))
    np.testing.assert_allclose(plane.values.ravel(), start(inputs), rtol=1e-12)
    with pytest.raises(ValueError, match="net must have one output, found 2 outputs"):
        analysis.decision_plane(DATA, rf.DeepNetwork.init([rf.Dense(2)], dim=2))
    with pytest.raises(ValueError, match="net must take the 2 inputs of the data, found a network of 3 inputs"):
        analysis.decision_plane(DATA, start)


def test_events_are_chosen_by_layer_unit_sample_and_kind() -> None:
    events = deep().events
    rows = list(events)
    for given in (
        {"layer": 2},
        {"unit": [0, rows[-1].unit], "kind": rows[-1].kind},
        {"sample": rows[0].sample, "kind": (rows[0].kind, "branch")},
    ):
        wanted = {name: value if isinstance(value, (list, tuple)) else [value] for name, value in given.items()}
        expected = [row for row in rows if all(getattr(row, name) in values for name, values in wanted.items())]
        assert expected
        assert list(events.of(**given)) == expected  # type: ignore[arg-type]
    assert events.of() == events
    with pytest.raises(ValueError, match="kind must be one of 'cross_up'"):
        events.of(kind="die")
    with pytest.raises(ValueError, match="layer must be an integer or a sequence of integers"):
        events.of(layer=1.5)  # type: ignore[arg-type]
