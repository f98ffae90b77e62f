"""Losses and errors along layered runs, and dense output at several times, as runs of two layers have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf

RNG = np.random.default_rng(0)
X, TEST = RNG.standard_normal((8, 3)), RNG.standard_normal((5, 3))
TIMES = [0.0, 0.5, 2.0]


def two_layers(net: rf.Network) -> rf.DeepNetwork:
    theta = np.concatenate((net.W.ravel(), net.a.T.ravel()))
    return rf.DeepNetwork([rf.Dense(net.width), rf.Dense(net.n_outputs)], theta, dim=net.dim)


@pytest.mark.parametrize("loss", ["logistic", "squared", "cross_entropy"])
def test_losses_of_layers_are_those_of_two_layers(loss: Any) -> None:
    K = 3 if loss == "cross_entropy" else 1
    y, y_test = _targets(loss, X), _targets(loss, TEST)
    net = rf.Network.init(5, 3, scale=0.5, seed=1, **({"outputs": K} if K > 1 else {}))
    weights = np.arange(1.0, 9.0)
    known = rf.integrate((X, y, weights), net, until=2.0, loss=loss)
    found = rf.integrate((X, y, weights), two_layers(net), until=2.0, loss=loss)
    one, two = (rf.analysis.losses(run, TIMES, test=(TEST, y_test)) for run in (known, found))
    assert list(one) == list(two)
    np.testing.assert_allclose(two, one, rtol=1e-6)
    assert (found.loss, found.reduction) == (known.loss, known.reduction)
    if loss == "squared":
        np.testing.assert_allclose(rf.analysis.errors(found, TIMES), rf.analysis.errors(known, TIMES), atol=1e-7)
    assert len(rf.analysis.losses(found)) == len(found.t)


def _targets(loss: str, inputs: np.ndarray) -> np.ndarray:
    if loss == "cross_entropy":
        return inputs.argmax(axis=1)
    return np.sin(inputs[:, 0]) if loss == "squared" else np.sign(inputs[:, 0])


def test_errors_of_several_outputs_have_their_dimension() -> None:
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(2)], dim=3, seed=1)
    run = rf.integrate((X, X[:, :2]), net, until=1.0, loss="squared")
    found = rf.analysis.errors(run, [1.0])
    assert found.dims == ("time", "sample", "output")
    np.testing.assert_allclose(found[0], run.final(X) - X[:, :2], atol=1e-12)


def test_held_out_samples_get_the_bias_of_the_run() -> None:
    data = rf.Dataset(X, np.sign(X[:, 0]), bias_input=1.0)
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=4, seed=1)
    run = rf.integrate(data, net, until=1.0)
    table = rf.analysis.losses(run, test=rf.Dataset(TEST, np.sign(TEST[:, 0])))
    f = run.final(np.column_stack((TEST, np.ones(5))))
    assert table.test_wrong.iloc[-1] == pytest.approx(np.mean(np.sign(TEST[:, 0]) * f <= 0))
    with pytest.raises(ValueError, match="test must have the 4 inputs of the run, found 2 inputs"):
        rf.analysis.losses(run, test=(TEST[:, :2], np.sign(TEST[:, 0])))


def test_several_times_give_several_networks() -> None:
    deep = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=3, seed=1)
    wide = rf.Network.init(4, 3, outputs=2, scale=0.5, seed=1)
    runs = (
        rf.integrate((X, np.sign(X[:, 0])), deep, until=1.0),
        rf.integrate((X, X[:, :2]), wide, until=1.0, loss="squared"),
    )
    for run in runs:
        nets = run([0.25, 1.0])
        assert nets == (run(0.25), run(1.0))
        with pytest.raises(ValueError, match="t must lie in the run"):
            run([0.5, 2.0])
