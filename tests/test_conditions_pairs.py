"""Orthogonal separability and symmetry, against the definitions written out in loops."""

import math

import numpy as np
import pytest

import reluflow as rf

conditions = rf.conditions


def worst_pairs(X, labels):
    """Least cosine within a class and greatest between classes, pair by pair."""
    same, different = math.inf, -math.inf
    for i, x in enumerate(X):
        for j, z in enumerate(X):
            cosine = math.fsum(x * z) / (math.sqrt(math.fsum(x * x)) * math.sqrt(math.fsum(z * z)))
            if labels[i] == labels[j]:
                same = min(same, cosine)
            else:
                different = max(different, cosine)
    return same, different


def test_the_verdict_is_that_of_the_definition_on_random_data_of_both_kinds():
    seen = set()
    for seed in range(200):
        rng = np.random.default_rng(seed)
        if seed % 2:
            data = rf.datasets.orthogonally_separable(8, 4, seed=seed)
        else:
            data = rf.Dataset(rng.standard_normal((4, 2)), rng.choice([-1, 1], 4))
        same, different = worst_pairs(data.X, data.y)
        verdict = conditions.orthogonal_separability(data)
        assert verdict.holds == (same > 0 and different <= 0)
        assert verdict.witness.same_cosine == pytest.approx(same, abs=1e-14)
        assert verdict.witness.different_cosine == pytest.approx(different, abs=1e-14)
        i, j = verdict.witness.same
        assert data.y[i] == data.y[j]
        seen.add(verdict.holds)
    assert seen == {True, False}


def test_several_classes_are_compared_two_by_two():
    for seed in range(200):
        data = rf.datasets.orthogonally_separable(9, 3, classes=3, seed=seed)
        verdict = conditions.orthogonal_separability(data)
        assert verdict.holds
        assert verdict.witness.different_cosine == pytest.approx(worst_pairs(data.X, data.labels)[1], abs=1e-14)


def test_one_class_against_the_rest_is_not_orthogonally_separable_for_three_classes():
    data = rf.datasets.MultiClassDataset(np.eye(3), [1, 2, 3])
    assert conditions.orthogonal_separability(data).holds
    assert not conditions.orthogonal_separability(data.binary(0)).holds


def test_orthogonal_samples_are_allowed_between_classes_and_refused_within_one():
    assert conditions.orthogonal_separability(rf.datasets.counterexample("corner")).holds
    verdict = conditions.orthogonal_separability(rf.Dataset(np.eye(2), [1, 1]))
    assert not verdict.holds
    assert verdict.witness.same in {(0, 1), (1, 0)}


def test_products_that_are_zero_to_rounding_count_as_zero():
    for seed in range(50):
        rotation = np.linalg.qr(np.random.default_rng(seed).standard_normal((6, 6)))[0]
        assert conditions.orthogonal_separability(rf.Dataset(rotation[:2], [1, -1])).holds
        assert not conditions.orthogonal_separability(rf.Dataset(rotation[:2], [1, 1])).holds


def test_one_class_alone_has_no_pair_of_different_samples():
    witness = conditions.orthogonal_separability(rf.datasets.wang_pilanci("spike_free")).witness
    assert witness.different is None
    assert witness.different_cosine == -math.inf


def test_symmetric_data_are_recognised_in_any_order():
    for seed in range(200):
        data = rf.datasets.symmetric(10, 3, seed=seed)
        order = np.random.default_rng(seed).permutation(10)
        shuffled = rf.Dataset(data.X[order], data.y[order])
        verdict = conditions.symmetry(shuffled)
        partner = verdict.witness.partner
        assert verdict.holds
        assert np.array_equal(shuffled.X[partner], -shuffled.X)
        assert np.array_equal(shuffled.y[partner], -shuffled.y)
        assert conditions.symmetry(data).witness.in_order


def test_repeated_samples_are_paired_one_to_one():
    data = rf.Dataset([[1.0, 2.0]] * 2 + [[-1.0, -2.0]] * 2, [1, 1, -1, -1])
    partner = conditions.symmetry(data).witness.partner
    assert sorted(partner[:2]) == [2, 3]
    assert [int(partner[p]) for p in partner] == [0, 1, 2, 3]


def test_a_sample_out_of_place_is_named_with_its_distance():
    data = rf.datasets.symmetric(6, 2, seed=1)
    X = data.X.copy()
    X[4] += [1e-3, 0]
    verdict = conditions.symmetry(rf.Dataset(X, data.y))
    assert not verdict.holds
    assert verdict.witness.worst in {1, 4}
    assert verdict.value == pytest.approx(1e-3 / np.linalg.norm(X, axis=1).max(), rel=1e-9)


def test_a_sample_without_partner_is_named():
    verdict = conditions.symmetry(rf.Dataset([[1.0], [-1.0], [2.0]], [1, -1, 1]))
    assert (verdict.holds, verdict.value) == (False, math.inf)
    assert verdict.witness.partner.tolist() == [1, 0, -1]
    assert verdict.witness.worst == 2


def test_labels_on_the_wrong_side_are_no_symmetry():
    assert not conditions.symmetry(rf.Dataset([[1.0], [-1.0]], [1, 1])).holds


def test_other_things_than_data_are_refused():
    several = rf.datasets.MultiClassDataset(np.eye(3), [1, 2, 3])
    with pytest.raises(ValueError, match="data must be a Dataset or a MultiClassDataset, found a value of type list"):
        conditions.orthogonal_separability([[1, 2]])
    with pytest.raises(ValueError, match=r"data must be a binary Dataset \(data.binary\(k\)"):
        conditions.symmetry(several)
