"""Where what rests and could leave, as nothing moves it on its inactive side, is one way of a branch."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

POLICIES = ("inactive", "active", "stay")


@pytest.mark.parametrize(("seed", "n"), [(1510, 5), (1510, 8)])
def test_a_unit_with_a_bias_of_zero_may_rest_where_all_that_it_reads_dies(seed: int, n: int) -> None:
    """The last unit below it that is active on a sample turns off there, and its bias is zero to the last bit: beside
    that with a smaller bias it stays inactive. It was taken across without a branch; descent stays at zero."""
    rng = np.random.default_rng([seed, 79])
    X, y = rng.standard_normal((n, 2)), rng.standard_normal(n)
    net = rf.DeepNetwork.init(
        [rf.Dense(2, bias=True), rf.Dense(4, bias=True), rf.Dense(1)], dim=2, scale=0.3, seed=seed
    )
    runs = {policy: rf.integrate((X, y), net, loss="squared", until=1.5, on_branch=policy) for policy in POLICIES}
    for policy, sol in runs.items():
        assert sol.status == "reached_time", sol.message
        (point,) = sol.branchings
        assert point.places == ((2, 2, 0),)
        assert set(point.options) == {(0,), (1,)}
        assert point.options[point.chosen] == ((1,) if policy == "active" else (0,))
    assert runs["active"].final.layers[1].b[2] > 1e-3
    descended = rf.descend((X, y), net, loss="squared", step=2e-4, n_steps=7500)
    np.testing.assert_allclose(runs["inactive"].final.theta, descended.final.theta, rtol=0, atol=5e-4)
