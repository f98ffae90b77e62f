"""General position, spike-freeness and support spans, against slow twins."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import reluflow as rf

conditions = rf.conditions


def exact_rank(rows):
    """Rank by elimination in fractions."""
    rows = [[Fraction(int(v)) for v in row] for row in rows]
    rank = 0
    for column in range(len(rows[0])):
        pivot = next((r for r in range(rank, len(rows)) if rows[r][column] != 0), None)
        if pivot is None:
            continue
        rows[rank], rows[pivot] = rows[pivot], rows[rank]
        for r in range(rank + 1, len(rows)):
            factor = rows[r][column] / rows[rank][column]
            rows[r] = [a - factor * b for a, b in zip(rows[r], rows[rank], strict=True)]
        rank += 1
    return rank


def test_general_position_agrees_with_exact_elimination_on_integer_data():
    counts = {True: 0, False: 0}
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.integers(-4, 5, (int(rng.integers(2, 6)), int(rng.integers(1, 4))))
        X[~X.any(axis=1)] = 1
        r = exact_rank(X)
        expected = all(exact_rank(X[list(s)]) == r for s in itertools.combinations(range(len(X)), r))
        verdict = conditions.general_position(rf.Dataset(X.astype(float), np.ones(len(X))))
        assert verdict.holds == expected, seed
        if not expected:
            samples = list(verdict.witness.samples)
            assert exact_rank(X[samples]) < len(samples)
        counts[expected] += 1
    assert min(counts.values()) > 15


def test_parallel_samples_are_found_among_thousands():
    X = np.random.default_rng(0).standard_normal((2000, 10))
    X[1234] = -3 * X[77]
    verdict = conditions.general_position(rf.Dataset(X, np.ones(2000)))
    assert not verdict.holds
    assert verdict.witness.samples == (77, 1234)


def test_too_many_subsets_leave_the_question_open():
    data = rf.Dataset(np.random.default_rng(0).standard_normal((30, 4)), np.ones(30))
    few, all_of_them = conditions.general_position(data, max_subsets=100), conditions.general_position(data)
    assert few.holds is None
    assert (few.witness.n_checked, few.witness.n_subsets) == (100, math.comb(30, 4))
    assert all_of_them.holds is True
    assert all_of_them.value <= few.value
    assert bool(few) is False


def test_a_random_choice_of_subsets_can_refute():
    X = np.random.default_rng(0).standard_normal((40, 3))
    X[:30, 2] = 0  # most triples lie in a plane
    assert conditions.general_position(rf.Dataset(X, np.ones(40)), max_subsets=50).holds is False


def scan(X, n_directions=4000):
    """Return the largest |X⁺(Xu)₊| and the largest relative distance of (Xu)₊ from the range over many unit u."""
    rng = np.random.default_rng(1)
    u = rng.standard_normal((n_directions, X.shape[1]))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    rectified = np.maximum(u @ X.T, 0)
    pinv = np.linalg.pinv(X)
    z = rectified @ pinv.T
    outside = np.linalg.norm(rectified - z @ X.T, axis=1) / np.linalg.norm(X, 2)
    return float(np.linalg.norm(z, axis=1).max()), float(outside.max())


def spiky_data(seed):
    """Independent or dependent directions, some of them with positive multiples of other samples."""
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    X = rng.standard_normal((int(rng.integers(1, d + 2)), d))
    if seed % 3 == 0:
        X = np.abs(np.linalg.inv(np.eye(d) + 0.3 * np.abs(rng.standard_normal((d, d)))))  # often an M-matrix inverse
    if seed % 2:
        X = np.vstack((X, rng.uniform(0.5, 2, (len(X), 1)) * X))
    return X


def test_spike_freeness_agrees_with_a_scan_of_directions_both_ways():
    counts = {True: 0, False: 0}
    for seed in range(200):
        X = spiky_data(seed)
        verdict = conditions.is_spike_free(rf.Dataset(X, np.ones(len(X))))
        counts[verdict.holds] += 1
        spike, outside = scan(X)
        if verdict.holds:
            assert spike <= 1 + 1e-9, seed
            assert outside <= 1e-9, seed
            continue
        u = verdict.witness.u
        rectified = np.maximum(X @ u, 0)
        z = np.linalg.pinv(X) @ rectified
        distance = np.linalg.norm(rectified - X @ z) / np.linalg.norm(X @ u)
        assert np.linalg.norm(u) == pytest.approx(1)
        assert np.linalg.norm(z) > 1 + 1e-9 or distance > 1e-6, seed
        assert (verdict.witness.spike, verdict.witness.outside) == pytest.approx(
            (np.linalg.norm(z), distance), abs=1e-9
        )
    assert min(counts.values()) > 30


def test_two_samples_in_the_plane_are_spike_free_where_their_product_is_not_negative():
    for seed in range(200):
        X = np.random.default_rng(seed).standard_normal((2, 2))
        verdict = conditions.is_spike_free(rf.Dataset(X, [1, 1]))
        assert verdict.holds == (X[0] @ X[1] >= 0)
        if not verdict.holds:
            assert verdict.witness.spike >= scan(X)[0] - 1e-12  # the greatest over all directions


def test_the_planar_examples_have_the_known_spikes():
    verdict = conditions.is_spike_free(rf.datasets.wang_pilanci("obtuse"))
    assert verdict.witness.spike == pytest.approx(1.222195, abs=1e-6)
    assert conditions.is_spike_free(rf.datasets.wang_pilanci("spike_free")).holds


def test_opposite_samples_are_not_spike_free_though_the_printed_condition_is_empty():
    verdict = conditions.is_spike_free(rf.datasets.counterexample("opposite"))
    assert (verdict.holds, verdict.value) == (False, math.inf)
    assert not verdict.witness.independent
    assert verdict.witness.outside == pytest.approx(math.sqrt(0.5) / math.sqrt(2))


def test_orthogonal_samples_and_positive_multiples_are_spike_free():
    verdict = conditions.is_spike_free(rf.Dataset([[1.0, 0.0], [0.0, 2.0], [3.0, 0.0]], [1, -1, 1]))
    assert verdict.holds
    assert verdict.witness.group.tolist() == [0, 1, 0]
    assert verdict.witness.inverse_gram.shape == (2, 2)


def test_the_span_of_support_examples_is_that_of_samples_on_both_margins():
    for seed in range(200):
        data = rf.datasets.orthogonally_separable(12, 3, seed=seed)
        verdict = conditions.support_span(data)
        ranks = []
        for sign, support, w in (
            (1, verdict.witness.positive, verdict.witness.w_positive),
            (-1, verdict.witness.negative, verdict.witness.w_negative),
        ):
            products = data.X[data.y == sign] @ w
            assert products.min() == pytest.approx(1, abs=1e-10)
            assert (data.y[support] == sign).all()
            assert data.X[support] @ w == pytest.approx(1, abs=1e-8)
            ranks.append(int(np.linalg.matrix_rank(data.X[support])))
        assert verdict.value == min(ranks)
        assert verdict.holds == (min(ranks) == 3)


def test_symmetric_figure_data_satisfy_the_span_assumption():
    assert conditions.support_span(rf.datasets.lyu_figure1("left")).holds


def test_a_class_without_separator_or_without_samples_has_no_span():
    missing = conditions.support_span(rf.datasets.wang_pilanci("spike_free"))
    assert (missing.holds, missing.value, missing.witness.negative_rank) == (False, 0, 0)
    mixed = conditions.support_span(rf.Dataset([[1.0], [-1.0], [1.0]], [1, 1, -1]))
    assert (mixed.holds, mixed.witness.positive_rank, mixed.witness.negative_rank) == (False, 0, 1)


@pytest.mark.parametrize("ratio", [1.0, 1e-20, 1e-90])
def test_directions_count_alike_whatever_the_sizes_of_samples(ratio):
    data = rf.Dataset([[1.0, 0.0], [ratio, ratio], [0.0, -1.0]], [1, 1, -1])
    assert conditions.general_position(data).value == pytest.approx(np.sin(np.pi / 8) * np.sqrt(2))
    assert conditions.support_span(rf.Dataset([[1.0, 0.0], [0.0, ratio]], [1, 1])).witness.positive_rank == 2
    assert len(rf.convex.arrangements(data.X)) == 6
