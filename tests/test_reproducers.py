"""Runs that once went wrong in silence, or ended for no reason, against the right answer.

Each has its reference: a closed form, forty digits, the slow twin, the oracle of `defect`, or the run itself in parts.
"""

from __future__ import annotations

import time
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.special import expi

import compare
import defect
import hostile
import reluflow as rf
import twin
from exact import Exact

POLICIES = {"inactive": -1, "active": 1, "stay": 0}


def same_end(left: rf.Solution, right: rf.Solution, rtol: float) -> None:
    compare.assert_same_state(left.final.W, left.final.a, right.final.W, right.final.a, rtol, "at the end")
    # A rest may lie on a boundary with its multiplier at an end: which side it is on is then rounding.
    z = left.final.W @ left.data.X.T
    size = np.linalg.norm(left.final.W, axis=1)[:, None] * np.linalg.norm(left.data.X, axis=1)
    clear = np.abs(z) > rtol * size
    assert np.array_equal(left.final.pattern[clear], right.final.pattern[clear])


# --- r1: saturated weights -------------------------------------------------------------------


def saturated() -> tuple[rf.Dataset, rf.Network]:
    """Margins of -200 at the start: the duals are constant to rounding there, and move all at once later."""
    rng = np.random.default_rng(8)
    data = rf.Dataset(rng.standard_normal((3, 2)), rng.choice([-1.0, 1.0], 3))
    return data, rf.Network.init(3, 2, scale=10.0, seed=8)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-13])
def test_the_loss_falls_on_every_step_from_saturated_weights(rtol):
    sol = rf.integrate(*saturated(), until=1.0, rtol=rtol)
    assert sol.success, sol.message
    assert np.all(np.diff(sol.log_loss) <= 1e-14 * np.abs(sol.log_loss[1:]))


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_saturated_weights_end_where_an_explicit_method_ends(rtol):
    data, net = saturated()
    slow = twin.integrate(data.X, data.y, net.W, net.a, 1.0, save_at=[1.0])
    assert slow.status == "reached_time"
    sol = rf.integrate(data, net, until=1.0, rtol=rtol)
    compare.assert_same_state(sol.final.W, sol.final.a, slow.W[-1], slow.a[-1], max(100 * rtol, 1e-9), "at t = 1")


def test_saturated_weights_end_the_same_in_many_parts():
    data, net = saturated()
    whole = part = rf.integrate(data, net, until=1.0)
    part = rf.integrate(data, net, until=1e-4)
    for t in np.geomspace(1e-4, 1.0, 400)[1:]:
        part = rf.integrate(data, part, until=float(t))
    same_end(whole, part, 1e-7)


def test_runs_from_saturated_weights_obey_the_flow():
    defect.assert_small(rf.integrate(*saturated(), until=1.0), 1e-7)


# --- r2: the policy of branches --------------------------------------------------------------


@pytest.mark.parametrize("side", [1.0, -1.0])
@pytest.mark.parametrize("policy", POLICIES)
def test_the_policy_speaks_of_the_sample_on_either_side_of_its_boundary(policy, side):
    """x and -x are one boundary with opposite sides. The other sample pulls the neuron off the inactive side of x."""
    data = rf.Dataset([[side, 0.0], [-0.3 * side, 1.0]], [1, 1])
    sol = rf.integrate(data, rf.Network([[0.0, 1.0]], [1.0]), until=0.1, on_branch=policy)
    assert sol.success, sol.message
    assert len(sol.branchings) == 1
    assert sol.pattern(0.05)[0, 0] == POLICIES[policy]
    assert np.sign(round(float(sol.final.W[0] @ data.X[0]), 12)) == POLICIES[policy]


def test_the_default_does_not_stay_on_a_boundary_that_repels():
    for side in (1.0, -1.0):
        data = rf.Dataset([[side, 0.0], [-0.3 * side, 1.0]], [1, 1])
        assert rf.integrate(data, rf.Network([[0.0, 1.0]], [1.0]), until=0.1).pattern(0.05)[0, 0] != 0


def ridge() -> tuple[rf.Dataset, rf.Network]:
    """A neuron on the boundary of sample 0, between two samples that pull it equally to both sides."""
    data = rf.Dataset([[1.0, 0.0], [0.3, 1.0], [-0.3, 1.0]], [1, 1, 1])
    return data, rf.Network([[0.0, 1.0]], [1.0])


def test_staying_on_a_ridge_is_the_closed_form():
    """w = (0, u), a = u, and s = u² obeys s' = 4 s / (1 + e^s): 4 t = log s + Ei(s) - Ei(1)."""
    s = brentq(lambda s: np.log(s) + expi(s) - expi(1.0) - 4.0, 1.0, 5.0, xtol=1e-15)
    sol = rf.integrate(*ridge(), until=1.0, on_branch="stay")
    assert sol.final.W[0] == pytest.approx([0.0, np.sqrt(s)], rel=1e-9, abs=1e-15)
    half = brentq(lambda s: np.log(s) + expi(s) - expi(1.0) - 2.0, 1.0, 5.0, xtol=1e-15)
    assert sol(0.5).W[0] == pytest.approx([0.0, np.sqrt(half)], rel=1e-9, abs=1e-15)


def on_boundaries(policy: str) -> tuple[hostile.Hostile, dict]:
    return hostile.problem("on_walls", 10), {"on_branch": policy}


def on_ridge(policy: str) -> tuple[hostile.Hostile, dict]:
    return hostile.Hostile(*ridge(), until=rf.Stop(time=1.0), options={}), {"on_branch": policy}


@pytest.mark.parametrize("make", [on_boundaries, on_ridge])
@pytest.mark.parametrize("policy", POLICIES)
class TestOneBranch:
    """Whatever is asked of a run that branched belongs to the branch that it took."""

    def test_dense_output_is_on_it(self, make, policy):
        problem, asked = make(policy)
        times = np.linspace(0.1, 0.95, 8) * problem.until.time
        saved = problem.run(save_at=times, **asked)
        W, a = problem.run(**asked).states(times)
        for k, t in enumerate(times):
            compare.assert_same_state(W[k], a[k], saved.W[k], saved.a[k], 1e-7, f"at t = {t!r}")

    def test_a_continuation_is_on_it(self, make, policy):
        problem, asked = make(policy)
        whole = problem.run(**asked)
        front = problem.run(until=0.3 * problem.until.time, **asked)
        back = rf.integrate(problem.data, front, until=problem.until, **problem.options, **asked)
        same_end(whole, back, 1e-7)
        assert len(front.branchings) + len(back.branchings) == len(whole.branchings)

    def test_a_file_is_on_it(self, make, policy, tmp_path: Path):
        problem, asked = make(policy)
        whole = problem.run(**asked)
        whole.save(tmp_path / "whole.npz")
        back = rf.load(tmp_path / "whole.npz")
        t = 0.4 * problem.until.time
        assert back(t) == whole(t)
        assert back.branchings == whole.branchings
        front = problem.run(until=t, **asked)
        front.save(tmp_path / "front.npz")
        rest = rf.integrate(
            problem.data, rf.load(tmp_path / "front.npz"), until=problem.until, **problem.options, **asked
        )
        same_end(whole, rest, 1e-7)

    def test_it_obeys_the_flow(self, make, policy):
        problem, asked = make(policy)
        defect.assert_small(problem.run(**asked), 1e-7, max_intervals=20)


# --- r3: after rest --------------------------------------------------------------------------

REST = [("parallel_rounding", 21), ("tall_n", 3), ("parallel_rounding", 6), ("contradictory", 0)]
QUICK = {"seconds": 4.0}  # the runs themselves take 0.1 s


@pytest.mark.parametrize(("kind", "seed"), REST)
def test_every_time_of_a_run_has_a_state(kind, seed):
    problem = hostile.problem(kind, seed)
    sol = problem.run()
    assert sol.success, sol.message
    times = np.linspace(0.005, 0.995, 40) * sol.t_end
    saved = problem.run(save_at=times)
    began = time.perf_counter()
    W, a = sol.states(times)
    assert time.perf_counter() - began < QUICK["seconds"]
    for k, t in enumerate(times):
        compare.assert_same_state(W[k], a[k], saved.W[k], saved.a[k], 1e-6, f"at t = {t!r}")


@pytest.mark.parametrize("part", [0.5, 0.9])
@pytest.mark.parametrize(("kind", "seed"), REST)
def test_a_run_to_rest_goes_on(kind, seed, part):
    problem = hostile.problem(kind, seed)
    whole = problem.run()
    end = float(problem.until.time)
    front = problem.run(until=part * end)
    back = rf.integrate(problem.data, front, until=rf.Stop(time=end, **QUICK), **problem.options)
    assert back.success, back.message
    assert back.t_end == end, back.message
    same_end(whole, back, 1e-6)
    on = rf.integrate(problem.data, back, until=rf.Stop(time=2 * end, **QUICK), **problem.options)
    assert on.success, on.message
    assert on.status != "reached_seconds"


# --- r4: samples that are only slid along ------------------------------------------------------

SLID_ONLY = {
    "late": [2, 7, 12, 14, 21, 24],
    "late_bias": [7, 8, 17, 23],
    "late_integers": [5, 6, 7, 21],
    "bias_1d_grid": [6, 14, 18, 20],
    "real_like": [2, 4, 13, 14, 15, 20, 23],
    "wide_d": [6, 16, 22],
}


@pytest.mark.parametrize(("kind", "seed"), [(kind, seed) for kind, seeds in SLID_ONLY.items() for seed in seeds])
def test_samples_that_are_only_slid_along_end_no_run(kind, seed):
    sol = hostile.problem(kind, seed, log_t=1e4).run()
    assert sol.success, sol.message


# --- r5: dependent boundaries ------------------------------------------------------------------

DEPENDENT = [("real_like", seed) for seed in (5, 6, 8, 12, 17, 22)] + [("near_parallel", 22), ("near_parallel", 29)]


@pytest.mark.parametrize(("kind", "seed"), DEPENDENT)
def test_dependent_boundaries_are_decided(kind, seed):
    """The slow rule of the twin finds one continuation at each of these points, and two at real_like 6: a branch."""
    problem = hostile.problem(kind, seed, log_t=None)
    sol = problem.run()
    assert sol.success, sol.message
    defect.assert_small(sol, 1e-7, max_intervals=30)
    assert problem.run(rtol=1e-12).log_loss_end == pytest.approx(sol.log_loss_end, abs=1e-6)


def test_a_corner_with_two_continuations_is_a_branch():
    problem = hostile.problem("real_like", 6, log_t=1e4)
    sol = problem.run()
    first = sol.branchings[0]
    assert len(first.options) == 2
    assert sorted(first.options[0]) == sorted(first.options[1]) == sorted(first.samples)


# --- r7: the order of the neurons --------------------------------------------------------------

# Neurons 0 and 2 slide on the dependent boundaries of the samples 0 = (2, 0, -1), 3 = (-2, 0, 0), 4 = (0, 0, -1) and
# are active on 5 = (1, -2, 1) alone. Along the third axis the pull λ₅ can be cancelled by the samples 0 and 4 as long
# as |λ₅| <= |λ₀| + |λ₄|: up to this time, of which `exact` finds every digit.
LEAVE = 1.4817016768128437389
END = 2.4
LOG_LOSS_END = 0.662053045059261062842


def ordered(neurons=slice(None), samples=slice(None), **changes) -> rf.Solution:
    p = hostile.KINDS["late_integers"](np.random.default_rng([5, sum(map(ord, "late_integers"))]))
    data = rf.Dataset(p["X"][samples], p["y"][samples])
    net = rf.Network(p["W"][neurons], p["a"][neurons])
    return rf.integrate(data, net, **{"until": END, "rtol": 1e-12, **changes})


def orders() -> list[tuple[np.ndarray, np.ndarray]]:
    draws = [np.random.default_rng(k) for k in range(24)]
    return [(rng.permutation(8), rng.permutation(6) if k % 2 else np.arange(6)) for k, rng in enumerate(draws)]


def releases(sol: rf.Solution, neurons=None, samples=None) -> dict[tuple[int, int], float]:
    neurons = np.arange(8) if neurons is None else neurons
    samples = np.arange(6) if samples is None else samples
    left = [e for e in compare.net_events(sol.pattern0, compare.from_solution(sol)) if e.kind.startswith("leave")]
    return {(int(neurons[e.neuron]), int(samples[e.sample])): e.t for e in left}


def test_dependent_boundaries_are_left_when_nothing_cancels_the_pull():
    found = releases(ordered())
    assert sorted(found) == [(0, 0), (0, 4), (2, 0), (2, 4)]
    assert list(found.values()) == pytest.approx([LEAVE] * 4, rel=1e-10)


def test_the_run_ends_where_forty_digits_end():
    assert ordered().log_loss_end == pytest.approx(LOG_LOSS_END, abs=1e-10)


@pytest.mark.parametrize("order", range(len(orders())))
def test_any_order_of_neurons_and_samples_gives_one_run(order):
    neurons, samples = orders()[order]
    sol = ordered(neurons, samples)
    found = releases(sol, neurons, samples)
    assert sorted(found) == [(0, 0), (0, 4), (2, 0), (2, 4)]
    assert list(found.values()) == pytest.approx([LEAVE] * 4, rel=1e-10)
    assert sol.log_loss_end == pytest.approx(LOG_LOSS_END, abs=1e-10)


def test_no_multipliers_exist_after_the_time_of_leaving():
    """By hand: with a > 0 the pull along the third axis is |λ₅| against at most |λ₀| + |λ₄|."""
    for t, stays in ((LEAVE * 0.999, True), (LEAVE * 1.001, False)):
        sol = ordered(until=t)
        q = sol.data.y * sol.final(sol.data.X)
        lam = 1.0 / (1.0 + np.exp(q))
        assert (lam[5] < lam[0] + lam[4]) == stays


def test_the_run_obeys_the_flow():
    defect.assert_small(ordered(), 1e-8)


@pytest.mark.slow
def test_the_stored_numbers_are_those_of_forty_digits():
    start = ordered(until=1e-3).initial
    data = ordered(until=1e-3).data
    exact = Exact.of(data.X, data.y, start.W, start.a).run(str(END))
    left = [(j, i, float(t)) for t, j, i, old, new in exact.events if old == 0 and new == 1]
    assert sorted((j, i) for j, i, _ in left) == [(0, 0), (0, 4), (2, 0), (2, 4)]
    assert [t for *_, t in left] == [LEAVE] * 4
    assert float(exact.log_loss) == LOG_LOSS_END
    assert exact.narrowest > 1e-3  # no decision was close
    sol = ordered()
    W, a = (np.array(v, dtype=float) for v in (exact.W, exact.a))
    compare.assert_same_state(sol.final.W, sol.final.a, W, a, 1e-9, f"at t = {END}")


# --- a neuron that has come to w = 0 -----------------------------------------------------------


def test_a_neuron_at_zero_leaves_when_the_pull_allows_it():
    """In the plane two neurons with |a| > |w| are pushed to w = 0, stay there for a while, and leave."""
    problem = hostile.problem("on_walls", 47)
    sol = problem.run()
    at_zero, later = sol(1.0), sol(8.0)
    assert not at_zero.W[[0, 2]].any()
    assert np.all(np.linalg.norm(later.W[[0, 2]], axis=1) > 0.03)
    saved = problem.run(save_at=[8.0])
    compare.assert_same_state(later.W, later.a, saved.W[0], saved.a[0], 1e-8, "at t = 8")


# --- samples that drive nobody until a neuron leaves their boundary ---------------------------


@pytest.mark.parametrize("log_time", [11.47, 11.4809, 11.485, 11.49, 11.6])
def test_a_continued_run_stays_beside_the_boundary_of_contradictory_samples(log_time):
    """A sample and its opposite label hold a neuron beside their boundary, at 1e-11: by their response alone.

    A run that goes on from there may be on the boundary for an instant. When the neuron leaves it, these samples begin
    to drive it, and the step must end: with the weights that they had before, the neuron left by 2e-5.
    """
    problem = hostile.problem("contradictory_part", 323)
    whole = problem.run()
    first = problem.run(until=rf.Stop(log_time=log_time))
    second = rf.integrate(problem.data, first, until=problem.until, loss="exponential", rtol=1e-9)
    assert second.status == whole.status == "reached_log_time"
    z = [problem.data.X[0] @ sol.final.W[4] for sol in (whole, second)]
    assert z[0] == pytest.approx(8.237e-12, rel=1e-3)
    assert abs(z[1] - z[0]) < 1e-10
    compare.assert_same_state(second.final.W, second.final.a, whole.final.W, whole.final.a, 1e-9, "at the end")


@pytest.mark.parametrize(
    ("kind", "seed", "log_time", "moves"),
    [("late_integers", 415, 18.38, 0.1), ("late_integers", 415, 19.02, 0.1), ("huge", 526, -0.6123, 1e-3)],
)
def test_a_late_run_of_a_stalled_loss_goes_on_from_where_it_was_cut(kind, seed, log_time, moves):
    """A loss stalls while a part of the network grows with log t: a run that starts there is not at rest.

    The rates are below 1e-9 in the first problem, and move neurons by a third until the end; in the second one they are
    less than the rounding of its margins, of weights in the thousands. `sol(t)` starts anew, too.
    """
    problem = hostile.problem(kind, seed)
    whole = problem.run()
    first = problem.run(until=rf.Stop(log_time=log_time))
    second = rf.integrate(problem.data, first, until=problem.until, **problem.options)
    assert second.status == whole.status
    assert np.linalg.norm(second.final.W - first.final.W) > moves
    compare.assert_same_state(second.final.W, second.final.a, whole.final.W, whole.final.a, 1e-8, "at the end")
    dense = whole(float(np.exp(log_time)))
    compare.assert_same_state(dense.W, dense.a, first.final.W, first.final.a, 1e-8, "where it was cut")


def test_a_neuron_held_beside_a_boundary_by_its_samples_does_not_chatter():
    """It is at a distance of 1e-12 of the boundary of samples of both labels, late: explicit steps push it onto it.

    It leaves at the begin of the next late step, which goes on from there; explicit steps would push it back.
    """
    problem = hostile.problem("contradictory_part", 391)
    sol, tight = problem.run(), problem.run(rtol=1e-12)
    assert sol.status == tight.status == "reached_log_time"
    assert len(sol.events) < 1000
    assert sol.log_loss_end == pytest.approx(tight.log_loss_end, rel=1e-11)


def test_a_late_step_behind_an_event_that_meets_another_is_not_tried_for_ever():
    """Going on late behind an event at the begin of a step came to another one at once, and the run did not end."""
    problem = hostile.problem("late_integers", 439, log_t=16.0)
    sol = problem.run(rtol=1e-10)
    assert sol.status in ("reached_log_time", "stalled")  # the loss hardly falls from log t = 14 on
    assert len(sol.events) < 3000
    assert sol.log_loss_end == pytest.approx(problem.run(rtol=1e-11).log_loss_end, rel=1e-7)
