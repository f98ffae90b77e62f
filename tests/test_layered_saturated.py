"""Layered networks from large starts: weights that are constant, or nothing, to rounding for most of a run.

No series shows where such a weight begins to count. Steps went over the margins at which it does, and the runs of this
file ended somewhere else, at every tolerance.
"""

from __future__ import annotations

from math import factorial

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import reluflow as rf

LARGE = (
    [[1.16, -1.57, 2.14, -0.09], [-0.27, -1.33, -0.18, -1.59], [-0.01, -0.64, -0.4, 0.44], [-2.29, 0.45, -0.49, -1.1]],
    [-1.0, -1.0, 1.0, -1.0],
    [[-1536.0, -1489.0, -177.0, -818.0], [-1216.0, -1036.0, 969.0, 1425.0], [237.0, 252.0, -586.0, -336.0]],
    [-2297.0, 2350.0, 759.0],
)
# One neuron comes to the boundary of a sample that it alone is active on, which is right by a margin of 1.3e6 at first.
HELD_BACK = (
    [[2, 2, -1, -2], [-1, 1, 2, 0], [0, -1, -1, 2], [-2, -2, -1, -1], [-1, 1, -2, -2]],
    [1.0, -1.0, -1.0, -1.0, 1.0],
    [[-1834.0, 1342.0, -49.0, 473.0], [1265.0, 2606.0, -1032.0, -628.0], [-87.0, -808.0, 4235.0, -153.0]],
    [-2322.0, 3138.0, 4315.0],
)


def runs(
    case: tuple[list, list, list, list], time: float, rtol: float, loss: str
) -> tuple[rf.Dataset, rf.Solution, rf.layered.DeepSolution]:
    X, y, W, a = (np.array(part, float) for part in case)
    data, net = rf.Dataset(X, y), rf.Network(W, a)
    layers = rf.DeepNetwork([rf.Dense(len(a)), rf.Dense(1)], np.r_[W.ravel(), a], dim=X.shape[1])
    rule = {"until": time, "loss": loss, "reduction": "mean", "rtol": rtol}
    return data, rf.integrate(data, net, **rule), rf.integrate((X, y), layers, **rule)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize(("case", "time"), [(LARGE, 150.0), (HELD_BACK, 1.0), (HELD_BACK, 800.0)])
def test_both_cores_agree(case: tuple, time: float, rtol: float) -> None:
    _, two, layered = runs(case, time, rtol, "logistic")
    assert two.status == layered.status == "reached_time"
    assert len(two.events) == len(layered.events)
    theta = np.r_[two.final.W.ravel(), two.final.a]
    np.testing.assert_allclose(layered.final.theta, theta, rtol=0.0, atol=1e-7 * np.abs(theta).max())


def test_a_large_start_ends_where_scipy_does() -> None:
    data, _, layered = runs(LARGE, 150.0, 1e-9, "logistic")
    assert not layered.events
    X, y = data.X, data.y
    active = (X @ np.array(LARGE[2]).T > 0.0).astype(float)  # no neuron crosses a boundary

    def rate(_: float, theta: np.ndarray) -> np.ndarray:
        W, a = theta[:12].reshape(3, 4), theta[12:]
        q = y * ((X @ W.T * active) @ a)
        g = ((y / (1.0 + np.exp(np.minimum(q, 700.0))) / 4.0)[:, None] * active).T @ X
        return np.r_[(a[:, None] * g).ravel(), np.sum(W * g, axis=1)]

    start = np.r_[np.ravel(LARGE[2]), LARGE[3]]
    flow = solve_ivp(rate, (0.0, 150.0), start, "Radau", rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(layered.final.theta, flow.y[:, -1], rtol=1e-6)


# The first sample is wrong by a margin of 0.14 times the square of the scale, and alone at first: nothing is active on
# the other one until a neuron turns to it.
TURNS = ([[0.5, 1.0], [1.3, -0.2]], [-1.0, 1.0], [[-0.64, 0.66], [0.05, 0.4]], [0.92, -0.41])


def scaled(case: tuple, by: float) -> tuple:
    X, y, W, a = case
    return X, y, (by * np.array(W)).tolist(), (by * np.array(a)).tolist()


# At a scale of 100 the loss is e^1385, and the first steps take times that no double holds.
@pytest.mark.parametrize("rtol", [1e-7, 1e-9])
def test_a_run_begins_before_the_smallest_double(rtol: float) -> None:
    _, two, layered = runs(scaled(TURNS, 100.0), 1.0, rtol, "exponential")
    assert two.status == layered.status == "reached_time"
    assert [event.kind for event in layered.events] == ["cross_up", "slide"]
    theta = np.r_[two.final.W.ravel(), two.final.a]
    np.testing.assert_allclose(layered.final.theta, theta, rtol=0.0, atol=1e-7 * np.abs(theta).max())


def test_times_below_all_doubles_are_those_of_the_closed_form() -> None:
    """One balanced neuron on one sample: s = -q follows s' = -2 s e^s, so that 2 t = E1(s) - E1(s_0)."""
    begin, end = 2000.0, 1200.0
    log_e1 = -end - np.log(end) + np.log(sum((-1) ** k * factorial(k) / end**k for k in range(12)))
    until = rf.Stop(log_time=log_e1 - np.log(2.0))
    a = np.sqrt(begin)
    data = rf.Dataset([[1.0]], [1.0])
    for net in (rf.Network([[a]], [-a]), rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], [a, -a], dim=1)):
        sol = rf.integrate(data, net, until=until, loss="exponential")
        assert sol.status == "reached_log_time"
        assert sol.log_loss[-1] == pytest.approx(end, rel=1e-9)


@pytest.mark.parametrize("rtol", [1e-9, 1e-12])
def test_late_steps_tell_times_below_all_doubles(rtol: float) -> None:
    """Times of late steps from margins of -1e9 were not added: the clock stood, and jumped to the stop."""
    rng = np.random.default_rng([0, 11])
    n, d, m = (int(k) for k in rng.integers([2, 2, 1], [10, 6, 7]))
    data = rf.Dataset(rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n))
    sol = rf.integrate(
        data, rf.Network.init(m, d, scale=1e4, leak=0.1, seed=0), until=1.0, loss="exponential", rtol=rtol
    )
    assert sol.status == "reached_time"
    assert sol.log_loss[-1] < 0.0
    high = sol.log_loss > 1000.0
    assert (np.diff(sol.log_t[high][1:]) > 0.0).all()
    # Nearly all of the time so far was spent at the loss of now, while the logarithm of it falls by one or so.
    assert np.abs(sol.log_t[high] + sol.log_loss[high])[1:].max() < 40.0


# The crossing wakes the other sample. A step that went on had it still for idle: it was missing from the mass that
# weights are parts of, and from the margins that late steps look at.
@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-11])
@pytest.mark.parametrize("scale", [30.0, 60.0])
def test_a_sample_wakes_within_a_step(scale: float, rtol: float) -> None:
    _, two, layered = runs(scaled(TURNS, scale), 1.0, rtol, "exponential")
    assert [event.kind for event in layered.events] == ["cross_up", "slide"]
    theta = np.r_[two.final.W.ravel(), two.final.a]
    np.testing.assert_allclose(layered.final.theta, theta, rtol=0.0, atol=10 * rtol * np.abs(theta).max())
    assert abs(layered.events[1].log_t - two.events[1].log_t) < 1e-6
