"""Weight decay below the rounding of the errors that hold a neuron: the run says what of its motion is not known.

One neuron on one sample x = 1 with target y keeps a w = y to order γ, and a² - w² falls like e^{-2γt}.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf

Y = 7.0
ONE = rf.Dataset([[1.0]], [Y])
RULE: dict[str, Any] = {"loss": "squared"}


def followed(w: float, a: float, decayed: float) -> tuple[float, float]:
    c = (a * a - w * w) * np.exp(-2.0 * decayed)
    root = np.hypot(c, 2.0 * Y)
    return np.sqrt((root - c) / 2.0), np.sqrt((root + c) / 2.0)


@pytest.mark.parametrize("decay", [1e-15, 1e-17, 1e-30])
@pytest.mark.parametrize("decayed", [1e-3, 0.5, 30.0])
def test_a_balanced_neuron_is_held_for_ever(decay: float, decayed: float) -> None:
    # Its error was rounding, 0 or 1e-15, and the neuron was taken for one that decays.
    sol = rf.integrate(ONE, rf.Network([[1.0]], [1.0]), until=decayed / decay, weight_decay=decay, **RULE)
    assert sol.status == "reached_time"
    np.testing.assert_allclose([sol.final.W[0, 0], sol.final.a[0]], np.sqrt(Y), rtol=1e-9)


@pytest.mark.parametrize("decay", [1e-15, 1e-17, 1e-30])
@pytest.mark.parametrize(("w", "a"), [(0.5, 1.5), (2.0, 0.3)])
def test_what_decay_still_moves_is_no_rest(w: float, a: float, decay: float) -> None:
    for until in (rf.Stop(time=0.5 / decay), rf.Stop(time=30.0 / decay), rf.Stop(seconds=30.0)):
        sol = rf.integrate(ONE, rf.Network([[w]], [a]), until=until, weight_decay=decay, **RULE)
        assert sol.status == "stalled"
        assert "weight decay still moves neuron 0" in sol.message
        np.testing.assert_allclose([sol.final.W[0, 0], sol.final.a[0]], followed(w, a, decay * sol.t_end), rtol=1e-8)
    sol = rf.integrate(ONE, rf.Network([[w]], [a]), until=1e-9 / decay, weight_decay=decay, **RULE)
    assert sol.status == "reached_time"  # so far it moves nothing
    np.testing.assert_allclose([sol.final.W[0, 0], sol.final.a[0]], followed(w, a, 1e-9), rtol=1e-8)


def test_a_neuron_that_no_sample_reaches_decays_beside_one_that_is_held() -> None:
    net = rf.Network([[1.0], [-0.5]], [1.0, 0.25])
    sol = rf.integrate(ONE, net, until=0.5e17, weight_decay=1e-17, **RULE)
    assert sol.status == "reached_time"
    np.testing.assert_allclose(
        sol.final.theta, [[np.sqrt(Y)] * 2, [-0.5 * np.exp(-0.5), 0.25 * np.exp(-0.5)]], rtol=1e-9
    )


@pytest.mark.parametrize("decay", [1e-3, 1e-9])
def test_a_decay_above_rounding_is_followed_to_its_end(decay: float) -> None:
    sol = rf.integrate(ONE, rf.Network([[0.5]], [1.5]), until=30.0 / decay, weight_decay=decay, **RULE)
    assert sol.status == "reached_time"
    np.testing.assert_allclose([sol.final.W[0, 0], sol.final.a[0]], np.sqrt(Y - decay), rtol=1e-6)
