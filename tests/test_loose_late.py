"""Far out, where margins are 1/rtol and more, a loose tolerance follows the flow as a tight one does, for less work."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import reluflow as rf
from reluflow.layered import DeepNetwork, Dense


def random_labels(n: int, d: int, seed: int) -> rf.Dataset:
    rng = np.random.default_rng(seed)
    return rf.Dataset(rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n))


@pytest.mark.parametrize(("n", "d", "scale", "seed"), [(20, 10, 1e-3, 0), (20, 10, 1e-3, 2), (12, 6, 1e-2, 2)])
def test_a_loose_tolerance_has_the_late_events_of_a_tight_one(n, d, scale, seed):
    """Neurons that slide are held by weights: from margins that rtol leaves unknown they left and came back."""
    data, net = random_labels(n, d, seed), rf.Network.init(20, d, scale=scale, seed=seed)
    sols = [rf.integrate(data, net, rtol=rtol, until=rf.Stop(log_time=1e30)) for rtol in (1e-3, 1e-6, 1e-9)]
    tight = sols[-1]
    for sol in sols[:-1]:
        assert sol.success
        assert abs(len(sol.events) - len(tight.events)) <= 0.02 * len(tight.events)
        assert sol.stats["steps"] < tight.stats["steps"]
        direction, tight_direction = (q.final(data.X) / q.final.norm**2 for q in (sol, tight))
        assert direction == pytest.approx(tight_direction, rel=1e-6)


def test_local_events_move_no_margin_by_more_than_is_known_of_it():
    """Sixty large neurons with many events between log t = 1e3 and 1e8, each neglected in the others."""
    data, net = random_labels(20, 10, 1), rf.Network.init(60, 10, scale=1.0, seed=1)
    loose, tight = (rf.integrate(data, net, rtol=rtol, until=rf.Stop(log_time=1e8)) for rtol in (1e-3, 1e-9))
    assert abs(len(loose.events) - len(tight.events)) <= 0.02 * len(tight.events)


def layers(seed: int, *widths: int) -> DeepNetwork:
    rng = np.random.default_rng(seed)
    weights = [rng.standard_normal((m, d)) / np.sqrt(d) for d, m in pairwise(widths)]
    return DeepNetwork([Dense(m) for m in widths[1:]], np.concatenate([w.ravel() for w in weights]), dim=widths[0])


def test_late_units_of_layers_are_known_at_a_loose_tolerance():
    data, net = random_labels(10, 6, 2), layers(2, 6, 6, 6, 1)
    loose, tight = (rf.integrate(data, net, rtol=rtol, until=rf.Stop(log_time=1e8)) for rtol in (1e-6, 1e-9))
    assert loose.success
    assert len(loose.events) == len(tight.events)
    assert loose.stats["steps"] <= 2 * tight.stats["steps"]


@pytest.mark.parametrize("widths", [(6, 12, 1), (6, 6, 6, 1)])
def test_implicit_steps_leave_late_ones_their_turn(widths):
    """Behind late steps that were refused implicit ones took over, for ever in lengths that hardly moved log t."""
    data = random_labels(10, 6, 0)
    sol = rf.integrate(data, layers(0, *widths), rtol=1e-3, until=rf.Stop(log_time=1e8, steps=3000))
    assert sol.status == "reached_log_time"
