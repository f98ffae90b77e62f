"""After a run has come to rest: any time of it, and every continuation, is there at once."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def resting(seed: int, loss: str) -> tuple[rf.Dataset, rf.Network]:
    """Every sample with both labels: the flow ends at a critical point."""
    rng = np.random.default_rng([seed, 23])
    X, y = rng.standard_normal((5, 2)), rng.choice([-1.0, 1.0], 5)
    return rf.Dataset(np.vstack([X, X]), np.r_[y, -y]), rf.Network.init(4, 2, scale=0.5, seed=seed)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("seed", range(4))
def test_any_time_after_rest_is_the_final_state(seed: int, loss: str) -> None:
    data, net = resting(seed, loss)
    sol = rf.integrate(data, net, until=1e8, loss=loss)
    assert "no neuron moves" in sol.message
    rest = np.exp(sol.stats["rest_log_t"])
    assert rest < 1e6
    W, a = sol.states(np.linspace(1e7, 1e8, 50))
    assert (W == sol.final.W).all()
    assert (a == sol.final.a).all()
    before = sol(0.5 * rest)
    assert np.abs(before.W - sol.final.W).max() < 1e-3


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("seed", range(4))
def test_a_continuation_from_rest_rests(seed: int, loss: str) -> None:
    data, net = resting(seed, loss)
    sol = rf.integrate(data, net, until=1e8, loss=loss)
    for begin in (sol, sol.final):
        until = rf.Stop(time=1e9, seconds=60.0)
        later = rf.integrate(data, begin, until=until, loss=loss)
        assert later.status == "reached_time", later.message
        assert later.stats["steps"] < 500
        assert later.final.W == pytest.approx(sol.final.W, abs=1e-8)


def test_a_saved_run_that_rested_answers_after_rest(tmp_path) -> None:  # type: ignore[no-untyped-def]
    data, net = resting(0, "logistic")
    sol = rf.integrate(data, net, until=1e8)
    sol.save(tmp_path / "run.npz")
    assert rf.load(tmp_path / "run.npz")(0.9e8) == sol.final
