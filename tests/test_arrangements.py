"""Sign patterns: the counts of known arrangements, a slow twin by linear programs, degenerate data, refusals."""

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import linprog

import reluflow as rf
from reluflow import convex


def slow_patterns(X):
    """Every sign vector s with a w such that s_i x_i·w >= 1 on the rows that are not zero, by linear programs."""
    moving = X.any(axis=1)
    found = set()
    for signs in itertools.product((-1.0, 1.0), repeat=int(moving.sum())):
        A = -np.array(signs)[:, None] * X[moving]
        bounds = [(None, None)] * X.shape[1]
        if linprog(np.zeros(X.shape[1]), A_ub=A, b_ub=-np.ones(len(A)), bounds=bounds).status == 0:
            pattern = np.ones(len(X), dtype=bool)
            pattern[moving] = np.array(signs) > 0
            found.add(tuple(pattern))
    return found


def as_set(found):
    return {tuple(row) for row in found.patterns}


def check_witnesses(X, found):
    """Every witness is a unit vector, strictly inside the cell of its pattern; no pattern comes twice."""
    heights = found.witnesses @ X.T
    np.testing.assert_array_equal(heights >= 0, found.patterns)
    norms = np.linalg.norm(X, axis=1)
    moving = norms > 0
    assert (np.abs(heights[:, moving]) > 1e-12 * norms[moving]).all()
    np.testing.assert_allclose(np.linalg.norm(found.witnesses, axis=1), 1, rtol=1e-12)
    assert len(as_set(found)) == len(found)


def position(n, k):
    return 2 * sum(math.comb(n - 1, j) for j in range(k))


@pytest.mark.parametrize(("n", "d"), [(1, 1), (1, 4), (7, 2), (9, 3), (20, 4), (12, 5), (10, 6), (4, 9)])
def test_random_data_have_the_patterns_of_general_position(n, d):
    X = np.random.default_rng(n + d).standard_normal((n, d))
    found = convex.arrangements(X)
    assert len(found) == found.n_expected == position(n, min(n, d))
    assert found.general_position
    assert found.fraction == 1
    check_witnesses(X, found)


@pytest.mark.parametrize(("n", "d", "count"), [(60, 4, 68_560), (25, 6, 110_910)])
def test_tens_of_thousands_of_patterns_are_all_found(n, d, count):
    X = np.random.default_rng(0).standard_normal((n, d))
    found = convex.arrangements(X)
    assert len(found) == count
    check_witnesses(X, found)


@pytest.mark.parametrize("seed", range(12))
def test_small_integer_data_agree_with_linear_programs(seed):
    # Entries from -1 to 1 give repeated, opposite and zero rows, coplanar triples and rank deficiency.
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 2, (int(rng.integers(2, 8)), int(rng.integers(1, 5)))).astype(float)
    found = convex.arrangements(X)
    assert as_set(found) == slow_patterns(X)
    assert len(found) <= found.n_expected
    check_witnesses(X, found)


def roots(kind, k):
    """Normals of a reflection arrangement; its cells are as many as the elements of its group."""
    eye = np.eye(k)
    rows = [eye[i] - eye[j] for i, j in itertools.combinations(range(k), 2)]
    if kind in ("B", "D"):
        rows += [eye[i] + eye[j] for i, j in itertools.combinations(range(k), 2)]
    if kind == "B":
        rows += list(eye)
    return np.array(rows)


@pytest.mark.parametrize(
    ("kind", "k", "count"), [("A", 4, 24), ("A", 5, 120), ("B", 3, 48), ("B", 4, 384), ("D", 4, 192)]
)
def test_reflection_arrangements_have_one_cell_an_element_of_their_group(kind, k, count):
    X = roots(kind, k)
    found = convex.arrangements(X)
    assert len(found) == count < found.n_expected
    check_witnesses(X, found)


def test_a_rotated_degenerate_arrangement_stays_degenerate_in_spite_of_rounding():
    rng = np.random.default_rng(5)
    Q, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    X = rng.uniform(0.1, 10, (16, 1)) * (roots("B", 4) @ Q)
    found = convex.arrangements(X)
    assert len(found) == 384
    check_witnesses(X, found)


def test_repeated_opposite_scaled_and_zero_rows_add_no_pattern():
    X = np.random.default_rng(2).standard_normal((6, 3))
    more = np.vstack((X, X[:2], -3 * X[2:4], 0.01 * X[4:5], np.zeros((1, 3))))
    found = convex.arrangements(more)
    assert as_set(found) == {(*p, p[0], p[1], not p[2], not p[3], p[4], True) for p in as_set(convex.arrangements(X))}
    check_witnesses(more, found)


def test_rank_deficient_data_have_the_patterns_of_their_row_space():
    rng = np.random.default_rng(3)
    low = rng.standard_normal((9, 3))
    X = low @ rng.standard_normal((3, 40))
    found = convex.arrangements(X)
    assert as_set(found) == as_set(convex.arrangements(low))
    basis = np.linalg.qr(X.T)[0][:, :3]
    np.testing.assert_allclose(found.witnesses, found.witnesses @ basis @ basis.T, atol=1e-12)


def test_data_of_zeros_only_have_one_pattern():
    found = convex.arrangements(np.zeros((3, 2)))
    assert found.patterns.tolist() == [[True, True, True]]
    np.testing.assert_array_equal(np.linalg.norm(found.witnesses, axis=1), 1.0)
    assert (found.n_expected, found.complete, found.coverage) == (1, True, 1.0)


def test_the_order_of_the_samples_does_not_change_the_set():
    X = np.random.default_rng(4).standard_normal((11, 4))
    order = np.random.default_rng(5).permutation(11)
    assert {tuple(np.array(p)[order]) for p in as_set(convex.arrangements(X))} == as_set(convex.arrangements(X[order]))


def test_the_same_data_give_the_same_bits():
    X = np.random.default_rng(6).standard_normal((14, 4))
    one, two = convex.arrangements(X), convex.arrangements(X)
    np.testing.assert_array_equal(one.patterns, two.patterns)
    np.testing.assert_array_equal(one.witnesses, two.witnesses)


def test_too_many_patterns_are_refused_at_once_with_the_expected_number():
    X = np.random.default_rng(7).standard_normal((60, 10))
    with pytest.raises(
        convex.TooManyPatternsError, match=r"found 1000000 where about 30,349,690,744 are expected"
    ) as info:
        convex.arrangements(X)
    assert info.value.expected == position(60, 10)
    assert info.value.limit == 1_000_000


def test_hopeless_data_are_refused_with_the_order_of_magnitude():
    X = np.random.default_rng(8).standard_normal((357, 54))
    with pytest.raises(convex.TooManyPatternsError, match=r"about 10\^\d\d are expected"):
        convex.arrangements(X)


def test_data_of_high_rank_are_refused_at_once_however_degenerate():
    with pytest.raises(convex.TooManyPatternsError, match=r"more than that, at most 10\^64, are expected"):
        convex.arrangements(rf.datasets.digits(3, 8).X)


def test_degenerate_data_are_refused_only_when_the_limit_is_reached():
    # All lines through a 5 x 5 x 5 grid: most triples of them are dependent.
    X = np.array([x for x in itertools.product(range(-2, 3), repeat=3) if any(x)], dtype=float)
    count = len(convex.arrangements(X))
    assert len(convex.arrangements(X, limit=count)) == count
    with pytest.raises(
        convex.TooManyPatternsError, match=r"limit must be at least .* where more than that, at most 2,354,"
    ):
        convex.arrangements(X, limit=count - 1)


@pytest.mark.parametrize(
    ("X", "message"),
    [([[1.0, np.nan]], "X must hold finite numbers"), ([1.0, 2.0], r"X must have the shape \(n, d\)")],
)
def test_bad_data_are_refused_by_name(X, message):
    with pytest.raises(ValueError, match=message):
        convex.arrangements(X)


def test_samples_are_patterns_with_witnesses_and_say_what_share_they_are():
    X = np.random.default_rng(9).standard_normal((20, 4))
    every = as_set(convex.arrangements(X))
    few = convex.sample_arrangements(X, 300, seed=1)
    many = convex.sample_arrangements(X, 20_000, seed=1)
    for found in (few, many):
        assert as_set(found) <= every
        assert found.n_expected == 2320
        assert found.fraction == len(found) / 2320
        assert not found.complete
        check_witnesses(X, found)
    assert few.fraction < many.fraction < 1
    assert 0 < few.coverage < many.coverage < 1


def test_the_coverage_of_a_sample_is_the_chance_that_a_direction_is_covered():
    X = np.random.default_rng(10).standard_normal((12, 3))
    heights = np.random.default_rng(11).standard_normal((5_000, 3)) @ X.T >= 0
    errors = []
    for seed in range(20):
        found = convex.sample_arrangements(X, 500, seed=seed)
        patterns = as_set(found)
        errors.append(found.coverage - np.mean([tuple(row) in patterns for row in heights]))
    # One estimate is good to about sqrt(2 · 15)/500 = 0.011, the mean of twenty to a quarter of that.
    assert abs(np.mean(errors)) < 0.01
    assert np.std(errors) < 0.03


def test_a_sample_is_the_same_for_the_same_seed_and_another_for_another():
    X = np.random.default_rng(12).standard_normal((15, 4))
    one, two, other = (convex.sample_arrangements(X, 100, seed=s) for s in (1, 1, 2))
    np.testing.assert_array_equal(one.patterns, two.patterns)
    assert as_set(one) != as_set(other)


def test_a_sample_of_few_cells_is_complete():
    found = convex.sample_arrangements(rf.datasets.wang_pilanci("obtuse").X, 1000)
    assert found.complete
    assert found.coverage == 1
