"""Implicit steps of layered networks: near rest, where explicit steps follow curvature alone.

One linear layer and units on orthogonal inputs have closed forms; elsewhere tolerances agree with each other.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import reluflow as rf
from layered_draws import drawn


def runs(data: object, net: rf.DeepNetwork | rf.Network, t: float, **options: object) -> list:
    made = [rf.integrate(data, net, until=t, rtol=rtol, **options) for rtol in (1e-7, 1e-10)]
    for sol in made:
        assert sol.success, sol.message
    return made


@pytest.mark.parametrize("seed", range(4))
def test_one_linear_layer_follows_its_closed_form(seed: int) -> None:
    """W' = Xᵀ (Y - X W): each singular direction of X decays at its own rate, from 1 to 1e-6."""
    rng = np.random.default_rng(seed)
    n, d, K = 8, 5, 2
    U, V = (np.linalg.qr(rng.standard_normal((n, d)))[0], np.linalg.qr(rng.standard_normal((d, d)))[0])
    size = np.geomspace(1.0, 1e-3, d)
    X, Y = (U * size) @ V.T, rng.standard_normal((n, K))
    W = rng.standard_normal((K, d))
    net = rf.DeepNetwork([rf.Dense(K)], W.ravel(), dim=d)
    for t in (1e4, 1e6):
        sol = rf.integrate((X, Y), net, loss="squared", until=t)
        assert sol.success, sol.message
        limit = np.linalg.pinv(X) @ Y
        expected = limit + V @ (np.exp(-(size**2) * t)[:, None] * (V.T @ (W.T - limit)))
        np.testing.assert_allclose(sol.final.theta.reshape(K, d).T, expected, atol=1e-7 * np.abs(expected).max())
        assert sol.stats["steps"] < 200  # stability allows explicit ones a length of some ten


def test_a_unit_of_next_to_nothing_grows_to_its_own_digits() -> None:
    """Orthogonal inputs: unit 1 comes to rest on its sample, while unit 2 grows from 1e-13 at a rate of 1e-3.

    p = a w of a balanced unit obeys p' = 2 p (y - p), whatever the other does.
    """
    tiny, y = 1e-13, np.array([3.0, 1e-3])
    net = rf.DeepNetwork([rf.Dense(2), rf.Dense(1)], [0.1, -0.5, -0.5, tiny, 0.1, tiny], dim=2)
    for t in (1e3, 2.5e4, 3e4):
        sol = rf.integrate((np.eye(2), y), net, loss="squared", until=t)
        assert sol.success, sol.message
        grown = tiny**2 * np.exp(2.0 * y[1] * t)
        assert sol.final([[0.0, 1.0]]).item() == pytest.approx(y[1] * grown / (y[1] + grown), rel=1e-7)
        assert sol.final([[1.0, 0.0]]).item() == pytest.approx(y[0], rel=1e-9)
        assert sol.stats["steps"] < 1000


@pytest.mark.parametrize("seed", range(6))
def test_classes_that_cannot_be_separated_do_not_hang_on_the_tolerance(seed: int) -> None:
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (14, 2)).astype(float)
    X[(X == 0).all(axis=1), 0] = 1.0
    labels = rng.integers(0, 3, 14)
    labels[:3] = 0, 1, 2
    net = rf.Network.init(5, 2, scale=0.3, seed=seed, outputs=3)
    coarse, fine = runs((X, labels), net, 1e4, loss="cross_entropy")
    assert [(e.kind, e.neuron, e.sample) for e in coarse.events] == [(e.kind, e.neuron, e.sample) for e in fine.events]
    np.testing.assert_allclose(coarse.final(X), fine.final(X), rtol=1e-5, atol=1e-5)
    assert fine.stats["steps"] < 3000


@pytest.mark.parametrize("loss", ["squared", "logistic", "cross_entropy"])
@pytest.mark.parametrize("weight_decay", [None, 0.01])
def test_three_layers_come_to_rest_at_a_critical_point(loss: str, weight_decay: float | None) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((16, 2))
    y = {
        "squared": rng.standard_normal((16, 2)),
        "logistic": np.where(rng.random(16) < 0.5, 1.0, -1.0),
        "cross_entropy": np.arange(16) % 2,
    }[loss]
    K = 1 if loss == "logistic" else 2
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(3), rf.Dense(K)], dim=2, scale=0.8, seed=3)
    data = rf.Dataset(X, y) if loss == "logistic" else (X, y)
    coarse, fine = runs(data, net, 3e3, loss=loss, weight_decay=weight_decay)
    assert np.abs(coarse.final.theta - fine.final.theta).max() < 1e-5 * np.abs(fine.final.theta).max()
    assert fine.log_loss_end <= fine.log_loss[0]


def test_a_continued_run_and_saved_states_are_those_of_one_run() -> None:
    rng = np.random.default_rng(5)
    data = (rng.standard_normal((12, 2)), rng.standard_normal((12, 2)))
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(2)], dim=2, scale=0.5, seed=5)
    whole = rf.integrate(data, net, loss="squared", until=2e3, save_at=[100.0, 900.0])
    first = rf.integrate(data, net, loss="squared", until=900.0)
    second = rf.integrate(data, first, loss="squared", until=2e3)
    size = np.abs(whole.final.theta).max()
    assert np.abs(second.final.theta - whole.final.theta).max() < 1e-8 * size
    for t in (100.0, 900.0):
        alone = rf.integrate(data, net, loss="squared", until=t)
        assert np.abs(whole(t).theta - alone.final.theta).max() < 1e-8 * size


# Outputs relax in the fastest direction, and a neuron that sends on next to nothing slides. How far off the velocity of
# all may be in an implicit step says nothing of what pulls that neuron, which leaves when it has to.
@pytest.mark.parametrize("rtol", [1e-9, 1e-11])
def test_what_sends_on_little_leaves_within_implicit_steps(rtol: float) -> None:
    X = np.array(
        [
            [41.8, -1.66, 0.54],
            [-37.2, -2.11, -0.22],
            [35.2, -0.32, 0.77],
            [-17.0, -1.29, 0.36],
            [105.2, -4.05, 0.31],
            [-40.4, 6.12, 0.71],
            [115.8, 1.08, 1.45],
        ]
    )
    y = np.array([2.1, -2.5, 0.0, 1.6, 0.6, 1.1, -1.9])
    W = np.array(
        [
            [37.0, -231.0, -130.0],
            [170.0, 10.0, -91.0],
            [8.7, 191.0, -99.0],
            [-291.0, -171.0, 66.0],
            [-217.0, 60.0, 77.0],
        ]
    )
    a = np.array([1.9, -2.1, 14.9, 23.4, -0.16])
    rule = {"until": 15.0, "loss": "squared", "reduction": "mean", "rtol": rtol}
    two = rf.integrate(rf.Dataset(X, y), rf.Network(W, a), **rule)
    layers = rf.DeepNetwork([rf.Dense(5), rf.Dense(1)], np.r_[W.ravel(), a], dim=3)
    layered = rf.integrate((X, y), layers, **rule)
    assert [event.kind for event in layered.events] == [event.kind for event in two.events]
    np.testing.assert_allclose([e.log_t for e in layered.events], [e.log_t for e in two.events], rtol=0.0, atol=1e-5)
    theta = np.r_[two.final.W.ravel(), two.final.a]
    np.testing.assert_allclose(layered.final.theta, theta, rtol=0.0, atol=10 * rtol * np.abs(theta).max())


@pytest.mark.parametrize("rtol", [1e-7, 1e-8, 1e-12])
def test_an_event_that_a_long_step_has_met_is_met_by_its_part(rtol: float) -> None:
    """What leaves passes its bound by more than errors of the step. Cut at its event, the step ended there, and the
    event was none: the unit slid on, 0.1 of the largest weight off at the end."""
    X = [[-2, 1, 0], [-1, 2, -2], [1, 1, 1], [2, 2, 1], [-2, -1, -1], [-1, 0, -1]]
    Y = [[-2.72, 3.47, -1.44], [-6.31, -0.47, 4.35], [-2.66, -1.06, 0], [1.55, 0.01, -1.46], [0.6, -3.8, 1.7]]
    x, y = np.array(X, float), np.array([*Y, [2.58, 1.34, -1.86]])
    W = [9.98, 7.97, 12.02, 3.75, 10.34, 4.55, 5.3, 1.58, -2.09, -5.08, 20.83, 6.13]
    A = [8.49, 8.7, 15.25, 1.29, -1.6, -2.05, 4.93, 16.97, -0.05, -3.38, -9.41, 5.12]
    net = rf.DeepNetwork([rf.Dense(4), rf.Dense(3)], [*W, *A], dim=3)
    sol = rf.integrate((x, y), net, until=200.0, loss="squared", rtol=rtol)
    assert sol.status == "reached_time"
    assert (sol.events[-1].kind, sol.events[-1].t) == ("leave_down", pytest.approx(60.144688, rel=1e-6))
    start = sol(61.0).theta  # nothing slides from there on, and no unit crosses
    active = (x @ start[:12].reshape(4, 3).T > 0.0).astype(float)

    def rate(_: float, theta: np.ndarray) -> np.ndarray:
        w, a = theta[:12].reshape(4, 3), theta[12:].reshape(3, 4)
        h = x @ w.T * active
        error = y - h @ a.T
        return np.r_[((error @ a * active).T @ x).ravel(), (error.T @ h).ravel()]

    flow = solve_ivp(rate, (61.0, 200.0), start, "Radau", rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(sol.final.theta, flow.y[:, -1], atol=1e-5)


def test_rounding_of_what_decays_does_not_limit_implicit_steps() -> None:
    """Outputs of a start of 1e-3 rest where labels balance: the rounding of their pull only moves what answers it."""
    runs = [drawn(1202).ends(rtol) for rtol in (1e-7, 1e-9)]
    assert [run.status for run in runs] == ["reached_time"] * 2
    assert runs[1].stats["steps"] < 500
    theta = runs[1].final.theta
    assert np.abs(runs[0].final.theta - theta).max() < 1e-6 * np.abs(theta).max()
