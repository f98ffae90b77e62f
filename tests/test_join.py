"""A run that was cut short and its continuation are the one run that they are."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import reluflow as rf
from reluflow.flow import _join
from toys import digits_like


def test_a_run_in_two_parts_is_the_run_in_one() -> None:
    data, net = digits_like()
    one = rf.integrate(data, net, until=10.0)
    first = rf.integrate(data, net, until=4.0)
    assert len(first.events)
    assert len(first.events) < len(one.events)
    whole = _join.joined(first, rf.integrate(data, first, until=10.0), one.settings.until)
    assert whole.initial == one.initial
    assert whole.t_start == 0.0
    assert (whole.events.neuron.tolist(), whole.events.kind.tolist()) == (
        one.events.neuron.tolist(),
        one.events.kind.tolist(),
    )
    np.testing.assert_allclose(whole.events.t, one.events.t, rtol=1e-6)
    assert (np.diff(whole.events.tie) >= 0).all()
    assert (np.diff(whole.t) > 0).all()
    # An event may come so soon after a checkpoint that both have the same time.
    counts, times = whole._raw["checkpoint_events"], whole._raw["checkpoint_t"]
    assert (counts >= np.searchsorted(whole.events.t, times, side="left")).all()
    assert (counts <= np.searchsorted(whole.events.t, times, side="right")).all()
    for t in (0.0, 1.0, 3.999, 4.0, 4.001, 9.0, 10.0):
        np.testing.assert_allclose(whole(t).W, one(t).W, rtol=1e-6, atol=1e-9)
        np.testing.assert_array_equal(whole(t).pattern, one(t).pattern)
    assert whole.final == rf.integrate(data, first, until=10.0).final


def test_a_joined_run_is_stored_as_any_other(tmp_path: Path) -> None:
    data, net = digits_like()
    first = rf.integrate(data, net, until=4.0)
    whole = _join.joined(first, rf.integrate(data, first, until=10.0), rf.Stop(time=10.0))
    whole.save(tmp_path / "run.npz")
    back = rf.load(tmp_path / "run.npz")
    assert isinstance(back, rf.Solution)
    assert back.events == whole.events
    assert back(2.0) == whole(2.0)
