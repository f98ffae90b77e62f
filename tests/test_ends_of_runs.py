"""Where stop rules end runs: at the first time at which they hold, and no state or event comes after it."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

LAYERED = {"rates": (1.0, 1.0)}  # any rates take the core of layered networks


@pytest.mark.parametrize("seed", [0, 1, 10])
def test_no_kept_time_is_after_the_stop_by_rounding(seed: int) -> None:
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((5, 2)), rng.choice([-1.0, 1.0], 5))
    net = rf.Network.init(4, 2, scale=0.5, seed=seed)
    for until in np.arange(100, 320) / 1000:
        sol = rf.integrate(data, net, until=float(until), **LAYERED)
        assert sol.status == "reached_time"
        assert sol.t_end == until
        assert (np.diff(sol.t) >= 0.0).all()
        sol(sol.t[-2])


@pytest.mark.parametrize("options", [{}, LAYERED])
@pytest.mark.parametrize("count", [1, 2])
def test_events_at_the_start_can_end_a_run(options: dict, count: int) -> None:
    data, net = rf.Dataset([[0.0, 1.0], [1.0, 0.2]], [1.0, -1.0]), rf.Network([[1.0, 0.0]], [1.0])
    for sol, status in [
        (rf.integrate(data, net, until=rf.Stop(events=count), **options), "reached_events"),
        (rf.integrate(data, net, until=30.0, max_events=count, **options), "max_events"),
    ]:
        assert (sol.status, sol.t_end) == (status, 0.0)
        assert sol.events.kind.tolist() == ["branch", "start_down"]


@pytest.mark.parametrize("options", [{}, LAYERED])
def test_the_choice_at_a_branch_point_counts_among_the_events(options: dict) -> None:
    data, net = rf.Dataset([[0.0, 1.0], [-2.0, -1.0]], [1.0, 1.0]), rf.Network([[-1.0, 1.0]], [-1.0])
    whole = rf.integrate(data, net, until=3.0, **options)
    assert whole.events.kind.tolist() == ["slide", "branch", "leave_down"]
    for count, status in [(1, "reached_events"), (2, "reached_events"), (3, "reached_events"), (4, "reached_time")]:
        sol = rf.integrate(data, net, until=rf.Stop(events=count, time=3.0), **options)
        assert sol.status == status
        assert len(sol.events) == (1 if count == 1 else 3)
        assert sol.t_end == (3.0 if count == 4 else pytest.approx(whole.events.t[count - 1], rel=1e-9))


@pytest.mark.parametrize("options", [{}, LAYERED])
@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("part", [1e-7, 1e-6, 1e-5, 1e-4])
def test_a_loss_is_reached_behind_a_crossing_in_the_same_step(options: dict, rtol: float, part: float) -> None:
    # The second sample comes in on the way: from there on the loss falls faster.
    data, net = rf.Dataset([[3.0, -3.0], [3.0, 0.0]], [1.0, 1.0]), rf.Network([[0.0, 1.0]], [1.0])
    options = {"loss": "exponential", "rtol": rtol, **options}
    whole = rf.integrate(data, net, until=5.0, **options)
    assert whole.events.kind[-1] == "cross_up"
    t = float(whole.events.t[-1]) * (1.0 + part)
    loss = float(np.exp(-data.y * whole(t)(data.X)).sum())
    sol = rf.integrate(data, net, until=rf.Stop(loss=loss, time=5.0), **options)
    assert sol.status == "reached_loss"
    assert sol.log_loss_end == pytest.approx(np.log(loss), abs=1e-12)
    assert sol.t_end == pytest.approx(t, rel=1e-9)


@pytest.mark.parametrize("options", [{}, LAYERED])
@pytest.mark.parametrize("decay", [0.0, 0.3])
def test_a_norm_ends_a_run_where_it_is_reached(options: dict, decay: float) -> None:
    # u = w² = a² follows the logistic curve u' = 2 u (1 - γ - u).
    data, net = rf.Dataset([[1.0]], [1.0]), rf.Network([[0.1]], [0.1])
    stop = rf.Stop(log_norm=-1.0, time=50.0)
    sol = rf.integrate(data, net, until=stop, loss="squared", weight_decay=decay, rtol=1e-10, **options)
    top, end = 1.0 - decay, 0.5 * np.exp(-2.0)
    assert sol.status == "reached_log_norm"
    assert np.log(sol.final.norm) == pytest.approx(-1.0, abs=1e-12)
    assert sol.t_end == pytest.approx(np.log(end / 0.01 * (top - 0.01) / (top - end)) / (2.0 * top), rel=1e-8)


def test_a_norm_is_reached_at_a_maximum_inside_a_step() -> None:
    # |θ| rises to e^-0.0162 at about t = 0.26 and falls; where steps end it is never above e^-0.0168.
    rng = np.random.default_rng(8)
    data = rf.Dataset(rng.standard_normal((4, 2)), rng.choice([-1.0, 1.0], 4))
    net = rf.Network.init(3, 2, scale=0.4, seed=8)
    options = {"weight_decay": 0.1, **LAYERED}
    stop = rf.Stop(log_norm=-0.01621, time=0.5)
    sol = rf.integrate(data, net, until=stop, **options)
    assert sol.status == "reached_log_norm"
    assert np.log(sol.final.norm) == pytest.approx(stop.log_norm, abs=1e-12)
    whole = rf.integrate(data, net, until=0.5, **options)
    before = [np.log(whole(t).norm) for t in np.linspace(0.0, 0.999 * sol.t_end, 100)]
    assert max(before) < stop.log_norm
    assert sol.t_end == pytest.approx(rf.integrate(data, net, until=stop, weight_decay=0.1).t_end, rel=1e-4)
