"""A run that is to end hears it inside a step, and nothing that was accepted is lost; the solution so far."""

from __future__ import annotations

import signal
from types import FrameType
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow import _core
from toys import digits_like


def slow_steps() -> tuple[rf.Dataset, rf.Network]:
    """A first step that takes far longer than the twentieth of a second after which a run looks for signals."""
    rng = np.random.default_rng(0)
    data = rf.Dataset(rng.standard_normal((1500, 60)), np.where(rng.random(1500) < 0.5, -1.0, 1.0))
    return data, rf.Network.init(4000, 60, scale=1e-2, seed=1)


def raise_keyboard_interrupt(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt


@pytest.mark.slow
def test_ctrl_c_is_heard_inside_a_step() -> None:
    before = signal.signal(signal.SIGALRM, raise_keyboard_interrupt)

    def arm(progress: rf.flow.Progress) -> None:
        signal.setitimer(signal.ITIMER_REAL, 0.05)  # rings in the step that follows

    try:
        sol = rf.integrate(*slow_steps(), until=1.0, callback=arm, callback_period=0.0)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
    assert sol.status == "interrupted"
    assert sol.stats["steps"] == 0
    assert sol.final.W.tolist() == sol.initial.W.tolist()


def core_run(data: rf.Dataset, net: rf.Network, **options: Any) -> dict[str, Any]:
    given = {"until_time": 50.0, "look_period": 0.0, "hook_period": 0.0, "n_threads": 1, **options}
    hook = given.pop("hook", None)
    return _core.integrate(data.X, data.y, net.W, net.a, net.leak, "logistic", "sum", given, hook)


def test_a_program_that_handles_signals_itself_is_asked_inside_a_step() -> None:
    data, net = digits_like(n=300, d=40, width=600)
    raw = core_run(data, net, is_over=lambda: True)
    assert (raw["status"], raw["stats"]["steps"], raw["final_t"]) == ("interrupted", 0, 0.0)


def test_an_exception_inside_a_step_goes_through() -> None:
    def fail() -> bool:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        core_run(*digits_like(n=300, d=40, width=600), is_over=fail)


# --- the solution so far ---------------------------------------------------------------------------------------------


def kept_of(data: rf.Dataset, net: rf.Network, **options: Any) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    kept: list[dict[str, Any]] = []
    raw = core_run(data, net, keep=kept.append, keep_period=0.0, **options)
    return kept, raw


def test_what_is_kept_on_the_way_is_the_run_so_far() -> None:
    kept, raw = kept_of(*digits_like())
    assert len(kept) > 3
    for part in kept:
        assert part["status"] == "running"
        count = len(part["checkpoint_t"])
        np.testing.assert_array_equal(part["checkpoint_W"], raw["checkpoint_W"][:count])
        np.testing.assert_array_equal(part["event_t"], raw["event_t"][: len(part["event_t"])])
        if part["final_t"] in raw["checkpoint_t"]:
            at = int(np.searchsorted(raw["checkpoint_t"], part["final_t"]))
            np.testing.assert_allclose(part["final_W"], raw["checkpoint_W"][at], rtol=1e-12, atol=1e-14)


@pytest.mark.slow
@pytest.mark.parametrize("problem", [digits_like(), digits_like(n=30, d=3, width=700)], ids=["narrow", "wide"])
def test_keeping_changes_no_bit_of_the_run(problem: tuple[rf.Dataset, rf.Network]) -> None:
    kept, raw = kept_of(*problem)
    alone = core_run(*problem)
    assert kept
    for name in ("final_W", "final_a", "final_pattern", "event_t", "checkpoint_W"):
        np.testing.assert_array_equal(raw[name], alone[name])


def test_a_keeper_that_is_interrupted_ends_the_run_in_order() -> None:
    def interrupted(part: dict[str, Any]) -> None:
        raise KeyboardInterrupt

    assert core_run(*digits_like(), keep=interrupted, keep_period=0.0)["status"] == "interrupted"
