"""What a symmetry of data and network makes meet at one instant, but for rounding.

The labels and the start do not change when the first two inputs change places. So units read samples that change
places alike and meet their boundaries at one instant. A start that is off by 10⁻¹⁴ keeps this to rounding: taken one
after the other, which comes first would decide how the run ends, and none of its mirror images would be listed.
"""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

import reluflow as rf
from reluflow.layered import DeepNetwork, DeepSolution, Dense

OFF_BY = 1e-14


def problem(seed: int) -> tuple[np.ndarray, np.ndarray, list[Dense], np.ndarray, float, str]:
    """Draw Boolean data and a network of three layers that are symmetric in the first two inputs."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(2, 4))
    X = np.array(list(product((-1.0, 1.0), repeat=d)))
    X = (X + 1.0) / 2.0 if rng.random() < 0.5 else X
    X = np.c_[X, np.ones(len(X))] if rng.random() < 0.5 else X
    total = X[:, 0] + X[:, 1]
    of_total, of_third = rng.choice([-1.0, 1.0], 3), rng.choice([-1.0, 1.0], 8)
    y = of_total[np.searchsorted(np.unique(total), total)]
    if d == 3:
        y = y * np.where(X[:, 2] > X[:, 2].min(), of_third[0], of_third[1])
    used = np.any(X != 0, axis=1)
    X, y = X[used], y[used]
    leak, loss = float(rng.choice([0, 0.1])), str(rng.choice(["logistic", "squared", "exponential"]))
    layers = [Dense(int(rng.integers(2, 6))), Dense(int(rng.integers(2, 4))), Dense(1)]
    net = DeepNetwork.init(layers, dim=X.shape[1], scale=float(rng.choice([0.2, 0.5, 1.0])), seed=seed, leak=leak)
    theta = net.theta.copy()
    first = theta[: net.layers[0].W.size].reshape(net.layers[0].W.shape)
    first[:, 1] = first[:, 0]
    return X, y, layers, theta, leak, loss


def run(seed: int, column: int, end: float) -> DeepSolution:
    """Run from a start that is off the symmetric one in a column of the first layer."""
    X, y, layers, theta, leak, loss = problem(seed)
    first = theta[: layers[0].width * X.shape[1]].reshape(-1, X.shape[1])
    first[:, column] *= 1.0 + OFF_BY * np.random.default_rng(seed).random(len(first))
    net = DeepNetwork(layers, theta, dim=X.shape[1], leak=leak)
    return rf.integrate((X, y), net, until=rf.Stop(time=end), rtol=1e-10, loss=loss, on_branch="active")


# The instant at which what the symmetry makes equal meets.
@pytest.mark.parametrize(("seed", "meets"), [(141, 1.898), (143, 2.211), (154, 1.883), (167, 1.303), (275, 0.602)])
def test_what_meets_but_for_rounding_is_one_event(seed, meets):
    one, other = (run(seed, column, 1.1 * meets) for column in (0, 1))
    for sol in (one, other):
        assert sol.success, sol.message
        W = sol(meets - 1e-3).layers[0].W
        assert np.abs(W[:, 0] - W[:, 1]).max() < 1e-13
        (branch,) = [b for b in sol.branchings if abs(b.t - meets) < 1e-3]
        X = problem(seed)[0]
        swapped = [int(np.flatnonzero((row[[1, 0, *range(2, len(row))]] == X).all(axis=1))[0]) for row in X]
        ways = [dict(zip(branch.places, option, strict=True)) for option in branch.options]
        images = [{(v, unit, swapped[i]): side for (v, unit, i), side in way.items()} for way in ways]
        assert any(way != image for way, image in zip(ways, images, strict=True))
        assert all(image in ways for image in images)
    np.testing.assert_allclose(one.branchings[0].t, other.branchings[0].t, rtol=1e-9)
