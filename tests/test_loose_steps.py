"""Steps at loose tolerances: with few orders a step knows too little of neurons beside boundaries."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

RTOLS = (1e-3, 1e-4, 1e-6)


def many_boundaries(seed: int) -> tuple[rf.Dataset, rf.Network]:
    """So many samples that some boundary is always nearer to a neuron than what a loose step may move it by."""
    rng = np.random.default_rng(seed)
    X, teacher = rng.standard_normal((1000, 20)) / np.sqrt(20), rng.standard_normal(20)
    y = np.where(X @ teacher > 0.0, 1.0, -1.0)
    return rf.Dataset(X, y), rf.Network.init(40, 20, scale=1e-3, seed=seed)


@pytest.mark.parametrize("seed", [0, 1])
def test_a_loose_tolerance_takes_fewer_steps_than_a_tight_one(seed: int) -> None:
    data, net = many_boundaries(seed)
    runs = [rf.integrate(data, net, until=rf.Stop(mean_loss=0.1), reduction="mean", rtol=rtol) for rtol in RTOLS]
    assert all(run.success for run in runs)
    loose, middle, tight = (run.stats["steps"] for run in runs)
    assert loose < 0.7 * middle < middle < 0.5 * tight
    ends = np.array([run.t_end for run in runs])
    np.testing.assert_allclose(ends, ends[-1], rtol=1e-4)
    counts = np.array([len(run.events) for run in runs])
    np.testing.assert_allclose(counts, counts[-1], rtol=2e-3)
