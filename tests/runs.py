"""Real runs that several tests look at, each made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np

import reluflow as rf
from reluflow.flow import _one


@cache
def planar(seed: int = 1, until: float = 1e4, scale: float = 1e-3) -> rf.Solution:
    """The 2-D example of [WP] F.1; with seed 1 both classes are learnt and two neurons die."""
    data = rf.datasets.wang_pilanci("obtuse")
    return rf.integrate(data, rf.Network.init(10, 2, scale=scale, seed=seed), until=until)


@cache
def endless(log_time: float = 1500.0) -> rf.Solution:
    """The same example to a time that no double holds."""
    data = rf.datasets.wang_pilanci("obtuse")
    return rf.integrate(data, rf.Network.init(10, 2, scale=1e-3, seed=1), until=rf.Stop(log_time=log_time))


@cache
def holding() -> rf.Solution:
    """Acute classes: neurons are held on boundaries, slide and are released."""
    data = rf.datasets.wang_pilanci("acute")
    return rf.integrate(data, rf.Network.init(12, 2, scale=1e-2, seed=3), until=200.0)


@cache
def regression() -> rf.Solution:
    """A wave in one dimension, with a bias."""
    x = np.linspace(-1, 1, 20)
    data = rf.Dataset(x[:, None], np.sin(4 * x), bias_input=1.0)
    return rf.integrate(data, rf.Network.init(20, 2, scale=1e-2, seed=1), until=60.0, loss="squared")


@cache
def iris() -> rf.Solution:
    """Two kinds of iris, four inputs, a bias, leaky: many events in little time."""
    data = rf.datasets.iris("versicolor", "virginica").with_bias(1.0)
    net = rf.Network.init(20, data.d, scale=1e-3, leak=0.1, seed=0)
    return rf.integrate(data, net, until=5.0, reduction="mean")


@cache
def digits() -> rf.Solution:
    """The main job at half its width: handwritten 3 against 8."""
    data = rf.datasets.digits(3, 8)
    return rf.integrate(data, rf.Network.init(24, 64, scale=1e-3, seed=0), until=rf.Stop(mean_loss=0.05))


def with_legs(
    data: rf.Dataset, net: rf.Network, loss: str, make: Callable[..., rf.Solution], reduction: str = "sum"
) -> None:
    """Call `make(run)` with what runs the legs of a run to its limit."""
    legs = _one.to_limit
    try:
        _one.to_limit = lambda run, *_: make(run)  # type: ignore[assignment]
        rf.integrate(data, net, loss=loss, until=rf.Stop(limit=True), reduction=reduction)
    finally:
        _one.to_limit = legs
