"""Directions, planes, sectors of the plane, and the rectified ellipsoid."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
import runs
from reluflow import analysis


def test_directions_in_the_plane_are_unit_vectors():
    run = analysis.sample(runs.planar(), 10)
    found = analysis.directions(run)
    np.testing.assert_allclose(np.linalg.norm(found.coords, axis=2), 1.0, rtol=1e-13)
    np.testing.assert_allclose(found.coords * found.size[:, :, None], run.W, rtol=1e-13)
    assert found.explained == pytest.approx(1.0)


def test_the_default_basis_of_many_inputs_explains_most():
    run = analysis.ends(runs.iris())
    found = analysis.directions(run)
    np.testing.assert_allclose(found.basis @ found.basis.T, np.eye(2), atol=1e-12)
    random = np.linalg.qr(np.random.default_rng(0).standard_normal((5, 2)))[0].T
    assert found.explained > analysis.directions(run, basis=random).explained
    assert (np.linalg.norm(found.coords, axis=2) <= 1 + 1e-12).all()


def test_data_of_one_input_are_shown_on_an_axis():
    run = analysis.state_of(rf.Dataset([[1.0]], [1]), rf.Network([[-3.0]], [1.0]))
    np.testing.assert_allclose(analysis.directions(run).coords, [[[-1.0, 0.0]]])
    np.testing.assert_allclose(analysis.directions(run, n_axes=3).coords, [[[-1.0, 0.0, 0.0]]])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"basis": [[1.0, 0.0], [1.0, 1.0]]}, "basis must have orthonormal rows"),
        ({"basis": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]}, "basis must have two or three rows of 2 entries"),
        ({"n_axes": 4}, "n_axes must be the integer 2 or 3"),
    ],
)
def test_a_bad_basis_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        analysis.directions(runs.planar(), **options)


def test_neurons_come_to_their_groups():
    run = analysis.sample(runs.planar(), 40)
    angles = analysis.angles_to_group(run)
    assert angles[0].max() > 0.5
    assert angles[-1].max() < 5e-3


def test_a_neuron_without_a_direction_has_no_angle_to_its_group():
    start = rf.Network.init(4, 2, scale=1e-2, seed=1)
    sol = rf.integrate(rf.datasets.wang_pilanci("obtuse"), start, until=1e4, weight_decay=1.0)
    assert np.isnan(analysis.angles_to_group(sol, [0.0, 1.0, 1e4])).all()
    resting = rf.Network([[1.0, 0.0], [0.0, 0.0]], [1.0, 0.0])
    (angles,) = analysis.angles_to_group(analysis.state_of(sol.data, resting))
    np.testing.assert_array_equal(angles, [0.0, np.nan])


# --- the plane -------------------------------------------------------------------------------------------------------


def test_the_sectors_of_the_plane_are_the_signs_of_its_directions():
    rng = np.random.default_rng(3)
    data = rf.Dataset(rng.standard_normal((5, 2)), [1, 1, -1, -1, 1])
    found = analysis.plane_sectors(data)
    assert len(found.boundaries) == 10
    for angle in rng.uniform(0, 2 * np.pi, 200):
        k = (int(np.searchsorted(found.boundaries, angle, side="right")) - 1) % len(found.boundaries)
        signs = np.sign(data.X @ [np.cos(angle), np.sin(angle)])
        np.testing.assert_array_equal(found.pattern[k], signs)


def test_parallel_samples_share_their_boundaries_in_the_plane():
    data = rf.Dataset([[1.0, 1.0], [-2.0, -2.0], [0.0, 1.0]], [1, -1, 1])
    assert len(analysis.plane_sectors(data).boundaries) == 4


def test_the_sectors_of_the_plane_need_a_plane():
    with pytest.raises(ValueError, match="data must have two inputs"):
        analysis.plane_sectors(runs.iris().data)


@pytest.mark.parametrize("size", [5e-324, 1e-310, 1e-3])
def test_the_floor_of_the_weight_plane_is_above_zero_at_any_size(size):
    net = rf.Network([[size, 0.0]], [size])
    found = analysis.weight_plane(analysis.state_of(rf.datasets.wang_pilanci("obtuse"), net))
    assert 0 < found.floor <= size
    assert 1.0 <= found.radius[0, 0] < 2.0


def test_the_weight_plane_counts_decades():
    run = analysis.sample(runs.planar(), 20)
    found = analysis.weight_plane(run)
    size = np.linalg.norm(run.W, axis=2)
    np.testing.assert_allclose(found.floor * 10 ** (found.radius - 1), size, rtol=1e-12)
    assert found.radius.min() >= 1.0
    assert analysis.weight_plane(analysis.ends(runs.iris())).sectors is None


def test_the_decision_plane_holds_the_outputs_of_the_network():
    sol = runs.planar()
    found = analysis.decision_plane(sol.data, sol.final, n_grid=11, extent=2.0)
    assert found.u[0] == -2.0
    value = sol.final([[found.u[3], found.v[7]]])[0]
    assert found.values[7, 3] == pytest.approx(value, rel=1e-13)
    wide = analysis.decision_plane(runs.iris().data, runs.iris().final, n_grid=5)
    x = wide.u[1] * wide.basis[0] + wide.v[4] * wide.basis[1]
    assert wide.values[4, 1] == pytest.approx(runs.iris().final([x])[0], rel=1e-12)


def test_a_bias_keeps_its_value_on_the_decision_plane():
    moved = rf.Dataset(runs.planar().data.X + np.array([0.3, -0.2]), runs.planar().data.y, bias_input=0.5)
    net = rf.integrate(moved, rf.Network.init(6, 3, seed=2, scale=0.1), until=20.0).final
    found = analysis.decision_plane(moved, net, n_grid=5, extent=2.0)
    np.testing.assert_array_equal(found.basis, np.eye(2))
    np.testing.assert_array_equal(found.points, moved.X[:, :2])
    assert found.values[3, 1] == pytest.approx(net([[found.u[1], found.v[3]]])[0], rel=1e-13)
    assert abs(found.values[2, 2]) > 1e-3  # no homogeneous function: at the origin it is what the biases give
    wide = rf.Dataset(np.random.default_rng(0).standard_normal((9, 4)), [1, -1, 1, -1, 1, -1, 1, -1, 1], bias_input=1.0)
    net = rf.Network.init(6, 5, seed=2)
    assert analysis.decision_plane(wide, net, n_grid=3).basis.shape == (2, 4)
    with pytest.raises(ValueError, match=r"basis must have two rows, found the shape \(3, 4\)"):
        analysis.decision_plane(wide, net, basis=np.eye(4)[:3])


# --- the rectified ellipsoid -----------------------------------------------------------------------------------------


def test_the_polar_set_of_the_planar_example_is_a_box():
    data = rf.datasets.wang_pilanci("obtuse")
    found = analysis.rectified_ellipsoid(data)
    np.testing.assert_allclose(np.abs(found.polar).max(axis=0), [0.582875, 0.699557], atol=1e-6)
    on_edge = np.isclose(np.abs(found.polar), [0.582875, 0.699557], atol=1e-6).any(axis=1)
    assert on_edge.all()


def test_the_corner_example_has_a_polar_set_that_is_no_box():
    found = analysis.rectified_ellipsoid(rf.datasets.counterexample("corner"))
    size = np.abs(found.polar)
    diagonal = found.polar[np.argmax(found.polar.sum(axis=1))]
    np.testing.assert_allclose(size.max(axis=0), 1.0, atol=1e-9)
    assert diagonal.sum() == pytest.approx(np.sqrt(2.0), rel=1e-4)  # a quarter circle, not the corner (1, 1)


def test_spikes_are_extreme_points_on_the_outline():
    found = analysis.rectified_ellipsoid(rf.datasets.wang_pilanci("obtuse"))
    np.testing.assert_allclose(sorted(found.spikes.tolist()), [[0.0, 1.429475], [1.715634, 0.0]], atol=1e-6)


def test_no_point_of_the_rectified_ellipsoid_leaves_the_polar_of_its_polar():
    data = rf.datasets.wang_pilanci("spike_free")
    found = analysis.rectified_ellipsoid(data, n_points=720)
    products = np.abs(found.polar @ found.rectified.T)
    assert products.max() <= 1 + 1e-9
    assert products.max(axis=1) == pytest.approx(1.0, abs=0.01)


def test_paths_of_rectified_directions_end_on_spikes_or_at_zero():
    paths = analysis.rectified_paths(runs.planar(), [0.0, 1e4])[-1]
    ends = np.vstack((analysis.rectified_ellipsoid(runs.planar().data).spikes, [[0.0, 0.0]]))
    gaps = np.linalg.norm(paths[:, None] - ends[None], axis=2).min(axis=1)
    assert gaps.max() < 1e-3


def test_three_samples_have_no_plane_of_values():
    with pytest.raises(ValueError, match="data must have two samples of two inputs"):
        analysis.rectified_ellipsoid(rf.Dataset([[1.0], [2.0], [3.0]], [1, 1, 1]))
