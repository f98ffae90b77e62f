"""A neuron that samples of both labels hold beside their boundary, nearer to it than any tolerance, stays beside it."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import compare
import hostile
import reluflow as rf


@pytest.mark.parametrize("rtol", [1e-7, 1e-9])
@pytest.mark.parametrize("seed", [611, 736, 762, 905, 935, 945, 1132])
def test_a_neuron_held_beside_a_boundary_within_the_tolerance_stays_there(seed, rtol):
    """Samples of both labels hold it at a distance below every tolerance, and the other side would pull it on.

    An error of the size of the tolerance took it across: what truncation makes of the distance, or an event of another
    neuron that the step left out of the weights. The runs ended up to a tenth off, by chance of the tolerance, of where
    they were cut and of where `sol(t)` began anew.
    """
    problem = hostile.problem("contradictory_part", seed, log_t=12.0)
    end = problem.until.log_time
    tight = problem.run(rtol=1e-12)
    whole = problem.run(rtol=rtol)
    assert whole.status == tight.status == "reached_log_time"
    compare.assert_same_state(whole.final.W, whole.final.a, tight.final.W, tight.final.a, 10 * rtol, "at the end")
    for part in (0.3, 0.5, 0.67, 0.75, 0.85, 0.95):
        first = problem.run(rtol=rtol, until=rf.Stop(log_time=part * end))
        options = {**problem.options, "rtol": rtol}
        second = rf.integrate(problem.data, first, until=problem.until, **options)
        compare.assert_same_state(
            second.final.W, second.final.a, tight.final.W, tight.final.a, 10 * rtol, f"cut at {part * end}"
        )
        dense = whole(float(np.exp(part * end)))
        compare.assert_same_state(dense.W, dense.a, first.final.W, first.final.a, 10 * rtol, f"within, {part * end}")


def test_a_neuron_that_its_samples_alone_move_never_crosses_their_boundary():
    """One sample with both labels is all that drives it: at z = 0 nothing does, so that z falls for ever."""
    problem = hostile.problem("contradictory_part", 945)
    options = {**problem.options, "rtol": 1e-13}
    first = problem.run(rtol=1e-13, until=rf.Stop(log_time=1.5))
    second = rf.integrate(problem.data, first, until=problem.until, **options)
    side = first.final.pattern[0, 0]
    driving = np.flatnonzero(first.final.pattern[0] > 0)
    assert [*driving] == [0, 3]
    assert np.array_equal(problem.data.X[0], problem.data.X[3])
    assert problem.data.y[0] == -problem.data.y[3]
    assert not np.any(second.events.neuron == 0)
    assert second.final.pattern[0, 0] == side
    assert abs(second.final.W[0] @ problem.data.X[0]) < 1e-13


def test_a_neuron_that_two_such_samples_move_stays_between_their_boundaries():
    """x x' < 0, so that each pulls it away from the boundary of the other: both pre-activations stay positive."""
    problem = hostile.problem("contradictory_part", 905)
    sol = problem.run(rtol=1e-12)
    X, y = problem.data.X, problem.data.y
    early = sol(float(np.exp(-2.0)))
    assert [*np.flatnonzero(early.W[1] @ X.T > 0)] == [0, 1, 4, 5]
    assert np.array_equal(X[[0, 1]], X[[4, 5]])
    assert np.array_equal(y[[0, 1]], -y[[4, 5]])
    assert X[0] @ X[1] < 0
    assert not np.any(early.W[0] @ X[[0, 1]].T > 0)  # the other neuron is active on neither
    assert not np.any(sol.final.W[0] @ X[[0, 1]].T > 0)
    assert not np.any((sol.events.neuron == 1) & (sol.events.log_t > -2.0))


@pytest.mark.parametrize("rtol", [1e-5, 1e-7, 1e-8, 1e-10])
def test_a_run_that_begins_beside_boundaries_makes_no_distance_of_rounding(rtol):
    """Both distances are zero to rounding from log t = 0 on, and stay so wherever dense output begins anew.

    Its first step was explicit and covered 60 time constants of the hold: its terms made 1e-8 of 1e-17, and from there
    the neuron crossed either boundary; from one start in a hundred it ended up to a hundredth off.
    """
    problem = hostile.problem("contradictory_part", 905, log_t=12.0)
    sol = problem.run(rtol=rtol)
    nodes = sol.log_t[sol.log_t > 0.0]
    for part in (0.02, 0.1, 0.5, 0.9):
        for log_time in nodes[:-1] + part * np.diff(nodes):
            z = problem.data.X[:2] @ sol(float(np.exp(log_time))).W[1]
            assert np.abs(z).max() < 1e-14, log_time


def test_a_neuron_that_only_falls_towards_a_boundary_comes_to_rest_on_it():
    """One pair of both labels moves it across, and z = 0 is where that pair balances: z falls like an exponential.

    In doubles it is on the boundary from some time on. As long as it was beside it the pair drove it, by rounding, and
    no step could be longer than this rounding allows: the run ended `stalled` at log t = 18.
    """
    data = rf.Dataset([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1, -1, 1])
    sol = rf.integrate(data, rf.Network([[0.3, 0.1]], [0.4]), until=rf.Stop(log_time=200.0))
    assert sol.status == "reached_log_time"
    assert np.array_equal(sol.final.pattern, [[0, 0, 1]])
    assert sol.final.W[0, 0] == 0.0
    assert len(sol.events) == 2


@pytest.mark.parametrize("seed", [791, 1129])
def test_neurons_that_come_to_rest_do_so_once(seed):
    """What keeps z above rounding is the tolerance of explicit steps, not what drives the neuron, which is zero.

    Followed beside its boundary, one took 750,000 steps, the other met and left another boundary 100,000 times.
    """
    problem = hostile.problem("contradictory_part", seed, log_t=12.0)
    tight, loose = problem.run(rtol=1e-12), problem.run(rtol=1e-9)
    assert tight.status == loose.status == "reached_log_time"
    assert len(loose.events) == len(tight.events)
    assert np.array_equal(loose.final.pattern, tight.final.pattern)
    for log_time in (4.0, 8.0):
        first = problem.run(rtol=1e-9, until=rf.Stop(log_time=log_time))
        second = rf.integrate(problem.data, first, until=problem.until, **{**problem.options, "rtol": 1e-9})
        assert len(first.events) + len(second.events) == len(tight.events)
        compare.assert_same_state(
            second.final.W, second.final.a, tight.final.W, tight.final.a, 1e-8, f"cut at {log_time}"
        )


def aligned(X: list[list[float]], W: list[list[float]], signs: list[float], log_scale: float) -> rf.Network:
    """Return neurons along these directions with |w_j| = |a_j| = e^log_scale."""
    directions = np.array(W) / np.linalg.norm(W, axis=1)[:, None]
    size = np.exp(log_scale)
    return rf.Network(size * directions, size * np.array(signs))


@pytest.mark.parametrize("rtol", [1e-8, 1e-9, 1e-10, 1e-11])
@pytest.mark.parametrize("log_scale", [0.0, -5.0, -100.0, -250.0])
def test_a_neuron_beside_a_sample_that_is_fitted_by_zero_stays_on_its_side(rtol, log_scale):
    """With x' = (1, -1, -1) of targets 3 and -3, and u = -3 - f(x) <= 0 at x = (1, -1, 1), z = w·x' has
    z' = -6 a² z + a u, a < 0: it tends to zero and stays positive. Beyond it the sample -x' would pull the neuron on.
    """
    X = [[1.0, -1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, 1.0], [1.0, -1.0, -1.0]]
    data = rf.Dataset(X, [-3.0, -3.0, -1.0, 3.0])
    net = aligned(X, [[1.06, -1.6, -0.39]], [-1.0], log_scale)
    sol = rf.integrate(data, net, until=30.0 - 0.2 * log_scale, loss="squared", rtol=rtol)
    assert len(sol.events) == 0
    assert np.exp(sol.log_loss_end) == pytest.approx(0.5 * (3.0**2 + 1.0 + 3.0**2), rel=1e-12)


@pytest.mark.parametrize("log_scale", [-100.0, -300.0])
def test_what_holds_neurons_together_lets_none_of_them_cross(log_scale):
    """Both labels of x = (1, 1) answer to Σ a_j w_j·x of all that see it, and so to a small neuron hardly at all.

    w_j·x stays what it was at the start, e^log_scale, while the neurons grow: far below rounding, but positive. Beyond
    it the sample -x would pull a neuron on.
    """
    X = [[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]]
    data = rf.Dataset(X, [1, -1, -1, -1, 1])
    W = [[-1.75, 0.82], [0.77, -0.32], [0.25, -0.13], [0.33, 1.07], [-0.06, 0.13], [0.81, -1.1], [0.59, -0.36]]
    net = aligned(X, W, [1.0, -1.0, -1.0, -1.0, 1.0, 1.0, -1.0], log_scale)
    sol = rf.integrate(data, net, until=10.0 - 0.75 * log_scale, loss="exponential", rtol=1e-10)
    assert sol.final.pattern[[1, 2, 3, 6], 0].tolist() == [1, 1, 1, 1]
    assert sol.final(data.X)[[0, 3]] == pytest.approx([0.0, 0.0], abs=1e-10)
    assert 2.0 < np.exp(sol.log_loss_end) - 1.0 < 2.2  # both labels of x and its opposite, e^0 each, less what grows


@pytest.mark.parametrize("rtol", [1e-5, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13])
def test_an_output_weight_that_its_samples_hold_at_zero_keeps_its_sign(rtol):
    """Both labels of one place are all that moves the neuron, which slides along the boundary of another: they balance
    at a = 0, so that a falls for ever. With the other sign it would leave that boundary, and grow.

    Rounding of their weights, and truncation, took a through zero: at rtol 1e-9 to 1e-11 the run ended with another
    network and a good status, at 1e-12 it did not end.
    """
    X = np.array(
        [
            [-0.3733544617176231, 0.5666070524592141, -1.5709807064161254, -1.1198261102574338],
            [-0.29624219754523834, -0.6599317764706302, 0.36390462624689573, 0.23207492910131827],
            [0.6709999910191339, -0.8850304296457839, 0.35674674376627497, 0.20268860051092555],
        ]
    )
    data = rf.Dataset(np.vstack((X, X)), [-1, -1, 1, -1, -1, -1])
    options = {"loss": "exponential", "reduction": "sum", "rtol": rtol}
    until = rf.Stop(log_time=100.0)
    net = rf.Network([[0.01, -0.02, -0.01, 0.01]], [0.02])
    sol = rf.integrate(data, net, until=until, **options)
    assert sol.status == "reached_log_time"
    assert [*sol.events.kind] == ["slide", "slide", "cross_down", "cross_down"]
    for log_time in (8.0, 12.0, 12.7, 12.8, 14.0):
        dense = sol(float(np.exp(log_time)))
        assert dense.a[0] > 0
        first = rf.integrate(data, net, until=rf.Stop(log_time=log_time), **options)
        second = rf.integrate(data, first, until=until, **options)
        compare.assert_same_state(second.final.W, second.final.a, sol.final.W, sol.final.a, 10 * rtol, f"{log_time}")
    assert 0 < sol.final.a[0] < 1e-2 * rtol**0.5
    assert np.exp(sol.log_loss_end) == pytest.approx(6.0, rel=1e-9)


@pytest.mark.parametrize("scale", [2.0**-320, 2.0**-300, 1.0, 2.0**280, 2.0**326, 1e98])
@pytest.mark.parametrize(
    ("X", "y", "start", "leak", "decay"),
    [
        (
            [[-1, -2, 2, 1], [0, -1, 0, -1], [-2, -1, 2, 2], [0, -1, 1, 1]],
            [1, 1, -1, -1],
            ([[-0.5, -0.5, -1.0, 0.0], [-1.0, -1.0, 0.5, 0.5]], [0.5, -0.5]),
            0.0,
            0.1,
        ),
        (
            [[-3, 0, 3], [-3, -3, 3], [0, -6, 6], [3, 0, -1], [1, 3, 0]],
            [1, -1, 1, 1, -1],
            ([[1.0, -0.5, -0.5]], [1.5]),
            0.25,
            0.0,
        ),
    ],
)
def test_a_neuron_that_left_at_the_end_of_a_step_does_not_rest_where_it_left(X, y, start, leak, decay, scale):
    """It stands on its boundary at the begin of the next step, and what drives it away is only beginning to.

    By its rate alone it had come to rest there, slid, left again, and so on at one instant, until the run gave up. In
    these units events ended steps, since |x|⁴ overflowed; θ → θ / √c and t → t / c is the same flow for x → c x.
    """

    def run(c):
        data = rf.Dataset(c * np.array(X, float), y)
        net = rf.Network(np.array(start[0]) / c**0.5, np.array(start[1]) / c**0.5, leak=leak)
        until = rf.Stop(time=20.0 / c)
        return rf.integrate(data, net, until=until, loss="logistic", weight_decay=decay * c, rtol=1e-9)

    plain, scaled = run(1.0), run(scale)
    assert scaled.status == plain.status == "reached_time"
    assert [(e.neuron, e.sample, e.kind) for e in scaled.events] == [(e.neuron, e.sample, e.kind) for e in plain.events]
    back = scale**0.5
    compare.assert_same_state(
        back * scaled.final.W, back * scaled.final.a, plain.final.W, plain.final.a, 1e-8, f"{scale}"
    )


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12, 1e-13])
@pytest.mark.parametrize("a", [1.0, 3.0])
def test_a_neuron_whose_samples_balance_at_its_origin_vanishes_for_ever(rtol, a):
    """Samples of both labels have the same coordinate along the line on which it slides, w' = -a (e^(aw) - e^(-aw)).

    w falls below the rounding of the pulls that cancel, which took it through w = 0, where samples on the other side
    draw it on.
    """
    X = [[1, -0.22], [1, -0.39], [1, -0.013], [1, -0.15], [0, 1.15], [0, -0.66], [-1, 1.36], [-1, -1.68]]
    data = rf.Dataset(X, [-1, 1, -1, 1, -1, -1, 1, 1])
    sol = rf.integrate(data, rf.Network([[0.5, 0.0], [-0.5, 0.0]], [a, 0.5]), until=40.0, loss="exponential", rtol=rtol)
    assert sol.status == "reached_time"
    assert not len(sol.branchings)
    assert sorted(sol.events.counts()) == ["start_slide"]
    assert np.abs(sol.final.W[0]).max() < 1e-14
    assert sol.final.a[0] == pytest.approx(np.sqrt(a**2 - 0.25), rel=1e-14)


@pytest.mark.parametrize("rtol", [1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12])
def test_a_neuron_that_vanishes_in_short_steps_does_not_pass_zero_by_rounding(rtol):
    """Both signs of the input have samples of both labels: each neuron comes to zero from its own side, at rates of 4
    and 34, while the other one still makes the weights on its far side differ.
    """
    data = rf.Dataset([[1.0]] * 2 + [[-1.0]] * 10, [1, -1] + [1] * 5 + [-1] * 5)
    net = rf.Network([[0.0671197], [-0.00290203]], [-1.5026202, 1.83535278])
    sol = rf.integrate(data, net, until=60.0, loss="exponential", rtol=rtol)
    assert sol.status == "reached_time"
    assert not len(sol.events)
    assert np.abs(sol.final.W).max() < 0.1 * rtol  # at rest from there on


@pytest.mark.parametrize("rtol", [1e-6, 3e-7, 1e-7, 3e-8, 1e-8, 1e-9, 1e-10, 1e-12])
def test_a_neuron_does_not_cross_a_boundary_on_which_errors_come_to_rest(rtol: float) -> None:
    # All errors that the neuron feels on its side tend to zero with its distances from the boundaries of (1, 0, -1) and
    # (0, 1, -1). Beyond them the former draws it on: what truncation took across ended 0.1 off.
    X = [[-1.7, 1.7, 1.7], [0, 1.7, 0], [0, 0, 1.7], [0.5, 0, -0.5]]
    X += [[-1, 1, 1], [0, 0, 1.7], [0.5, 0, 0.5], [0, 0.3, -0.3]]
    y = [-1, -1, -1, -1, -1, -1, -1, 1]
    net = rf.Network([[-0.665584, -0.05161793, -0.35472923]], [-0.09434857])
    sol = rf.integrate(rf.Dataset(X, y), net, until=60.0, loss="squared", rtol=rtol)
    assert sol.final.pattern[0, 3] == sol.final.pattern[0, 7] == -1
    assert sol.events.t.max() < 5.0
    for state in (sol.final, sol(30.0)):
        assert np.ptp(state.W) <= 1e-9


@pytest.mark.parametrize("rtol", [1e-7, 1e-8, 1e-9, 1e-10, 1e-11, 1e-12])
def test_a_pull_that_takes_a_neuron_nowhere_beyond_a_boundary_lets_it_slide(rtol: float) -> None:
    """(1, 1, -1, -1) has both labels, and what else pulls there weighs 1e-24 of these two samples.

    The slide let go, the neuron stood 1e-26 beside the boundary and slid again: 390,000 events to t = 0.27.
    """
    X = [[1, -1, -1, -1], [-1, -1, -1, 1], [1, 1, 1, -1], [1, 1, -1, -1], [-1, 1, -1, -1]]
    X += [[1, 1, 1, 1], [-1, -1, -1, 1], [-1, 1, -1, 1], [-1, -1, -1, 1], [1, 1, -1, -1]]
    data = rf.Dataset(X, [-1, 1, -1, 1, 1, -1, -1, -1, -1, -1])
    W = [[-18.741046546146833, 4.140247340068171, -15.94233501108864, 5.794359313562306]]
    W += [[9.661373598655352, -0.8741460330901181, 9.813234662148036, -4.626701166235375]]
    net = rf.Network(W, [-1.3888090309553505, -15.419883979203824])
    until = rf.Stop(time=1000.0, events=100)
    exact, sol = (rf.integrate(data, net, until=until, loss="exponential", rtol=used) for used in (1e-13, rtol))
    assert exact.status == sol.status == "reached_time"
    assert len(sol.events) < 10
    assert rf.analysis.relative_error(sol.final, exact.final) < 1e-9


def test_a_neuron_that_begins_to_leave_does_not_rest_whatever_weights_are_known_to():
    """What drove it away counted as none up to the error of weights: it slid, and left again, at 1e-9 and 1e-11."""
    problem = hostile.problem("parallel_rounding", 99128)
    events = [problem.run(rtol=rtol).events for rtol in (1e-7, 1e-9, 1e-11, 1e-12)]
    exact = Counter(zip(events[-1].neuron, events[-1].sample, events[-1].kind, strict=True))
    for found in events[:-1]:
        assert Counter(zip(found.neuron, found.sample, found.kind, strict=True)) == exact
