"""Limits at which all samples balance at w = 0.

There w falls for ever, to what rounding leaves of it, beside an output weight that stays.
"""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

DATA = rf.Dataset([[4.0], [4.0], [-4.0], [-4.0]], [1, 1, -1, 1])
SCALES = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0]


def start(scale: float) -> rf.Network:
    """Return neurons on whose side samples of both labels have one place; those beyond w = 0 draw on who crosses."""
    return rf.Network(np.full((2, 1), -0.5 * scale), np.full(2, 1.3766785757818537 * scale))


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("scale", SCALES)
def test_no_neuron_crosses_by_rounding_what_it_never_reaches(scale: float, rtol: float) -> None:
    sol = rf.integrate(DATA, start(scale), loss="exponential", rtol=rtol, until=rf.Stop(log_time=40.0))
    assert not len(sol.events)
    assert np.abs(sol.final.W).max() < 0.1 * scale


@pytest.mark.parametrize("scale", SCALES)
def test_the_limit_keeps_the_balance_and_has_no_weights(scale: float) -> None:
    net = start(scale)
    sol = rf.integrate(DATA, net, loss="exponential", until=rf.Stop(limit=True))
    assert sol.status == "reached_limit"
    assert sol.limit.kind == "finite"
    assert not sol.limit.network.W.any()
    np.testing.assert_allclose(sol.limit.network.a, np.sqrt(net.a**2 - net.W[:, 0] ** 2), rtol=1e-12)
