"""Crossings of two layers with several outputs that share a step: what each of them does to all others is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf

Found = tuple[list[tuple[int, int, str]], np.ndarray, np.ndarray]


def problem(loss: str, scale: float) -> tuple[tuple[np.ndarray, np.ndarray], rf.Network]:
    rng = np.random.default_rng(4)
    X = rng.standard_normal((400, 6))
    targets = rng.integers(0, 3, 400) if loss == "cross_entropy" else rng.standard_normal((400, 3))
    return (X, targets), rf.Network.init(30, 6, outputs=3, scale=scale, seed=2)


def run(loss: Any, scale: float, end: float, rtol: float, **options: Any) -> tuple[rf.flow.TwoLayerSolution, Found]:
    data, net = problem(loss, scale)
    sol = rf.integrate(data, net, until=end, loss=loss, rtol=rtol, **options)
    assert sol.status == "reached_time"
    rows = [(int(e.neuron), int(e.sample), str(e.kind)) for e in sol.events]
    state = np.concatenate([sol.final.W.ravel(), sol.final.a.ravel()])
    return sol, (rows, np.asarray(sol.events.t), state)


END = 0.0005
CASES = [("cross_entropy", 1e-2, END), ("squared", 1e-2, END), ("cross_entropy", 0.5, END), ("squared", 0.5, END)]


@pytest.mark.parametrize(("loss", "scale", "end"), CASES)
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
def test_events_and_states_are_right_to_the_tolerance(loss: str, scale: float, end: float, rtol: float) -> None:
    _, (rows, times, state) = run(loss, scale, end, 1e-13)
    _, (found, found_times, found_state) = run(loss, scale, end, rtol)
    assert len(rows) > 20
    assert found == rows
    assert np.abs(found_times / times - 1.0).max() < 20 * rtol
    assert np.abs(found_state - state).max() < 5 * rtol * np.abs(state).max()


@pytest.mark.parametrize(("loss", "scale", "end"), CASES)
def test_crossings_share_steps_where_the_tolerance_allows_it(loss: str, scale: float, end: float) -> None:
    sol, (rows, _, _) = run(loss, scale, end, 1e-6)
    assert sol.stats["steps"] < len(rows) / 2


def test_a_crossing_that_matters_to_all_ends_its_step() -> None:
    # At this tolerance what one crossing does to the others is far above it for nearly all of them.
    sol, (rows, _, _) = run("squared", 0.5, END, 1e-12)
    assert sol.stats["steps"] > 0.8 * len(rows)


def test_states_saved_between_shared_crossings_are_those_of_their_times() -> None:
    times = np.linspace(END / 20, END, 20)
    often, _ = run("squared", 0.5, END, 1e-6, save_at=times)
    for k in (3, 9, 15):
        alone, (_, _, state) = run("squared", 0.5, float(times[k]), 1e-12)
        saved = np.concatenate([often.W[k].ravel(), often.a[k].ravel()])
        assert np.abs(saved - state).max() < 5e-6 * np.abs(state).max()
        assert alone.t_end == times[k]


def test_a_number_of_events_ends_a_run_exactly() -> None:
    data, net = problem("cross_entropy", 1e-2)
    sol = rf.integrate(data, net, until=rf.Stop(events=17), loss="cross_entropy", rtol=1e-6)
    assert sol.status == "reached_events"
    assert len(sol.events) == 17
    assert sol.t_end == sol.events.t[-1]


def test_a_loss_ends_a_run_that_shares_steps() -> None:
    data, net = problem("squared", 0.5)
    sol = rf.integrate(data, net, until=rf.Stop(mean_loss=1.65), loss="squared", rtol=1e-6)
    assert sol.status == "reached_mean_loss"
    assert sol.final.a.shape == (30, 3)
    assert (np.asarray(sol.events.t) <= sol.t_end).all()
    _, (rows, _, state) = run("squared", 0.5, sol.t_end, 1e-12)
    assert len(sol.events) == len(rows)
    found = np.concatenate([sol.final.W.ravel(), sol.final.a.ravel()])
    assert np.abs(found - state).max() < 5e-6 * np.abs(state).max()
