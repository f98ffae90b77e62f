"""A limit is solved for: the tolerance of a run to it decides by which way it is reached, and has its own default."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.datasets import make_moons

import reluflow as rf
from certificate import certify_alone


def labelled(seed: int) -> rf.Dataset:
    """Gaussian samples with random labels, fewer than a linear map could fit."""
    rng = np.random.default_rng(seed)
    return rf.Dataset(rng.standard_normal((16, 8)), rng.choice([-1.0, 1.0], 16))


def moons(seed: int) -> rf.Dataset:
    """Two half circles that one line does not separate, with a constant column."""
    X, labels = make_moons(60, noise=0.1, random_state=seed)
    return rf.Dataset(np.c_[X, np.ones(60)], np.where(labels == 1, 1.0, -1.0))


TO_LIMIT = rf.Stop(limit=True)


@pytest.mark.parametrize(
    ("until", "options", "expected"),
    [
        (TO_LIMIT, {}, 1e-6),
        (TO_LIMIT, {"loss": "exponential", "reduction": "mean"}, 1e-6),
        (TO_LIMIT, {"rtol": 1e-8}, 1e-8),
        (TO_LIMIT, {"weight_decay": 0.1}, 1e-9),
        (TO_LIMIT, {"loss": "squared"}, 1e-9),  # which of the interpolators it is depends on the way
        (rf.Stop(log_time=3.0), {}, 1e-9),
        (5.0, {}, 1e-9),
    ],
)
def test_default_tolerance(until: rf.Stop | float, options: dict[str, object], expected: float) -> None:
    data = rf.datasets.wang_pilanci("obtuse")
    start = rf.Network.init(4, data.d, scale=0.1, seed=0)
    assert rf.integrate(data, start, until=until, **options).settings.rtol == expected
    (run,) = rf.integrate_many(data, [start], until=until, **options).collect()
    assert run.result.settings.rtol == expected


def test_default_tolerance_of_other_networks() -> None:
    data = rf.datasets.wang_pilanci("obtuse")
    layers = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(3), rf.Dense(1)], dim=data.d, scale=0.5, seed=0)
    assert rf.integrate(data, layers, until=rf.Stop(limit=True, log_time=1.0)).settings["rtol"] == 1e-9
    first = rf.integrate(data, rf.Network.init(4, data.d, scale=0.1, seed=0), until=1.0, train="first")
    assert first.settings["rtol"] == 1e-9


@pytest.mark.parametrize("draw", [labelled, moons])
@pytest.mark.parametrize("seed", range(4))
def test_a_limit_does_not_depend_on_the_tolerance(draw: Callable[[int], rf.Dataset], seed: int) -> None:
    data = draw(seed)
    start = rf.Network.init(12, data.d, scale=0.1, seed=seed)
    runs = [rf.integrate(data, start, until=TO_LIMIT, **options) for options in ({}, {"rtol": 1e-11})]
    limits = [run.limit for run in runs]
    assert all(run.status == "reached_limit" for run in runs)
    assert limits[0].kind == limits[1].kind
    if limits[0].kind == "direction":
        n_resting = int((np.abs(limits[0].network(data.X)) < 1e-9).sum())
        assert certify_alone(data, limits[0], n_resting) <= 1e-9
    outputs = [limit.network(data.X) for limit in limits]
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=0, atol=1e-9 * np.abs(outputs[1]).max())
    # How neurons of one group share its weight, and where in a continuum they are, is left to the flow.
    networks = [limit.network.theta / limit.network.norm for limit in limits]
    assert np.linalg.norm(networks[0] - networks[1]) <= 1e-3
