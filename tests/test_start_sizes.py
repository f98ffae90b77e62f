"""A start beyond what the arithmetic can do is refused, in Python and in the core; one within it stays finite."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow import _core
from toys import digits_like


def core_run(data: rf.Dataset, net: rf.Network) -> dict[str, Any]:
    options = {"until_time": 1.0}
    return _core.integrate(data.X, data.y, net.W, net.a, net.leak, "logistic", "sum", options, None)


@pytest.mark.parametrize("scale", [1e160, 1e51, 1e-291, 1e-300, 5e-324])
def test_a_start_beyond_the_arithmetic_is_refused_with_its_size(scale: float) -> None:
    data, net = digits_like()
    wrong = rf.Network(net.W / 1e-2 * scale, net.a / 1e-2 * scale)
    expected = r"net must have neurons \(w_j, a_j\) of size 0 or in \[1e-290, 1e\+50\], found the size .* \(neuron 0\)"
    with pytest.raises(ValueError, match=expected):
        rf.integrate(data, wrong, until=1.0)
    with pytest.raises(ValueError, match="neuron 0"):
        core_run(data, wrong)


def test_each_neuron_counts_by_itself() -> None:
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    W, a = np.array([[0.5, 0.5], [0.0, 0.0], [1e-295, 0.0]]), np.array([0.5, 0.0, 1e-295])
    with pytest.raises(ValueError, match="neuron 2"):
        rf.integrate(data, rf.Network(W, a), until=1.0)
    assert rf.integrate(data, rf.Network(W[:2], a[:2]), until=1.0).success


def test_large_neurons_on_long_samples_are_refused() -> None:
    data, net = rf.Dataset([[1e60], [2e60]], [1, 1]), rf.Network([[1e49]], [1e49])
    with pytest.raises(ValueError, match=r"net must be so small on these data that m \|θ_j\|² \|x_i\| is at most"):
        rf.integrate(data, net, until=1.0)
    with pytest.raises(ValueError, match="so small that m"):
        core_run(data, net)


@pytest.mark.parametrize("scale", [1e-280, 1e-140, 1e20, 1e49])
def test_a_start_within_the_bounds_stays_finite(scale: float) -> None:
    data, _ = digits_like()
    net = rf.Network.init(6, data.d, scale=scale, seed=2)
    sol = rf.integrate(data, net, until=rf.Stop(time=1e-3, events=200))
    assert np.isfinite(sol.final.W).all()
    assert math.isfinite(sol.log_loss_end)
