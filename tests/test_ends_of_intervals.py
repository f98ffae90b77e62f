"""Multipliers at an end of their interval, and kinks that change their sign, while a neuron slides."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


@pytest.mark.parametrize("seed", [85, 105, 182, 287, 298, 309])
@pytest.mark.parametrize("rtol", [1e-9, 1e-12])
def test_an_output_weight_that_changes_its_sign_on_a_wall_is_one_branch(seed, rtol):
    """|a| < |w|: a passes zero, the valley becomes a ridge. What the root leaves of a may have the sign of before."""
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((2, 2)), np.ones(2))
    along = np.array([-data.X[0, 1], data.X[0, 0]])
    along *= np.sign(along @ data.X[1]) / np.linalg.norm(along)
    sol = rf.integrate(data, rf.Network([along], [-0.3]), until=3.0, rtol=rtol, loss="exponential")
    assert sol.status == "reached_time", sol.message
    assert [str(kind) for kind in sol.events.kind][-2:] == ["branch", "release_down"]
    assert len(sol.branchings) == 1
