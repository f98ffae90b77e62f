"""Neurons that grow together with several outputs, and what is left of their differences."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow.flow import Stop
from reluflow.flow._progress import listeners
from reluflow.saddles import _several_orbit
from reluflow.saddles._differences import Entry, Row, of_cluster, turned
from reluflow.saddles._differences_carried import carried
from reluflow.saddles._several import flow_of_outputs
from reluflow.saddles._several_flow import run_of_units
from reluflow.saddles._units import units_of
from reluflow.saddles._watch import Watch
from test_saddles_outputs import Pair, full_flow, gaussian, half_times, loss_along, rotation

RNG = np.random.default_rng
# Rows of a Hadamard matrix: the first one is positive, and neurons that see all samples turn to it.
SIDES = np.array([[1, 1, 1, 1], [1, -1, 1, -1], [1, 1, -1, -1], [1, -1, -1, 1]]) / 2.0


def of_singular_values(
    seed: int, m: int, sizes: tuple[float, ...] = (2.0, 0.5), K: int = 2
) -> tuple[Pair, np.ndarray, np.ndarray]:
    """Orthonormal inputs that all neurons see, and targets with these singular values."""
    rng, Q = RNG(seed), rotation(4, seed)
    U = np.linalg.qr(rng.standard_normal((K, K)))[0]
    Y = sum(size * np.outer(SIDES[k], U[:, k]) for k, size in enumerate(sizes))
    return (Q, Y), rng.uniform(0.5, 1.0, (m, 4)) @ Q, U[:, 0] + 0.4 * rng.standard_normal((m, K))


# With 5 neurons legs of these ended on rounding at the next saddle, some with each linear algebra library.
@pytest.mark.parametrize(("seed", "m"), [(0, 2), (1, 3), *((seed, 5) for seed in (2, 4, 13, 17, 20, 24, 25, 27))])
def test_a_cluster_parts_when_its_differences_have_grown_along_the_second_singular_pair(seed, m):
    path = rf.saddle_to_saddle(*of_singular_values(seed, m))
    assert path.times == pytest.approx([0.0, 1 / 2, 1 / 0.5], rel=1e-10)
    assert path.losses == pytest.approx([0.5 * (4 + 0.25), 0.5 * 0.25, 0.0], abs=1e-12)
    assert (path.status, path.message) == ("ended", "every sample is fitted")
    assert [part.tolist() for stage in path.stages for part in stage.wakes] == [list(range(m))] * 2
    middle = path.stages[1]
    assert middle.rate == pytest.approx(np.full(m, 0.5), rel=1e-10)
    assert middle.power == pytest.approx(np.full(m, -1 + 0.5 / 2), rel=1e-10)  # ε^(1 - σ_2/σ_1)
    assert middle.index == 1
    assert "which have grown together, part" in middle.notes[-1]
    # Differences of 1e-4 and 1e-8 are above the rounding of what they are differences of.
    for scale, bound in ((1e-4, 1e-3), (1e-8, 1e-6)):
        off, plateau = half_times(path, scale)
        assert np.abs(off).max() < bound
        assert np.abs(plateau).max() < bound


@pytest.mark.parametrize("seed", [2, 4, 13, 17, 20, 24, 25, 27, 32])
def test_an_orbit_ends_where_samples_are_fitted_to_their_rounding(seed, monkeypatch: pytest.MonkeyPatch):
    # On these inputs what slides is at a bound of its multiplier: at the end rounding had it leave and come back until
    # no continuation was valid to the last bit, of half of these seeds with one linear algebra library or another. Legs
    # that cannot go on are taken again for other reasons, and would hide it.
    monkeypatch.setattr(_several_orbit, "_MAX_TAKEN_BACK", 0)
    path = rf.saddle_to_saddle(*of_singular_values(seed, 5))
    assert (path.status, path.message) == ("ended", "every sample is fitted")
    assert path.times == pytest.approx([0.0, 1 / 2, 1 / 0.5], rel=1e-10)
    assert sum(len(leg.branchings) for stage in path.stages for leg in stage.legs) == 0


def test_permutations_and_rotations_change_nothing():
    (X, Y), rows, heads = of_singular_values(3, 4)
    path = rf.saddle_to_saddle((X, Y), rows, heads)
    samples, neurons = RNG(0).permutation(4), RNG(1).permutation(4)
    Q, R = rotation(4, 9), rotation(2, 10)
    moved = rf.saddle_to_saddle((X[samples] @ Q, Y[samples] @ R), rows[neurons] @ Q, heads[neurons] @ R)
    assert moved.times == pytest.approx(path.times, rel=1e-10)
    for one, two in zip(path.stages, moved.stages, strict=True):
        assert two.offset == pytest.approx(one.offset, abs=1e-6, nan_ok=True)
        assert pytest.approx(one.network.W[neurons], abs=1e-6) == two.network.W @ Q.T


def test_neurons_that_are_alike_never_part():
    (X, Y), rows, heads = of_singular_values(0, 1)
    path = rf.saddle_to_saddle((X, Y), np.repeat(rows, 3, axis=0), np.repeat(heads, 3, axis=0))
    assert (path.status, path.message) == ("ended", "no infinitesimal neuron grows any more")
    assert path.losses == pytest.approx([2.125, 0.125], abs=1e-12)
    assert path.stages[-1].kind == "saddle"


def test_differences_that_rounding_would_hide_end_the_path():
    # Of four neurons two directions leave, and two differences are left, of which one grows at 0.2. Followed without
    # them the path came to a loss of zero: the flow rests at 0.02.
    path = rf.saddle_to_saddle(*of_singular_values(0, 4, (2.0, 0.5, 0.2), K=3))
    assert path.times == pytest.approx([0.0, 0.5], rel=1e-10)
    assert path.status == "undecided"
    assert "neurons 0, 1, 2, 3, which have grown together in one sector, part into two directions" in path.message
    sol, _ = full_flow(path, 1e-8, 60.0)
    assert loss_along(sol, 60.0) == pytest.approx(0.02, abs=1e-7)


def test_a_neuron_that_stays_behind_where_others_have_grown_is_not_sent_by_rounding():
    # It has turned to the direction of neuron 2, which leaves first and takes all that pulls there. Where it went from
    # there depended on `rtol`.
    data, rows, heads = gaussian(3, m=5)
    paths = [rf.saddle_to_saddle(data, rows, heads, rtol=rtol) for rtol in (1e-9, 1e-11, 1e-13)]
    for path in paths:
        assert path.times == pytest.approx(paths[0].times, rel=1e-9)
        assert path.status == "undecided"
        assert "infinitesimal neuron 3" in path.message
        assert "it points along neurons that have grown in its sector" in path.message


def test_what_slides_at_the_bound_of_its_multiplier_leaves_beside_the_boundary():
    # Rounding had it leave and come back until the run was undecided: "events follow each other without time".
    rng = RNG(41)
    n, d, K, m = rng.integers(3, 9), rng.integers(2, 5), rng.integers(2, 4), rng.integers(2, 8)
    data = rng.standard_normal((n, d)), rng.standard_normal((n, K))
    path = rf.saddle_to_saddle(data, rng.standard_normal((m, d)), rng.standard_normal((m, K)))
    assert "events follow each other" not in path.message
    assert path.status in ("ended", "undecided")


@pytest.mark.parametrize("rtol", [1e-11, 1e-13])
def test_differences_of_a_cluster_at_the_bound_of_a_multiplier_end_the_path(rtol):
    # With its members on the boundary or beside it they grow at different rates, and rounding chose.
    rng = RNG(43)
    n, d, K, m = rng.integers(3, 8), rng.integers(2, 5), rng.integers(2, 4), rng.integers(2, 8)
    data = rng.standard_normal((n, d)), rng.standard_normal((n, K))
    path = rf.saddle_to_saddle(data, rng.standard_normal((m, d)), rng.standard_normal((m, K)), rtol=rtol)
    assert (path.status, len(path.stages)) == ("undecided", 2)
    assert "neurons 0, 1 have grown together in one sector" in path.message


def test_rows_of_any_size_are_turned():
    rng = RNG(1)
    M = rng.standard_normal((2, 3))
    rows = [Row(np.eye(3)[k], rng.standard_normal(5), power, 0.0) for k, power in enumerate((-0.5, -0.5, -0.9))]
    near = turned(rows, M, 4.0)
    far = turned([Row(row.mix, row.y, row.power, 900.0) for row in rows], M, 4.0)
    for one, two in zip(near, far, strict=True):
        assert (one.rate, one.power, one.log_size + 900.0) == pytest.approx((two.rate, two.power, two.log_size))


@pytest.mark.parametrize(("seed", "n", "m", "K"), [(1009, 4, 3, 3), (1012, 4, 5, 2)])
def test_clusters_with_targets_in_general_position_part_when_full_flows_do(seed, n, m, K):
    rng = RNG(seed)
    rng.integers(2, 6), rng.integers(2, 4), rng.integers(2, 4), rng.integers(2, 6)
    data = rng.standard_normal((n, 2)), rng.standard_normal((n, K))
    path = rf.saddle_to_saddle(data, rng.standard_normal((m, 2)), rng.standard_normal((m, K)))
    assert path.status == "ended"
    assert any("part" in note for stage in path.stages for note in stage.notes)
    scale = 1e-10 if seed == 1012 else 1e-11
    assert path.predict(scale).separated.all()
    off, _ = half_times(path, scale)
    assert np.abs(off).max() < 2e-2


def test_events_of_a_cluster_on_its_way_turn_its_differences():
    """The differences of a pair of neurons, 1e-6 apart, in a run of both, with events of the cluster on the way."""
    seen = 0
    for seed in range(12):
        data, rows, heads = gaussian(seed, m=1)
        flow, w, a = flow_of_outputs(data, rows, heads, ("squared", "sum", 0.0, 1e-12), Watch(listeners(False, None)))
        start = rf.integrate(data, rf.Network(0.5 * w, 0.5 * a), until=Stop(steps=1), loss="squared")
        unit = units_of(start.layered._end, 3, 2)[0]
        alone = run_of_units(flow.pair, [unit], Stop(time=2.0), ("squared", "sum"), 0.0, 1e-12)
        if not len(alone.events) or (unit.sides == 0).any():  # a pair that slides has no free differences
            continue
        seen += 1
        y = RNG(seed).standard_normal(5)
        half, d = np.sqrt(0.5), 1e-6
        pair = [unit.at(half * (unit.w + s * d * y[:3]), half * (unit.a + s * d * y[3:])) for s in (1, -1)]
        both = run_of_units(flow.pair, pair, Stop(time=2.0), ("squared", "sum"), 0.0, 1e-13)
        found = carried(flow, [Row(np.array([half, -half]), y, -1.0, 0.0)], alone, 0, unit.sides)[0]
        apart = np.concatenate((both.final.W[0] - both.final.W[1], both.final.a[0] - both.final.a[1])) * half / d
        assert np.exp(found.log_size) * found.y == pytest.approx(apart, abs=1e-4 * np.linalg.norm(apart))
    assert seen >= 4


def test_rows_of_a_cluster_take_the_singular_pairs_in_their_order():
    rng = RNG(0)
    left, right = np.linalg.qr(rng.standard_normal((3, 3)))[0], np.linalg.qr(rng.standard_normal((4, 4)))[0]
    M = left @ np.diag([3.0, 1.0, 0.2]) @ right[:3]
    entries = [Entry(rng.standard_normal(7), 0.1 * k, 0.3 * k) for k in range(3)]
    found = of_cluster(entries, M, 4.2, -1.0)
    assert [row.rate for row in found] == pytest.approx([3.0, 1.0, 0.2])
    # The QR decomposition of the parts along the pairs, at one time.
    pairs = np.hstack((right[:3], left.T))
    parts = np.array([0.5 * pairs @ one.y * np.exp(one.log_size - np.array([3, 1, 0.2]) * one.time) for one in entries])
    R = np.linalg.qr(parts)[1]
    assert [row.log_size for row in found] == pytest.approx(np.log(np.abs(np.diag(R))), abs=1e-10)
    mixes = np.array([row.mix for row in found])
    assert mixes @ mixes.T == pytest.approx(np.eye(3), abs=1e-12)
    # At another saddle the larger one takes the first pair, and the smaller one what is left.
    small = Row(found[2].mix, rng.standard_normal(7), -0.9, 0.0)
    large = Row(found[1].mix, rng.standard_normal(7), -0.5, 0.0)
    first, second = turned([small, large], M, 4.2)
    assert (first.power, first.rate, second.power, second.rate) == pytest.approx((-0.5, 3.0, -0.9, 1.0))
    c = np.array([0.5 * pairs @ large.y, 0.5 * pairs @ small.y])
    assert second.log_size == pytest.approx(np.log(abs(c[1, 1] - c[1, 0] / c[0, 0] * c[0, 1])), abs=1e-10)
