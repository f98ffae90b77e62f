"""Layered networks on rows that repeat, multiples of rows and whole numbers: boundaries that depend on each other.

Oracles: the core of two layers; samples that count twice instead of repeated ones; another tolerance, another order.
"""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

import reluflow as rf
from survey_layered_discrete import DATA, LAYERS, SAME_KIND, on_two_layers, problem, run

Event = tuple[int, int, str]


# Repeats and multiples; grids of whole numbers; dependent boundaries that a unit slides on and leaves (bits, ternary);
# a boundary that stops to attract and lets the unit go both ways (multiples 0).
@pytest.mark.parametrize(
    ("data", "layers", "seed"),
    [
        ("repeats", "two", 0),
        ("repeats", "two_leaky", 2),
        ("multiples", "two", 0),
        ("multiples", "two_leaky", 1),
        ("parity3", "two", 2),
        ("grid", "two", 1),
        ("bits", "two", 3),
        ("bits", "two_leaky", 3),
        ("twohot", "two", 1),
        ("onehot", "two", 2),
        ("ternary", "two", 0),
        ("ternary", "two", 1),
        ("ternary", "two_leaky", 1),
    ],
)
def test_two_layers_agree_with_their_own_core(data: str, layers: str, seed: int) -> None:
    deep, two = run(data, layers, seed), on_two_layers(data, layers, seed)
    assert deep.status == two.status == "reached_time", deep.message
    theta = np.concatenate((two.final.W.ravel(), two.final.a))
    assert np.abs(deep.final.theta - theta).max() < 1e-8 * np.abs(theta).max()
    ours: Counter[Event] = Counter((e.unit, e.sample, e.kind) for e in deep.events if e.kind != "branch")
    theirs: Counter[Event] = Counter(
        (e.neuron, e.sample, SAME_KIND.get(e.kind, e.kind)) for e in two.events if e.kind != "branch"
    )
    assert len(theirs) > 0
    assert ours == theirs
    times = np.sort([e.t for e in deep.events if e.kind != "branch"])
    assert times == pytest.approx(np.sort([e.t for e in two.events if e.kind != "branch"]), rel=1e-6)


@pytest.mark.parametrize("policy", ["active", "inactive"])
def test_a_branch_is_chosen_by_the_sides_of_samples(policy: str) -> None:
    rows, net, loss, end = problem("multiples", "two", 0)
    two = rf.Network(net.layers[0].W, net.layers[1].W.ravel())
    deep = rf.integrate(rows, net, until=end, rtol=1e-10, loss=loss, on_branch=policy)
    other = rf.integrate(rf.Dataset(*rows), two, until=end, rtol=1e-10, loss=loss, on_branch=policy)
    assert len(deep.branchings) == len(other.branchings) > 0
    assert deep.branchings[0].t == pytest.approx(other.branchings[0].t, rel=1e-8)
    theta = np.concatenate((other.final.W.ravel(), other.final.a))
    assert np.abs(deep.final.theta - theta).max() < 1e-8 * np.abs(theta).max()


def repeated(seed: int) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Rows of which some stand twice, and the same rows that count twice."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((6, 3)), rng.choice([-1.0, 1.0], 6)
    y[:2] = 1, -1
    twice = rng.choice(6, 3, replace=False)
    counts = np.ones(6)
    counts[twice] = 2.0
    return (np.vstack((X, X[twice])), np.concatenate((y, y[twice]))), (X, y, counts)


@pytest.mark.parametrize("layers", ["three", "three_leaky", "three_squared", "three_bias", "four"])
@pytest.mark.parametrize("seed", range(3))
def test_samples_that_repeat_are_samples_that_count_twice(layers: str, seed: int) -> None:
    stack, scale, leak, loss, _ = LAYERS[layers]
    data, counted = repeated(seed)
    net = rf.DeepNetwork.init(list(stack), dim=3, scale=2.0 * scale, seed=seed, leak=leak)
    # The tolerance of duals is relative to one sample: steps differ, so ends agree to the tolerance.
    runs = [rf.integrate(one, net, until=5.0, rtol=1e-11, loss=loss) for one in (data, counted)]
    assert [sol.status for sol in runs] == ["reached_time"] * 2, [sol.message for sol in runs]
    apart = np.abs(runs[0].final.theta - runs[1].final.theta).max()
    assert apart < 1e-8 * np.abs(runs[0].final.theta).max()
    once = [Counter((e.layer, e.unit, e.sample, e.kind) for e in sol.events if e.sample < 6) for sol in runs]
    assert once[0] == once[1]


# Each of them ended as undecided when every sample had a boundary of its own.
@pytest.mark.parametrize(
    ("data", "layers", "seed"),
    [
        ("repeats", "three", 0),
        ("multiples", "three_leaky", 1),
        ("parity2", "three", 1),
        ("parity3", "three_squared", 2),
        ("majority", "three", 2),
        ("grid", "three_bias", 0),
        ("ternary", "three", 0),
        ("ternary", "three_squared", 2),
        ("ternary", "three_leaky", 2),
        ("onehot", "three_bias", 1),
        ("twohot", "three", 1),
        ("parity3", "four", 1),
    ],
)
def test_ends_on_whole_numbers_depend_neither_on_the_tolerance_nor_on_the_order(
    data: str, layers: str, seed: int
) -> None:
    (X, y), net, loss, end = problem(data, layers, seed)
    order = np.random.default_rng(seed).permutation(len(y))
    runs = [
        rf.integrate(rows, net, until=end, rtol=rtol, loss=loss, on_branch="active")
        for rows, rtol in (((X, y), 1e-10), ((X, y), 1e-12), ((X[order], y[order]), 1e-10))
    ]
    assert all(sol.status == "reached_time" for sol in runs), [sol.message for sol in runs]
    for sol in runs[1:]:
        assert np.abs(sol.final.theta - runs[0].final.theta).max() < 1e-7 * np.abs(runs[0].final.theta).max()


@pytest.mark.parametrize(("data", "layers", "seed"), [("repeats", "three", 0), ("ternary", "two", 0)])
def test_a_run_goes_on_while_units_slide_on_shared_boundaries(data: str, layers: str, seed: int) -> None:
    rows, net, loss, end = problem(data, layers, seed)
    whole = rf.integrate(rows, net, until=end, rtol=1e-11, loss=loss, on_branch="active")
    slides = [e.t for e in whole.events if e.kind == "slide"]
    cut = (slides[-1] + end) / 2.0
    first = rf.integrate(rows, net, until=cut, rtol=1e-11, loss=loss, on_branch="active")
    second = rf.integrate(rows, first, until=end, rtol=1e-11, loss=loss, on_branch="active")
    assert [(e.unit, e.sample, e.kind) for e in (*first.events, *second.events)] == [
        (e.unit, e.sample, e.kind) for e in whole.events
    ]
    assert np.abs(second.final.theta - whole.final.theta).max() < 1e-8 * np.abs(whole.final.theta).max()


def test_the_kinds_of_data_hold_what_they_are_named_after() -> None:
    for draw in DATA.values():
        X, y = draw(np.random.default_rng(0))
        assert len(X) == len(y)
        assert np.any(np.asarray(X) != 0, axis=1).all()


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_a_run_with_decay_comes_to_rest_at_the_critical_point_of_two_layers(loss: str) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((8, 3)), rng.choice([-1.0, 1.0], 8)
    net = rf.Network.init(5, 3, scale=0.4, seed=1)
    deep = rf.DeepNetwork([rf.Dense(5), rf.Dense(1)], np.concatenate((net.W.ravel(), net.a)), dim=3)
    until = rf.Stop(time=1e4, seconds=60.0)
    rested = rf.integrate((X, y), deep, until=until, loss=loss, weight_decay=0.1)
    assert (rested.status, rested.t_end, rested.message) == ("reached_time", 1e4, "nothing moves any more")
    two = rf.integrate(rf.Dataset(X, y), net, until=until, loss=loss, weight_decay=0.1)
    theta = np.concatenate((two.final.W.ravel(), two.final.a))
    assert np.abs(rested.final.theta - theta).max() < 1e-8
