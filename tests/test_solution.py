"""The class Solution: kept states, dense output, patterns, outcome."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

import reluflow as rf
from toys import digits_like, on_a_ridge, one_neuron, one_neuron_time

END = 30.0


@pytest.fixture(scope="module")
def sol() -> rf.Solution:
    return rf.integrate(*digits_like(), until=END)


def sizes(W: np.ndarray, a: np.ndarray) -> np.ndarray:
    """|θ_j| of each neuron."""
    return np.sqrt((W**2).sum(axis=-1) + a**2)


# --- kept states -----------------------------------------------------------------------------------------------------


def test_the_states_have_one_row_for_each_time(sol: rf.Solution) -> None:
    k, m, d = len(sol.t), sol.initial.width, sol.initial.dim
    assert sol.W.shape == (k, m, d)
    assert sol.a.shape == (k, m)
    assert sol.log_t.shape == sol.log_loss.shape == (k,)
    assert (sol.t[0], sol.t[-1]) == (0.0, END)
    assert (np.diff(sol.t) >= 0).all()


def test_the_first_state_is_the_start_and_the_last_one_the_final_network(sol: rf.Solution) -> None:
    data, net = digits_like()
    np.testing.assert_allclose(sol.W[0], net.W, rtol=0, atol=1e-17)
    np.testing.assert_array_equal(sol.a[0], net.a)
    np.testing.assert_array_equal(sol.W[-1], sol.final.W)
    np.testing.assert_array_equal(sol.a[-1], sol.final.a)
    assert sol.initial == rf.Network(net.W, net.a, pattern=np.sign(net.W @ data.X.T))


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_the_loss_is_that_of_the_states(loss: str, reduction: str) -> None:
    data, net = digits_like()
    sol = rf.integrate(data, net, until=2.0, loss=loss, reduction=reduction, save_at=[0.5, 2.0])
    for W, a, log_loss in zip(sol.W, sol.a, sol.log_loss, strict=True):
        q = data.y * rf.Network(W, a)(data.X)
        losses = np.log1p(np.exp(-q)) if loss == "logistic" else np.exp(-q)
        assert log_loss == pytest.approx(math.log(losses.sum() if reduction == "sum" else losses.mean()), abs=1e-13)
    assert (sol.loss, sol.reduction) == (loss, reduction)
    assert sol.log_loss_end == pytest.approx(sol.log_loss[-1], abs=1e-13)


def test_every_array_is_read_only(sol: rf.Solution) -> None:
    W, a = sol.states([0.1, 0.2])
    arrays = (sol.t, sol.log_t, sol.W, sol.a, sol.log_loss, sol.pattern0, sol.final.W, sol.final.a, W, a)
    patterns = (sol.final.pattern, sol.pattern(1.0), sol(1.0).pattern)
    for array in (*arrays, *patterns):
        assert array is not None
        assert not array.flags.writeable


# --- dense output ----------------------------------------------------------------------------------------------------


def test_dense_output_agrees_with_states_saved_at_the_same_times(sol: rf.Solution) -> None:
    times = np.linspace(0.0, END, 101)
    saved = rf.integrate(*digits_like(), until=END, save_at=times)
    W, a = sol.states(times)
    error = sizes(W - saved.W, a - saved.a) / sizes(W, a)
    # Dense output starts at a kept step with a new sequence of steps, and without what the step before it owes: it
    # differs by the error of the run, not more.
    assert error.max() < 1e-10
    assert np.median(error) < 1e-12


def test_dense_output_before_an_event_does_not_see_the_event() -> None:
    data, net = digits_like()
    whole = rf.integrate(data, net, until=END)
    first = float(whole.events.t[0])
    before = 0.999 * first
    short = rf.integrate(data, net, until=before)
    assert len(short.events) == 0
    assert whole(before) == short.final


def test_dense_output_with_held_pairs_follows_the_closed_form() -> None:
    data, net = one_neuron()
    sol = rf.integrate(data, net, until=50.0, loss="exponential")
    for t in (0.0, 0.3, 1.0, 7.7, 49.0, 50.0):
        assert one_neuron_time(sol(t).W[0, 0]) == pytest.approx(t, abs=1e-8 * (1 + t))


def test_many_times_give_the_same_bits_as_each_time_by_itself(sol: rf.Solution) -> None:
    times = [17.0, 0.01, END, 0.0, 3.3]
    W, a = sol.states(times)
    for k, t in enumerate(times):
        one = sol(t)
        np.testing.assert_array_equal(W[k], one.W)
        np.testing.assert_array_equal(a[k], one.a)


def test_times_may_come_in_any_order_and_twice(sol: rf.Solution) -> None:
    W, a = sol.states([5.0, 1.0, 5.0])
    straight, outputs = sol.states([1.0, 5.0])
    np.testing.assert_array_equal(W, straight[[1, 0, 1]])
    np.testing.assert_array_equal(a, outputs[[1, 0, 1]])


def test_at_the_kept_steps_dense_output_is_the_kept_state(sol: rf.Solution) -> None:
    steps = np.flatnonzero(np.diff(sol.t) > 0)[::50]
    W, a = sol.states(sol.t[steps])
    np.testing.assert_array_equal(W, sol.W[steps])
    np.testing.assert_array_equal(a, sol.a[steps])


def test_the_network_at_a_time_carries_the_pattern_of_that_time(sol: rf.Solution) -> None:
    net = sol(3.0)
    assert net.pattern is not None
    np.testing.assert_array_equal(net.pattern, sol.pattern(3.0))
    Z = net.W @ sol.data.X.T
    clear = np.abs(Z) > 1e-9 * np.outer(sizes(net.W, net.a), np.linalg.norm(sol.data.X, axis=1))
    np.testing.assert_array_equal(net.pattern[clear], np.sign(Z[clear]))
    np.testing.assert_array_equal(net.pattern == 0, ~clear)
    assert (~clear).any()


def test_the_pattern_changes_at_the_event_itself(sol: rf.Solution) -> None:
    event = sol.events.of(kind="slide")[0]
    before = sol.pattern(np.nextafter(event.t, 0))
    at = sol.pattern(event.t)
    assert before[event.neuron, event.sample] != 0
    assert at[event.neuron, event.sample] == 0


def test_the_last_pattern_is_that_of_the_final_network(sol: rf.Solution) -> None:
    assert sol.final.pattern is not None
    np.testing.assert_array_equal(sol.pattern(END), sol.final.pattern)
    assert sol(END) == sol.final


def test_log_times_reach_where_times_overflow() -> None:
    data, net = digits_like(n=6, d=8, width=4)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=2000.0))
    assert math.isinf(sol.t_end)
    assert sol.log_t_end == 2000.0
    assert sol.at(log_t=2000.0) == sol.final
    log_times = [math.log(3.0), 100.0, 1500.0]
    saved = rf.integrate(data, net, until=rf.Stop(log_time=2000.0), save_at_log=log_times)
    W, a = sol.states(log_times=log_times)
    np.testing.assert_allclose(W, saved.W, atol=1e-8 * np.abs(saved.W).max())
    np.testing.assert_allclose(a, saved.a, atol=1e-8 * np.abs(saved.a).max())
    np.testing.assert_allclose(sol(3.0).W, W[0], atol=1e-12)
    assert sol(1e300).norm > sol.at(log_t=100.0).norm
    assert "e^2000" in repr(sol)


def test_time_and_log_time_name_the_same_state(sol: rf.Solution) -> None:
    t = 4.0
    np.testing.assert_allclose(sol.at(log_t=math.log(t)).W, sol(t).W, atol=1e-13)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sol: sol(30.5), r"t must lie in the run, \[0.0, 30.0\], found 30.5"),
        (lambda sol: sol(-1), r"t must lie in the run, \[0.0, 30.0\], found -1.0"),
        (lambda sol: sol(math.nan), "t must be a finite number, found nan"),
        (lambda sol: sol("1"), "t must be a finite number, found '1'"),
        (lambda sol: sol.at(log_t=4.0), r"log_t must lie in the run, \[-inf, 3.40\d*\], found 4.0"),
        (lambda sol: sol.pattern(31), r"t must lie in the run, \[0.0, 30.0\], found 31.0"),
        (lambda sol: sol.states([1.0, 99.0]), r"t must lie in the run, \[0.0, 30.0\], found 99.0"),
        (lambda sol: sol.states([1.0, math.inf]), "times must hold finite numbers only, found inf at row 1"),
        (lambda sol: sol.states(1.0), r"times must have the shape \(k,\), found the shape \(\)"),
        (lambda sol: sol.states(), "times must be given, or else log_times, found neither"),
        (lambda sol: sol.states([1.0], log_times=[0.0]), "times must be given, or else log_times, found both"),
    ],
)
def test_a_time_outside_the_run_is_named_with_its_range(sol: rf.Solution, call, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call(sol)


def test_no_times_give_no_states(sol: rf.Solution) -> None:
    W, a = sol.states([])
    assert W.shape == (0, *sol.initial.W.shape)
    assert a.shape == (0, sol.initial.width)


# --- continuing ------------------------------------------------------------------------------------------------------


def test_a_run_cut_in_two_equals_the_run_in_one_piece(sol: rf.Solution) -> None:
    first = rf.integrate(*digits_like(), until=3.0)
    second = rf.integrate(sol.data, first, until=END)
    assert (second.t_start, second.t[0], second.t_end) == (3.0, 3.0, END)
    joined = first.events.counts()
    for kind, number in second.events.counts().items():
        joined[kind] = joined.get(kind, 0) + number
    assert joined == sol.events.counts()
    times = np.concatenate((first.events.t, second.events.t))
    np.testing.assert_allclose(times, sol.events.t, rtol=1e-7)
    error = sizes(second.final.W - sol.final.W, second.final.a - sol.final.a) / sizes(sol.final.W, sol.final.a)
    assert error.max() < 1e-8


def test_the_final_network_continues_from_time_zero_with_its_held_pairs(sol: rf.Solution) -> None:
    first = rf.integrate(*digits_like(), until=3.0)
    second = rf.integrate(sol.data, first.final, until=END - 3.0)
    assert second.t_start == 0.0
    np.testing.assert_array_equal(second.pattern0, first.final.pattern)
    error = sizes(second.final.W - sol.final.W, second.final.a - sol.final.a) / sizes(sol.final.W, sol.final.a)
    assert error.max() < 1e-8


# --- outcome ---------------------------------------------------------------------------------------------------------


def test_the_statistics_count_the_events_by_kind(sol: rf.Solution) -> None:
    assert sol.stats["events"] == sol.events.counts()
    assert sol.stats["n_events"] == len(sol.events)
    assert sol.stats["steps"] > 0
    assert sol.stats["rhs_equivalents"] > 0
    assert sol.stats["seconds"] > 0


def test_the_settings_hold_every_argument_and_the_version() -> None:
    data, net = digits_like()
    sol = rf.integrate(data, net, until=1.0, loss="exponential", rtol=1e-8, save_at=[0.5], max_events=10_000)
    assert sol.settings.as_dict() | {"save_at": None} == {
        "until": rf.Stop(time=1.0),
        "loss": "exponential",
        "reduction": "sum",
        "weight_decay": 0.0,
        "rtol": 1e-8,
        "atol": None,
        "save_at": None,
        "save_at_log": None,
        "save_at_log_norm": None,
        "on_branch": "inactive",
        "max_events": 10_000,
        "start_time": 0.0,
        "start_log_time": -math.inf,
        "version": rf.__version__,
    }
    np.testing.assert_array_equal(sol.settings.save_at, [0.5])
    assert sol.data is data


def test_the_summary_says_outcome_and_work(sol: rf.Solution) -> None:
    text = sol.summary()
    assert "reached_time: the time of the stop was reached" in text
    assert "from 0 to 30 " in text
    for kind, number in sol.events.counts().items():
        assert f"{kind} {number}" in text
    assert repr(sol).startswith("Solution(reached_time, t from 0 to 30, ")


def test_a_pickled_or_copied_solution_is_whole_and_read_only(sol: rf.Solution) -> None:
    for other in (pickle.loads(pickle.dumps(sol)), copy.deepcopy(sol)):
        assert other.final == sol.final
        assert other.events == sol.events
        assert other(1.0) == sol(1.0)
        assert not other.W.flags.writeable


def test_a_branching_that_is_raised_carries_the_solution_so_far() -> None:
    with pytest.raises(rf.BranchingError, match="neuron 0, sample 0") as caught:
        rf.integrate(*on_a_ridge(), until=1.0, on_branch="raise")
    sol = caught.value.solution
    assert (sol.status, sol.success, sol.t_end) == ("branch", False, 0.0)
    assert sol.branchings[-1].chosen == -1
    assert sol.branchings[-1].choice is None
    again = pickle.loads(pickle.dumps(caught.value))
    assert again.solution.branchings == sol.branchings
