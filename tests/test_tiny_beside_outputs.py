"""Starts with |w| far below |a|: all boundaries are met long before outputs move, one after the other."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def events(sol: rf.Solution) -> list[tuple[int, int, str]]:
    """Neurons that have come to one direction may change places: without their times."""
    return sorted(zip(sol.events.neuron.tolist(), sol.events.sample.tolist(), list(sol.events.kind), strict=True))


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("leak", [0.0, 0.2])
@pytest.mark.parametrize("seed", [1, 4, 10])
def test_the_flow_does_not_depend_on_how_tiny_w_is(seed, leak, loss):
    # Within a step that outputs allow, times of 1e-30 of it had no digits: ends were of order one apart.
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((7, 3)), rng.choice([-1.0, 1.0], 7))
    W, a = rng.standard_normal((5, 3)), rng.choice([-1.0, 1.0], 5)
    runs = [
        rf.integrate(data, rf.Network(scale * W, a, leak=leak), until=2.0, loss=loss)
        for scale in (1e-14, 1e-30, 1e-60, 1e-100)
    ]
    for run in runs[1:]:
        assert run.status == "reached_time"
        assert events(run) == events(runs[0])
        np.testing.assert_allclose(run.final.W, runs[0].final.W, rtol=0, atol=1e-8)


@pytest.mark.parametrize("scale", [1e-8, 1e-30, 1e-100])
def test_a_neuron_comes_to_rest_where_its_first_boundary_stops_it(scale):
    # One active sample with y = -1 pushes w along -x until w·x = 0, where w = w_0 - (w_0·x) x/|x|² stays.
    X, y = np.array([[1.0, 0.3], [-1.0, 0.2]]), np.array([-1.0, 1.0])
    w = scale * np.array([1.0, 0.1])
    sol = rf.integrate(rf.Dataset(X, y), rf.Network(w[None], [1.0]), until=0.1, loss="squared")
    x = X[0]
    np.testing.assert_allclose(sol.final.W[0] / scale, (w - (w @ x) / (x @ x) * x) / scale, rtol=1e-7)
    assert list(sol.events.kind) == ["die"]
    assert sol.events.t[0] == pytest.approx((w @ x) / (x @ x), rel=1e-7)
