"""Layered networks against stored runs: the events are the same, times and states agree."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from layered_cases import NAMES, events_of, load


@pytest.mark.parametrize("rtol", [1e-9, 1e-10, 1e-11, 1e-12, 1e-13])
@pytest.mark.parametrize("name", NAMES)
def test_a_run_meets_the_events_and_the_states_of_a_stored_one(name: str, rtol: float) -> None:
    case = load(name)
    end = float(case.times[-1])
    sol = rf.integrate(
        case.data, case.net, until=end, loss=case.loss, reduction=case.reduction, rtol=rtol, save_at=case.times
    )
    assert sol.status == "reached_time"
    found = events_of(sol)
    assert [row[1:] for row in found] == [row[1:] for row in case.events]
    for got, wanted in zip(found, case.events, strict=True):
        assert got[0] == pytest.approx(wanted[0], rel=max(1e-10, 10 * rtol))
    for got, wanted in zip(sol.theta, case.theta, strict=True):
        assert np.abs(got - wanted).max() <= max(1e-10, 10 * rtol) * np.abs(wanted).max()


def test_a_wrong_side_would_be_seen() -> None:
    case = load("two_squared")
    other = case.net._with(case.net.theta * (1.0 + 1e-9))
    sol = rf.integrate(case.data, other, until=5.0, loss=case.loss, rtol=1e-12, save_at=case.times)
    assert np.abs(sol.theta[-1] - case.theta[-1]).max() > 1e-10 * np.abs(case.theta[-1]).max()


def test_there_are_stored_runs_of_every_kind() -> None:
    assert {"bias_squared", "conv_relu", "deep3_relu", "deep_linear", "narrow_void", "residual"} <= set(NAMES)
