"""Runs of layers whose tolerance hides how an event goes on: they are made again at a tight one."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow import _core
from reluflow.layered import _integrate

TIGHT = 1e-12
MODEL = _core.LayeredModel
# Of fits to whole numbers about one in 200 comes to such an event.
FITS = [(20576, (6, 5), 1e-3), (20946, (4, 4, 3), 1e-4), (4242, (4, 4, 3), 1e-4)]


def fit(seed: int, width: tuple[int, ...], rtol: float) -> rf.ReluFlowRegressor:
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(8, 30)), int(rng.integers(1, 10))
    X = rng.integers(0, 4, (n, d)).astype(float) if seed % 3 else rng.standard_normal((n, d))
    y = rng.integers(0, 3, n).astype(float)
    until = rf.Stop(mean_loss=0.005, time=20.0)
    return rf.ReluFlowRegressor(width=width, until=until, rtol=rtol, random_state=seed).fit(X, y)


@pytest.mark.parametrize(("seed", "width", "rtol"), FITS)
def test_what_a_loose_tolerance_does_not_tell_a_tight_one_does(seed, width, rtol):
    coarse, fine = fit(seed, width, rtol).solution_, fit(seed, width, TIGHT).solution_
    assert coarse.status == fine.status == "reached_time"
    if coarse.settings["rtol"] != rtol:  # another machine may round so that the first run sees how it goes on
        assert coarse.settings["rtol"] == TIGHT
        assert f"made again at rtol=1e-12 (at {rtol:g}: cannot determine" in coarse.message
        assert len(coarse.events) == len(fine.events)
        np.testing.assert_array_equal(coarse.final.theta, fine.final.theta)
    half = 0.5 * coarse.t_end
    np.testing.assert_allclose(coarse(half).theta, fine(half).theta, atol=0.1)


class Core:
    """A model whose first run ends after a few events, which it cannot decide, and whose second one after others."""

    ends: tuple[tuple[str, int], tuple[str, int]]  # the status of each run, and after how many events
    tolerances: list[float]

    def __init__(self, *about: object) -> None:
        self.model = MODEL(*about)

    def run(self, start, options, hook):
        status, events = self.ends[len(self.tolerances)]
        self.tolerances.append(options["rtol"])
        raw = self.model.run(start, {**options, "until_events": events, "hook_period": 0.0}, hook)
        raw["seconds"] += 100.0
        message = "cannot determine how: all meet" if status == "undecided_event" else "it is over"
        return {**raw, "status": status, "success": False, "message": message}

    def __getattr__(self, name):
        return getattr(self.model, name)


@pytest.mark.parametrize("then", ["undecided_event", "interrupted", "stopped_by_callback", "reached_seconds"])
@pytest.mark.parametrize(
    ("events", "missed"), [(1, "undecided_event"), (12, "undecided_event"), (12, "accuracy_not_reached")]
)
def test_of_both_runs_the_one_that_came_farther_is_kept(monkeypatch, then, events, missed):
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)
    net = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(4), rf.Dense(1)], dim=3, scale=0.5, seed=0)
    monkeypatch.setattr(Core, "ends", ((missed, 3), (then, events)), raising=False)
    monkeypatch.setattr(Core, "tolerances", [], raising=False)
    monkeypatch.setattr(_core, "LayeredModel", Core)
    told: list[float] = []
    sol = rf.integrate(
        rf.Dataset(X, y), net, until=50.0, loss="squared", rtol=1e-6, callback=lambda p: told.append(p.seconds)
    )
    assert told == sorted(told)
    assert told[0] < 100.0 < told[-1]
    assert Core.tolerances == [1e-6, TIGHT]
    assert sol.settings["rtol"] == (TIGHT if events > 3 else 1e-6)
    assert len(sol.events) >= max(events, 3)
    assert sol.status == then
    assert sol.message.startswith("cannot determine how" if then == "undecided_event" else "it is over")
    np.testing.assert_array_equal(sol(sol.t_end).theta, sol.final.theta)
    assert np.isfinite(sol(0.5 * sol.t_end).theta).all()
    assert sol.stats["seconds"] > 200.0


def test_a_second_run_that_ends_as_asked_is_kept(monkeypatch):
    """Also where the first came farther: it has not met what the stop asks for."""
    data = rf.Dataset([[1.0, 0.5], [-0.3, 1.0], [0.2, -1.0]], [1.0, -0.5, 0.3])
    net = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(4), rf.Dense(1)], dim=2, scale=0.7, seed=1)
    monkeypatch.setattr(Core, "ends", (("undecided_event", 3), ("reached_events", 1)), raising=False)
    monkeypatch.setattr(Core, "tolerances", [], raising=False)
    monkeypatch.setattr(_core, "LayeredModel", Core)
    sol = rf.integrate(data, net, until=50.0, loss="squared", rtol=1e-6)
    assert (sol.status, sol.settings["rtol"]) == ("reached_events", TIGHT)


def test_a_second_run_that_falls_behind_is_given_up(monkeypatch):
    """Where rounding keeps its steps short it would take minutes for what the first did in seconds, or hours."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((8, 3)), rng.standard_normal(8)
    net = rf.DeepNetwork.init([rf.Dense(5), rf.Dense(4), rf.Dense(1)], dim=3, scale=0.5, seed=0)
    monkeypatch.setattr(Core, "ends", (("undecided_event", 3), ("stopped_by_callback", 12)), raising=False)
    monkeypatch.setattr(Core, "tolerances", [], raising=False)
    monkeypatch.setattr(_core, "LayeredModel", Core)
    monkeypatch.setattr(_integrate, "_MORE_STEPS", (0, 1))
    sol = rf.integrate(rf.Dataset(X, y), net, until=50.0, loss="squared", rtol=1e-6)
    assert (sol.status, sol.message, sol.settings["rtol"]) == (
        "undecided_event",
        "cannot determine how: all meet",
        1e-6,
    )
    assert np.isfinite(sol(0.5 * sol.t_end).theta).all()
