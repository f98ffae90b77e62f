"""The slow twin itself: against the trusted trajectories, and its rules against closed forms."""

from __future__ import annotations

import numpy as np
import pytest

import cases
import compare
import twin
from twin_rules import Problem, cells, continuations, hull_gap, independent

# The twin knows plain time only: it follows the long case up to its first checkpoint.
LONGEST = 1e5


@pytest.mark.parametrize("name", [n for n in cases.names() if cases.load(n).end == "completed"])
def test_the_twin_follows_the_trusted_trajectory(name):
    case = cases.load(name)
    points = [p for p in case.checkpoints if p["t"] is not None and p["t"] < LONGEST]
    times = [p["t"] for p in points]
    options = {"leak": case.leak, "loss": case.loss, "reduction": case.reduction}
    slow = twin.integrate(case.X, case.y, case.W, case.a, times[-1], save_at=times, **options)
    found = [compare.Event(*e) for e in slow.events]
    compare.assert_same_events(case.events, found, case.pattern, rtol=1e-11)
    assert slow.t == times
    for k, p in enumerate(points):
        compare.assert_same_state(slow.W[k], slow.a[k], p["W"], p["a"], 1e-11, f"of {name} at t = {p['t']!r}")
        assert slow.log_loss[k] == pytest.approx(p["log_loss"], abs=1e-11)


def test_the_twin_stops_on_a_ridge_with_every_option():
    case = cases.load("branch_ridge_start_321")
    slow = twin.integrate(case.X, case.y, case.W, case.a, 1.0)
    assert slow.status == "branch"
    assert sorted(way[0] for way in slow.branch["options"]) == [-1, 0, 1]


def one_boundary(a: float, r_other: float) -> list[int]:
    """Signs of the continuations on boundary x₀ = e₁ (λ₀ = 1) with another sample pulling by r_other along it."""
    problem = Problem(np.array([[1.0, 0.0], [1.0, 1.0]]), np.array([1.0, 1.0]))
    lam = np.array([1.0, r_other])
    return [way.signs[0] for way in continuations(problem, lam, np.array([0, 1]), [0], a)]


def test_one_boundary_is_crossed_held_or_a_ridge():
    assert one_boundary(1.0, 0.5) == [1]  # both rates up
    assert one_boundary(1.0, -2.0) == [-1]  # both down
    assert one_boundary(-1.0, -0.5) == [0]  # r₋ up, r₊ down: a valley
    assert one_boundary(1.0, -0.5) == [-1, 0, 1]  # r₋ down, r₊ up: a ridge


def test_parallel_samples_are_one_boundary():
    problem = Problem(np.array([[1.0, 2.0], [-0.5, -1.0], [1.0, 0.0], [3.0, 6.0]]), np.ones(4))
    assert problem.boundary_of.tolist() == [0, 0, 1, 0]
    assert problem.sample_signs(0, 1) == {0: 1, 1: -1, 3: 1}


def test_cells_of_three_lines_in_the_plane_are_six():
    angles = np.array([0.0, 1.0, 2.0])
    found = cells(np.c_[np.cos(angles), np.sin(angles)])
    assert len(found) == 6
    assert {tuple(-c) for c in found} == {tuple(c) for c in found}


def test_three_lines_in_the_plane_are_dependent_and_their_hull_is_a_hexagon():
    problem = Problem(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), -np.ones(3))
    lam = -np.ones(3)
    assert not independent(problem.normals)
    # Gradients of the cells: minus the sums of the active rows; their hull is the zonotope 0 .. -(2, 2).
    assert hull_gap(problem, lam, [0, 1, 2], np.array([1.0, 1.0])) > 0.0
    assert hull_gap(problem, lam, [0, 1, 2], np.array([3.0, 0.0])) < 0.0
