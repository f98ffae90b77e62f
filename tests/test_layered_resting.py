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


@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_what_is_held_with_a_unit_that_dies_above_may_rest(decay: float) -> None:
    """Units 0 and 2 of the first layer rest on sample 0. Unit 0 of the second layer, which reads both, loses the weight
    by which it is active on both samples, and what is left of it holds all three together: unit 0 below is pulled up
    from then on, or rests, as in descent. It went up as if that were the only way."""
    X = np.array([[0.3, 0.9, 1.0, 1.4], [1.0, -0.3, -0.6, -0.5]])
    first = [[-0.5, -0.4, -0.2, 0.7], [0.4, 0.4, 0.3, 0.1], [-0.4, 0.0, -0.3, 0.4], [-0.1, -0.7, 1.1, -0.8]]
    second = [[0.8, 0.2, 0.7, -0.3], [-0.9, -0.4, 0.1, -0.2], [1.1, 0.0, 0.4, -0.3], [-1.2, -0.2, 0.0, -0.2]]
    theta = np.concatenate([np.ravel(first), np.ravel(second), [-1.0, 0.4, 0.0, 0.0]])
    net = rf.DeepNetwork([rf.Dense(4), rf.Dense(4), rf.Dense(1)], theta, dim=4)
    data, options = rf.Dataset(X, [1.0, -1.0]), {"loss": "logistic", "weight_decay": decay}
    ends = {}
    for policy in ("inactive", "active", "stay"):
        sol = rf.integrate(data, net, until=2.0, on_branch=policy, **options)
        (point,) = sol.branchings
        assert point.places == ((1, 0, 0), (2, 0, 1))
        assert set(point.options) == {(0, 0), (1, -1)}
        ends[policy] = sol.final.theta
    descent = rf.descend(data, net, step=1e-4, n_steps=20000, **options).final.theta
    for policy in ("inactive", "stay"):
        np.testing.assert_allclose(ends[policy], descent, rtol=0, atol=2e-4)
    assert np.abs(ends["active"] - descent).max() > 1e-2
