"""Saddles at infinity: margins that grow for ever while other samples rest, and what leaves such a saddle."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow import saddles
from saddle_flows import stages_of_orthogonal_inputs

AT_ZERO = {"logistic": np.log(2.0), "exponential": 1.0}
PULL = {"logistic": 0.5, "exponential": 1.0}


def random_problem(seed: int) -> tuple[rf.Dataset, np.ndarray, np.ndarray]:
    """Return data with random labels, often with a column of ones or in one orthant, and directions and signs."""
    rng = np.random.default_rng(seed)
    n, d, m = int(rng.integers(4, 13)), int(rng.integers(2, 5)), int(rng.integers(4, 11))
    X = rng.standard_normal((n, d))
    y = np.where(rng.standard_normal(n) > 0, 1, -1)
    if seed % 4 == 3:
        X = np.c_[rng.integers(-2, 3, (n, d)), np.ones(n)].astype(float)
    elif seed % 4 == 2:
        X = np.c_[X, np.ones(n)]
    elif seed % 4 == 1:
        X = np.abs(X)
    return rf.Dataset(X, y), rng.standard_normal((m, X.shape[1])), np.where(np.arange(m) % 2 == 0, 1, -1)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("seed", [7, 14])
def test_orthogonal_inputs_leave_at_the_rates_of_the_samples_at_rest(loss, seed):
    lengths = np.array([3.0, 2.0, 1.2, 1.0, 2.2, 1.6, 1.1, 0.8])
    y = np.array([1, 1, 1, 1, -1, -1, -1, -1])
    rng = np.random.default_rng(seed)
    products, signs = rng.standard_normal((10, 8)), np.where(np.arange(10) % 2 == 0, 1.0, -1.0)
    Q = np.linalg.qr(rng.standard_normal((8, 8)))[0]
    path = rf.saddle_to_saddle(rf.Dataset(lengths[:, None] * Q, y), products @ Q, signs, loss=loss)
    stages = stages_of_orthogonal_inputs(PULL[loss] * y * lengths, products, signs)
    expected = [(time, int(np.count_nonzero(lam))) for time, lam in stages]
    if expected[-1][1] == 0:  # all margins grow, and no saddle is left
        expected.pop()
    assert path.status == "infinity"
    assert any(stage.at_infinity for stage in path.stages)
    assert path.times == pytest.approx([time for time, _ in expected], rel=1e-9)
    assert path.losses == pytest.approx([n * AT_ZERO[loss] for _, n in expected], rel=1e-12)
    assert path.end is not None
    assert path.end.certified


def test_a_margin_that_is_negative_for_long_does_not_part_the_grown_neurons_from_their_limit():
    # The neuron that leaves crosses sample 1 at t = 5000. Till then this pulls the other one as at the start, which is
    # too small for that: in the limit, but not in a run from a size of 1e-144.
    data = rf.Dataset([[-0.6, -1.17, 0.63], [0.03, 0.95, 0.03], [-0.2, 0.86, 0.28]], [-1, -1, 1])
    path = rf.saddle_to_saddle(data, [[-0.02, -0.65, 0.27], [0.18, 0.34, 0.2]], [-1, -1], loss="logistic", leak=0.1)
    assert path.status == "infinity", path.message
    assert [stage.at_infinity for stage in path.stages] == [False]
    assert path.end is not None
    assert path.end.certified
    assert np.flatnonzero(path.end.network.a).tolist() == [0]
    assert (data.y * path.end.network(data.X)).min() > 0


def test_samples_rest_at_a_later_saddle_that_grow_in_the_limit_of_what_has_grown():
    # Beyond saddle 1 the grown neurons come to turn two samples at rest at 15 log t of the margins that grow; before
    # these are there another neuron leaves.
    X = [[0, -2, 0], [0, -1, 2], [-2, 2, -1], [-2, -1, 1], [1, 1, 1], [-1, -1, -1]]
    data = rf.Dataset(X, [1, 1, -1, -1, 1, 1])
    products = [
        [-1.16, -0.96, 0.02],
        [-0.65, 1.29, -0.48],
        [0.05, 1.2, -0.39],
        [-0.97, 0.63, -0.36],
        [1.54, -1.06, 1.01],
    ]
    path = rf.saddle_to_saddle(data, products, [-1, -1, 1, 1, -1], loss="logistic")
    assert path.status == "infinity", path.message
    assert path.times == pytest.approx([0.0, 2 / np.sqrt(14), 0.6369286], rel=1e-7)
    assert path.losses == pytest.approx(np.log(2.0) * np.array([6.0, 4.0, 2.0]), rel=1e-9)
    scale = 1e-145
    full = rf.integrate(data, path.start(scale), until=600.0)
    rests = -np.log(scale) * (path.times[:-1] + 0.9 * np.diff(path.times))  # late on the plateaus
    losses = [np.logaddexp(0, -data.y * full(t)(data.X)).sum() for t in rests]
    assert losses == pytest.approx(path.losses[:-1], abs=0.1)
    assert np.logaddexp(0, -data.y * full.final(data.X)).sum() < 1e-3


def test_a_negative_neuron_grows_as_if_the_positive_sample_were_not_there():
    data = rf.Dataset([[1.0, 0.0], [0.0, 0.5]], [1, -1])
    path = rf.saddle_to_saddle(data, [[1.0, 0.2], [0.2, 1.0]], [1, -1], loss="exponential")
    assert path.status == "infinity"
    assert path.times == pytest.approx([0.0, 1.0], rel=1e-12)
    assert path.stages[1].ends == pytest.approx(2.0, rel=1e-12)
    assert path.losses == pytest.approx([2.0, 1.0], rel=1e-12)
    assert [stage.at_infinity for stage in path.stages] == [False, True]
    assert path.stages[1].duals.tolist() == [0.0, -1.0]
    assert path.end is not None
    assert path.end.margin == pytest.approx(rf.convex.max_margin(data).margin, rel=1e-9)
    assert path.predict(1e-9).known.tolist() == [True]


def full_flow(path: rf.saddles.SaddlePath, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Times of the half falls of a full flow less the predicted ones, and its losses shortly before they begin."""
    said = path.predict(scale)
    until = rf.Stop(time=float(said.times[-1]) * 1.2)
    sol = rf.integrate(path.data, path.start(scale), until=until, loss=path.loss, n_threads=1)
    times = np.linspace(0.0, sol.t_end, 8_001)
    W, a = sol.states(times)
    margins = path.data.y * np.einsum("km,kmn->kn", a, np.maximum(W @ path.data.X.T, 0.0))
    loss = (np.logaddexp(0.0, -margins) if path.loss == "logistic" else np.exp(-margins)).sum(axis=1)
    half = 0.5 * (said.losses[1:] + said.losses[:-1])
    found = np.array([times[np.argmax(loss < level)] for level in half])
    before = np.interp(0.97 * said.times, times, loss)
    return found - said.times, before


@pytest.mark.parametrize("seed", [16, 19])
def test_full_flows_come_to_the_times_and_the_plateaus(seed):
    data, directions, signs = random_problem(seed)
    path = rf.saddle_to_saddle(data, directions, signs, loss="logistic" if seed == 16 else "exponential")
    said = path.predict(1e-140)
    assert said.known[0]
    assert not said.known[-1]
    off, before = full_flow(path, 1e-140)
    assert np.abs(off[said.known]).max() < 0.05  # the distance of the states is 0.03
    assert np.abs(off).max() < 0.3  # of times of more than 150
    assert before == pytest.approx(path.losses[: len(before)], rel=0.05)


def test_permutations_and_rotations_change_nothing():
    data, directions, signs = random_problem(10)
    path = rf.saddle_to_saddle(data, directions, signs, loss="logistic")
    rng = np.random.default_rng(0)
    samples, neurons = rng.permutation(data.n), rng.permutation(len(signs))
    Q = np.linalg.qr(rng.standard_normal((data.d, data.d)))[0]
    other = rf.Dataset(data.X[samples] @ Q, data.y[samples])
    moved = rf.saddle_to_saddle(other, directions[neurons] @ Q, signs[neurons], loss="logistic")
    assert len(path.stages) == 5
    assert moved.status == path.status
    assert moved.times == pytest.approx(path.times, rel=1e-10)
    assert moved.losses == pytest.approx(path.losses, rel=1e-10)


def test_a_limit_that_a_leg_shows_too_early_is_not_taken_for_infinity():
    # After six legs the last pattern lets one margin grow; a later one does not, and the saddle is finite.
    data, directions, signs = random_problem(6)
    path = rf.saddle_to_saddle(data, directions, signs, loss="logistic", leak=0.1)
    assert path.status == "ended"
    assert not any(stage.at_infinity for stage in path.stages)
    assert path.end is not None
    assert path.end.certified


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_samples_that_grown_neurons_hold_in_balance_rest_while_others_grow(loss):
    """Two labels +1 and one -1 at (1, 0) hold each other at f = log 2 or log(2)/2, while (-1/2, 0) grows for ever.

    Rounding of the balance ends flows at log t = 16, far from the log t that stands for infinity. The last sample is
    orthogonal to all others, and waits for its own neuron.
    """
    X = [[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [-0.5, 0.0], [0.0, 0.125]]
    data = rf.Dataset(X, [1, 1, -1, 1, -1])
    path = rf.saddle_to_saddle(data, [[1.0, -0.3], [-1.0, -0.3], [0.2, 1.0]], [1, 1, -1], loss=loss)
    f = np.log(2.0) if loss == "logistic" else 0.5 * np.log(2.0)
    ell = (lambda q: np.log1p(np.exp(-q))) if loss == "logistic" else lambda q: np.exp(-q)
    balance = 2.0 * ell(f) + ell(-f)
    alone = ell(0.0)
    assert path.status == "infinity"
    assert path.times == pytest.approx(np.array([0.0, 1.0, 2.0, 8.0]) / PULL[loss], rel=1e-9)
    assert path.losses == pytest.approx([5.0 * alone, balance + 2.0 * alone, balance + alone, balance], rel=1e-12)
    assert [stage.at_infinity for stage in path.stages] == [False, False, True, True]
    assert path.stages[2].duals[:3].sum() == pytest.approx(0.0, abs=1e-12)
    assert path.stages[2].duals[4] == -PULL[loss]
    assert path.end is not None
    assert path.end.certified


@pytest.mark.parametrize("seed", [11, 12, 13])
def test_random_problems_with_samples_in_balance_are_followed_to_their_end(seed):
    data, directions, signs = random_problem(seed)
    path = rf.saddle_to_saddle(data, directions, signs, loss="exponential")
    assert path.status in ("infinity", "ended")
    last = path.stages[-1]
    rests = last.duals != 0.0
    assert path.losses[-1] == pytest.approx(np.abs(last.duals[rests]).sum(), rel=1e-9)  # of e^-q, loss and weight agree


def test_a_neuron_that_comes_to_the_origin_at_large_log_t_ends_the_path():
    """By log t = 60 samples at rest pull 1e26 times as much as those that grow on what slides there: it raised."""
    rng = np.random.default_rng(5)
    for _ in range(2):
        rng.integers(-2, 3, (8, 3))
        rng.choice([-1.0, 1.0], 8)
        X = rng.standard_normal((20, 4))
        y = np.sign(X[:, 0] + 0.1 * rng.standard_normal(20))
    start = np.random.default_rng(1)
    path = rf.saddle_to_saddle(
        rf.Dataset(X, y), start.standard_normal((8, 4)), start.choice([-1.0, 1.0], 8), loss="logistic"
    )
    assert path.status in ("infinity", "saddle_at_infinity")
    assert all(np.isfinite(stage.network.W).all() for stage in path.stages)


def test_a_file_keeps_what_is_at_infinity(tmp_path):
    data, directions, signs = random_problem(16)
    path = rf.saddle_to_saddle(data, directions, signs, loss="logistic")
    path.save(tmp_path / "path.npz")
    back = saddles.SaddlePath.load(tmp_path / "path.npz")
    assert [stage.at_infinity for stage in back.stages] == [stage.at_infinity for stage in path.stages]
    assert back.summary() == path.summary()
    assert back.predict(1e-9).known.tolist() == path.predict(1e-9).known.tolist()
    assert repr(back.end) == repr(path.end)
