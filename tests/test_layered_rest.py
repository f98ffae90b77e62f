"""Layered networks at rest: what decays to zero, what nothing moves, and units that see nothing any more."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

LOSSES = ["squared", "logistic", "exponential", "cross_entropy"]


def problem(loss: str, seed: int, n: int = 4, d: int = 3) -> tuple[np.ndarray, np.ndarray, int]:
    """Return inputs, targets or labels, and the number of outputs."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    if loss == "squared":
        return X, rng.standard_normal(n), 1
    if loss == "cross_entropy":
        return X, np.arange(n) % 3, 3
    return X, rng.choice([-1.0, 1.0], n), 1


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("seed", range(3))
def test_three_layers_that_decay_to_zero_have_zero_as_their_limit(loss, seed):
    X, y, outputs = problem(loss, seed)
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(2), rf.Dense(outputs)], dim=3, scale=0.05, seed=seed, leak=0.1)
    sol = rf.integrate((X, y), net, until=rf.Stop(limit=True), loss=loss, weight_decay=0.1)
    assert sol.status == "reached_limit", sol.message
    assert sol.limit.kind == "finite"
    assert not sol.limit.network.theta.any()
    # From where it is certified the norm only falls, about as e^(-0.1 t).
    on = rf.integrate((X, y), sol, until=sol.t_end + 100.0)
    sizes = np.array([np.linalg.norm(on(float(t)).theta) for t in np.linspace(sol.t_end, on.t_end, 21)])
    assert (np.diff(sizes) < 0).all()
    assert sizes[-1] < 1e-3 * sizes[0]


def test_three_layers_that_hold_against_decay_do_not_tend_to_zero():
    X, y, outputs = problem("logistic", 0)
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(2), rf.Dense(outputs)], dim=3, scale=1.0, seed=0, leak=0.1)
    sol = rf.integrate((X, y), net, until=rf.Stop(limit=True), loss="logistic", weight_decay=1e-2)
    assert sol.status == "reached_limit", sol.message
    assert np.linalg.norm(sol.limit.network.theta) > 1.0


def test_one_layer_that_decays_ends_at_ridge_regression():
    """Of degree one the pull does not fall with the weights, and zero is no limit, however large the start is."""
    rng = np.random.default_rng(0)
    X, y = 0.1 * rng.standard_normal((4, 3)), rng.standard_normal(4)
    net = rf.DeepNetwork.init([rf.Dense(1)], dim=3, scale=50.0, seed=0)
    sol = rf.integrate((X, y), net, until=rf.Stop(limit=True), loss="squared", weight_decay=1.0)
    ridge = np.linalg.solve(X.T @ X + np.eye(3), X.T @ y)
    assert sol.status == "reached_limit", sol.message
    np.testing.assert_allclose(sol.limit.network.theta, ridge, rtol=1e-9)


def test_a_network_that_no_sample_moves_is_its_own_limit():
    """Its one path is dead; the least margin of no sample was asked for."""
    layers = [rf.Dense(1), rf.Dense(1), rf.Dense(1)]
    net = rf.DeepNetwork.init(layers, dim=1, scale=0.1, seed=0)
    net = net._with(np.array([-0.1, 0.1, 0.1]))
    data = rf.Dataset([[1.0], [2.0]], [1.0, -1.0])
    sol = rf.integrate(data, net, until=rf.Stop(limit=True), loss="logistic")
    assert sol.status == "reached_limit", sol.message
    assert sol.limit.kind == "finite"
    np.testing.assert_array_equal(sol.limit.network.theta, net.theta)


def test_a_unit_that_sees_nothing_but_what_slides_ends_no_program():
    """Late in its decay all boundaries of a dead unit have normals of zero: a decomposition of no columns crashed."""
    x = [-0.098, -1.667, 0.748, -0.249, 0.615, -0.319, 0.54]
    layers = [rf.Dense(6), rf.Dense(6), rf.Dense(2)]
    net = rf.DeepNetwork.init(layers, dim=2, scale=0.2559507761143031, seed=207)
    until = rf.Stop(log_time=10.0, steps=1850)
    data = np.c_[x, np.ones(7)], np.array([0, 1, 1, 1, 1, 1, 0])
    sol = rf.integrate(data, net, until=until, loss="cross_entropy", weight_decay=0.01)
    assert sol.status in ("reached_steps", "reached_log_time")
    assert sol.t_end > 1e4


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-9, 1e-10, 1e-12])
@pytest.mark.parametrize("row", [[0.14, 0.25], [0.14, -0.3]])
def test_a_unit_that_passes_through_zero_is_not_at_rest(rtol: float, row: list[float]) -> None:
    """Alone in its layer: where all of z is small, what is off in z is no part of it. Steps were halved without end."""
    X = np.array([[-2.0, 1.0], [-2.0, 1.0], [-1.0, 1.0], [-2.0, 1.0], [2.0, 1.0]])
    data = rf.Dataset(X, [-1, 1, -1, -1, -1])
    net = rf.Network([row], [0.56], leak=0.1)
    own = rf.integrate(data, net, until=5.0, rtol=1e-12).final
    sol = rf.integrate(data, net, until=5.0, rtol=rtol, rates=(1.0, 1.0))
    assert sol.status == "reached_time"
    np.testing.assert_allclose(sol.final.W, own.W, atol=10 * rtol)
    np.testing.assert_allclose(sol.final.a, own.a, atol=10 * rtol)


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-9, 1e-10, 1e-12])
@pytest.mark.parametrize("row", [0.3, 0.6])
def test_a_dead_unit_beside_one_that_decays_stops_no_run(rtol: float, row: float) -> None:
    """On a line of opposite samples one unit dies at zero to rounding, and the other falls below that for ever."""
    x = np.array([0.268, -0.758, -0.526])
    data = rf.Dataset(np.concatenate((-x, x))[:, None], [1, 1, -1, 1, -1, 1])
    net = rf.Network([[0.3], [row]], [-0.6, -row])
    sol = rf.integrate(data, net, until=500.0, loss="exponential", rtol=rtol, rates=(1.0, 1.0))
    assert sol.status == "reached_time"
    assert len(sol.events) == 6
    own = rf.integrate(data, net, until=500.0, loss="exponential", rtol=1e-12).final
    np.testing.assert_allclose(sol.final.W, own.W, atol=10 * rtol)
    np.testing.assert_allclose(sol.final.a, own.a, atol=10 * rtol)


def test_a_run_at_rest_goes_on() -> None:
    """The first step was to move θ by some percent: at such a rate that takes so long that its orders overflowed."""
    sol = rf.DeepNetwork.init([rf.Dense(k, bias=True) for k in (2, 5, 3, 1)], dim=2, scale=1.0, seed=7)
    for time in (300.0, 550.0, 800.0, 1000.0):
        sol = rf.integrate(([[1.0, -0.5]], [1.0]), sol, until=time, loss="logistic", weight_decay=0.1)
        assert sol.status == "reached_time", sol.message
    assert sol.final.norm == pytest.approx(1.63350617, abs=1e-8)


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12])
@pytest.mark.parametrize("seed", range(3))
def test_one_unit_that_has_fitted_what_it_can_rests_for_ever(rtol: float, seed: int) -> None:
    """Targets less outputs cancel there, and velocities are rounding: steps went on until t had no digits left."""
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((7, 2)), rng.standard_normal(7))
    net = rf.Network(np.array([[-0.3, 0.3]]), np.array([-0.3]), leak=0.1)
    own = rf.integrate(data, net, until=rf.Stop(log_time=100.0), loss="squared", rtol=1e-12).final
    until = rf.Stop(log_time=100.0, seconds=60.0)  # which only a run without end comes to
    sol = rf.integrate(data, net, until=until, loss="squared", rtol=rtol, rates=(1.0, 1.0))
    assert sol.status == "reached_log_time", sol.message
    np.testing.assert_allclose(sol.final.W, own.W, atol=10 * rtol)
    np.testing.assert_allclose(sol.final.a, own.a, atol=10 * rtol)


BOOLEAN = {
    "or": ([[0, 1], [1, 1], [1, 0]], [-0.25, 1.52, -0.56], 0.0, 5),
    "repeated": ([[1, 1], [1, 0], [1, 1], [1, 0], [1, 1]], [-2, 1, 0, 1, -1], 0.1, 5),
}


@pytest.mark.parametrize("rtol", [1e-7, 1e-8, 1e-9, 1e-10, 1e-11])
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", list(BOOLEAN))
def test_what_slides_stays_once_the_samples_are_fitted(name: str, seed: int, rtol: float) -> None:
    """There multipliers and bounds are errors of the steps. What slides left and came back by them, twelve times in
    place of none, until no side was right."""
    X, y, leak, width = BOOLEAN[name]
    rng = np.random.default_rng(seed)
    data = rf.Dataset(X, y)
    net = rf.Network(0.5 * rng.standard_normal((width, 2)), 0.5 * rng.standard_normal(width), leak=leak)
    options = {"until": rf.Stop(log_time=7.0, seconds=60.0), "loss": "squared", "rtol": rtol}
    own = rf.integrate(data, net, **options)
    sol = rf.integrate(data, net, rates=(1.0, 1.0), **options)
    assert sol.status == "reached_log_time", sol.message
    assert len(sol.events) == len(own.events)
    np.testing.assert_allclose(sol.final.W, own.final.W, atol=max(1e-9, 20 * rtol))


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-11])
@pytest.mark.parametrize("seed", [0, 3, 8])
def test_outputs_that_fall_to_zero_leave_their_network_at_rest(seed: int, rtol: float) -> None:
    """The target is zero and |w| > |a|, so that a falls like an exponential below all that can be seen. It was followed
    to its own digits, by explicit steps."""
    rng = np.random.default_rng(seed)
    dim, width = int(rng.integers(1, 4)), int(rng.integers(1, 4))
    data = rf.Dataset(rng.standard_normal((1, dim)), [0.0])
    net = rf.Network(rng.standard_normal((width, dim)), 0.5 * rng.standard_normal(width))
    until = rf.Stop(log_time=60.0, seconds=20.0)  # which only a run without end comes to
    own = rf.integrate(data, net, until=until, loss="squared", rtol=1e-12).final
    sol = rf.integrate(data, net, until=until, loss="squared", rtol=rtol, rates=(1.0, 1.0))
    assert sol.status == "reached_log_time", sol.message
    np.testing.assert_allclose(sol.final.W, own.W, atol=20 * rtol)
    np.testing.assert_allclose(sol.final.a, own.a, atol=20 * rtol)


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-10, 1e-11, 1e-12])
def test_beside_what_decays_at_rest_a_step_is_shortened_as_far_as_it_has_to_be(rtol: float) -> None:
    """The last unit has w = 0 and a = e^{-γt}. By truncation steps were 1e12 too long for it, and 40 halvings too few:
    the run was `accuracy_not_reached`."""
    X = np.array([[-0.1250143436577102], [0.19221958975536707], [0.329504858140303], [0.38452730407109964]])
    W = [[0.047981707954459295], [-0.10656900134856971], [0.10384200955336852]]
    net = rf.Network(W, [0.11011866332372014, 0.01567010335715083, -0.17927074693557973], leak=0.1)
    data = rf.Dataset(X, [1, 1, 1, -1])
    options = {"until": rf.Stop(log_time=60.0), "loss": "exponential", "weight_decay": 0.1, "rtol": rtol}
    own = rf.integrate(data, net, **options).final
    sol = rf.integrate(data, net, rates=(1.0, 1.0), **options)
    assert sol.message == "nothing moves any more", sol.status
    np.testing.assert_allclose(sol.final.W, own.W, atol=max(1e-9, 20 * rtol))
    np.testing.assert_allclose(sol.final.a, own.a, atol=max(1e-9, 20 * rtol))


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-10, 1e-11])
def test_a_layer_comes_to_zero_with_what_reads_it(rtol: float) -> None:
    """Unit 1 of layer 2 slides and ties both units of layer 1, which come to zero together: what the second layer reads
    is rounding there, and so is it. Steps to the event were refused, and three of these runs gave up."""
    first = [-0.007097791019234303, -0.017106600003086114]
    second = [0.04507742144900296, 1.180704226173678, 1.0002534074293254, -0.4444201762036734]
    theta = np.array([*first, *second, -0.344707171358457, -0.6274867455669584])
    net = rf.DeepNetwork([rf.Dense(2), rf.Dense(2), rf.Dense(1)], theta, dim=1)
    X = np.array([[0.0], [-2.0], [-1.0], [2.0]])
    sol = rf.integrate((X, np.ones(4)), net, loss="exponential", until=1.5, rtol=rtol)
    assert (sol.status, sol.message) == ("reached_time", "nothing moves any more")
    euler = np.array([0.0, 0.0, 0.045014, 1.180561, 1.000231, -0.444470, -0.344209, -0.627487])
    np.testing.assert_allclose(sol.final.theta, euler, atol=1e-5)
    assert np.abs(sol.final.theta[:2]).max() < 1e-9


@pytest.mark.parametrize("rtol", [1e-6, 1e-12])
@pytest.mark.parametrize("layers", [1, 2, 3])
def test_what_tends_to_zero_has_its_size_at_each_time(layers: int, rtol: float) -> None:
    """It was at rest once t had grown fourfold after its fall below the tolerance, at 1e-40 or so.

    With three layers and more nothing but the decay moves what is that small; two layers have a core of their own.
    """
    rng = np.random.default_rng(layers)
    X, y = np.array([[1.0, 0.5], [0.3, -1.0], [-0.7, 0.2]]), np.array([0.3, -0.2, 0.1])
    theta = 0.5 * rng.standard_normal(9 * layers)
    net = rf.DeepNetwork([rf.Dense(3)] * layers + [rf.Dense(1)], theta, dim=2)
    options = {"loss": "squared", "weight_decay": 2.0, "rtol": rtol}
    sol, half = (rf.integrate((X, y), net, until=until, **options) for until in (100.0, 50.0))
    assert sol.status == "reached_time"
    then = rf.integrate((X, y), half, until=100.0, **options)
    np.testing.assert_allclose(then.final.theta, sol.final.theta, 10 * rtol)
    if layers > 1:
        np.testing.assert_allclose(sol.final.theta, np.exp(-100.0) * half.final.theta, 10 * rtol)
        return
    two = rf.Network(theta[:6].reshape(3, 2), theta[6:])
    end = rf.integrate(rf.Dataset(X, y), two, until=100.0, **options).final
    np.testing.assert_allclose(sol.final.theta, np.r_[end.W.ravel(), end.a], 1e-5)


@pytest.mark.parametrize("decay", [1e-6, 1e-3, 0.1])
def test_events_at_tiny_times_are_no_rest(decay: float) -> None:
    """Two units come to their boundaries at t = 5e-14 and 8e-13, and nothing else moves meanwhile."""
    W, a = np.array([[1.0, 1e-15], [1e-13, 1.0]]), np.array([[0.5, -0.7], [-0.8, 0.4]])
    data = (np.eye(2), np.eye(2))
    sol = rf.integrate(data, rf.Network(W, a), until=1.0, loss="squared", weight_decay=decay)
    assert sol.status == "reached_time"
    beside = rf.integrate(data, rf.Network(W * [[1, 0], [0, 1]], a), until=1.0, loss="squared", weight_decay=decay)
    np.testing.assert_allclose(sol.final.theta, beside.final.theta, atol=1e-9)


@pytest.mark.parametrize("scale", [1.0, 1e8])
@pytest.mark.parametrize("size", [1e-6, 1e-12, 1e-15])
def test_a_small_unit_that_grows_against_the_decay_is_waited_for(size: float, scale: float) -> None:
    """Unit 1 grows by e^(0.05 t) from below every tolerance to where 0.55 - a² = 0.5; inputs scale the time."""
    net = rf.Network(np.array([[1.0, -1.0], [-size, size]]) / scale**0.5, np.array([[1.0, 0], [size, 0]]) / scale**0.5)
    data = (scale * np.eye(2), [[1.0, 0.0], [0.55, 0.0]])
    sol = rf.integrate(data, net, until=1e5 / scale, loss="squared", weight_decay=0.5 * scale)
    assert (sol.status, sol.message) == ("reached_time", "nothing moves any more")
    limit = np.array([[np.sqrt(0.5), 0.0], [np.sqrt(0.05), 0.0]])
    np.testing.assert_allclose(scale**0.5 * sol.final.a, limit, atol=1e-8)
