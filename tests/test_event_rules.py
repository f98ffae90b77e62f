"""Events where they are easy to lose: grazes, near ties, starts on boundaries, restarts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import agree
import compare
import families
import reluflow as rf

# In this problem neuron 2 rises over the boundary of sample 1 and falls back; shifting its start moves the peak.
GRAZING, NEURON, SAMPLE = replace(families.make("unbalanced", 4), t_end=0.02, reduction="sum"), 2, 1
# Shifts of the start along the sample, in units of its pre-activation, below and above the one that touches.
CROSSES, MISSES = 0.0, 1.0


def lowered(shift: float) -> families.Setup:
    x = GRAZING.X[SAMPLE]
    W = GRAZING.W.copy()
    W[NEURON] -= shift * x / (x @ x)
    return replace(GRAZING, W=W)


def visits(shift: float) -> list[compare.Event]:
    events = compare.from_solution(agree.core(lowered(shift)))
    return [e for e in events if (e.neuron, e.sample) == (NEURON, SAMPLE)]


def test_two_crossings_inside_one_step_are_seen_down_to_the_touch():
    low, high = CROSSES, MISSES
    shortest = np.inf
    for _ in range(60):
        middle = 0.5 * (low + high)
        seen = visits(middle)
        assert [e.kind for e in seen] in ([], ["cross_up", "cross_down"])
        if seen:
            low, shortest = middle, min(shortest, seen[1].t - seen[0].t)
        else:
            high = middle
    # Two roots of a parabola: the visit lasts like the square root of the distance to the touch.
    assert shortest < 1e-9


def test_a_touching_root_changes_nothing_else():
    """A visit of 1e-6 of the other side and no visit at all end in nearly the same state."""
    inside, outside = (agree.core(lowered(shift)) for shift in (0.02532, 0.02533))
    assert len(compare.from_solution(inside)) == len(compare.from_solution(outside)) + 2
    compare.assert_same_state(
        inside.final.W, inside.final.a, outside.final.W, outside.final.a, 1e-4, "on the two sides of the touch"
    )


@pytest.mark.parametrize("gap", [1e-6, 1e-8, 1e-10])
def test_three_samples_within_a_hair_are_three_events_in_the_right_order(gap):
    """Three nearly equal samples: one neuron meets their boundaries within about `gap` of each other."""
    setup = replace(families.make("random", 2), leak=0.1, reduction="sum")
    x, side = setup.X[0], np.random.default_rng(1).standard_normal(setup.X.shape[1])
    X = np.vstack([setup.X, x + gap * side, x - 2 * gap * side])
    close = replace(setup, X=X, y=np.r_[setup.y, setup.y[0], setup.y[0]], t_end=2.0)
    fault = agree.check(close)
    assert fault is None, fault
    times = [e.t for e in compare.from_solution(agree.core(close)) if e.sample in (0, len(X) - 2, len(X) - 1)]
    assert len(times) >= 3


def test_three_neurons_within_a_hair_are_three_events():
    setup = families.make("crowded", 3)
    turn = np.random.default_rng(0).standard_normal(setup.X.shape[1])
    copies = np.array([setup.W[0], setup.W[0] + 1e-8 * turn, setup.W[0] + 2e-8 * turn])
    near = replace(setup, W=np.vstack([setup.W[1:], copies]), a=np.r_[setup.a[1:], [setup.a[0]] * 3], t_end=2.0)
    fault = agree.check(near)
    assert fault is None, fault


@pytest.mark.parametrize(("family", "seed"), [("random", 3), ("crowded", 2), ("mirrored", 4), ("on_walls", 3)])
def test_a_restart_at_an_event_finds_it_not_again(family, seed):
    setup = families.make(family, seed)
    data = rf.Dataset(setup.X, setup.y)
    front = rf.integrate(data, agree.network(setup), until=rf.Stop(events=2, time=setup.t_end), **setup.options)
    last = front.events[-1]
    back = rf.integrate(data, front, until=setup.t_end * 1.5, **setup.options)
    again = [e for e in back.events if (e.neuron, e.sample) == (last.neuron, last.sample)]
    assert all(e.t > last.t * (1 + 1e-9) for e in again)
    assert not [e for e in back.events if e.kind.startswith("start")]


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5])
@pytest.mark.parametrize("distance", [1e-9, 1e-13])
def test_a_start_a_hair_beside_a_boundary_goes_the_same_way(seed, distance):
    """Zeros of the start moved off their boundaries to the side where the exact start goes."""
    setup = replace(families.make("on_walls", seed), t_end=1.0)
    exact = agree.core(setup)
    if len(exact.branchings):
        assert exact.branchings[0].t == 0.0
        return
    side = exact(1e-6).W - setup.W
    moved = agree.core(replace(setup, W=setup.W + distance * side / max(1e-300, np.max(np.abs(side)))))
    compare.assert_same_state(moved.final.W, moved.final.a, exact.final.W, exact.final.a, 1e3 * distance + 1e-8, "end")


def test_a_pair_at_zero_with_no_motion_starts_no_event():
    """w = 0 and a = 0: nothing drives the neuron, no event is written for its zeros."""
    X = np.array([[1.0, 0.5], [-0.5, 1.0]])
    net = rf.Network(np.array([[0.0, 0.0], [0.1, 0.2]]), np.array([0.0, 0.3]))
    sol = rf.integrate(rf.Dataset(X, np.array([1.0, -1.0])), net, until=1.0)
    assert not [e for e in sol.events if e.neuron == 0]
    assert np.all(sol.final.pattern[0] == 0)


# x₀ = e₁ is on the boundary, x₁ pulls with p = σ(-0.8) = λ₁ along (0.6, 0.8).
PULL = 1.0 / (1.0 + np.exp(0.8))


@pytest.mark.parametrize(("leak", "kind"), [(0.0, "start_slide"), (0.1, "start_slide"), (0.5, "start_down")])
def test_a_valley_holds_while_its_multiplier_is_between_leak_and_one(leak, kind):
    """The multiplier is 0.6 p / 0.5 = 0.37; held, the velocity is the pull along the boundary [PL, Lemma A.3]."""
    assert 0.1 < 0.6 * PULL / 0.5 < 0.5
    X, y = np.array([[1.0, 0.0], [0.6, 0.8]]), np.array([1.0, -1.0])
    net = rf.Network(np.array([[0.0, 1.0]]), np.array([-1.0]), leak=leak)
    sol = rf.integrate(rf.Dataset(X, y), net, until=1e-4, rtol=1e-12)
    assert [(e.neuron, e.sample, e.kind) for e in sol.events] == [(0, 0, kind)]
    assert (sol.W[-1, 0, 1] - 1.0) / 1e-4 == pytest.approx(0.8 * PULL, rel=1e-3)
    assert (sol.W[-1, 0, 0] == 0.0) == (kind == "start_slide")


def without_output(label: float, across: float) -> tuple[rf.Dataset, rf.Network]:
    """Neuron 0 has no output weight and stands on the boundary of sample 0. Two samples of one input with both labels
    cancel in its rate until neuron 1 comes to them."""
    X = [[1.0, 0.0, 0.0], [across, 1.0, 0.0], [across, 1.0, 0.0], [0.2, 1.0, 1.0]]
    net = rf.Network([[0.0, 1.0, -1.3], [-0.1, -0.1, 1.0]], [0.0, 1.1])
    return rf.Dataset(X, [label, 1.0, -1.0, 1.0]), net


@pytest.mark.parametrize(
    ("label", "across", "side", "nudge"),
    [(1, 0.1, 0, -1e-9), (-1, 0.1, 1, -1e-9), (1, -0.1, -1, -1e-9), (-1, -0.1, -1, 1e-9), (1, 3.0, 0, -1e-9)],
)
def test_a_neuron_without_output_decides_when_something_drives_it(
    label: float, across: float, side: int, nudge: float
) -> None:
    """It moved off its boundary and was still on it by its pattern. The reference starts beside it, on the side from
    which it comes to the continuation that the run chooses."""
    data, net = without_output(label, across)
    sol = rf.integrate(data, net, until=3.0)
    near = rf.integrate(data, rf.Network(net.W, net.a + np.array([nudge, 0.0])), until=3.0)
    assert sol.final.pattern[0, 0] == near.final.pattern[0, 0] == side
    assert np.abs(sol.final.W - near.final.W).max() < 1e-7
    assert str(sol.events.kind[0]) == "start_slide"
    first = rf.integrate(data, net, until=0.2)
    second = rf.integrate(data, first, until=3.0)
    assert np.abs(second.final.W - sol.final.W).max() < 1e-9
    assert np.abs(sol(2.5).W - rf.integrate(data, net, until=2.5).final.W).max() < 1e-9


def test_a_dead_neuron_on_a_boundary_says_so_at_the_start() -> None:
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    sol = rf.integrate(data, rf.Network([[0.0, -1.0], [0.5, 0.5]], [0.0, 0.7]), until=3.0)
    dead = sol.events.neuron == 0
    assert [str(kind) for kind in sol.events.kind[dead]] == ["start_slide"]
    assert sol.events.sample[dead].tolist() == [0]
    assert (sol.final.W[0] == [0.0, -1.0]).all()


def test_an_event_of_a_small_output_weight_acts_by_what_that_grows_to() -> None:
    """Neuron 0 crosses while a = -1e-9, which is -6e-3 at the end of that step: what the event then does to the others
    was left out of it, at every tolerance. The reference is the flow without kinks from the event on."""
    data, net = without_output(-1, 0.1)
    net = rf.Network(net.W, net.a + np.array([-1e-7, 0.0]))
    X, y = data.X, data.y
    sol = rf.integrate(data, net, until=3.0)
    assert sol.events.t[-1] < 0.4
    start = rf.integrate(data, net, until=0.4, rtol=1e-12).final
    active = start.W @ X.T > 0

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        W, a = state[:6].reshape(2, 3), state[6:]
        z = (W @ X.T) * active
        g = (active * y / (1 + np.exp(y * (a @ z)))) @ X
        return np.r_[(a[:, None] * g).ravel(), (W * g).sum(axis=1)]

    end = solve_ivp(rate, (0.4, 3.0), np.r_[start.W.ravel(), start.a], method="DOP853", rtol=1e-12, atol=1e-15).y[:, -1]
    assert np.abs(end[:6].reshape(2, 3) - sol.final.W).max() < 1e-9
    assert np.abs(end[6:] - sol.final.a).max() < 1e-9
