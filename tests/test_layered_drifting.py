"""What leaves a boundary by hardly anything: each step sees so little of it that only all of them together tell."""

import numpy as np
import pytest

import layered_draws
import reluflow as rf


def run(seed: int, log_t: float, rtol: float) -> rf.layered.DeepSolution:
    """Run a problem drawn at random to a time; of 20,000 steps at most."""
    drawn = layered_draws.drawn(seed)
    stop = rf.Stop(log_time=log_t, steps=20_000)
    return rf.integrate((drawn.X, drawn.y), drawn.net, loss=drawn.loss, until=stop, rtol=rtol)


@pytest.fixture(scope="module")
def tight() -> rf.layered.DeepSolution:
    return run(30052, 12.22, 1e-11)


@pytest.mark.parametrize("rtol", [1e-8, 1e-9])
def test_a_unit_that_left_too_early_is_seen_to_come_back(rtol: float, tight: rf.layered.DeepSolution) -> None:
    """Repeated samples of both labels rest, and a unit slides at the bound of its multiplier.

    It left at log t = 12.2154 by the errors of an implicit step, and came back by one rounding in each of 40,000
    explicit ones, which took a start on the wrong side for zero. When it leaves for good no tolerance tells: what draws
    it off its boundary grows so slowly that rounding moves that from 12.217 to 12.24, and θ by 1e-9 until here.
    """
    sol = run(30052, 12.22, rtol)
    assert sol.status == "reached_log_time", sol.message
    assert sol.stats["steps"] < 5000
    np.testing.assert_allclose(sol.final.theta, tight.final.theta, atol=1e-8)


def test_implicit_steps_go_on_beside_what_rests_on_its_boundary_without_being_held() -> None:
    """A place at zero was to be known to its rounding: explicit steps of 0.3 were left, for 10⁶ of time."""
    sol = run(31102, 11.9, 1e-9)
    assert sol.status == "reached_log_time", sol.message
    assert sol.stats["steps"] < 2000


def test_what_leaves_at_the_start_does_so_at_every_tolerance() -> None:
    """A bias at zero has come to its bound at t = 0, when all outputs are zero, and passes it as soon as they are not.

    The event was lost where it was looked for again in a shorter step, in which it was not beyond what duals are known
    to: the bias stayed zero to t = 1,000, at a boundary that repelled.
    """
    loose, tight = (layered_draws.drawn(30031).ends(rtol).final.theta for rtol in (1e-8, 1e-11))
    np.testing.assert_allclose(loose, tight, atol=1e-5)


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-13])
@pytest.mark.parametrize(
    ("loss", "y"), [("logistic", [1, -1, 1]), ("exponential", [1, -1, 1]), ("squared", [0.3, -0.3, 1.0])]
)
@pytest.mark.parametrize("size", [0.1, 1e-4])
def test_a_weight_that_decays_towards_its_boundary_does_not_cross_it_by_rounding(
    size: float, loss: str, y: list[float], rtol: float
) -> None:
    """A row with both labels and its opposite: w' = -a tanh(a w / 2) and the like, by weights of one half that cancel.

    Beyond zero the opposite sample would drive it away.
    """
    net = rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], [size, 1.0], dim=1)
    sol = rf.integrate(([[1.0], [1.0], [-1.0]], y), net, until=200.0, loss=loss, rtol=rtol)
    assert sol.success
    assert not len(sol.events)
    assert abs(sol.final.theta[0]) < 1e-12
