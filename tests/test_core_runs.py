"""Short runs through every part of the compiled flow: what the sanitizers look at."""

from __future__ import annotations

from math import comb
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow import _core

pytestmark = pytest.mark.sanitize


def crowd(seed: int, n: int = 20, d: int = 5) -> rf.Dataset:
    rng = np.random.default_rng(seed)
    return rf.Dataset(rng.normal(size=(n, d)), np.where(rng.random(n) < 0.5, -1.0, 1.0))


@pytest.mark.parametrize("leak", [0.0, 0.2])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_the_events_of_a_run_lead_from_its_first_to_its_last_pattern(leak: float, loss: str, reduction: str) -> None:
    data = crowd(0)
    net = rf.Network.init(12, data.d, scale=1e-2, leak=leak, seed=1)
    sol = rf.integrate(data, net, until=2.0, loss=loss, reduction=reduction)
    assert sol.success, sol.message
    assert len(sol.events) > 5
    assert np.array_equal(sol.events.replay(sol.pattern0), sol.final.pattern)
    assert (np.diff(sol.log_loss) <= 0).all()
    np.testing.assert_allclose(sol.final.balance, net.balance, atol=1e-12)


@pytest.mark.parametrize("example", ["obtuse", "acute"])
def test_a_run_goes_far_beyond_the_range_of_floats(example: str) -> None:
    data = rf.datasets.wang_pilanci(example)
    sol = rf.integrate(data, rf.Network.init(10, 2, scale=1e-2, seed=5), until=rf.Stop(log_time=1e4))
    assert (sol.status, float(sol.log_t[-1])) == ("reached_log_time", 1e4)
    assert np.isfinite(sol.W).all()


def test_an_unbalanced_start_keeps_what_it_lacks_in_balance() -> None:
    data = crowd(1)
    rng = np.random.default_rng(2)
    net = rf.Network(0.1 * rng.normal(size=(8, 5)), 0.1 * rng.normal(size=8))
    sol = rf.integrate(data, net, until=1.0)
    assert sol.success, sol.message
    np.testing.assert_allclose(sol.final.balance, net.balance, atol=1e-10)


def test_repeated_and_opposite_samples_change_together() -> None:
    base = crowd(2, n=6, d=3)
    data = rf.Dataset(np.vstack([base.X, 2 * base.X, -base.X]), np.concatenate([base.y, base.y, base.y]))
    sol = rf.integrate(data, rf.Network.init(6, 3, scale=1e-2, seed=0), until=1.0)
    assert sol.success, sol.message
    boundaries = np.column_stack([sol.events.tie, sol.events.neuron, sol.events.sample % 6])
    assert (np.unique(boundaries, axis=0, return_counts=True)[1] == 3).all()


def test_a_run_in_two_parts_ends_like_the_run_in_one() -> None:
    data = crowd(3)
    net = rf.Network.init(10, data.d, scale=1e-2, seed=4)
    whole = rf.integrate(data, net, until=2.0)
    parts = rf.integrate(data, rf.integrate(data, net, until=0.7), until=2.0)
    np.testing.assert_allclose(parts.final.W, whole.final.W, rtol=1e-6, atol=1e-9)
    assert np.array_equal(parts.final.pattern, whole.final.pattern)


def test_an_error_in_the_callback_of_a_flow_reaches_the_caller() -> None:
    def fail(report: dict[str, Any]) -> bool:
        raise ZeroDivisionError("mine")

    X, y = crowd(4, n=300, d=30).X, np.tile([1.0, -1.0], 150)
    net = rf.Network.init(100, 30, scale=1e-3, seed=0)
    with pytest.raises(ZeroDivisionError, match="mine"):
        _core.integrate(X, y, net.W, net.a, 0.0, "logistic", "sum", {"until_log_time": 1e9}, fail)


def test_the_core_itself_refuses_arrays_of_another_kind() -> None:
    data = crowd(5)
    net = rf.Network.init(4, data.d, seed=0)
    with pytest.raises(ValueError, match="X must be an array of float64"):
        _core.integrate(data.X.astype(np.float32), data.y, net.W, net.a, 0.0, "logistic", "sum", {}, None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="W must be C-contiguous"):
        _core.integrate(data.X, data.y, np.asfortranarray(net.W), net.a, 0.0, "logistic", "sum", {}, None)


@pytest.mark.parametrize(("n", "d"), [(5, 2), (8, 3), (9, 4)])
def test_boundaries_in_general_position_cut_space_into_the_known_number_of_cells(n: int, d: int) -> None:
    X = np.random.default_rng(n).normal(size=(n, d))
    found = _core.arrangements(X, 10**6, None)
    assert len(found["patterns"]) == 2 * sum(comb(n - 1, k) for k in range(d))
