"""G(w) and its extremal directions."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
import runs
from reluflow import analysis


def on_the_sphere(count, d, seed=0):
    rows = np.random.default_rng(seed).standard_normal((count, d))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


@pytest.mark.parametrize("seed", range(5))
def test_orthogonally_separable_data_have_one_extremal_direction_of_each_sign(seed):
    data = rf.datasets.orthogonally_separable(8, 3, seed=seed)
    found = analysis.extremal_directions(data)
    assert [e.sign for e in found] == [1, -1]
    for e in found:
        total = data.X[data.y == e.sign].sum(axis=0)
        np.testing.assert_allclose(e.direction, total / np.linalg.norm(total), atol=1e-10)
        assert e.value == pytest.approx(e.sign * 0.5 * np.linalg.norm(total))
        np.testing.assert_array_equal(e.sector, np.where(data.y == e.sign, 1, -1))


def test_the_spike_free_example_has_one_maximum_between_its_samples():
    (found,) = analysis.extremal_directions(rf.datasets.wang_pilanci("spike_free"))
    np.testing.assert_allclose(found.direction, [0.758751, 0.651381], atol=1e-6)
    assert found.value == pytest.approx(1.397033, abs=1e-6)


def test_an_extremal_direction_can_lie_on_a_boundary():
    found = analysis.extremal_directions(rf.datasets.counterexample("sliding"))
    (top,) = [e for e in found if e.sign == 1]
    np.testing.assert_allclose(top.direction, [1.0, 0.0], atol=1e-12)
    assert top.sector.tolist() == [1, 0]


def random_data(seed, n=7, d=3):
    rng = np.random.default_rng(seed)
    return rf.Dataset(rng.standard_normal((n, d)), np.where(rng.random(n) < 0.5, -1, 1))


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_each_direction_found_is_a_strict_local_extremum_and_the_best_is_among_them(seed, leak):
    data = random_data(seed)
    found = analysis.extremal_directions(data, leak=leak)
    cloud = analysis.early_objective(data, on_the_sphere(20_000, 3), leak=leak)
    for sign, best in ((1, cloud.max()), (-1, -cloud.min())):
        values = [sign * e.value for e in found if e.sign == sign]
        if best > 0:
            assert max(values) >= best
    for e in found:
        near = e.direction + 1e-4 * on_the_sphere(500, 3, seed=1)
        near /= np.linalg.norm(near, axis=1, keepdims=True)
        assert (e.sign * (analysis.early_objective(data, near, leak=leak) - e.value) < 0).all()


@pytest.mark.parametrize("seed", range(8))
def test_climbing_from_many_starts_finds_the_directions_of_the_full_search(seed):
    data = random_data(seed)
    starts = on_the_sphere(300, 3, seed=seed)
    signs = np.repeat([1.0, -1.0], 150)
    climbed, listed = analysis.extremal_from(data, starts, signs), analysis.extremal_directions(data)
    assert [e.sign for e in climbed] == [e.sign for e in listed]
    for one, two in zip(climbed, listed, strict=True):
        np.testing.assert_allclose(one.direction, two.direction, atol=1e-8)
        np.testing.assert_array_equal(one.sector, two.sector)


def where_euler_goes(data, w, sign, *, leak=0.0, step=2e-3, steps=8_000):
    lam = 0.5 * data.y
    w = w / np.linalg.norm(w)
    for _ in range(steps):
        w = w + step * sign * ((np.where(data.X @ w > 0, 1.0, leak) * lam) @ data.X)
        w /= np.linalg.norm(w)
    return w


def test_a_direction_whose_cell_pulls_it_to_zero_goes_on_across_its_boundary():
    data = rf.Dataset([[-3.0, 1.0], [2.0, -2.0]], [1, -1])
    (found,) = analysis.extremal_from(data, [[0.0, -3.0]], [1])
    np.testing.assert_allclose(found.direction, np.array([-3.0, 1.0]) / np.sqrt(10), atol=1e-12)
    np.testing.assert_allclose(where_euler_goes(data, np.array([0.0, -3.0]), 1), found.direction, atol=1e-3)


@pytest.mark.parametrize("seed", range(4))
def test_each_start_finds_the_direction_to_which_its_neuron_turns(seed):
    data = random_data(seed, n=12, d=4)
    for sign, start in zip((1, -1) * 3, on_the_sphere(6, 4, seed=seed), strict=True):
        found = analysis.extremal_from(data, start[None], [sign], leak=0.2)
        end = where_euler_goes(data, start, sign, leak=0.2)
        (one,) = found
        assert one.sign == sign
        np.testing.assert_allclose(one.direction, end, atol=5e-3)


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("leak", [0.0, 0.5])
def test_what_is_reached_on_whole_numbers_is_listed(seed, leak):
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (7, 4)) if seed % 2 else rng.integers(1, 4, (6, 3)) * rng.choice([-1.0, 1.0], (6, 3))
    data = rf.Dataset(X, rng.choice([-1.0, 1.0], len(X)))
    listed = analysis.extremal_directions(data, leak=leak)
    for one in analysis.extremal_from(data, on_the_sphere(40, data.d, seed), np.tile([1.0, -1.0], 20), leak=leak):
        apart = [np.linalg.norm(one.direction - e.direction) for e in listed if e.sign == one.sign]
        assert min(apart, default=np.inf) < 1e-7


@pytest.mark.parametrize("scale", [1.0, 1e-4, 3.7e3])
def test_samples_that_cancel_make_no_directions(scale):
    twice = scale * np.array([[0.3, 0.1], [0.3, 0.1]])
    assert analysis.extremal_directions(rf.Dataset(twice, [-1, 1]), leak=0.1) == []
    rng = np.random.default_rng(3)
    for _ in range(60):
        X = scale * rng.standard_normal((4, 3))
        X[1] = X[0]
        data = rf.Dataset(X, [1, -1, *rng.choice([-1.0, 1.0], 2)])
        assert all(e.sign * e.value > 1e-9 * scale for e in analysis.extremal_directions(data, leak=0.1))


def test_flipping_the_labels_swaps_maxima_and_minima():
    data = random_data(4)
    flipped = analysis.extremal_directions(rf.Dataset(data.X, -data.y))
    ours = analysis.extremal_directions(data)
    assert sorted((-e.sign, round(-e.value, 12)) for e in flipped) == sorted((e.sign, round(e.value, 12)) for e in ours)


def test_samples_on_one_boundary_are_crossed_together():
    half = np.array([[0.9, 0.1], [0.5, 0.6], [0.4, -0.3]])
    data = rf.Dataset(np.vstack((half, -half)), [1, 1, 1, -1, -1, -1])
    mu = half.sum(axis=0)
    found = analysis.extremal_from(data, on_the_sphere(40, 2), np.repeat([1.0, -1.0], 20), leak=0.5)
    assert [e.sign for e in found] == [1, -1]
    np.testing.assert_allclose(found[0].direction, mu / np.linalg.norm(mu), atol=1e-9)
    np.testing.assert_allclose(found[1].direction, -mu / np.linalg.norm(mu), atol=1e-9)


def test_small_neurons_of_a_run_end_the_early_phase_in_the_extremal_sectors():
    sol = runs.planar(seed=1, until=14.0, scale=1e-8)
    found = {e.sign: e for e in analysis.extremal_directions(sol.data)}
    run = analysis.ends(sol)
    alive = (run.pattern[-1] > 0).any(axis=1)
    assert alive.sum() == 8
    for j in np.flatnonzero(alive):
        e = found[int(run.signs[j])]
        np.testing.assert_array_equal(run.pattern[-1, j], e.sector)
        assert run.W[-1, j] @ e.direction > 0.9999 * np.linalg.norm(run.W[-1, j])


def test_the_mean_and_the_loss_scale_g():
    data, u = random_data(2), on_the_sphere(5, 3)
    plain = analysis.early_objective(data, u)
    np.testing.assert_allclose(analysis.early_objective(data, u, reduction="mean"), plain / data.n)
    np.testing.assert_allclose(analysis.early_objective(data, u, loss="exponential"), 2 * plain)


def test_too_many_cells_are_refused_with_the_number():
    with pytest.raises(ValueError, match="limit"):
        analysis.extremal_directions(random_data(0, n=40, d=6), limit=1000)
