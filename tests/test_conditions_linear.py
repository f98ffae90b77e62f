"""Max-margin separators: verdicts against a linear program, optimality by the multipliers."""

import numpy as np
import pytest
from scipy.optimize import linprog

import reluflow as rf

conditions = rf.conditions


def separable_by_lp(data):
    """Maximise t s.t. y_i w·x_i >= t, |w|_inf <= 1."""
    A = np.hstack((-data.X * data.y[:, None], np.ones((data.n, 1))))
    found = linprog([0.0] * data.d + [-1.0], A_ub=A, b_ub=np.zeros(data.n), bounds=[(-1, 1)] * data.d + [(None, 1)])
    return -found.fun


def random_data(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 9)), int(rng.integers(1, 5))
    return rf.Dataset(rng.standard_normal((n, d)) * 10.0 ** rng.integers(-3, 4), rng.choice([-1, 1], n))


def test_verdict_and_witness_agree_with_a_linear_program_on_random_data():
    counts = {True: 0, False: 0}
    for seed in range(200):
        data = random_data(seed)
        verdict = conditions.linear_separability(data)
        witness, signed = verdict.witness, data.X * data.y[:, None]
        counts[verdict.holds] += 1
        assert verdict.holds == (separable_by_lp(data) > 1e-9 * np.abs(data.X).max()), seed
        assert (witness.multipliers >= 0).all()
        if verdict.holds:  # feasibility, stationarity and complementary slackness: the optimum of a convex problem
            margins = signed @ witness.w
            assert margins.min() >= 1 - 1e-10
            assert np.allclose(witness.multipliers @ signed, witness.w, rtol=1e-9, atol=1e-9 * np.abs(witness.w).max())
            assert (witness.multipliers * (margins - 1)).sum() <= 1e-9 * witness.multipliers.sum()
            assert verdict.value == pytest.approx((signed @ witness.direction).min(), rel=1e-9)
        else:
            assert witness.multipliers.sum() == pytest.approx(1)
            assert np.linalg.norm(witness.multipliers @ signed) <= 1e-12 * np.abs(data.X).max()
    assert min(counts.values()) > 30


@pytest.mark.parametrize("margin", [1e-3, 1e-6, 1e-9, 1e-12])
def test_tiny_margins_are_still_found(margin):
    data = rf.Dataset([[1.0, margin], [-1.0, margin]], [1, 1])
    found = conditions.linear_margin(data)
    assert found.separable
    assert found.margin == pytest.approx(margin, rel=1e-9)
    assert found.direction == pytest.approx([0, 1], abs=1e-15)


def test_a_margin_of_rounding_size_is_no_separation():
    for seed in range(50):
        x, z = np.random.default_rng(seed).standard_normal((2, 3))
        data = rf.Dataset([x, z, -0.3 * x - 0.7 * z], [1, 1, 1])  # 0 is a convex combination, but for rounding
        found = conditions.linear_margin(data)
        assert not found.separable
        assert found.residual < 1e-12


def test_touching_classes_are_not_separable():
    verdict = conditions.linear_separability(rf.Dataset([[1.0, 2.0], [2.0, 4.0]], [1, -1]))
    assert (verdict.holds, verdict.value) == (False, 0.0)
    assert verdict.witness.direction.tolist() == [0, 0]


def test_class_separators_are_positive_on_their_class():
    data = rf.datasets.phuong_lampert(60, 6, seed=2)
    for samples, sign in (("positive", 1), ("negative", -1)):
        found = conditions.linear_margin(data, samples=samples)
        products = data.X[data.y == sign] @ found.w
        assert products.min() == pytest.approx(1, abs=1e-12)
        assert products[found.support] == pytest.approx(1, abs=1e-9)
        assert found.multipliers.shape == (30,)


def test_the_norms_of_the_class_separators_add_up_to_the_optimum_of_the_planar_example():
    data = rf.datasets.wang_pilanci("obtuse")
    norms = [np.linalg.norm(conditions.linear_margin(data, samples=s).w) for s in ("positive", "negative")]
    assert norms == pytest.approx([0.582875, 0.699557], abs=1e-6)
    assert sum(norms) == pytest.approx(1.282432, abs=1e-6)


def test_the_order_of_samples_and_a_rotation_change_nothing():
    data = rf.datasets.digits(3, 8)
    rng = np.random.default_rng(0)
    order, rotation = rng.permutation(data.n), np.linalg.qr(rng.standard_normal((64, 64)))[0]
    first, second = (
        conditions.linear_margin(data),
        conditions.linear_margin(rf.Dataset(data.X[order] @ rotation, data.y[order])),
    )
    assert second.margin == pytest.approx(first.margin, rel=1e-12)
    assert np.allclose(second.w, first.w @ rotation, atol=1e-10)
    assert set(order[second.support]) == set(first.support)


def test_results_are_read_only_and_print_as_one_line():
    verdict = conditions.linear_separability(rf.datasets.wang_pilanci("obtuse"))
    assert not verdict.witness.w.flags.writeable
    assert "holds, 1.36317" in str(verdict)
    assert "\n" not in str(verdict)
    assert bool(verdict) is True
    assert bool(conditions.linear_separability(rf.datasets.counterexample("opposite"))) is False


def test_bad_arguments_are_refused():
    data = rf.datasets.wang_pilanci("spike_free")
    with pytest.raises(ValueError, match="samples must be one of 'all', 'positive', 'negative', found 'plus'"):
        conditions.linear_margin(data, samples="plus")
    with pytest.raises(ValueError, match="samples must name a class that occurs, found no negative sample"):
        conditions.linear_margin(data, samples="negative")
    with pytest.raises(ValueError, match="data must be a Dataset, found a value of type ndarray"):
        conditions.linear_margin(data.X)


@pytest.mark.parametrize("ratio", [1e-12, 1e-20, 1e-60])
def test_samples_of_very_different_sizes_are_separated_by_their_directions(ratio):
    separable = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(2, 7)), int(rng.integers(1, 5))
        X, y = rng.standard_normal((n, d)), rng.choice([-1, 1], n)
        sizes = np.where(rng.random(n) < 0.5, ratio, 1.0)
        found = conditions.linear_margin(rf.Dataset(sizes[:, None] * X, y))
        signed = sizes[:, None] * X * y[:, None]
        assert found.separable == (separable_by_lp(rf.Dataset(X, y)) > 1e-9), seed
        if found.separable:
            separable += 1
            rounding = 1e-14 * np.linalg.norm(signed, axis=1) * np.linalg.norm(found.w)
            assert (signed @ found.w >= 1 - 1e-9 - rounding).all(), seed
            assert np.linalg.norm(found.multipliers @ signed - found.w) <= 1e-9 * np.linalg.norm(found.w)
            assert found.multipliers.sum() == pytest.approx(found.w @ found.w, rel=1e-6)
            assert found.margin == pytest.approx(1 / np.linalg.norm(found.w))
    assert separable > 15
