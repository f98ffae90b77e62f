"""Layered units beside a boundary to which they only tend: explicit steps took them across at their tolerance."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

X = np.array([[1.0, -1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, 1.0], [1.0, -1.0, -1.0]])
TARGETS = np.array([-3.0, -3.0, -1.0, 3.0])
DIRECTION = np.array([1.06, -1.6, -0.39])
# The second and the last sample are one point, at which zero fits best; the unit is not to see the third.
LOSS = 0.5 * (3.0**2 + 1.0 + 3.0**2)


@pytest.mark.parametrize("rtol", [1e-7, 1e-8, 1e-9, 1e-10, 1e-12])
@pytest.mark.parametrize("log_scale", [0.0, -5.0, -100.0])
def test_a_unit_beside_a_sample_that_is_fitted_by_zero_stays_on_its_side(rtol, log_scale):
    """As in `test_held_beside`: with x' = (1, -1, -1) z = w·x' tends to zero and stays positive."""
    size = np.exp(log_scale)
    net = rf.Network([size * DIRECTION / np.linalg.norm(DIRECTION)], [-size])
    until = 30.0 - 0.2 * log_scale
    sol = rf.integrate(rf.Dataset(X, TARGETS), net, until=until, loss="squared", rtol=rtol, rates=(1.0, 1.0))
    assert len(sol.events) == 0
    assert np.exp(sol.log_loss_end) == pytest.approx(LOSS, rel=1e-12)


@pytest.mark.parametrize("rtol", [1e-8, 1e-9, 1e-10])
def test_the_same_with_several_outputs(rtol):
    """Outputs in the ratio of 0.6 to 0.8, and targets as well, are one output."""
    shares = np.array([0.6, 0.8])
    w = DIRECTION / np.linalg.norm(DIRECTION)
    net = rf.Network([w], -shares[None])
    sol = rf.integrate((X, TARGETS[:, None] * shares), net, until=30.0, loss="squared", rtol=rtol)
    assert len(sol.events) == 0
    assert np.exp(sol.log_loss_end) == pytest.approx(LOSS, rel=1e-12)


def test_a_distance_that_tends_to_what_is_beyond_is_met_in_time():
    """The target -1 of the point that the unit sees, a < 0, would need it beyond: on the way z = 0 is met."""
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
    net = rf.Network([[0.3, 0.5]], [-np.hypot(0.3, 0.5)])
    times = []
    for options in ({}, {"rates": (1.0, 1.0)}):
        sol = rf.integrate(data, net, until=5.0, loss="squared", rtol=1e-11, **options)
        times.append([(event.sample, event.kind, event.t) for event in sol.events])
    (own,), (layered,) = times
    assert own[:2] == layered[:2]
    assert layered[2] == pytest.approx(own[2], rel=1e-9)


@pytest.mark.parametrize(
    ("rows", "W", "a"),
    [
        ([[-3, 2], [-3, 3], [0, -3], [-3, -2]], [[3, 0], [7, 11]], [-15, -2]),
        ([[2, 0], [-3, 3], [2, 3]], [[-4, 13], [-24, 30]], [-16, 22]),
    ],
)
def test_what_falls_beside_a_boundary_in_two_ways_does_not_cross(rows, W, a):
    """A unit fits all samples that it sees, and tends to the boundary of one that it does not see. Where few orders of
    a step could have an event in sight, fast errors of steps before made a root of them."""
    data = rf.Dataset(np.array(rows, dtype=float), np.full(len(rows), 2.0))
    net = rf.Network(1e-21 * np.array(W), 1e-21 * np.array(a))
    options = {"until": 8.0, "loss": "squared", "rtol": 1e-10}
    own = rf.integrate(data, net, **options)
    layered = rf.integrate(data, net, rates=(1.0, 1.0), **options)
    np.testing.assert_allclose(layered.final.W, own.final.W, atol=1e-9)
    assert max(event.t for event in layered.events) < 4.0


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12])
@pytest.mark.parametrize("until", [300.0, 1000.0])
def test_weights_that_decay_beside_their_boundaries_do_not_cross(rtol, until):
    """Each input is read through one weight; those of samples that a unit does not see fall like e^(-γt) for ever."""
    data = rf.Dataset(np.diag([1.2, 0.54, 1.7, 0.9]), [-1, -1, 1, -1])
    net = rf.Network([[-0.022, -0.011, 0.067, 0.154], [0.156, 0.164, 0.0125, -0.0126]], [-0.103, -0.106])
    options = {"until": until, "loss": "exponential", "reduction": "mean", "weight_decay": 0.1, "rtol": rtol}
    own = rf.integrate(data, net, **options)
    layered = rf.integrate(data, net, rates=(1.0, 1.0), **options)
    assert len(own.events) == len(layered.events) == 2
    np.testing.assert_allclose(layered.final.W, own.final.W, atol=10 * rtol)


@pytest.mark.parametrize("seed", [pytest.param(4, marks=pytest.mark.thorough), 6, 7])
def test_what_decays_to_zero_beside_its_boundary_stays_there(seed: int) -> None:
    """Rows that are orthogonal: nothing but decay moves z of a sample that a unit does not see, until it is zero to the
    last bit. A rate of 1e-31 then counted as having left, and its root as coming back: ends were 0.3 off."""
    rows = np.array([[1, 1, 1, 1], [1, -1, -1, 1], [1, 1, 1, 1], [-1, -1, 1, 1], [-1, 1, -1, 1], [1, -1, -1, 1.0]])
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rows, rng.standard_normal(6))
    net = rf.Network(0.3 * rng.standard_normal((3, 4)), 0.3 * rng.standard_normal(3))
    options = {"until": rf.Stop(log_time=60.0), "loss": "squared", "reduction": "mean", "weight_decay": 0.01}
    own = rf.integrate(data, net, rtol=1e-12, **options)
    for rtol in (1e-6, 1e-8, 1e-10, 1e-12):
        layered = rf.integrate(data, net, rtol=rtol, rates=(1.0, 1.0), **options)
        assert len(layered.events) == len(own.events), rtol
        np.testing.assert_allclose(layered.final.W, own.final.W, atol=max(1e-8, 20 * rtol))


@pytest.mark.parametrize("rtol", [1e-8, 1e-9, 1e-10, 1e-11])
def test_a_weight_that_decays_below_all_doubles_crosses_nothing(rtol: float) -> None:
    """The last weight of the third unit falls like e^(-γt) beside others that stay: at 1e-320 its sign was chance."""
    X = [[0, 0, 1, 1], [0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 1]]
    data = rf.Dataset(X, [0, -2, -1, -2, -2, 2, 1])
    rows = [[1.102, 1.262, 0.783, -0.264], [-0.976, 0.082, -0.234, 1.422], [-1.608, 0.527, -0.147, -0.516]]
    net = rf.Network(rows, [0.459, -0.166, 0.501])
    options = {"until": rf.Stop(log_time=20.0), "loss": "squared", "weight_decay": 0.01, "rtol": rtol}
    own = rf.integrate(data, net, **options)
    layered = rf.integrate(data, net, rates=(1.0, 1.0), **options)
    assert len(layered.events) == len(own.events)
    np.testing.assert_allclose(layered.final.W, own.final.W, atol=100 * rtol)


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 3e-8])
def test_what_only_decays_does_not_cross_in_long_implicit_steps(rtol: float) -> None:
    """Unit 2 does not see samples 0 and 5 and its w₃ falls like e^{-γt}. At 1e-112 w₃ crossed, and grew to 0.76."""
    X = [[0, 0, 1, 1], [0, 1, 1, 0], [1, 0, 0, 0], [0, 0, 1, 0], [1, 1, 0, 0], [0, 0, 0, 1], [1, 0, 0, 1]]
    W = [
        [1.102259820871982, 1.261536823787271, 0.782593998058931, -0.26448606579452827],
        [-0.976052037392083, 0.08199762760073226, -0.23440952822108296, 1.4215551974135612],
        [-1.6080151686926702, 0.5266689467966902, -0.14668156290529819, -0.516466856565531],
    ]
    net = rf.Network(W, [0.45863665225007616, -0.1661930464339825, 0.5010580520242814])
    data = rf.Dataset(X, [0.0, -2.0, -1.0, -2.0, -2.0, 2.0, 1.0])
    options = {"loss": "squared", "weight_decay": 0.01}
    layers = rf.DeepNetwork([rf.Dense(3), rf.Dense(1)], np.concatenate((net.W.ravel(), net.a)), dim=4)
    deep = rf.integrate(data, layers, until=rf.Stop(log_time=100.0), rtol=rtol, **options)
    two = rf.integrate(data, net, until=rf.Stop(log_time=100.0), **options)
    assert (deep.status, deep.message) == ("reached_log_time", "nothing moves any more")
    assert [(e.unit, e.sample, e.kind) for e in deep.events] == [(e.neuron, e.sample, e.kind) for e in two.events]
    np.testing.assert_allclose(deep.final.theta, np.concatenate((two.final.W.ravel(), two.final.a)), atol=10.0 * rtol)
