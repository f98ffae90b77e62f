"""Limits with neurons on dependent boundaries, of which some repel: Boolean and integer data."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import reluflow as rf
from reluflow.limits._checks import stay_on_dependent
from reluflow.limits._groups import groups

CUBE = np.array(list(product([-1.0, 1.0], repeat=4)))


def climb(data: rf.Dataset, net: rf.Network, lam: np.ndarray, direction: np.ndarray) -> float:
    """Return what a step of the first neuron in a direction adds to sign(a) Σ λ_i φ(w·x_i), to first order."""
    z = data.X @ direction
    pattern = net.pattern[0]
    slope = np.where(pattern == 0, np.where(z > 0, 1.0, net.leak), np.where(pattern > 0, 1.0, net.leak))
    return float(np.sign(net.a[0]) * (lam * slope) @ z)


@settings(max_examples=150, deadline=None)
@given(st.integers(0, 10**6))
def test_a_neuron_stays_where_no_way_leads_up(seed: int) -> None:
    """Three or four boundaries in a plane, in three dimensions, against a thousand directions in that plane."""
    random = np.random.default_rng(seed)
    plane = np.linalg.qr(random.standard_normal((3, 2)))[0]
    X = random.integers(-2, 3, (int(random.integers(3, 5)), 2)).astype(float)
    X = X[np.abs(X).sum(axis=1) > 0]
    normal = np.cross(*plane.T)
    inputs = np.vstack([X @ plane.T, [normal + plane @ random.standard_normal(2)]])
    data = rf.Dataset(inputs, np.ones(len(inputs)))
    pattern = np.array([[0] * len(X) + [1]], dtype=np.int8)
    leak = float(random.choice([0.0, 0.2]))
    net = rf.Network([normal], [float(random.choice([-1.0, 1.0]))], leak=leak, pattern=pattern)
    lam = random.integers(-3, 4, len(inputs)).astype(float)
    found = groups(data, net)
    edges = [found.boundaries.edges(int(k), lam, leak) for k in found.held_boundaries(0)]
    repels = any(found.sign[0] * (high - low) > 0 for low, high in edges)
    angles = np.linspace(0, 2 * np.pi, 1000)
    ways = np.array([climb(data, net, lam, plane @ way) for way in np.c_[np.cos(angles), np.sin(angles)]])
    stays = stay_on_dependent(found, lam, leak)
    if repels and len(edges) > len(found.bases[0]) and np.abs(ways.max()) > 0.05:
        assert stays == (ways.max() < 0)


@pytest.mark.parametrize(
    ("width", "scale", "leak", "loss"), [(30, 1e-2, 0.0, "logistic"), (50, 0.3, 0.1, "exponential")]
)
def test_a_boolean_function_has_a_certified_limit(width: int, scale: float, leak: float, loss: str) -> None:
    """It was not certified at all, since neurons stay on dependent boundaries of which one repels."""
    random = np.random.default_rng(1)
    random.random(16)
    data = rf.Dataset(CUBE, random.choice([-1.0, 1.0], 16))
    net = rf.Network.init(width, 4, scale=scale, seed=1, leak=leak)
    sol = rf.integrate(data, net, loss=loss, until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert sol.stats["steps"] < 4000


@pytest.mark.parametrize("seed", [1, 14])
def test_weights_at_rest_may_outweigh_the_others_by_any_factor(seed: int) -> None:
    """Samples that no neuron drives, at log t = 1000."""
    data = rf.Dataset(CUBE, np.random.default_rng(seed).choice([-1.0, 1.0], 16))
    sol = rf.integrate(data, rf.Network.init(20, 4, scale=1e-2, seed=seed), until=rf.Stop(log_time=1e3))
    assert sol.limit.certified, sol.limit.reason


@pytest.mark.parametrize("seed", [33, 45])
def test_a_neuron_stays_where_a_way_is_level(seed: int) -> None:
    """Whole numbers: along one ray nothing pulls, and the rounding of that was taken for a way up."""
    random = np.random.default_rng(seed)
    X, y = random.integers(0, 4, (24, 3)), random.choice([-1.0, 1.0], 24)
    data, net = rf.Dataset(np.c_[X, np.ones(24)], y), rf.Network.init(20, 4, scale=0.3, seed=seed)
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    assert sol.status == "reached_limit", sol.message
    assert sol.stats["steps"] < 30_000  # 3,000 to 18,000 for tolerances of 1e-10 to 1e-7
