"""Saddle to saddle: closed forms, full flows from finite scales, symmetries, and the ends that a path can have."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.optimize import brentq

import reluflow as rf
from reluflow import saddles
from saddle_flows import half_times, stages_of_orthogonal_inputs

TWO = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, -1.0])


def rotation(d: int, seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).standard_normal((d, d)))[0]


def orthogonal(d: int, m: int, seed: int) -> tuple[rf.Dataset, np.ndarray, np.ndarray]:
    """Orthonormal inputs, half of the targets positive; the first two neurons are active on all samples."""
    rng = np.random.default_rng(seed)
    y = rng.uniform(0.5, 1.5, d) * np.where(np.arange(d) < d // 2, 1.0, -1.0)
    Q = rotation(d, seed)
    products = rng.standard_normal((m, d))
    products[:2] = np.abs(products[:2])
    return rf.Dataset(Q, y), products @ Q, np.where(np.arange(m) % 2 == 0, 1.0, -1.0)


# --- closed forms ---


def test_one_neuron_and_one_sample_follow_the_logistic_curve():
    x, y, cosine = 2.0, 3.0, 0.6
    data = rf.Dataset([[x, 0.0]], [y])
    path = rf.saddle_to_saddle(data, [[cosine, 0.8]], [1])
    rate = x * y
    assert path.times == pytest.approx([0.0, 1 / rate], rel=1e-14)
    # |w|² tends to ε² ((1 + cos)/2)² e^(2 rate t), and solves A' = 2 A x (y - A x): a logistic curve. The loss is at
    # half of its value where 1 - A x/y = 1/√2.
    offset = (0.5 * np.log(y / x) - np.log((1 + cosine) / 2) - 0.5 * np.log(1 + np.sqrt(2))) / rate
    assert path.stages[0].offset == pytest.approx(offset, rel=1e-9)
    assert path.status == "ended"
    assert path.stages[1].kind == "global"
    assert path.gap == pytest.approx(0, abs=1e-14)
    assert path.stages[1].network.a ** 2 == pytest.approx([y / x], rel=1e-13)


def test_orthogonal_inputs_fit_the_positives_then_the_negatives_with_least_norm():
    data, directions, signs = orthogonal(10, 12, seed=5)
    path = rf.saddle_to_saddle(data, directions, signs)
    pull = {side: data.X[side * data.y > 0].T @ data.y[side * data.y > 0] for side in (1, -1)}
    first, second = sorted(pull, key=lambda side: -np.linalg.norm(pull[side]))
    sizes = [float(np.linalg.norm(pull[side])) for side in (first, second)]
    assert path.times == pytest.approx([0.0, 1 / sizes[0], 1 / sizes[1]], rel=1e-12)
    unfitted = 0.5 * float((data.y[first * data.y < 0] ** 2).sum())
    assert path.losses == pytest.approx([0.5 * float(data.y @ data.y), unfitted, 0.0], abs=1e-13)
    end = path.stages[-1].network
    assert end.norm**2 == pytest.approx(2 * sum(sizes), rel=1e-12)  # the least norm of all interpolators
    for side in (1, -1):
        own = end.a * side > 0
        assert end.a[own] @ end.W[own] == pytest.approx(pull[side], abs=1e-12)
    assert path.end is not None
    assert path.end.certified
    assert path.end.point == "global"


@pytest.mark.parametrize("seed", [7, 8, 14])
def test_neurons_that_are_blind_to_some_orthogonal_inputs_grow_in_their_turn(seed):
    y = np.array([3.0, 2.0, 1.2, 1.0, -2.2, -1.6, -1.0, -0.8])
    rng = np.random.default_rng(seed)
    products, signs = rng.standard_normal((10, 8)), np.where(np.arange(10) % 2 == 0, 1.0, -1.0)
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    path = rf.saddle_to_saddle(rf.Dataset(Q, y), products @ Q, signs)
    expected = stages_of_orthogonal_inputs(y, products, signs)
    assert path.times == pytest.approx([time for time, _ in expected], rel=1e-9)
    assert path.losses == pytest.approx([0.5 * float(lam @ lam) for _, lam in expected], abs=1e-9)


def test_a_teacher_of_one_neuron_is_found():
    rng = np.random.default_rng(3)
    X = rng.standard_normal((40, 3))
    teacher = rf.Network([[1.0, 2.0, -1.0]], [0.5])
    data = rf.Dataset(X, teacher(X))
    path = rf.saddle_to_saddle(data, teacher.W + 0.3, [1.0])
    assert path.status == "ended"
    assert path.stages[-1].kind == "global"
    end = path.stages[-1].network
    assert end.a @ end.W == pytest.approx(teacher.a @ teacher.W, rel=1e-11)


def test_samples_of_target_zero_that_nothing_sees_are_fitted():
    # A teacher of three neurons: some samples have the target 0, and the polished outputs there are 1e-16 or so.
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 10))
    teacher = rf.Network(rng.standard_normal((3, 10)), [1.0, -1.0, 1.0])
    data = rf.Dataset(X, teacher(X))
    path = rf.saddle_to_saddle(data, rng.standard_normal((20, 10)), np.where(np.arange(20) % 2 == 0, 1, -1))
    assert (path.status, path.message) == ("ended", "every sample is fitted")
    assert path.losses[-1] == 0.0
    assert not path.stages[-1].duals.any()
    assert path.end is not None
    assert path.end.certified


def test_a_function_of_bits_is_fitted_though_neurons_cancel_on_their_boundaries():
    # The conjunction of three bits is one neuron that ends on three boundaries; two of one direction leave errors of
    # 3e-15 there, which were taken for errors that pull ("lost" after 100 legs and the time 2e47).
    bits = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
    data = rf.Dataset(np.c_[bits, np.ones(8)], bits.prod(axis=1))
    rng = np.random.default_rng(510)
    path = rf.saddle_to_saddle(data, rng.standard_normal((10, 4)), np.where(np.arange(10) % 2 == 0, 1, -1))
    assert (path.status, path.message) == ("ended", "every sample is fitted")
    assert path.end is not None
    assert path.end.certified
    assert path.stages[-1].network(data.X) == pytest.approx(data.y, abs=1e-14)


def test_a_teacher_of_three_neurons_is_the_end():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((200, 10))
    teacher = rf.Network(rng.standard_normal((3, 10)), [1.0, -1.0, 1.0])
    path = rf.saddle_to_saddle(
        rf.Dataset(X, teacher(X)), rng.standard_normal((20, 10)), np.where(np.arange(20) % 2 == 0, 1, -1)
    )
    assert path.message == "every sample is fitted"
    assert len(path.stages) == 4
    assert path.end is not None
    assert path.end.certified
    assert path.end.point == "global"
    end = path.stages[-1].network
    other = rng.standard_normal((100, 10))
    assert end(other) == pytest.approx(teacher(other), abs=1e-11)
    assert end.norm**2 == pytest.approx(2 * np.abs(teacher.a) @ np.linalg.norm(teacher.W, axis=1), rel=1e-12)


# --- full flows ---


def test_full_flows_come_to_the_predicted_times_and_plateaus():
    data, directions, signs = orthogonal(6, 8, seed=5)
    path = rf.saddle_to_saddle(data, directions, signs)
    scales = [1e-4, 1e-15, 1e-60]
    found = [half_times(path, scale) for scale in scales]
    errors = [max(np.abs(off).max(), np.abs(plateau).max()) for off, plateau in found]
    assert errors[0] < 0.5
    assert errors[1] < errors[0] / 20
    assert errors[2] < 1e-9
    # In units of log(1/ε) times converge like the inverse of it.
    for scale, (off, _) in zip(scales, found, strict=True):
        length = -np.log(scale)
        offsets = np.array([stage.offset for stage in path.stages[:-1]])
        assert (path.predict(scale).times + off) / length - path.times[1:] == pytest.approx(
            offsets / length, abs=1.1 * errors[0] / length
        )


@pytest.mark.parametrize("seed", [0, 5])
def test_full_flows_on_data_in_general_position_come_to_the_predictions(seed):
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((6, 3)), rng.standard_normal(6))
    path = rf.saddle_to_saddle(data, rng.standard_normal((5, 3)), [1, -1, 1, -1, 1])
    assert path.status == "ended"
    assert len(path.stages) > 2
    off, plateau = half_times(path, 1e-60)
    assert np.abs(off).max() < 1e-6
    assert np.abs(plateau).max() < 1e-6


def test_a_tie_is_followed_along_the_joint_orbit():
    data = rf.Dataset([[1.0, 0.5], [0.5, -1.0]], [1.0, -1.0])
    path = rf.saddle_to_saddle(data, [[1.0, 0.2], [0.1, -1.0]], [1, -1])
    assert [part.tolist() for part in path.stages[0].wakes] == [[0], [1]]
    assert "tie" in path.stages[0].notes[0]
    assert path.times == pytest.approx([0.0, 1 / np.sqrt(1.25)], rel=1e-12)
    off, _ = half_times(path, 1e-30)
    assert off == pytest.approx([0.0], abs=1e-9)


def test_neurons_of_one_direction_wake_as_one_and_keep_their_ratio():
    path = rf.saddle_to_saddle(TWO, [[1.0, 0.1], [1.0, -0.3], [0.6, 0.8]], [1, 1, -1])
    assert [sorted(np.concatenate(stage.wakes).tolist()) for stage in path.stages[:2]] == [[0, 1], [2]]
    off, plateau = half_times(path, 1e-30)
    assert np.abs(off).max() < 1e-9
    assert np.abs(plateau).max() < 1e-12
    full = rf.integrate(TWO, path.start(1e-30), until=200.0, loss="squared", rtol=1e-12).final
    assert np.abs(full.W - path.stages[-1].network.W).max() < 1e-8


# --- symmetries ---


def test_permutations_and_rotations_change_nothing():
    data, directions, signs = orthogonal(5, 6, seed=2)
    path = rf.saddle_to_saddle(data, directions, signs)
    rng = np.random.default_rng(0)
    samples, neurons, Q = rng.permutation(5), rng.permutation(6), rotation(5, 9)
    other = rf.Dataset(data.X[samples] @ Q, data.y[samples])
    moved = rf.saddle_to_saddle(other, 7.0 * directions[neurons] @ Q, signs[neurons])
    assert moved.times == pytest.approx(path.times, rel=1e-11)
    assert moved.losses == pytest.approx(path.losses, abs=1e-11)
    for one, two in zip(path.stages, moved.stages, strict=True):
        assert set(two.grown) == set(np.flatnonzero(np.isin(neurons, one.grown)))
        assert pytest.approx(one.network.W[neurons], abs=1e-9) == two.network.W @ Q.T


def test_the_mean_and_the_leak_keep_their_meaning():
    data, directions, signs = orthogonal(4, 4, seed=4)
    path = rf.saddle_to_saddle(data, directions, signs)
    mean = rf.saddle_to_saddle(data, directions, signs, reduction="mean")
    assert mean.times == pytest.approx(data.n * path.times, rel=1e-12)
    leaky = rf.saddle_to_saddle(data, directions, signs, leak=0.3)
    off, _ = half_times(leaky, 1e-60)
    assert len(off) == len(leaky.stages) - 1
    assert np.abs(off).max() < 1e-9


# --- ends ---


def test_separable_labels_end_at_infinity_in_the_direction_of_the_flow():
    data = rf.Dataset([[2.0, 0.3], [1.0, -0.4]], [1, 1])
    path = rf.saddle_to_saddle(data, [[1.0, 0.2]], [1], loss="logistic")
    assert path.status == "infinity"
    assert path.success
    assert path.end is not None
    assert path.end.kind == "direction"
    assert path.end.certified
    assert path.end.margin == pytest.approx(rf.convex.max_margin(data).margin, rel=1e-9)


def test_labels_that_no_neuron_separates_rest_at_a_certified_saddle():
    data = rf.Dataset([[1.0], [2.0]], [1, -1])
    path = rf.saddle_to_saddle(data, [[1.0], [1.0]], [-1, 1], loss="logistic")
    assert path.status == "ended"
    assert len(path.stages) == 2
    last = path.stages[-1]
    assert last.limit is not None
    assert last.limit.certified
    assert last.limit.gradient_norm < 1e-12
    # One negative neuron with A = Σ a²: σ(-A) is the pull of sample 1, 2 σ(-2A) that of sample 2.
    A = brentq(lambda A: 1 / (1 + np.exp(-A)) - 2 / (1 + np.exp(2 * A)), 0, 5)
    assert np.abs(last.network.a @ last.network.W) == pytest.approx(A, rel=1e-12)


def test_neurons_that_see_nothing_leave_the_network_at_zero():
    path = rf.saddle_to_saddle(TWO, [[-1.0, -1.0]], [1])
    assert path.status == "ended"
    assert len(path.stages) == 1
    assert path.stages[0].status.tolist() == ["dead"]
    assert path.stages[0].kind == "saddle"
    assert path.gap == pytest.approx(2.5)
    assert path.end is None


def test_a_neuron_with_several_ways_on_ends_the_path_and_is_named():
    path = rf.saddle_to_saddle(TWO, [[1.0, 0.5], [0.0, 1.0]], [1, 1])  # neuron 1 stands where sample 0 repels
    assert path.status == "undecided"
    assert not path.success
    assert "neuron 1" in path.message
    assert "samples 0" in path.message


def test_the_number_of_stages_can_be_bounded():
    path = rf.saddle_to_saddle(TWO, [[1.0, 0.5], [0.5, 1.0]], [1, -1], max_stages=2)
    assert path.status == "max_stages"
    assert len(path.stages) == 2
    assert not path.success


def test_the_least_loss_of_any_width_is_that_of_linear_and_even_functions():
    # 1 and 2 times one input cannot have one target; an input and its opposite are free.
    data = rf.Dataset([[1.0], [2.0], [-1.0]], [1.0, 1.0, 5.0])
    path = rf.saddle_to_saddle(data, [[-1.0]], [-1])
    c = 3 / 5  # least squares of c, 2c against 1, 1
    floor = 0.5 * ((c - 1) ** 2 + (2 * c - 1) ** 2)
    assert path.losses[-1] - path.gap == pytest.approx(floor, rel=1e-13)


# --- files and arguments ---


def test_a_file_gives_the_same_path_back(tmp_path):
    data, directions, signs = orthogonal(4, 5, seed=7)
    path = rf.saddle_to_saddle(data, directions, signs)
    path.save(tmp_path / "path.npz")
    back = saddles.SaddlePath.load(tmp_path / "path.npz")
    assert back.summary() == path.summary()
    assert back.predict(1e-9).times.tolist() == path.predict(1e-9).times.tolist()
    for one, two in zip(path.stages, back.stages, strict=True):
        assert one.network == two.network
        assert one.events == two.events
        assert repr(one.limit) == repr(two.limit)
        assert [leg.final for leg in one.legs] == [leg.final for leg in two.legs]
    assert back.stages[0].legs[0](0.5) == path.stages[0].legs[0](0.5)
    path.start(0.1).save(tmp_path / "net.npz")
    with pytest.raises(ValueError, match=r"path must hold a reluflow path of saddles"):
        saddles.SaddlePath.load(tmp_path / "net.npz")


def test_a_damaged_file_is_named(tmp_path):
    path = rf.saddle_to_saddle(TWO, [[1.0, 0.5]], [1])
    path.save(tmp_path / "path.npz")
    with np.load(tmp_path / "path.npz") as content:
        arrays = dict(content)
    arrays["0/rate"] = arrays["0/rate"][:0]
    np.savez(tmp_path / "short.npz", **{name: array for name, array in arrays.items() if name != "0/W"})
    with pytest.raises(ValueError, match=r"short\.npz"):
        saddles.SaddlePath.load(tmp_path / "short.npz")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"directions": [[0.0, 0.0]]}, "directions must have no row of zeros, found zeros only at row 0"),
        ({"directions": [[1.0, 0.0, 0.0]]}, r"directions must have rows of 2 entries"),
        ({"directions": []}, "directions must have the shape"),
        ({"signs": [1, -1]}, "signs must have one sign for each of the 1 rows of directions, found 2 signs"),
        ({"signs": [0]}, r"signs must hold \+1 and -1 only, found 0 at row 0"),
        ({"loss": "cross_entropy"}, "loss must be one of 'logistic', .* is for K outputs, signs of the shape"),
        ({"data": rf.Dataset(np.eye(2), np.eye(2))}, "data must have one target a sample"),
        ({"data": rf.datasets.MultiClassDataset(np.eye(2), [0, 1])}, r"signs must have the shape \(m, K\)"),
        ({"progress": 1}, "progress must be True or False"),
        ({"callback": 1}, "callback must be None or callable"),
        ({"loss": "logistic"}, r"data\.y must hold \+1 and -1 only"),
        ({"leak": 1.0}, r"leak must lie in \[0, 1\), found 1"),
        ({"rtol": 0.0}, "rtol must lie in"),
        ({"max_stages": 0}, "max_stages must be an integer of at least 1, found 0"),
        ({"data": 3}, "data must be a Dataset"),
        (
            {"data": ([[1e50, 1e50]], [1.0])},
            r"data must have max \|y\| / max \|x\|, .* between 1e-45 and 1e\+150 .*1e-50",
        ),
        ({"data": ([[1e80, 1e80]], [1e90])}, r"data must have max \|y\| max \|x\|, .* between 1e-150 and .*1e\+170"),
    ],
)
def test_a_bad_argument_is_named(change, said):
    arguments = {"data": TWO, "directions": [[1.0, 0.5]], "signs": [1], **change}
    with pytest.raises(ValueError, match=said):
        rf.saddle_to_saddle(arguments.pop("data"), arguments.pop("directions"), arguments.pop("signs"), **arguments)


@pytest.mark.parametrize("scale", [0.0, 1.0, -1e-3, "small"])
def test_a_scale_that_is_none_is_refused(scale):
    path = rf.saddle_to_saddle(TWO, [[1.0, 0.5]], [1])
    for ask in (path.predict, path.start):
        with pytest.raises(ValueError, match=r"scale must lie in \(0, 1\)"):
            ask(scale)
