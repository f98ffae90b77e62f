"""A layered run at rest comes to its time stop, as runs of two layers do: the state there is known."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

DATA = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1])
AT_REST = "nothing moves any more"


def dead(kind: str) -> tuple[rf.Network | rf.DeepNetwork, dict[str, tuple[float, float]]]:
    """A unit that sees no sample, as a network with rates or of layers."""
    if kind == "layers":
        return rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], np.array([-1.0, -1.0, 1.0]), dim=2), {}
    return rf.Network([[-1.0, -1.0]], [1.0]), {"rates": (1.0, 1.0)}


@pytest.mark.parametrize("kind", ["rates", "layers"])
def test_what_rests_from_the_start_has_all_states_to_its_time_stop(kind: str) -> None:
    """It ended `stationary` at t = 0, without a state at the times asked for, and `sol(t)` was refused."""
    net, rates = dead(kind)
    sol = rf.integrate(DATA, net, until=3.0, save_at=[1.0, 2.0], **rates)
    assert (sol.status, sol.t_end, sol.message) == ("reached_time", 3.0, AT_REST)
    assert sol.t.tolist() == [1.0, 2.0]
    assert sol(2.5) == sol.final
    np.testing.assert_array_equal(sol.final.theta, net.theta)
    logs = rf.integrate(DATA, net, until=rf.Stop(log_time=700.0), save_at_log=[-3.0, 600.0], **rates)
    assert (logs.status, logs.log_t_end, logs.log_t.tolist()) == ("reached_log_time", 700.0, [-3.0, 600.0])


@pytest.mark.parametrize("kind", ["rates", "layers"])
def test_rest_ends_a_run_that_has_no_time_stop(kind: str) -> None:
    net, rates = dead(kind)
    sol = rf.integrate(DATA, net, until=rf.Stop(loss=0.1), **rates)
    assert (sol.status, sol.t_end, sol.message) == ("stationary", 0.0, AT_REST)
    limit = rf.integrate(DATA, net, until=rf.Stop(limit=True), **rates)
    assert (limit.status, limit.t_end) == ("reached_limit", 0.0)


def test_a_fit_is_the_same_at_all_later_times() -> None:
    net = rf.Network([[1.0, -0.5], [-0.5, 0.25]], [[0.5, 0.2], [-1.0, 0.3]])
    data = (np.eye(2), np.array([[1.0, 0.5], [0.25, -1.0]]))
    sol = rf.integrate(data, net, until=1e9, loss="squared", save_at=[1e3, 1e6])
    assert (sol.status, sol.t_end, len(sol.t)) == ("reached_time", 1e9, 2)
    for state in (sol(1e4), sol(3e8), sol.final):
        np.testing.assert_allclose(state.W, sol.W[0], rtol=0.0, atol=1e-9)
    again = rf.integrate(data, sol, until=2e9)
    assert (again.status, again.t_end) == ("reached_time", 2e9)
    np.testing.assert_allclose(again.final.a, sol.final.a, rtol=0.0, atol=1e-9)


@pytest.mark.parametrize("depth", [2, 3])
def test_what_decays_to_zero_does_so_beyond_the_digits_of_its_pre_activations(depth: int) -> None:
    """Once nothing but decay moved weights of 1e-100 or so, the run was over: there is no state at later times."""
    theta = 0.5 * np.random.default_rng(depth).standard_normal(9 * depth)
    net = rf.DeepNetwork([rf.Dense(3)] * depth + [rf.Dense(1)], theta, dim=2)
    data = (np.array([[1.0, 0.5], [0.3, -1.0], [-0.7, 0.2]]), np.array([0.3, -0.2, 0.1]))
    sol = rf.integrate(data, net, loss="squared", weight_decay=2.0, until=340.0, save_at=[40.0, 320.0])
    assert (sol.status, len(sol.t)) == ("reached_time", 2)
    assert sol.message == AT_REST
    for time, state in ((320.0, sol.theta[1]), (330.0, sol(330.0).theta), (340.0, sol.final.theta)):
        np.testing.assert_allclose(state, np.exp(2.0 * (40.0 - time)) * sol.theta[0], rtol=1e-6)


@pytest.mark.parametrize(("seed", "depth", "drawn"), [(9, 3, 0), (18, 4, 1), (37, 3, 1), (39, 5, 2)])
def test_a_step_that_ends_for_a_state_comes_to_its_time(seed: int, depth: int, drawn: int) -> None:
    """The clock could stay a digit before the time: no step after it moved it, and the run was undecided."""
    rng = np.random.default_rng([seed, 77])
    X = rng.standard_normal((6, 3))
    y = np.where(X @ rng.standard_normal(3) > 0, 1.0, -1.0)
    layers = [*[rf.Dense(4, activation="linear")] * (depth - 1), rf.Dense(1)]
    start = rf.DeepNetwork.init(layers, dim=3, scale=0.3, seed=int(rng.integers(2**31)))
    for _ in range(drawn + 1):
        at = np.sort(np.exp(rng.uniform(0, 9, 60)))
    sol = rf.integrate((X, y), start, until=rf.Stop(log_time=1e4), loss="logistic", save_at_log=at)
    assert sol.status == "reached_log_time", sol.message
    np.testing.assert_array_equal(sol.log_t, at)
