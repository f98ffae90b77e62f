"""Errors whose outputs are sums of terms far above the targets are known to the rounding of these terms only."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

# Three short samples take |θ| to 100 before they are fitted, and the terms of the long one to 4e4.
X = np.array(
    [[-22.2, -2.29], [0.613, -2.08], [0.0867, -0.00888], [-0.00156, 0.00148], [-0.679, 3.88], [-0.0036, 0.000766]]
)
Y = np.array([-1.0, 2.0, 1.0, -1.0, 0.0, -2.0])
W = np.array([[-0.3554, -0.0304], [0.1528, -0.1326], [-0.1837, 0.1519], [-0.1322, 0.0139], [-0.0508, 0.1222]])
NET = rf.Network(W, np.linalg.norm(W, axis=1) * [-1, 1, 1, 1, -1])


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-11])
def test_late_steps_go_on_beside_the_rounding_of_terms(rtol: float) -> None:
    # It was held for a layer, and steps were 1e-6 to 1e-3 long for ever. Turned samples have another rounding.
    turn = np.array([[0.6, 0.8], [-0.8, 0.6]])
    until = rf.Stop(time=2e5, seconds=60.0)
    sol = rf.integrate((X, Y), NET, until=until, loss="squared", rtol=rtol)
    turned = rf.integrate((X @ turn, Y), rf.Network(W @ turn, NET.a), until=until, loss="squared", rtol=1e-10)
    for run in (sol, turned):
        assert run.status == "reached_time"
        assert run.stats["steps"] < 5000
    assert np.abs(sol.final.a - sol(2e3).a).max() > 1.0
    np.testing.assert_allclose(turned.final.a, sol.final.a, rtol=1e-5)
    np.testing.assert_allclose(turned.final.W, sol.final.W @ turn, atol=1e-4)


def test_a_network_that_has_fitted_to_the_rounding_of_terms_rests() -> None:
    sol = rf.integrate((X, Y), NET, until=rf.Stop(time=1e12, seconds=60.0), loss="squared")
    assert sol.status == "reached_time"
    assert sol.message.startswith("no neuron moves any more")
    np.testing.assert_allclose(sol.final.a @ np.maximum(sol.final.W @ X.T, 0.0), Y, atol=1e-8)
