"""Where stop rules end runs: at the first time at which they hold, and no state or event comes after it."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

LAYERED = {"rates": (1.0, 1.0)}  # any rates take the core of layered networks


@pytest.mark.parametrize("seed", [0, 1, 10])
def test_no_kept_time_is_after_the_stop_by_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((5, 2)), rng.choice([-1.0, 1.0], 5))
    net = rf.Network.init(4, 2, scale=0.5, seed=seed)
    for until in np.arange(100, 320) / 1000:
        sol = rf.integrate(data, net, until=float(until), **LAYERED)
        assert sol.status == "reached_time"
        assert sol.t_end == until
        assert (np.diff(sol.t) >= 0.0).all()
        sol(sol.t[-2])
