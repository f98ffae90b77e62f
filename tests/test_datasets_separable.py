"""Orthogonally separable generators, certified by a slow obvious checker of the definition."""

import math

import numpy as np
import pytest

import reluflow as rf

SEEDS = range(200)


def obeys_the_definition(X, labels):
    """[PL, Sec. 2], pair by pair in plain Python: same class > 0, other class <= 0."""
    rows = [[float(v) for v in row] for row in X]
    for i, x in enumerate(rows):
        for j, z in enumerate(rows):
            product = math.fsum(p * q for p, q in zip(x, z, strict=True))
            if (product > 0) != (labels[i] == labels[j]):
                return False
    return True


@pytest.mark.parametrize("K", [2, 3, 5])
def test_every_seed_gives_orthogonally_separable_classes(K):
    for seed in SEEDS:
        d = K - 1 + seed % 4
        data = rf.datasets.orthogonally_separable(2 * K + 1, d, classes=K, seed=seed)
        labels = data.y if K == 2 else data.labels
        assert obeys_the_definition(data.X, labels), seed


def test_the_checker_refuses_data_that_are_not_orthogonally_separable():
    assert not obeys_the_definition([[1, 0], [-1, 1]], [1, 1])
    assert not obeys_the_definition([[1, 0], [1, 1]], [1, -1])
    assert obeys_the_definition([[1, 0], [0, 1]], [1, -1])


def test_the_phuong_lampert_recipe_keeps_its_filter_for_every_seed():
    for seed in SEEDS:
        data = rf.datasets.phuong_lampert(12, 6, seed=seed)
        z = np.array([1, -1] * 3)
        assert (data.X * data.y[:, None] > 0).all()
        assert (data.X @ z >= 0).all()
        assert obeys_the_definition(data.X, data.y)


def test_the_phuong_lampert_recipe_has_the_law_of_the_literal_filter():
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((200_000, 4))
    z = np.array([1, -1, 1, -1])
    literal = draws[(draws > 0).all(axis=1) & (draws @ z >= 0)]
    made = rf.datasets.phuong_lampert(12_000, 4, seed=1)
    ours = made.X[made.y > 0]
    spread = literal.std(axis=0) * math.sqrt(1 / len(literal) + 1 / len(ours))
    assert (np.abs(ours.mean(axis=0) - literal.mean(axis=0)) < 5 * spread).all()
    assert ours[:, 0].mean() > ours[:, 1].mean()  # the filter x·z >= 0 favours the odd inputs


def test_the_paper_size_is_the_default_with_equal_classes():
    data = rf.datasets.phuong_lampert()
    assert (data.n, data.d, int(data.y.sum())) == (500, 20, 0)


@pytest.mark.parametrize("seed", range(3))
def test_the_support_examples_of_the_recipe_do_not_span_the_space(seed):
    data = rf.datasets.phuong_lampert(seed=seed)
    span = rf.conditions.support_span(data)
    assert not span.holds
    assert all(3 <= len(support) <= 12 for support in (span.witness.positive, span.witness.negative))


def test_the_same_seed_gives_the_same_bits_and_another_seed_other_data():
    for make in (rf.datasets.phuong_lampert, rf.datasets.orthogonally_separable):
        assert np.array_equal(make(10, 4, seed=5).X, make(10, 4, seed=5).X)
        assert not np.array_equal(make(10, 4, seed=5).X, make(10, 4, seed=6).X)


def test_classes_get_equal_shares_and_stand_in_order():
    data = rf.datasets.orthogonally_separable(8, 3, classes=3)
    assert data.labels.tolist() == [0, 0, 0, 1, 1, 1, 2, 2]


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        ((4, 1), {"classes": 3}, "d must be at least 2 for 3 classes, found 1"),
        ((2, 4), {"classes": 3}, "n must be an integer of at least 3, found 2"),
        ((4, 2), {"classes": 1}, "classes must be an integer of at least 2, found 1"),
        ((4, 2), {"seed": -1}, "seed must be an integer of at least 0, a numpy Generator or None, found -1"),
    ],
)
def test_impossible_sizes_are_refused(arguments, options, message):
    with pytest.raises(ValueError, match=message):
        rf.datasets.orthogonally_separable(*arguments, **options)


def test_an_odd_number_of_inputs_is_refused_by_the_phuong_lampert_recipe():
    with pytest.raises(ValueError, match="d must be even, found 5"):
        rf.datasets.phuong_lampert(10, 5)
