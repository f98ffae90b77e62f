"""Data of [LLWA]: symmetric pairs, hints, the linear teacher, Figure 1 and its nonlinear KKT point."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import reluflow as rf

SEEDS = range(200)
BASE = rf.Dataset([[0.6, 0.3], [0.5, -0.2], [-0.6, 0.2], [-0.5, -0.4]], [1, 1, -1, -1])
# α: (β, λ_1 = λ_3, λ_5, normalised margin of the KKT point, greatest margin)
KKT_TABLE = {
    0.0: (0.785398, 0.707107, 1.0, 0.207107, 0.25),
    0.1: (0.704978, 0.612617, 0.877477, 0.237788, 0.275),
    0.25: (0.598452, 0.512186, 0.743907, 0.282761, 0.3125),
    0.5: (0.441594, 0.404071, 0.595929, 0.356107, 0.375),
    0.75: (0.287127, 0.334498, 0.498252, 0.428358, 0.4375),
    0.9: (0.173734, 0.303379, 0.453918, 0.471398, 0.475),
}


def feasible_margin(X, y, margin):
    """Ask a linear program for a w with y_i w·x_i >= margin and |w|_inf <= 1: independent of the library's solver."""
    found = linprog(np.zeros(X.shape[1]), A_ub=-(X * y[:, None]), b_ub=np.full(len(y), -margin), bounds=(-1, 1))
    return found.status == 0


def test_every_seed_gives_symmetric_separable_data_in_the_unit_ball():
    for seed in SEEDS:
        data = rf.datasets.symmetric(8, 1 + seed % 5, margin=0.2, seed=seed)
        assert (data.X[4:] == -data.X[:4]).all()
        assert data.y.tolist() == [1] * 4 + [-1] * 4
        assert (np.linalg.norm(data.X, axis=1) <= 1 + 1e-12).all()
        assert feasible_margin(data.X, data.y, 0.2 - 1e-9)


def test_symmetrising_flips_negative_samples_first():
    data = rf.datasets.symmetrise(rf.Dataset([[1.0, 2.0], [3.0, -4.0]], [1, -1], name="two"))
    assert data.X.tolist() == [[1, 2], [-3, 4], [-1, -2], [3, -4]]
    assert data.y.tolist() == [1, 1, -1, -1]
    assert data.name == "two, symmetrised"
    for half in (None, 5, [1.0, 2.0], rf.datasets.iris()):
        with pytest.raises(ValueError, match=r"half must have the shape \(n, d\), found the shape"):
            rf.datasets.symmetrise(half)


def test_the_three_hints_stand_in_front_of_every_random_base():
    for seed in SEEDS:
        base = rf.datasets.symmetric(6, 2 + seed % 4, margin=0.3, seed=seed)
        data = rf.datasets.hinted(base, H=7.0, K=2.0, eps=0.01)
        w_star, side = data.X[0] / 7, (data.X[1] - data.X[2]) / 4
        assert np.allclose([w_star @ w_star, side @ side, w_star @ side], [1, 1, 0], atol=1e-12)
        assert np.allclose(data.X[1] + data.X[2], 0.02 * w_star, atol=1e-12)
        assert np.array_equal(data.X[3:], base.X)
        assert data.y[:3].tolist() == [1, 1, 1]
        margin = (base.X * base.y[:, None] @ w_star).min()
        assert not feasible_unit_margin(base, margin * (1 + 1e-6), seed)


def feasible_unit_margin(data, margin, seed):
    """Look for a unit vector of a larger margin among many around the best one; finding one would refute it."""
    signed = data.X * data.y[:, None]
    best = rf.conditions.linear_margin(data).direction
    rng = np.random.default_rng(seed)
    candidates = best + 0.1 ** rng.uniform(0, 6, (300, 1)) * rng.standard_normal((300, data.d))
    candidates /= np.linalg.norm(candidates, axis=1, keepdims=True)
    return bool(((candidates @ signed.T).min(axis=1) > margin).any())


def test_hint_bounds_have_the_numbers_worked_out_for_the_printed_conditions():
    bounds = rf.datasets.hint_bounds(BASE, H=60, K=1, eps=0.125, leak=0.5)
    assert bounds.principal == pytest.approx(47.15, abs=5e-3)
    assert bounds.dominance == pytest.approx(33.69, abs=5e-3)
    assert bounds.max_eps == pytest.approx(0.25)
    assert bounds.holds
    assert not rf.datasets.hint_bounds(BASE, H=47, K=1, eps=0.125, leak=0.5).holds
    assert not rf.datasets.hint_bounds(BASE, H=600, K=1, eps=0.25, leak=0.5).holds


@pytest.mark.parametrize(
    ("base", "options", "message"),
    [
        (rf.Dataset([[1.0, 0.0], [1.0, 0.0]], [1, -1]), {}, "base must be linearly separable, found"),
        (rf.Dataset([[1.0], [-1.0]], [1, -1]), {}, "base must have at least 2 inputs"),
        (BASE, {"w_perp": [1, 0]}, "w_perp must be a unit vector perpendicular"),
        (BASE, {"w_perp": [0, 2]}, "w_perp must be a unit vector perpendicular"),
        (BASE, {"w_perp": [0, 1, 0]}, "w_perp must have 2 entries, found 3 entries"),
        (BASE, {"H": 0.0}, "H must be a finite number above 0, found 0.0"),
    ],
)
def test_hints_that_make_no_sense_are_refused(base, options, message):
    with pytest.raises(ValueError, match=message):
        rf.datasets.hinted(base, **{"H": 60.0, "K": 1.0, "eps": 0.1, **options})


def test_the_linear_teacher_labels_by_its_first_axis_with_the_margin_asked_for():
    for seed in SEEDS:
        data = rf.datasets.linear_teacher(10, 4, margin=0.3, seed=seed)
        assert (data.X[:, 0] * data.y >= 0.3).all()
        assert (data.X[:, 4] == 0.1).all()
    assert rf.datasets.linear_teacher(10, 4, bias=0.0).d == 4


def test_the_linear_teacher_gives_test_errors_near_table_1():
    errors = []
    for n in (10, 50, 100):
        train, test = rf.datasets.linear_teacher(n, seed=n), rf.datasets.linear_teacher(4000, seed=1000 + n)
        w = rf.conditions.linear_margin(train).w
        errors.append(float((test.X @ w * test.y <= 0).mean()))
    assert errors[0] > 2 * errors[1] > 2 * errors[2]
    assert 0.15 < errors[0] < 0.36  # printed 30.2 %
    assert errors[2] < 0.08  # printed 2.9 %


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rf.datasets.symmetric(5, 2), "n must be even, found 5"),
        (lambda: rf.datasets.symmetric(4, 2, margin=1.0), r"margin must lie in \(0, 1\), found 1.0"),
        (lambda: rf.datasets.linear_teacher(5, margin=-1), "margin must be a finite number of at least 0, found -1.0"),
        (lambda: rf.datasets.lyu_figure1("top"), "panel must be one of 'left', 'middle', 'right', found 'top'"),
        (lambda: rf.datasets.lyu_kkt(leak=1.0), r"leak must lie in \[0, 1\), found 1.0"),
        (lambda: rf.datasets.hint_bounds(BASE, H=1, K=1, eps=1, leak=2.0), r"leak must lie in \(0, 1\], found 2.0"),
    ],
)
def test_numbers_out_of_range_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_the_right_panel_is_the_hinted_base():
    made = rf.datasets.hinted(BASE, H=60, K=1, eps=0.125, w_perp=[0, 1])
    assert np.allclose(rf.datasets.lyu_figure1("right").X, made.X, atol=1e-12)


@pytest.mark.parametrize("leak", KKT_TABLE)
def test_the_left_panel_has_the_angle_and_the_linear_margin_of_the_paper(leak):
    data = rf.datasets.lyu_figure1("left", leak=leak)
    beta = math.atan(1 / data.X[0, 1])
    assert beta == pytest.approx(KKT_TABLE[leak][0], abs=1e-6)
    assert rf.conditions.linear_margin(data).margin == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("leak", KKT_TABLE)
def test_the_nonlinear_kkt_point_satisfies_every_line_of_the_conditions(leak):
    c = rf.datasets.lyu_kkt(leak=leak)
    (W, a), X, y, lam = c.limit, c.data.X, c.data.y, c.multipliers
    Z = W @ X.T
    on_boundary = np.abs(Z) < 1e-12
    slopes = np.where(on_boundary | (Z < 0), leak, 1.0)  # the subgradient on a boundary is α
    q = y * (a @ (slopes * Z))
    assert on_boundary.sum() == 4
    assert np.allclose(q, 1, atol=1e-12)
    assert np.allclose(W, a[:, None] * ((slopes * (lam * y)) @ X), atol=1e-12)
    assert np.allclose(np.linalg.norm(W, axis=1), np.abs(a), atol=1e-12)
    assert lam.sum() == pytest.approx(c.limit_norm2 / 2, rel=1e-12)
    _, pair, last, margin, greatest = KKT_TABLE[leak]
    assert [lam[0], lam[2], lam[4]] == pytest.approx([pair, pair, last], abs=1e-6)
    assert lam[[1, 3, 5]].tolist() == [0, 0, 0]
    assert [1 / c.limit_norm2, 1 / c.global_norm2] == pytest.approx([margin, greatest], abs=1e-6)
    assert c.start is None


@pytest.mark.parametrize(
    ("leak", "pair"), [(1e-17, math.sqrt(0.5)), (1 - 1e-6, 2 / 7), (1 - 1e-8, 2 / 7), (1 - 2**-53, 2 / 7)]
)
def test_the_nonlinear_kkt_point_is_known_next_to_both_ends_of_the_leak(leak, pair):
    c = rf.datasets.lyu_kkt(leak=leak)
    assert c.multipliers[[0, 2, 4]] == pytest.approx([pair, pair, 1 - 2 * leak * pair], abs=1e-6)
    boundary = c.limit.W[0] * c.data.X[2]
    assert boundary.sum() == pytest.approx(0, abs=1e-12 * abs(boundary[0]))
