"""Deep networks that weight decay takes to zero: what slides goes on sliding, and nothing else meets a boundary."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

DECAY = 0.5


def narrow(seed: int, loss: str, rtol: float) -> rf.layered.DeepSolution:
    """Three layers of two, one and one unit, which come to slide on all that they see."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((3, 2))
    y = rng.choice([-1.0, 1.0], 3)
    net = rf.DeepNetwork.init([rf.Dense(2), rf.Dense(1), rf.Dense(1)], dim=2, scale=0.5, seed=seed)
    return rf.integrate((X, y), net, loss=loss, until=120.0, weight_decay=DECAY, rtol=rtol)


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-10, 1e-11, 1e-12])
@pytest.mark.parametrize(("seed", "loss"), [(77, "squared"), (77, "logistic"), (70, "logistic")])
def test_what_decay_alone_moves_goes_on_to_the_end(seed: int, loss: str, rtol: float) -> None:
    """Where θ has fallen, decay pulled on what rounding and steps leave of z, and let go what slides.

    Runs then ended `accuracy_not_reached` below |θ| = 1e-8 or so, or `stationary` at a velocity of γ |θ|.
    """
    sol = narrow(seed, loss, rtol)
    assert sol.status == "reached_time", sol.message
    assert max(event.t for event in sol.events) < 5.0
    assert len(sol.events) == 1
    expected = np.exp(-DECAY * 80.0) * sol(40.0).theta
    np.testing.assert_allclose(sol.final.theta, expected, atol=1e-6 * np.abs(expected).max())


def collapsing(seed: int, rtol: float) -> rf.layered.DeepSolution:
    """Three layers with activated outputs on general samples."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((5, 3))
    y = rng.choice([-1.0, 1.0], 5)
    layers = [rf.Dense(3), rf.Dense(3), rf.Dense(1, activation="relu")]
    net = rf.DeepNetwork.init(layers, dim=3, scale=0.5, seed=seed)
    loss = "logistic" if seed % 2 else "squared"
    return rf.integrate((X, y), net, loss=loss, weight_decay=DECAY, until=80.0, rtol=rtol)


@pytest.mark.parametrize("seed", [12, 14, 16, 18, 21, 23, 24])
def test_what_has_decayed_has_not_come_to_its_boundaries(seed: int) -> None:
    """Pre-activations were compared with what they had been before they decayed: below 1e-8 of that all were zero.

    Where a false event came, all boundaries met with it: `undecided_event` or `accuracy_not_reached`.
    """
    runs = [collapsing(seed, rtol) for rtol in (1e-9, 1e-11)]
    for sol in runs:
        assert sol.status == "reached_time", sol.message
        assert sol.final.norm < 1e-15
        assert max(event.t for event in sol.events) < 15.0
    assert [e.kind for e in runs[0].events] == [e.kind for e in runs[1].events]
