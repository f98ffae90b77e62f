"""Saddle to saddle with several outputs: the case of one output, closed forms, full flows, symmetries, ends, files."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import brentq

import reluflow as rf
from reluflow import saddles
from reluflow.flow import Stop, TwoLayerSolution
from reluflow.layered._several import pair_of
from reluflow.saddles._passing import loss_along
from reluflow.saddles._several_flow import run_of_units
from reluflow.saddles._units import units_of

RNG = np.random.default_rng
Pair = tuple[np.ndarray, np.ndarray]
# Two samples, each seen by one neuron alone: each fits its target, at 1/(|x||y|) in units of log(1/ε).
X2, Y2 = np.array([[3.0, 0.0], [0.0, 2.0]]), np.array([[3.0, 4.0], [-1.0, 0.0]])
W2, A2 = np.array([[1.0, -0.5], [-1.0, 0.5]]), np.array([[1.0, 0.1], [0.1, -1.0]])

# One sample a class, as far from zero: both neurons leave at one time.
CLASSES = [[1.0, 0.0], [-1.0, 0.0]], ["left", "right"]
CLASS_STARTS = [[1.0, 0.2], [-1.0, 0.1]], [[1.0, -0.8], [-1.0, 0.9]]


def rotation(d: int, seed: int) -> np.ndarray:
    return np.linalg.qr(RNG(seed).standard_normal((d, d)))[0]


def gaussian(
    seed: int, m: int = 4, n: int = 6, K: int = 2
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
    rng = RNG(seed)
    data = rng.standard_normal((n, 3)), rng.standard_normal((n, K))
    return data, rng.standard_normal((m, 3)), rng.standard_normal((m, K))


def full_flow(path: saddles.SaddlePath, scale: float, time: float) -> TwoLayerSolution:
    """The flow from a small scale with each neuron accurate to a part of its own size: some are 1e-20 of others."""
    net = path.start(scale)
    begun = rf.integrate(path.data, net, until=Stop(steps=1), loss=path.loss, reduction=path.reduction, rtol=1e-13)
    pair, units = pair_of(path.data, net, path.loss), units_of(begun.layered._end, net.dim, net.n_outputs)
    run = run_of_units(pair, units, Stop(time=time), (path.loss, path.reduction), path.leak, 1e-12)
    assert run.success, run.message
    return run, begun.t_end


def half_times(path: saddles.SaddlePath, scale: float, jumps: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Times of half falls of a full flow less the predicted ones, and losses midway between them."""
    said = path.predict(scale)
    times = said.times[:jumps]
    sol, late = full_flow(path, scale, 1.2 * float(times[-1]) + 10.0)
    off = []
    for k, t in enumerate(times):
        half = 0.5 * (said.losses[k] + said.losses[k + 1])
        i = next(i for i, time in enumerate(sol.t) if loss_along(sol, time) < half)
        fell = brentq(lambda t, half=half: loss_along(sol, t) - half, sol.t[i - 1], sol.t[i], xtol=1e-13)
        off.append(fell + late - t)
    middles = 0.5 * (times[1:] + times[:-1])
    return np.array(off), np.array([loss_along(sol, t - late) for t in middles]) - said.losses[1 : len(times)]


def orthogonal_blocks(
    seed: int, turned: bool = True
) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray, np.ndarray]:
    """Neuron j sees the samples of block j alone, whose targets lie on a line: M = Σ y_i x_iᵀ over them has rank one.

    Its singular value is the norm of these targets, the last thing that is returned.
    """
    rng = RNG(seed)
    Q, blocks = rotation(6, seed) if turned else np.eye(6), [[0, 1, 2], [3, 4], [5]]
    Y = np.zeros((6, 3))
    products = -rng.uniform(0.2, 1.0, (3, 6))
    for j, block in enumerate(blocks):
        along = rng.standard_normal(3)
        Y[block] = np.outer(rng.uniform(0.5, 2.0, len(block)), along / np.linalg.norm(along)) / (j + 1.0) ** 2
        products[j, block] *= -1
    heads = np.array([Y[block[0]] / np.linalg.norm(Y[block[0]]) for block in blocks])
    heads += 0.3 * rng.standard_normal((3, 3))
    return (Q, Y), products @ Q, heads, np.array([np.linalg.norm(Y[block]) for block in blocks])


# --- the case of one output, and closed forms ---


@pytest.mark.parametrize(("seed", "leak"), [(0, 0.0), (1, 0.0), (0, 0.2)])
def test_targets_on_a_line_are_the_path_of_one_output(seed, leak):
    rng = RNG(seed)
    X, y, rows = rng.standard_normal((6, 3)), rng.standard_normal(6), rng.standard_normal((4, 3))
    line, signs = np.array([0.6, 0.0, -0.8]), np.array([1.0, -1.0, 1.0, -1.0])
    one = rf.saddle_to_saddle(rf.Dataset(X, y), rows, signs, leak=leak)
    path = rf.saddle_to_saddle((X, np.outer(y, line)), rows, np.outer(signs, line), leak=leak)
    assert (path.status, path.message) == (one.status, one.message)
    assert len(path.stages) > 2
    assert path.times == pytest.approx(one.times, rel=1e-12)
    assert path.losses == pytest.approx(one.losses, abs=1e-12)
    assert path.gap == pytest.approx(one.gap, abs=1e-12)
    for stage, other in zip(path.stages, one.stages, strict=True):
        assert [part.tolist() for part in stage.wakes] == [part.tolist() for part in other.wakes]
        assert stage.status.tolist() == other.status.tolist()
        assert stage.offset == pytest.approx(other.offset, abs=1e-8, nan_ok=True)
        assert pytest.approx(np.outer(other.duals, line), abs=1e-10) == stage.duals
        assert pytest.approx(other.network.W, abs=1e-8) == stage.network.W
        assert pytest.approx(np.outer(other.network.a, line), abs=1e-8) == stage.network.a
        assert [e[2:] for e in stage.events] == [e[2:] for e in other.events if not e.kind.startswith("start")]


def test_each_neuron_fits_the_one_sample_that_it_sees():
    path = rf.saddle_to_saddle((X2, Y2), W2, A2)
    assert path.times == pytest.approx([0.0, 1 / 15, 1 / 2], rel=1e-12)
    assert path.losses == pytest.approx([13.0, 0.5, 0.0], abs=1e-13)
    assert (path.status, path.message) == ("ended", "every sample is fitted")
    assert path.end is not None
    assert path.end.certified
    assert path.end.point == "global"
    assert path.gap == pytest.approx(0.0, abs=1e-13)
    end = path.stages[-1].network
    assert pytest.approx(np.sqrt(5 / 3) * np.array([0.6, 0.8]), rel=1e-12) == end.a[0]
    # |w| tends to ε c e^(15 t) with c half the sum of both cosines, and |w|² solves A' = 2 A 3 (5 - 3 A): the loss of
    # the sample is at half of its value where 1 - 3 A/5 = 1/√2.
    along = 0.5 * (1 / np.sqrt(1.25) + (0.6 + 0.08) / np.sqrt(1.01))
    offset = (0.5 * np.log(5 / 3) - np.log(along) - 0.5 * np.log(1 + np.sqrt(2))) / 15
    assert path.stages[0].offset == pytest.approx(offset, rel=1e-9)


@pytest.mark.parametrize("seed", [0, 1, 3])
def test_orthogonal_inputs_are_fitted_block_by_block(seed):
    data, rows, heads, sizes = orthogonal_blocks(seed)
    path = rf.saddle_to_saddle(data, rows, heads)
    order = np.argsort(-sizes)
    assert path.times == pytest.approx([0.0, *(1 / sizes[order])], rel=1e-10)
    left = 0.5 * (sizes**2).sum() - 0.5 * np.cumsum(sizes[order] ** 2)
    assert path.losses == pytest.approx([0.5 * (sizes**2).sum(), *left], abs=1e-11)
    assert [stage.wakes[0].tolist() for stage in path.stages[:-1]] == [[j] for j in order]
    assert path.stages[-1].network.norm ** 2 == pytest.approx(2 * sizes.sum(), rel=1e-11)


# --- full flows ---


@pytest.mark.parametrize("seed", [0, 2])
def test_full_flows_come_to_the_predicted_times_and_plateaus(seed):
    path = rf.saddle_to_saddle(
        *orthogonal_blocks(seed, turned=False)[:3]
    )  # rounding crosses boundaries that are turned
    assert path.status == "ended"
    found = [half_times(path, scale) for scale in (1e-6, 1e-15, 1e-30)]
    errors = [max(np.abs(off).max(), np.abs(plateau).max()) for off, plateau in found]
    assert errors[0] < 0.1
    assert errors[1] < max(errors[0] / 20, 1e-8)
    assert errors[2] < 1e-8


@pytest.mark.parametrize("seed", [1, 3, pytest.param(6, marks=pytest.mark.thorough)])
def test_full_flows_with_targets_in_general_position_jump_at_the_predicted_times(seed):
    path = rf.saddle_to_saddle(*gaussian(seed, m=5))
    assert len(path.stages) >= 2
    assert path.predict(1e-30).separated[0]
    errors = [abs(half_times(path, scale, 1)[0][0]) for scale in (1e-6, 1e-30)]
    assert errors[1] < 1e-3
    assert errors[1] < max(errors[0] / 10, 1e-8)


# --- symmetries ---


def test_an_orbit_that_creeps_to_its_critical_point_arrives():
    # 20,000 explicit steps did not come there: implicit ones do, beside infinitesimal neurons that grow meanwhile.
    data, V, A = gaussian(17)
    path, loose = (rf.saddle_to_saddle(data, V, A, rtol=rtol) for rtol in (1e-11, 1e-9))
    assert path.status == loose.status == "ended"
    np.testing.assert_allclose(loose.times, path.times, rtol=1e-9)
    np.testing.assert_allclose(loose.losses, path.losses, rtol=1e-9, atol=1e-12)
    for one, other in zip(loose.stages[:-1], path.stages[:-1], strict=True):
        assert one.offset == pytest.approx(other.offset, rel=1e-8, abs=1e-6)
        np.testing.assert_allclose(one.power, other.power, atol=1e-9)
    end = path.stages[-1]
    assert 0.5 * float(((end.network(data[0]) - data[1]) ** 2).sum()) == pytest.approx(end.loss, rel=1e-9)


def test_permutations_and_rotations_change_nothing():
    (X, Y), rows, heads, _ = orthogonal_blocks(4)
    path = rf.saddle_to_saddle((X, Y), rows, heads)
    samples, neurons = RNG(0).permutation(6), RNG(1).permutation(3)
    Q, R = rotation(6, 9), rotation(3, 10)
    moved = rf.saddle_to_saddle(
        rf.Dataset(X[samples] @ Q, Y[samples] @ R), 7.0 * rows[neurons] @ Q, 0.1 * heads[neurons] @ R
    )
    assert moved.times == pytest.approx(path.times, rel=1e-11)
    assert moved.losses == pytest.approx(path.losses, abs=1e-11)
    for one, two in zip(path.stages, moved.stages, strict=True):
        assert set(two.grown) == set(np.flatnonzero(np.isin(neurons, one.grown)))
        assert pytest.approx(one.network.W[neurons], abs=1e-9) == two.network.W @ Q.T
        assert pytest.approx(one.network.a[neurons], abs=1e-9) == two.network.a @ R.T
        assert two.offset == pytest.approx(one.offset, abs=1e-9, nan_ok=True)


def test_the_mean_and_weights_keep_their_meaning():
    (X, Y), rows, heads, _ = orthogonal_blocks(5)
    path = rf.saddle_to_saddle((X, Y), rows, heads)
    mean = rf.saddle_to_saddle((X, Y), rows, heads, reduction="mean")
    assert mean.times == pytest.approx(6 * path.times, rel=1e-12)
    twice = rf.saddle_to_saddle((X, Y, np.full(6, 2.0)), rows, heads)
    assert twice.times == pytest.approx(path.times / 2, rel=1e-12)
    assert twice.losses == pytest.approx(2 * path.losses, abs=1e-11)


# --- ends ---


def test_a_leg_that_passes_its_critical_point_does_not_follow_the_events_of_rounding():
    # Of twice the length of the one before, it had 5,000 events in 40 time units and went on for 700.
    rng = RNG(58)
    n, d, K, m = rng.integers(3, 9), rng.integers(2, 5), rng.integers(2, 4), rng.integers(2, 8)
    data = rng.standard_normal((n, d)), rng.standard_normal((n, K))
    path = rf.saddle_to_saddle(data, rng.standard_normal((m, d)), rng.standard_normal((m, K)))
    assert path.status == "ended"
    assert len(path.stages) == 4


def test_classes_that_no_neuron_separates_rest_at_a_certified_saddle():
    X, classes = np.array([[1.0], [2.0]]), np.array([0, 1])
    path = rf.saddle_to_saddle((X, classes), [[1.0]], [[-1.0, 1.2]], loss="cross_entropy")
    assert path.status == "ended"
    assert len(path.stages) == 2
    assert path.losses[0] == pytest.approx(2 * np.log(2))
    last = path.stages[-1]
    assert last.limit is not None
    assert last.limit.certified
    # f = A (-1, 1)/√2 x: with z = √2 A the pull of sample 0, σ(z), is twice that of sample 1, σ(-2z).
    z = brentq(lambda z: 1 / (1 + np.exp(-z)) - 2 / (1 + np.exp(2 * z)), 0, 5)
    assert np.sqrt(2) * last.network.norm**2 / 2 == pytest.approx(z, rel=1e-12)
    assert np.isnan(path.gap)


def test_separable_classes_end_at_infinity_in_a_certified_direction():
    data = rf.datasets.MultiClassDataset(*CLASSES)
    path = rf.saddle_to_saddle(data, *CLASS_STARTS, loss="cross_entropy")
    assert path.status == "infinity"
    assert path.success
    assert path.end is not None
    assert path.end.kind == "direction"
    assert path.end.certified


def test_neurons_that_see_nothing_leave_the_network_at_zero():
    path = rf.saddle_to_saddle((np.eye(2), np.eye(2)), [[-1.0, -1.0]], [[1.0, 0.0]])
    assert (path.status, len(path.stages)) == ("ended", 1)
    assert path.stages[0].status.tolist() == ["dead"]
    assert path.end is None
    assert path.gap == pytest.approx(1.0)


# A path to a local minimum.
LOCAL = (
    ([[0.965], [-1.082]], [[0.867, -0.168], [-0.19, 1.121]]),
    [[-0.437], [-1.28], [-0.469], [-1.197]],
    [[-1.84, -0.146], [0.398, -2.162], [0.014, 0.255], [0.173, -1.27]],
)


def parting() -> tuple[Pair, np.ndarray, np.ndarray]:
    """Neurons part on the way that had grown together."""
    rng = RNG(6)
    X, Y, W, A = (rng.standard_normal((4, 2)) for _ in range(4))
    return (X, Y), W, A


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(("case", "kind"), [(LOCAL, "local minimum"), (parting(), "not decided")])
def test_a_sample_of_zeros_moves_nothing(case, kind):
    """It has no boundary: neurons stand neither on it nor beside it, whatever side of it they were given."""
    (X, Y), directions, signs = case
    target = np.array([[0.3, -1.0]])
    without = rf.saddle_to_saddle((X, Y), directions, signs)
    path = rf.saddle_to_saddle((np.vstack((X, np.zeros_like(X[:1]))), np.vstack((Y, target))), directions, signs)
    assert path.status == without.status == "ended"
    assert [stage.kind for stage in path.stages] == [stage.kind for stage in without.stages]
    assert path.stages[-1].kind == kind
    assert [stage.notes for stage in path.stages] == [stage.notes for stage in without.stages]
    at_zero = 0.5 * float((target**2).sum())
    for ours, other in zip(path.stages, without.stages, strict=True):
        assert ours.loss - at_zero == pytest.approx(other.loss, rel=1e-9)


@pytest.mark.filterwarnings("error")
def test_the_minimum_that_a_run_comes_to_is_as_local_beside_a_sample_of_zeros():
    X, Y = np.array([[0.965], [-1.082], [0.0]]), np.array([[0.867, -0.168], [-0.19, 1.121], [0.0, 0.0]])
    start = rf.Network([[-0.5], [-0.2]], [[-0.1, 0.3], [0.2, 0.1]])
    for rows in (2, 3):
        sol = rf.integrate((X[:rows], Y[:rows]), start, until=Stop(limit=True), loss="squared")
        assert (sol.limit.certified, sol.limit.point) == (True, "local minimum")


def test_a_callback_stops_the_path_and_the_number_of_stages_can_be_bounded():
    seen = []
    path = rf.saddle_to_saddle((X2, Y2), W2, A2, callback=lambda progress: seen.append(progress) or len(seen) > 1)
    assert path.status == "stopped_by_callback"
    assert seen[0].stage == 0
    path = rf.saddle_to_saddle((X2, Y2), W2, A2, max_stages=2)
    assert (path.status, len(path.stages)) == ("max_stages", 2)


# --- files, figures and arguments ---


@pytest.mark.parametrize("kind", ["pair", "dataset", "classes"])
def test_a_file_gives_the_same_path_back(kind, tmp_path):
    if kind == "classes":
        data = rf.datasets.MultiClassDataset(*CLASSES)
        path = rf.saddle_to_saddle(data, *CLASS_STARTS, loss="cross_entropy")
    else:
        path = rf.saddle_to_saddle((X2, Y2) if kind == "pair" else rf.Dataset(X2, Y2), W2, A2)
    path.save(tmp_path / "path.npz")
    back = saddles.SaddlePath.load(tmp_path / "path.npz")
    assert back.summary() == path.summary()
    assert back.predict(1e-9).times.tolist() == path.predict(1e-9).times.tolist()
    assert back.signs.tolist() == path.signs.tolist()
    assert repr(back.horizon) == repr(path.horizon)
    for one, two in zip(path.stages, back.stages, strict=True):
        assert one.network == two.network
        assert one.events == two.events
        assert (one.output == two.output).all()
        assert repr(one.limit) == repr(two.limit)
        assert [leg.final for leg in one.legs] == [leg.final for leg in two.legs]
        for leg, other in zip(one.legs, two.legs, strict=True):
            half = 0.5 * leg.t_end
            assert pytest.approx(leg(half).W, rel=1e-9, abs=0.0) == other(half).W


def test_tables_and_figures_take_paths_of_several_outputs():
    path = rf.saddle_to_saddle((X2, Y2), W2, A2)
    assert [row.grown for row in path.table()] == [0, 1, 2]
    assert rf.figures.staircase(path).get_ylabel() == "loss"
    assert rf.figures.grown(path).get_ylabel() == "grown neurons"
    assert path.start(0.1).balance == pytest.approx([0.0, 0.0], abs=1e-16)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"directions": [[0.0, 0.0], [1.0, 1.0]]}, "directions must have no row of zeros, found zeros only at row 0"),
        ({"directions": [[1.0, 0.0, 0.0]]}, r"directions must have rows of 2 entries"),
        ({"signs": [1, -1]}, r"signs must have the shape \(m, K\)"),
        ({"signs": [[1.0, 0.0]]}, "signs must have 2 rows, a direction of a_j in R"),
        ({"signs": [[0.0, 0.0], [1.0, 0.0]]}, "signs must have no row of zeros, found zeros only at row 0"),
        ({"signs": [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]]}, r"data\[1\] must have the shape \(2, 3\)"),
        ({"loss": "logistic"}, "loss must be 'squared' or 'cross_entropy' for 2 outputs"),
        ({"loss": "cross_entropy"}, r"data\[1\] must hold 2 class numbers"),
        ({"data": (X2,)}, "data must be a Dataset, a MultiClassDataset, a pair"),
        ({"data": (X2, Y2[:, 0])}, r"data\[1\] must have the shape \(2, 2\)"),
        ({"data": rf.datasets.MultiClassDataset(X2, [0, 1])}, "loss must be 'cross_entropy' for data with classes"),
        ({"leak": 1.0}, r"leak must lie in \[0, 1\), found 1"),
        ({"rtol": 0.0}, "rtol must lie in"),
    ],
)
def test_a_bad_argument_is_named(change, said):
    arguments = {"data": (X2, Y2), "directions": W2, "signs": A2, **change}
    with pytest.raises(ValueError, match=said):
        rf.saddle_to_saddle(arguments.pop("data"), arguments.pop("directions"), arguments.pop("signs"), **arguments)
