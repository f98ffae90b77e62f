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


def test_rows_of_a_long_run_stay_where_they_are_when_legs_are_joined() -> None:
    """A leg more of 6,700 states was two tenths of a second, of which there were dozens."""
    rng = np.random.default_rng(0)
    legs = [rng.standard_normal((n, 1000)) for n in (300, 100, 50, 400)]
    first = _join._extended(legs[0], legs[1])
    second = _join._extended(first, legs[2])
    assert np.shares_memory(first, second)
    third = _join._extended(second, legs[3])  # there is room for 800 rows
    assert not np.shares_memory(second, third)
    other = _join._extended(first, legs[3])  # its room is taken
    assert not np.shares_memory(first, other)
    np.testing.assert_array_equal(second, np.concatenate(legs[:3]))
    np.testing.assert_array_equal(third, np.concatenate(legs))
    np.testing.assert_array_equal(other, np.concatenate((*legs[:2], legs[3])))
    assert type(third) is np.ndarray
