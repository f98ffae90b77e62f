"""Ordinary data, run until the limit is certified: some of bench/limits.py, which has them all."""

from __future__ import annotations

import math

import numpy as np
import pytest

import limits
import reluflow as rf
from certificate import certify_alone

KINDS = {str(kind): kind for kind in limits.kinds()}
SEPARABLE = [
    "iris01_m60_0.001_exp",
    "wine01_bias_m20_0.001_exp",
    "wine12_m20_0.1",
    "random_20x10_bias_m20_0.1",
]


@pytest.mark.slow
@pytest.mark.parametrize("name", SEPARABLE)
def test_separable_data_have_a_certified_direction(name: str) -> None:
    outcome = limits.one(KINDS[name], 0, rf.Stop(limit=True, seconds=100))
    sol, limit = outcome.sol, outcome.limit
    assert sol.status == "reached_limit", sol.message
    assert limit.kind == "direction"
    assert not outcome.warned
    # What follows does not change the limit: the flow comes nearer.
    norm = math.log(sol.final.norm) + 10.0
    later = rf.integrate(sol.data, sol, until=rf.Stop(log_norm=norm))
    assert np.linalg.norm(later.final.theta / later.final.norm - limit.network.theta) <= limit.turn
    assert later.limit.certified
    assert later.limit.margin == pytest.approx(limit.margin, rel=1e-12)


@pytest.mark.slow
def test_noisy_data_have_a_certified_critical_point() -> None:
    outcome = limits.one(KINDS["moons_bias_m60_0.001"], 0, rf.Stop(limit=True, seconds=100))
    assert outcome.sol.success, outcome.sol.message
    assert outcome.limit.kind == "finite"
    assert outcome.is_certified


def test_rounding_of_large_multipliers_does_not_hide_a_limit() -> None:
    """Multipliers of 1,000 and masses of 1,000 cancel to margins of 1, whose rounding is 5e-11."""
    outcome = limits.one(KINDS["moons_noisy_bias_m20_0.1_exp"], 7, rf.Stop(limit=True))
    assert outcome.sol.status == "reached_limit", outcome.sol.message
    assert outcome.sol.log_t_end <= 1e3
    assert outcome.limit.residuals.largest <= 1e-10
    assert outcome.limit.residuals.sign <= 1e-11


def test_a_run_that_rests_before_its_limit_is_asked_for_ends_with_it() -> None:
    outcome = limits.one(KINDS["moons_bias_m20_0.001_leak0.1_exp"], 0, rf.Stop(limit=True))
    sol = outcome.sol
    assert sol.status == "reached_limit", sol.message
    assert (outcome.limit.kind, sol.log_t_end) == ("finite", 30.0)
    # A bare network does not say that it rests: its first step is as long as the rounding of a gradient makes it.
    alone = rf.Network(sol.final.W, sol.final.a, leak=sol.final.leak)
    again = rf.integrate(sol.data, alone, loss="exponential", until=rf.Stop(log_time=30.0))
    assert again.success, again.message
    assert np.abs(again.final.theta - sol.final.theta).max() <= 1e-9


def test_the_survey_says_what_it_runs(capsys: pytest.CaptureFixture[str]) -> None:
    assert limits.main(["--list", "wine"]) == 0
    assert capsys.readouterr().out.split() == [name for name in KINDS if "wine" in name]


def test_data_with_ties_and_contradictions_can_be_surveyed(capsys: pytest.CaptureFixture[str]) -> None:
    assert limits.main(["--more", "--seeds", "3:4", "bits_m30"]) == 0
    assert "1 of 1 certified; 0 took more than 2000 steps" in capsys.readouterr().out


def test_a_loss_that_falls_like_a_power_of_time_is_soon_left_for_its_limit() -> None:
    """Noisy moons of which 36 samples rest: what moves beside them falls like 1/t, in steps that rounding limits.

    It was followed for 3,000 such steps, to log t = 23, before the samples at rest were looked for.
    """
    outcome = limits.one(KINDS["moons_noisy_bias_m60_0.001"], 1, rf.Stop(limit=True), rtol=1e-9)
    sol = outcome.sol
    assert sol.status == "reached_limit", sol.message
    assert "where the loss stalls" in sol.message or "beside" in sol.message
    assert sol.stats["steps"] < 4000
    assert sol.log_t_end < 22.0
    n_resting = int((np.abs(sol.data.y * outcome.limit.network(sol.data.X)) < 1e-9).sum())
    assert certify_alone(sol.data, outcome.limit, n_resting) <= 1e-9
    # A run that is to come to a time goes on: 3,000 steps and more.
    timed = rf.integrate(sol.data, sol.initial, until=rf.Stop(log_time=21.0))
    assert timed.status == "reached_log_time"
    assert timed.stats["steps"] > sol.stats["steps"]
