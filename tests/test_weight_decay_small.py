"""What weight decay takes below 1e-290 is zero in results, as docs/guarantees.md says, and runs go on from there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf

SMALLEST = 1e-290


@pytest.mark.parametrize("time", [660.0, 680.0, 710.0, 744.0, 800.0])
def test_a_neuron_that_no_sample_reaches_is_whole_or_zero(time: float, tmp_path: Path) -> None:
    # The third neuron is inactive on both samples, so that it is θ(0) e^{-t}; the first comes to rest beside it.
    data = rf.Dataset([[1.0, 0.2], [0.3, 1.0]], [1.5, -0.7])
    net = rf.Network([[1.0, 0.0], [0.0, 1.0], [-0.3, -0.4]], [0.9, -0.8, 0.5])
    rule: dict[str, Any] = {"loss": "squared", "weight_decay": 1.0}
    sol = rf.integrate(data, net, until=time, save_at=[time - 20.0, time - 1.0], **rule)
    ends = [(time, sol.final), *zip(sol.t, map(sol, sol.t), strict=True), (time - 3.0, sol(time - 3.0))]
    for t, found in ends:
        size = np.hypot(0.5, 0.5) * np.exp(-t)
        left = net.theta[2] * np.exp(-t) if size >= SMALLEST else np.zeros(3)
        np.testing.assert_allclose(found.theta[2], left, rtol=1e-11, atol=0)
        rf.integrate(data, found, until=1.0, **rule)
    sol.save(tmp_path / "sol.npz")
    kept: Any = rf.load(tmp_path / "sol.npz")
    for before in (sol, kept):
        further = rf.integrate(data, before, until=time + 10.0, **rule)
        np.testing.assert_allclose(further.final.theta[0], sol.final.theta[0], rtol=1e-9)


@pytest.mark.parametrize("options", [{}, {"rates": (1.0, 1.0)}], ids=["two layers", "layered"])
def test_states_of_a_network_that_decays_to_nothing_are_whole_or_zero(options: dict[str, Any]) -> None:
    # Targets of zero: near θ = 0 nothing but the decay is left, of all neurons alike.
    data = rf.Dataset([[1.0, 0.2], [0.3, 1.0]], [0.0, 0.0])
    net = rf.Network([[1.0, 0.0], [0.0, 1.0], [-0.3, -0.4]], [0.9, -0.8, 0.5])
    times = np.arange(655.0, 690.0, 0.5)
    sol = rf.integrate(data, net, until=700.0, loss="squared", weight_decay=1.0, save_at=times, **options)
    sizes = 1e-250 * np.linalg.norm(1e250 * np.concatenate([sol.W, sol.a[:, :, None]], axis=2), axis=2)
    assert ((sizes == 0) | (sizes >= SMALLEST)).all()
    assert sizes[0].all()
    assert sizes[-1].max() < 1e-289  # e^-655 is 3e-285, and e^-668 is 8e-291
    for t in sol.t[::5]:
        rf.integrate(data, sol(t), until=1.0, loss="squared", weight_decay=1.0)


@pytest.mark.parametrize("loss", ["squared", "logistic", "exponential"])
@pytest.mark.parametrize("small", [1e-6, 1e-12])
def test_a_network_that_decay_has_taken_to_zero_rests_at_any_time(small: float, loss: str) -> None:
    """Its neurons go on to turn, at the pace of the pull of their sample: the run took 25 units of time a step."""
    net = rf.Network([[1.0]], [0.5])
    until = rf.Stop(time=1e9, seconds=10.0)
    sol = rf.integrate(([[small]], [1.0]), net, until=until, loss=loss, weight_decay=0.1)
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 1000
    assert sol.final.W[0, 0] == sol.final.a[0] == 0.0
    assert sol(500.0).a[0] == pytest.approx(0.5 * np.exp(-50.0), rel=1e-3)
