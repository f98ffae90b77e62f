"""Units of layered networks that decay below the tolerance keep their balance and their signs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf


def as_layers(net: rf.Network) -> rf.DeepNetwork:
    layers = rf.DeepNetwork.init([rf.Dense(net.width), rf.Dense(1)], dim=net.dim, scale=1.0, seed=0, leak=net.leak)
    return layers._with(np.concatenate((net.W.ravel(), net.a)))


def both(data: rf.Dataset, net: rf.Network, time: float, **options: Any) -> tuple[rf.Solution, rf.layered.DeepSolution]:
    two = rf.integrate(data, net, until=time, **options)
    deep = rf.integrate(data, as_layers(net), until=time, **options)
    assert two.status == deep.status == "reached_time"
    return two, deep


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_a_unit_that_has_decayed_does_not_come_back_turned_over(rtol: float) -> None:
    """Neuron 2 falls to 1e-19; at 1e-11 its output weight had the other sign, and it grew to 2.7."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 3))
    data = rf.Dataset(X, np.sign(X @ rng.standard_normal(3)))
    two, deep = both(data, rf.Network.init(6, 3, scale=1e-2, seed=0), 1e4, rtol=rtol)
    expected = np.concatenate((two.final.W.ravel(), two.final.a))
    np.testing.assert_allclose(deep.final.theta, expected, atol=max(1e3 * rtol, 1e-9))
    assert abs(deep.final.theta[-4]) < 1e-15


def test_of_two_units_that_decay_the_faster_one_does_not_cross_zero() -> None:
    """On a line w and a fall together for ever. The slower unit is the unit of the tolerance."""
    data = rf.Dataset([[1.0], [2.0], [0.5], [-1.0], [-3.0]], [1, 1, 1, 1, 1])
    net = rf.Network([[1e-3], [-1e-3]], [-1e-3, -1e-3])
    two, deep = both(data, net, 30.0, loss="exponential")
    assert not len(deep.events)
    theta, expected = deep.final.theta, np.concatenate((two.final.W.ravel(), two.final.a))
    assert (np.sign(theta) == np.sign(expected)).all()
    assert deep.log_loss_end == pytest.approx(np.log(5.0), abs=1e-12)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("decay", [0.01, 0.1])
@pytest.mark.parametrize("output", [-1e-3, -2e-3])
def test_with_weight_decay_a_unit_does_not_come_back_turned_over(rtol: float, decay: float, output: float) -> None:
    """Σ in² - Σ out² falls like e^{-2γt}. The first unit came back and grew to 2, or stood at zero."""
    data = rf.Dataset([[1.0], [2.0], [0.5], [-1.0], [-3.0]], [1, 1, 1, 1, 1])
    net = rf.Network([[1e-3], [-1e-3]], [-1e-3, output])
    two = rf.integrate(data, net, until=30.0, loss="exponential", weight_decay=decay, rtol=rtol)
    sol: Any = as_layers(net)
    for time in (1.0, 2.0, 30.0):
        sol = rf.integrate(data, sol, until=time, loss="exponential", weight_decay=decay, rtol=rtol)
    expected = np.concatenate((two.final.W.ravel(), two.final.a))
    np.testing.assert_allclose(sol.final.theta, expected, atol=1e-8)
    assert sol.final.theta[0] > 0 > sol.final.theta[2]


@pytest.mark.parametrize("seed", [11, 23, 42, 77])
@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1.0])
def test_two_layers_end_as_in_their_own_core(seed: int, scale: float) -> None:
    rng = np.random.default_rng(seed)
    n, d, m = int(rng.integers(4, 12)), int(rng.integers(2, 5)), int(rng.integers(2, 9))
    X = rng.standard_normal((n, d))
    data = rf.Dataset(X, rng.choice([-1.0, 1.0], n))
    two, deep = both(data, rf.Network.init(m, d, scale=scale, seed=seed), 1e3)
    expected = np.concatenate((two.final.W.ravel(), two.final.a))
    np.testing.assert_allclose(deep.final.theta, expected, atol=1e-6 * two.final.norm)


def test_runs_that_go_on_keep_the_balance_of_their_start(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6, 3))
    data = rf.Dataset(X, np.sign(X @ rng.standard_normal(3)))
    net = rf.Network.init(6, 3, scale=1e-2, seed=0)
    sol: Any = as_layers(net)
    for number, time in enumerate((5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 40.0, 100.0)):
        sol = rf.integrate(data, sol, until=time, rtol=1e-6)
        if number % 2:
            sol.save(tmp_path / "run.npz")
            sol = rf.load(tmp_path / "run.npz")
    assert abs(sol.final.theta[-4]) < 1e-15
    expected = rf.integrate(data, net, until=100.0).final
    np.testing.assert_allclose(sol.final.theta, np.concatenate((expected.W.ravel(), expected.a)), atol=1e-4)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("output", [-1e-3, 1e-3])
def test_units_that_decay_below_all_numbers_are_zero(rtol: float, output: float) -> None:
    """Below 1e-140 their digits were not kept: in each of these runs one came back and grew to 3 or more."""
    data = rf.Dataset([[1.0], [2.0], [0.5], [-1.0], [-3.0]], [1, 1, 1, 1, 1])
    net = rf.Network([[1e-3], [-1e-3]], [-1e-3, output])
    sol = rf.integrate(data, as_layers(net), until=1e4, loss="exponential", rtol=rtol)
    assert not len(sol.events)
    assert sol.final.theta[0] == sol.final.theta[2] == 0.0
    a = rf.integrate(data, net, until=1e4, loss="exponential").final.a[1]
    assert sol.final.theta[3] == pytest.approx(a, abs=10 * rtol)


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-12])
def test_a_balanced_part_beside_weights_at_rest_does_not_turn_over(rtol: float) -> None:
    """Unit 1 sees (1, 0) alone: w₀ and a = -w₀ fall for ever, w₁ rests. At 1e-12 a turned over and grew to 3."""
    data = rf.Dataset([[1, 1], [1, 1], [1, 0], [1, 1], [1, 0]], [-1, -1, 1, -1, 1])
    net = rf.Network([[-2e-3, 2e-3], [2e-3, -2e-3]], [-1e-3, -2e-3])
    two, deep = both(data, net, 200.0, loss="exponential", rtol=rtol)
    expected = np.concatenate((two.final.W.ravel(), two.final.a))
    np.testing.assert_allclose(deep.final.theta, expected, atol=1e2 * rtol)
    assert deep.final.theta[3] == -2e-3
    assert -1e-15 < deep.final.theta[5] <= 0.0 <= deep.final.theta[2] < 1e-15


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("decay", [0.0, 0.1])
def test_a_unit_balanced_in_the_span_of_its_sample_decays_to_zero(rtol: float, decay: float) -> None:
    """w = r - a x̂ with r at rest and a < 0: the output weight follows a' = -a (a² |x|² + |x|) and keeps its sign.

    The whole difference of squares tells that of the part along x to the rounding of r alone. The output weight came
    to zero and grew with its sign turned over, to 0.7 without decay.
    """
    x = np.array([1.0, -1.0, -1.0, -1.0])
    w = np.array([1.0, 0.0, -1.0, 1.0])
    net = rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], np.r_[w, -0.5], dim=4)
    data = ([x], [1.0])
    options = {"loss": "squared", "weight_decay": decay or None, "rtol": rtol}
    rest = w - x * (w @ x) / 4.0
    sol = rf.integrate(data, net, until=60.0, **options)
    assert sol.success, sol.message
    assert -1e-8 < sol.final.theta[-1] <= 0.0
    np.testing.assert_allclose(sol.final.theta[:4], np.exp(-60.0 * decay) * rest, atol=1e-8)
    early = sol(2.0).theta
    rate = 2.0 + decay  # with b = a²: b' = -2 b (4 b + rate)
    grown = np.exp(-2.0 * rate * 2.0)
    square = rate * 0.25 * grown / (rate + 4.0 * 0.25 * (1.0 - grown))
    assert early[-1] == pytest.approx(-np.sqrt(square), rel=100 * rtol)
    cut = rf.integrate(data, rf.integrate(data, net, until=3.0, **options), until=60.0, **options)
    np.testing.assert_allclose(cut.final.theta, sol.final.theta, atol=1e-8)


def test_what_counts_in_a_span_is_not_hidden_by_weights_at_rest() -> None:
    """Along the sample a unit of 1e-18 sends on 1e-20: next to what rests both are nothing, and not balanced."""
    net = rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], [1.0, 1e-18, 1e-20], dim=2)
    sol = rf.integrate(([[0.0, 1.0]], [1.0]), net, until=5.0, loss="squared")
    theta = sol.final.theta
    assert theta[1] == pytest.approx(np.cosh(5.0) * 1e-18 + np.sinh(5.0) * 1e-20, rel=1e-8)
    assert theta[2] == pytest.approx(np.cosh(5.0) * 1e-20 + np.sinh(5.0) * 1e-18, rel=1e-8)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_units_that_begin_without_weights_in_have_a_balance(rtol: float) -> None:
    """Units 0 and 2 grow to 0.5 and decay again, with a larger output than weight to the end, which keeps its sign."""
    data = rf.Dataset([[-0.67203], [-0.41299], [0.3501], [-0.55612]], [1, 1, -1, -1])
    net = rf.Network([[0.0], [0.0], [0.0]], [6.06e-9, -7.05e-9, 6.94e-9], leak=0.1)
    options: dict[str, Any] = {"loss": "exponential", "weight_decay": 0.01}
    two = rf.integrate(data, net, until=2000.0, rtol=rtol, **options)
    deep = rf.integrate(data, as_layers(net), until=2000.0, rtol=rtol, **options)
    assert deep.success, deep.message
    assert len(deep.events) == len(two.events) == 20
    np.testing.assert_allclose(deep.final.theta, np.r_[two.final.W.ravel(), two.final.a], atol=max(1e-8, 100 * rtol))
    assert deep.final.theta[3] >= 0.0
    assert deep.final.theta[5] >= 0.0
