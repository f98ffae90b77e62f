"""`early_alignment` with K outputs: closed forms, the case of one output, symmetry, the integrated flow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.saddles._neurons import at_start
from reluflow.saddles._rest import rest

RNG = np.random.default_rng
K = 3


def starts(m: int, seed: int, K: int = K) -> tuple[np.ndarray, np.ndarray]:
    rng = RNG(seed)
    return rng.standard_normal((m, 3)), rng.standard_normal((m, K))


def problem(seed: int, n: int = 8) -> tuple[np.ndarray, np.ndarray]:
    rng = RNG(seed)
    return rng.standard_normal((n, 3)), rng.standard_normal((n, K))


def test_neurons_turn_to_the_target_of_the_one_sample_they_see() -> None:
    X, Y = np.array([[3.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 4.0], [-1.0, 0.0]])
    found = rf.early_alignment(
        (X, Y), [[1.0, -0.5], [-1.0, 0.5], [-1.0, -1.0]], [[1.0, 0.1], [0, -1], [1, 1]], loss="squared"
    )
    assert found.status.tolist() == ["extremal", "extremal", "dead"]
    np.testing.assert_allclose(found.direction[:2], np.eye(2), atol=1e-12)
    np.testing.assert_allclose(found.output[:2], [[0.6, 0.8], [-1.0, 0.0]], atol=1e-12)
    np.testing.assert_allclose(found.rate, [15.0, 2.0, 0.0], rtol=1e-12)
    assert repr(found).startswith("OutputAlignment(3 neurons: 2 extremal, 1 dead;")


@pytest.mark.parametrize("leak", [0.0, 0.2])
@pytest.mark.parametrize("seed", [1, 2])
def test_targets_on_a_line_are_the_case_of_one_output(seed: int, leak: float) -> None:
    X, Y = problem(seed)
    line, signs = np.array([0.6, 0.0, -0.8]), np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    rows = starts(5, seed)[0]
    one = rf.early_alignment(rf.Dataset(X, Y[:, 0]), rows, signs, loss="squared", leak=leak)
    found = rf.early_alignment((X, np.outer(Y[:, 0], line)), rows, np.outer(signs, line), loss="squared", leak=leak)
    assert found.status.tolist() == np.where(one.status == "decaying", "undecided", one.status).tolist()
    assert [e[2:4] for e in found.events] == [e[2:4] for e in one.events]
    assert len(one.events) > 0
    assert found.events.t == pytest.approx(one.events.t, rel=1e-8)
    good = one.status == "extremal"
    np.testing.assert_allclose(found.direction[good], one.direction[good], atol=1e-9)
    np.testing.assert_allclose(found.output[good], np.outer(signs, line)[good], atol=1e-9)
    np.testing.assert_allclose(found.rate, np.where(good, one.rate, 0.0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.t_last, one.t_last, rtol=1e-8)


def test_two_classes_are_the_logistic_loss_faster_by_the_root_of_two() -> None:
    """Λ a = ½ (y, -y)·(1, -1)/√2 = y/√2, where one output has y/2."""
    X, rows = problem(3)[0], starts(4, 3)[0]
    y, signs = np.where(np.arange(8) % 3 == 0, 1.0, -1.0), np.array([1.0, -1.0, 1.0, -1.0])
    one = rf.early_alignment(rf.Dataset(X, y), rows, signs)
    found = rf.early_alignment((X, (y < 0).astype(int)), rows, np.outer(signs, [1.0, -1.0]), loss="cross_entropy")
    assert found.status.tolist() == one.status.tolist()
    assert found.events.t == pytest.approx(one.events.t / 2**0.5, rel=1e-8)
    np.testing.assert_allclose(found.rate, 2**0.5 * one.rate, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found.duals, np.outer(y, [0.5, -0.5]))


@pytest.mark.parametrize("seed", [4, 5])
def test_the_directions_that_are_reached_are_critical_points_of_the_response(seed: int) -> None:
    X, Y = problem(seed)
    found = rf.early_alignment((X, Y), *starts(12, seed), loss="squared")
    good = np.flatnonzero(found.status == "extremal")
    assert len(good) >= 6
    for j in good:
        u = found.direction[j]

        def response(v: np.ndarray) -> float:
            return float(np.linalg.norm(Y.T @ np.maximum(X @ (v / np.linalg.norm(v)), 0.0)))

        assert response(u) == pytest.approx(found.rate[j], rel=1e-9)
        np.testing.assert_allclose(found.output[j], Y.T @ np.maximum(X @ u, 0.0) / found.rate[j], atol=1e-6)
        rng = RNG(j)
        for _ in range(30):  # a local maximum
            assert response(u + 1e-4 * rng.standard_normal(3)) <= response(u) + 1e-12


def test_a_rotation_of_the_targets_rotates_the_outputs_and_nothing_else() -> None:
    X, Y = problem(6)
    turn = np.linalg.qr(RNG(6).standard_normal((K, K)))[0]
    rows, heads = starts(6, 6)
    one = rf.early_alignment((X, Y), rows, heads, loss="squared")
    other = rf.early_alignment((X, Y @ turn), rows, 7.0 * heads @ turn, loss="squared")
    assert one.status.tolist() == other.status.tolist()
    np.testing.assert_allclose(other.direction, one.direction, atol=1e-6)
    good = one.status == "extremal"
    np.testing.assert_allclose(other.output[good], one.output[good] @ turn, atol=1e-9)
    assert [e[2:4] for e in one.events] == [e[2:4] for e in other.events]


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_a_small_network_has_the_same_events(reduction: Any) -> None:
    X, classes, weights = problem(7)[0], np.arange(8) % K, np.linspace(0.5, 1.5, 8)
    rows, heads = starts(5, 7)
    found = rf.early_alignment((X, classes, weights), rows, heads, loss="cross_entropy", reduction=reduction)
    unit_w, unit_a = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (rows, heads))
    net = rf.Network(1e-9 * unit_w, 1e-9 * unit_a)
    last = float(found.events.t[-1])
    sol = rf.integrate((X, classes, weights), net, until=1.01 * last, loss="cross_entropy", reduction=reduction)
    assert [e[2:4] for e in sol.events] == [e[2:4] for e in found.events]
    assert sol.events.t == pytest.approx(found.events.t, rel=1e-4)
    assert (found.events.replay(found.pattern0) == found.sector).all()


def test_what_pulls_nowhere_rests_and_bad_input_is_named() -> None:
    X = np.array([[1.0, 0.5], [0.5, 1.0]])
    rest = rf.early_alignment((X, np.zeros((2, 2))), [[1.0, 1.0]], [[1.0, 0.0]], loss="squared")
    assert rest.status.tolist() == ["rest"]
    for signs, message in (
        ([1.0], r"signs must have the shape \(m, K\)"),
        ([[1.0, 2.0], [1.0, 2.0]], "signs must have 1 rows, a direction of a_j in R"),
        ([[0.0, 0.0]], "signs must have no row of zeros"),
    ):
        with pytest.raises(ValueError, match=message):
            rf.early_alignment((X, np.eye(2)), [[1.0, 1.0]], signs, loss="squared")
    with pytest.raises(ValueError, match="loss must be 'squared' or 'cross_entropy' for 2 outputs"):
        rf.early_alignment((X, np.eye(2)), [[1.0, 1.0]], [[1.0, 0.0]])  # type: ignore[call-overload]


def test_the_constant_of_the_size_with_one_sample_is_the_part_along_the_singular_pair() -> None:
    X, Y = np.array([[0.6, 0.8]]), np.array([[1.0, -2.0, 2.0]])
    w, a = np.array([[0.8, 0.6], [-0.6, 0.8]]), np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]])
    found = rf.early_alignment((X, Y), w, a, loss="squared")
    assert found.status.tolist() == ["extremal", "extremal"]
    along = 0.5 * (w @ X[0] + a @ Y[0] / 3.0)
    np.testing.assert_allclose(found.log_size, np.log(along), atol=1e-10)


@pytest.mark.parametrize("leak", [0.0, 0.2])
def test_the_constant_of_the_size_is_that_of_one_output_after_events(leak: float) -> None:
    """With one output it is explicit: `saddles._rest`."""
    X, Y = problem(2)
    line, signs = np.array([0.6, 0.0, -0.8]), np.array([1.0, -1.0, 1.0, -1.0, 1.0])
    rows = starts(5, 2)[0]
    one = rest(rf.Dataset(X, Y[:, 0]), at_start(rows, signs, leak), Y[:, 0])
    found = rf.early_alignment((X, np.outer(Y[:, 0], line)), rows, np.outer(signs, line), loss="squared", leak=leak)
    known = np.isin(one.status, ("extremal", "dead"))
    assert (one.status == "extremal").sum() >= 2
    assert len(one.events) > 0
    np.testing.assert_allclose(found.log_size[known], one.log_size[known], atol=1e-9)


@pytest.mark.parametrize("seed", [7, 8])
def test_the_sizes_of_a_flow_at_a_small_scale_are_those_of_the_constant(seed: int) -> None:
    X, Y = problem(seed)
    rows, heads = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in starts(6, seed))
    found = rf.early_alignment((X, Y), rows, heads, loss="squared")
    good, scale = np.flatnonzero(found.status == "extremal"), 1e-60
    assert len(good) >= 3
    compared = 0
    for j in good:
        net, t = rf.Network(scale * rows[j : j + 1], scale * heads[j : j + 1]), 100.0 / found.rate[j]
        if t < 3 * found.t_last[j]:
            continue
        end = rf.integrate((X, Y), net, loss="squared", until=rf.Stop(time=t)).final
        sizes = np.linalg.norm(end.W[0]), np.linalg.norm(end.a[0])
        expected = np.log(scale) + found.rate[j] * t + found.log_size[j]
        M = Y.T @ ((X @ found.direction[j] > 0)[:, None] * X)
        gap = 1 - np.linalg.svd(M)[1][1] / found.rate[j]
        assert np.log(sizes) == pytest.approx(expected, abs=1e-8 + 30 * np.exp(-100 * gap))
        compared += 30 * np.exp(-100 * gap) < 1e-6
    assert compared >= 2


def test_neurons_that_nothing_pulls_keep_their_size() -> None:
    X, Y = np.array([[1.0, 0.0]]), np.array([[0.0, 0.0]])
    still = rf.early_alignment((X, Y), [[2.0, 1.0], [-1.0, 1.0]], [[1.0, 0.0], [0.0, 3.0]], loss="squared")
    assert still.status.tolist() == ["rest", "dead"]
    assert still.log_size == pytest.approx([0.0, 0.0], abs=1e-15)
