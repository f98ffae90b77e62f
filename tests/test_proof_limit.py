"""Proofs that a KKT point lies where a limit says: against closed forms, exact Newton steps, and wrong limits."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import reluflow as rf
from reluflow.proof._limit import _System
from reluflow.proof._rational import NotProvedError, projected
from reluflow.proof._repeats import Repeats


def run(seed: int, leak: float = 0.0, width: int = 12, n: int = 12, d: int = 4) -> rf.Solution:
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.normal(size=(n, d)), rng.permutation(np.repeat([-1, 1], n // 2)))
    net = rf.Network.init(width, d, scale=0.1, seed=seed, leak=leak)
    return rf.integrate(data, net, until=rf.Stop(limit=True))


def solved(matrix: list[list[Fraction]], right: list[Fraction]) -> list[Fraction]:
    """Solve a linear system by elimination, exactly."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    for c in range(len(rows)):
        pivot = max(range(c, len(rows)), key=lambda r: abs(rows[r][c]))
        rows[c], rows[pivot] = rows[pivot], rows[c]
        rows[c] = [value / rows[c][c] for value in rows[c]]
        for r in range(len(rows)):
            if r != c:
                rows[r] = [p - rows[r][c] * q for p, q in zip(rows[r], rows[c], strict=True)]
    return [row[-1] for row in rows]


def exact_point(sol: rf.Solution) -> tuple[list[Fraction], Fraction]:
    """Return the multipliers and the margin of the KKT point near a limit where nothing slides, to 60 digits.

    Unknowns are the multipliers and, for each sign and pattern, the square of |w|: w = ρ u, a = ±ρ.
    """
    limit, data = sol.limit, sol.data
    assert not len(limit.held)
    net = limit.network
    X = [[Fraction(v) for v in row] for row in data.X.tolist()]
    support = np.flatnonzero(limit.duals).tolist()
    groups: dict[tuple[float, ...], Fraction] = {}
    for w, a in zip(net.W, net.a, strict=True):
        if np.linalg.norm(w) > 1e-9:
            key = (np.sign(a), *np.where(data.X @ w > 0, 1.0, sol.leak)[support].tolist())
            groups[key] = groups.get(key, Fraction(0)) + Fraction(float(np.linalg.norm(w) * abs(a) / limit.margin))
    k, d = len(support), len(X[0])
    rows = [
        [[Fraction(float(data.y[i])) * Fraction(key[0]) * Fraction(key[1 + p]) * X[i][c] for c in range(d)]
         for p, i in enumerate(support)]
        for key in groups
    ]  # fmt: skip
    dual = [Fraction(abs(v)) for v in limit.duals[support].tolist()]
    mass = list(groups.values())
    for _ in range(4):
        u = [[sum(D[p][c] * dual[p] for p in range(k)) for c in range(d)] for D in rows]
        effect = [[sum(D[p][c] * v[c] for c in range(d)) for p in range(k)] for D, v in zip(rows, u, strict=True)]
        gram = [
            [
                sum(A * sum(D[p][c] * D[q][c] for c in range(d)) for A, D in zip(mass, rows, strict=True))
                for q in range(k)
            ]
            for p in range(k)
        ]
        first = [1 - sum(A * e[p] for A, e in zip(mass, effect, strict=True)) for p in range(k)]
        second = [(1 - sum(v * v for v in one)) / 2 for one in u]
        matrix = [gram[p] + [e[p] for e in effect] for p in range(k)]
        matrix += [[*e, *([Fraction(0)] * len(mass))] for e in effect]
        step = solved(matrix, first + second)
        rounded = [Fraction(round(v * 2**300), 2**300) for v in step]
        dual = [v + s for v, s in zip(dual, rounded[:k], strict=True)]
        mass = [v + s for v, s in zip(mass, rounded[k:], strict=True)]
    assert max(map(abs, step)) < Fraction(1, 10**40)
    return dual, 1 / (2 * sum(dual))


def test_the_limit_of_two_obtuse_samples_is_enclosed() -> None:
    # Neurons of either sign see one sample alone: λ_i = 1/|x_i|, and the margin is 1/(2 Σ 1/|x_i|).
    data = rf.Dataset([[2.0, 0.0], [-0.3, 0.4]], [1, -1])
    sol = rf.integrate(data, rf.Network.init(8, 2, scale=0.01, seed=0), until=rf.Stop(limit=True))
    proved = rf.prove_limit(sol)
    assert proved
    assert proved.margin_lo <= 1.0 / (2.0 * (0.5 + 2.0)) <= proved.margin_hi
    assert np.abs(proved.duals - [0.5, -2.0]).max() <= proved.dual_radius < 1e-14
    assert "directions within" in repr(proved)


@pytest.mark.parametrize("seed", [1, 4, 11, 20])
def test_exact_newton_steps_end_inside_the_enclosure(seed: int) -> None:
    sol = run(seed, leak=0.3, n=6, d=8)
    proved = rf.prove_limit(sol)
    assert proved, proved.reason
    dual, margin = exact_point(sol)
    assert Fraction(proved.margin_lo) <= margin <= Fraction(proved.margin_hi)
    assert proved.margin_hi - proved.margin_lo < 1e-10 * proved.margin_hi
    found = [Fraction(abs(v)) for v in proved.duals[np.flatnonzero(sol.limit.duals)].tolist()]
    radius = Fraction(proved.dual_radius)
    assert all(abs(one - other) <= radius for one, other in zip(dual, found, strict=True))


def test_limits_that_slide_are_proved() -> None:
    slid = 0
    for seed in range(8):
        sol = run(seed, n=8)
        if sol.limit.kind != "direction" or sol.limit.freedom or sol.limit.margin < 1e-6:
            continue
        proved = rf.prove_limit(sol)
        assert proved, proved.reason
        assert proved.margin_lo <= sol.limit.margin * (1 + 1e-13)
        assert sol.limit.margin * (1 - 1e-13) <= proved.margin_hi
        slid += bool(len(sol.limit.held))
    assert slid >= 2


def test_limits_that_slide_on_parallel_samples_are_proved_or_refused() -> None:
    # Copies of twice the size share boundaries with the samples, have larger margins, and leave the limit as it is.
    for seed in (1, 2, 3):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(5, 3)), rng.choice([-1.0, 1.0], 5)
        data = rf.Dataset(np.vstack((X, 2 * X)), np.r_[y, y])
        sol = rf.integrate(data, rf.Network.init(10, 3, scale=0.1, seed=seed), until=rf.Stop(limit=True))
        assert any({i, i + 5} <= set(sol.limit.held[:, 1].tolist()) for i in range(5))
        proved = rf.prove_limit(sol)
        assert proved, proved.reason
        assert proved.margin_lo <= sol.limit.margin * (1 + 1e-13)
        assert sol.limit.margin * (1 - 1e-13) <= proved.margin_hi
    # Boundaries of Boolean data that are different, and dependent: no multipliers are certain.
    cube = np.array([[x, y, z] for x in (0.0, 1.0) for y in (0.0, 1.0) for z in (0.0, 1.0)])[1:]
    with pytest.raises(NotProvedError, match="dependent"):
        projected([Fraction(1)] * 3, [[Fraction(v) for v in row] for row in cube[:3].tolist()])


def system(sol: rf.Solution, limit: rf.limits.Limit) -> _System:
    return _System(np.asarray(sol.data.X), np.asarray(sol.data.y, float), float(sol.leak), limit)


def test_wrong_limits_are_not_proved() -> None:
    sol = run(4, leak=0.3, n=6, d=8)
    limit = sol.limit
    assert system(sol, limit).proved()
    far = replace(limit, duals=limit.duals * 1.1)
    with pytest.raises(NotProvedError, match="residual"):
        system(sol, far).proved()
    # A little off: what is enclosed is the true point.
    near = system(sol, replace(limit, duals=limit.duals * (1 + 1e-9))).proved()
    true = rf.prove_limit(sol)
    assert near.margin_lo <= true.margin_lo
    assert true.margin_hi <= near.margin_hi
    i = int(limit.support[0])
    fewer = limit.duals.copy()
    fewer[i] = 0.0
    with pytest.raises(NotProvedError):
        system(sol, replace(limit, duals=fewer)).proved()
    # The neurons of one group on the wrong side of a sample.
    W = limit.network.W.copy()
    j = int(np.argmax(np.linalg.norm(W, axis=1)))
    x = sol.data.X[int(np.argmin(np.abs(sol.data.X @ W[j])))]
    W[j] -= 2.0 * (W[j] @ x) * x / (x @ x)
    with pytest.raises(NotProvedError):
        system(sol, replace(limit, network=rf.Network(W, limit.network.a, leak=0.3))).proved()


@pytest.mark.parametrize("heights", [[1.0, 0.0, -1.0], [2.0, 1.0, -1.0, -2.0], [3.0, 1.0, 0.0, -1.0, -2.0]])
def test_a_continuum_of_multipliers_is_named(heights: list[float]) -> None:
    """Samples (1, h) that one group holds at margin 1 by v = (1, 0): of their l only Σ l and Σ l h are given."""
    data = rf.Dataset([[1.0, h] for h in heights], [1] * len(heights))
    sol = rf.integrate(data, rf.Network([[0.5, 0.01], [0.4, -0.01]], [0.6, 0.5]), until=rf.Stop(limit=True))
    assert sol.limit.freedom == 0  # the network is one, up to the split
    assert len(sol.limit.support) == len(heights)
    found = rf.prove_limit(sol)
    assert not found
    assert f"the multipliers are not unique as far as doubles tell ({len(heights) - 2} free" in found.reason


def test_a_continuum_of_multipliers_is_named_wherever_the_run_has_come_on_it() -> None:
    """x = 1 and -2 give a neuron w > 0 with leak 1/2 the margins w and w: l_1 + l_2 = 1 is all that is asked."""
    data = rf.Dataset([[2.0], [-2.0], [-3.0], [1.0]], [1, -1, -1, 1])
    for seed in (0, 1, 6):
        sol = rf.integrate(data, rf.Network.init(4, 1, scale=0.1, seed=seed, leak=0.5), until=rf.Stop(limit=True))
        assert "the multipliers are not unique" in rf.prove_limit(sol).reason
    # So far off that the residual is what the proof ends at.
    duals = np.array([0.0, -0.5, 0.0, 0.9])
    with pytest.raises(NotProvedError, match="the multipliers are not unique"):
        system(sol, replace(sol.limit, duals=duals)).proved()


def test_a_continuum_of_masses_is_named() -> None:
    """Two groups with the same rows on the support: of their masses only A + A' is given."""
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, 1])
    sol = rf.integrate(data, rf.Network([[0.5, 0.4]], [0.7]), until=rf.Stop(limit=True))
    one = system(sol, sol.limit)
    one.D, one.mass = np.concatenate((one.D, one.D)), np.concatenate((one.mass, one.mass))
    assert "the masses of groups are not unique as far as doubles tell (1 free" in one._continuum()


def test_what_is_no_isolated_direction_is_refused() -> None:
    data = rf.Dataset([[1.0], [1.0]], [1, -1])
    sol = rf.integrate(data, rf.Network.init(3, 1, scale=0.1, seed=0), until=rf.Stop(limit=True))
    with pytest.raises(ValueError, match="have a limit direction, found a limit of kind 'finite'"):
        rf.prove_limit(sol)
    with pytest.raises(ValueError, match="sol must be"):
        rf.prove_limit(data)


@pytest.mark.parametrize(("seed", "leak"), [(0, 0.0), (1, 0.1), (2, 0.0), (5, 0.1)])
def test_limits_are_proved_where_rows_repeat(seed: int, leak: float) -> None:
    """Of each row and label one is looked at: of repeats on the support the equations are singular."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(5, 3)), rng.choice([-1, 1], 5)
    numbers = np.array([0, 3, 1, 2, 3, 0, 4, 0])
    net = rf.Network.init(8, 3, scale=0.1, seed=seed, leak=leak)
    sol = rf.integrate(rf.Dataset(X[numbers], y[numbers]), net, until=rf.Stop(limit=True))
    once = rf.Dataset(X, y, weights=np.bincount(numbers))
    proved, of_once = rf.prove_limit(sol), rf.prove_limit(rf.integrate(once, net, until=rf.Stop(limit=True)))
    assert proved, proved
    assert of_once
    assert proved.margin_lo <= of_once.margin_hi
    assert of_once.margin_lo <= proved.margin_hi
    radius = proved.dual_radius + of_once.dual_radius + 1e-15
    assert np.abs(np.bincount(numbers, weights=proved.duals) - of_once.duals).max() <= radius
    np.testing.assert_allclose(proved.duals, sol.limit.duals, rtol=1e-9, atol=1e-12)


def test_a_label_that_contradicts_its_repeat_is_no_repeat() -> None:
    sol = run(0)
    X, y = np.array(sol.data.X), np.array(sol.data.y)
    repeats = Repeats.of(np.vstack((X, X[:2], X[:1])), np.r_[y, y[0], -y[1], y[0]])
    assert repeats.first.tolist() == [*range(len(y)), len(y) + 1]
    assert repeats.place.tolist() == [*range(len(y)), 0, len(y), 0]
