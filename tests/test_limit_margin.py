"""The margin of a limit means one thing: the least of all samples that count, over |θ|^L."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

X = np.array([[1.0, 0.0], [1.0, 1.0], [-1.0, -0.5]])
NET = rf.Network([[1.0, 0.2], [0.5, 0.5]], [1.0, 0.6])  # inactive on sample 2
DEEP = rf.DeepNetwork([rf.Dense(2), rf.Dense(1)], [1.0, 0.2, 0.5, 0.5, 1.0, 0.6], dim=2)


@pytest.mark.parametrize("net", [NET, DEEP], ids=["two layers", "layered"])
def test_a_sample_that_stays_at_zero_leaves_no_margin(net: rf.Network | rf.DeepNetwork) -> None:
    limit = rf.integrate(rf.Dataset(X, [1, 1, -1]), net, until=rf.Stop(limit=True)).limit
    assert limit.certified
    assert str(limit.margin) == "0.0"
    alone = rf.integrate(rf.Dataset(X, [1, 1, -1], weights=[1, 1, 0]), net, until=rf.Stop(limit=True)).limit
    assert alone.certified
    assert alone.margin == pytest.approx(0.5, rel=1e-12)
    assert 0.5 / abs(limit.duals[:2]).sum() == pytest.approx(alone.margin, rel=1e-12)


def test_samples_that_contradict_each_other_leave_no_margin() -> None:
    pair = np.array([[1.0, 0.3], [1.0, 0.3], [-0.2, 2.0]])
    sol = rf.integrate(
        rf.Dataset(pair, [1, -1, 1]), rf.Network.init(3, 2, scale=0.3, seed=2), until=rf.Stop(limit=True)
    )
    assert sol.limit.kind == "direction"
    assert sol.limit.certified
    assert str(sol.limit.margin) == "0.0"


def test_the_margin_of_a_critical_point_is_that_of_its_network() -> None:
    """Two layers as a Network and as layers, of data with weight decay: the same point."""
    data, how = rf.Dataset(X[:2], [1, -1]), {"until": rf.Stop(limit=True), "weight_decay": 0.05}
    two, deep = rf.integrate(data, NET, **how).limit, rf.integrate(data, DEEP, **how).limit
    assert two.kind == deep.kind == "finite"
    assert two.certified
    assert deep.certified
    expected = (data.y * deep.network(data.X)).min() / deep.network.norm**2
    assert deep.margin == pytest.approx(expected, rel=1e-12)
    assert two.margin == pytest.approx(deep.margin, rel=1e-6)


def test_the_margin_of_classes_is_that_to_the_next_class() -> None:
    net = rf.DeepNetwork.init([rf.Dense(6), rf.Dense(3)], dim=2, seed=1)
    sol = rf.integrate((X, [0, 1, 2]), net, loss="cross_entropy", until=50.0)
    f = sol.limit.network(X)
    others = np.where(np.eye(3) == 1.0, -np.inf, f).max(axis=1)
    assert sol.limit.margin == pytest.approx((np.diag(f) - others).min() / sol.limit.network.norm**2, rel=1e-12)


def test_the_squared_loss_and_networks_without_a_degree_have_no_margin() -> None:
    squared = rf.integrate((X, [1.0, 0.5, 0.0]), DEEP, loss="squared", until=5.0)
    biased = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(1, bias=True)], dim=2, seed=1)
    assert np.isnan(squared.limit.margin)
    assert np.isnan(rf.integrate(rf.Dataset(X, [1, 1, -1]), biased, until=5.0).limit.margin)
