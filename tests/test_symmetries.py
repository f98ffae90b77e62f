"""What a change of names or units must not change: the same events, relabelled, and the same states."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import ortho_group

import agree
import compare
import families
import reluflow as rf

PROBLEMS = [
    ("random", 3),
    ("random", 8),
    ("unbalanced", 4),
    ("repeated", 5),
    ("opposite", 2),
    ("multiples", 6),
    ("mirrored", 1),
    ("identical", 7),
    ("orthogonal", 3),
    ("flat", 4),
    ("crowded", 1),
    ("crowded", 9),
]
TIME_TOL = 1e-9
STATE_TOL = 1e-8


def moved(events, neurons=None, samples=None, time=1.0):
    """The events with new names: neuron j is called neurons[j], sample i samples[i], times are multiplied."""
    return [
        compare.Event(
            e.t * time,
            e.neuron if neurons is None else int(neurons[e.neuron]),
            e.sample if samples is None else int(samples[e.sample]),
            e.kind,
        )
        for e in events
    ]


def settled(setup: families.Setup):
    """The run, its events but the last instants, and the final state."""
    sol = agree.core(setup, rtol=1e-11)
    assert sol.status == "reached_time", sol.message
    return sol, agree.events_before(compare.from_solution(sol), setup.t_end)


def inverse(order: np.ndarray) -> np.ndarray:
    return np.argsort(order)


@pytest.mark.parametrize(("family", "seed"), PROBLEMS)
def test_neurons_in_another_order_do_the_same(family, seed):
    setup = families.make(family, seed)
    order = np.random.default_rng(seed).permutation(len(setup.a))
    sol, events = settled(setup)
    other, found = settled(replace(setup, W=setup.W[order], a=setup.a[order]))
    want = moved(events, neurons=inverse(order))
    compare.assert_same_events(want, found, sol.pattern0[order], TIME_TOL)
    compare.assert_same_state(
        other.final.W, other.final.a, sol.final.W[order], sol.final.a[order], STATE_TOL, "at the end"
    )


@pytest.mark.parametrize(("family", "seed"), PROBLEMS)
def test_samples_in_another_order_do_the_same(family, seed):
    setup = families.make(family, seed)
    order = np.random.default_rng(seed).permutation(len(setup.y))
    sol, events = settled(setup)
    other, found = settled(replace(setup, X=setup.X[order], y=setup.y[order]))
    want = moved(events, samples=inverse(order))
    compare.assert_same_events(want, found, sol.pattern0[:, order], TIME_TOL)
    compare.assert_same_state(other.final.W, other.final.a, sol.final.W, sol.final.a, STATE_TOL, "at the end")


@pytest.mark.parametrize(("family", "seed"), PROBLEMS)
def test_rotated_inputs_and_weights_do_the_same(family, seed):
    setup = families.make(family, seed)
    turn = ortho_group.rvs(setup.X.shape[1], random_state=seed)
    sol, events = settled(setup)
    other, found = settled(replace(setup, X=setup.X @ turn, W=setup.W @ turn))
    compare.assert_same_events(events, found, sol.pattern0, TIME_TOL)
    compare.assert_same_state(other.final.W, other.final.a, sol.final.W @ turn, sol.final.a, STATE_TOL, "at the end")


@pytest.mark.parametrize("factor", [1e-6, 0.3, 1e5])
@pytest.mark.parametrize(("family", "seed"), PROBLEMS)
def test_scaled_inputs_are_another_unit_of_time(family, seed, factor):
    """X → cX, θ → θ/√c keeps every margin, and dθ/dt is multiplied by √c: time runs c times faster."""
    setup = families.make(family, seed)
    root = np.sqrt(factor)
    sol, events = settled(setup)
    unit = replace(setup, X=setup.X * factor, W=setup.W / root, a=setup.a / root, t_end=setup.t_end / factor)
    other, found = settled(unit)
    compare.assert_same_events(moved(events, time=1 / factor), found, sol.pattern0, TIME_TOL)
    W, a = other.final.W * root, other.final.a * root
    compare.assert_same_state(W, a, sol.final.W, sol.final.a, STATE_TOL, "at the end")


@pytest.mark.parametrize(("family", "seed"), PROBLEMS)
def test_the_mean_is_the_sum_in_slower_time(family, seed):
    setup = replace(families.make(family, seed), reduction="sum")
    setup = replace(setup, t_end=min(setup.t_end, 10.0))
    n = len(setup.y)
    sol, events = settled(setup)
    other, found = settled(replace(setup, reduction="mean", t_end=n * setup.t_end))
    compare.assert_same_events(moved(events, time=n), found, sol.pattern0, TIME_TOL)
    compare.assert_same_state(other.final.W, other.final.a, sol.final.W, sol.final.a, STATE_TOL, "at the end")
    assert other.log_loss_end == pytest.approx(sol.log_loss_end - np.log(n), abs=1e-9)


@pytest.mark.parametrize(("family", "seed"), PROBLEMS)
def test_all_labels_and_output_weights_turned_round_do_the_same(family, seed):
    setup = families.make(family, seed)
    sol, events = settled(setup)
    other, found = settled(replace(setup, y=-setup.y, a=-setup.a))
    compare.assert_same_events(events, found, sol.pattern0, TIME_TOL)
    compare.assert_same_state(other.final.W, -other.final.a, sol.final.W, sol.final.a, STATE_TOL, "at the end")


@pytest.mark.parametrize("scale", [2.0**200, 2.0**326, 2.0**-300])
def test_units_change_no_step(scale):
    """x → c x, θ → θ / √c, t → t / c: beyond 1e77 a bound of what events do overflowed, and each ended a step."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(20, 3))
    y = np.sign(rng.normal(size=20))
    W, a = 1e-2 * rng.normal(size=(40, 3)), 1e-2 * rng.normal(size=40)

    def run(c):
        net = rf.Network(W / c**0.5, a / c**0.5)
        return rf.integrate(rf.Dataset(c * X, y), net, until=3.0 / c, loss="logistic", rtol=1e-9)

    plain, scaled = run(1.0), run(scale)
    assert [(e.neuron, e.sample, e.kind) for e in scaled.events] == [(e.neuron, e.sample, e.kind) for e in plain.events]
    assert abs(scaled.stats["steps"] - plain.stats["steps"]) <= 1
