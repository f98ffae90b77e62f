"""Constructions of [VSS]: every printed claim about the limit and its neighbours, checked."""

import math

import numpy as np
import pytest

import reluflow as rf

LIMITS = {"3.2": (8, [2, 2]), "4.2": (8, [1] * 4), "4.3": (10, [2, 2, 1])}
OPTIMA = {"3.2": 3.880570, "4.2": 5.656854, "4.3": 4.924429}


def margins(weights, data):
    W, a = weights
    return data.y * (np.maximum(data.X @ W.T, 0) @ a)


def norm2(weights):
    return float((weights.W**2).sum() + (weights.a**2).sum())


def support_value(data, lam):
    """max over unit u of Σ λ_i y_i (u·x_i)_+ by a fine scan of the circle."""
    t = np.linspace(0, 2 * np.pi, 200_001)
    u = np.column_stack((np.cos(t), np.sin(t)))
    return float((np.maximum(u @ data.X.T, 0) @ (lam * data.y)).max())


@pytest.mark.parametrize("theorem", ["3.2", "4.2", "4.3", "5.3", "5.4"])
def test_the_limit_is_a_kkt_point(theorem):
    c = rf.datasets.vardi_shamir_srebro(theorem)
    W, a = c.limit
    active = W @ c.data.X.T > 0
    assert np.allclose(margins(c.limit, c.data), 1, atol=1e-15)
    assert np.allclose(W, a[:, None] * (active @ (c.multipliers[:, None] * c.data.X)), atol=1e-15)
    assert np.allclose(np.linalg.norm(W, axis=1), np.abs(a), atol=1e-15)
    assert c.multipliers.sum() == pytest.approx(c.limit_norm2 / 2)


@pytest.mark.parametrize("theorem", LIMITS)
def test_norm_multipliers_and_optimum_are_those_of_the_paper(theorem):
    c = rf.datasets.vardi_shamir_srebro(theorem)
    assert c.limit_norm2 == pytest.approx(LIMITS[theorem][0], rel=1e-15)
    assert c.multipliers.tolist() == LIMITS[theorem][1]
    assert c.global_norm2 == pytest.approx(OPTIMA[theorem], abs=1e-6)


@pytest.mark.parametrize(
    ("theorem", "predicted"),
    [
        ("3.2", lambda e: 8 - 4 * e + 17 * e**2 / 4),
        ("4.2", lambda e: 8 + 8 * e * (e - 1)),
        ("4.3", lambda e: 7.8125),
    ],
)
@pytest.mark.parametrize("e", [1e-6, 1e-3, 0.1, 0.4])
def test_the_better_network_is_feasible_and_has_the_printed_smaller_norm(theorem, predicted, e):
    c = rf.datasets.vardi_shamir_srebro(theorem)
    better = c.better(e)
    assert (margins(better, c.data) >= 1 - 1e-12).all()
    assert norm2(better) == pytest.approx(predicted(e), rel=1e-12)
    assert norm2(better) < c.limit_norm2


@pytest.mark.parametrize("theorem", ["3.2", "4.2"])
def test_where_the_limit_is_no_local_optimum_the_better_network_tends_to_it(theorem):
    c = rf.datasets.vardi_shamir_srebro(theorem)
    gaps = [math.dist(np.ravel(c.better(e).W), np.ravel(c.limit.W)) for e in (1e-2, 1e-4, 1e-6)]
    assert gaps[0] > gaps[1] > gaps[2]
    assert gaps[2] < 2e-3


def test_the_better_network_of_theorem_4_3_changes_the_first_layer_only():
    c = rf.datasets.vardi_shamir_srebro("5.4")
    better = c.better(0.1)
    assert np.array_equal(better.a, c.limit.a)
    assert (better.W**2).sum() == pytest.approx(2.8125)
    assert margins(better, c.data) == pytest.approx([1.030776, 1, 1], abs=1e-6)


@pytest.mark.parametrize(("theorem", "violation"), [("3.2", 2.061553), ("4.2", 1.414214), ("4.3", 2.061553)])
def test_the_multipliers_of_the_limit_are_not_dual_feasible(theorem, violation):
    c = rf.datasets.vardi_shamir_srebro(theorem)
    value = support_value(c.data, c.multipliers)
    assert value == pytest.approx(violation, abs=1e-6)
    assert c.limit_norm2 / value <= c.global_norm2 * (1 + 1e-8)


@pytest.mark.parametrize("h", [0.01, 0.1, 0.25, 0.4])
def test_the_global_optimum_is_certified_by_dual_multipliers_for_every_height(h):
    for theorem in ("3.2", "4.3"):
        c = rf.datasets.vardi_shamir_srebro(theorem, h=h)
        if theorem == "3.2":
            lam = np.full(2, 1 / math.hypot(1, h))
        else:
            p, q = 1 + h / 2, 0.5  # the optimal neurons (±p, -q) are λ_1 (±1, h) + λ_3 (0, -1) up to their norm
            lam = np.array([p, p, p * h + q]) / math.hypot(p, q)
        assert support_value(c.data, lam) <= 1 + 1e-9
        assert 2 * lam.sum() == pytest.approx(c.global_norm2, rel=1e-12)


def test_the_limit_gets_worse_without_bound_as_the_height_tends_to_zero():
    ratios = []
    for h in (0.25, 0.1, 0.01, 1e-4):
        c = rf.datasets.vardi_shamir_srebro("3.2", h=h)
        ratios.append(math.sqrt(c.limit_norm2 / c.global_norm2))
    assert ratios == pytest.approx([1.4358, 2.2416, 7.0712, 70.71], rel=1e-4)


@pytest.mark.parametrize("h", [1e-3, 0.1, 0.25, 0.4])
def test_the_start_of_theorem_3_2_lies_in_the_open_set(h):
    c = rf.datasets.vardi_shamir_srebro("3.2", h=h)
    Z = c.start.W @ c.data.X.T
    assert (Z[0] > 0).all()
    assert (Z[1] < 0).all()
    assert c.start.a[0] > 0
    assert np.allclose(margins(c.limit, c.data), 1)


@pytest.mark.parametrize(("theorem", "losses"), [("4.2", [0.0726]), ("4.3", [0.218563])])
def test_the_starts_have_a_loss_below_ln_2(theorem, losses):
    c = rf.datasets.vardi_shamir_srebro(theorem)
    loss = float(np.log1p(np.exp(-margins(c.start, c.data))).sum())
    assert loss == pytest.approx(losses[0], abs=5e-5)
    assert loss < math.log(2)


def test_a_construction_builds_networks():
    c = rf.datasets.vardi_shamir_srebro("4.3")
    net = rf.Network(*c.start, leak=c.leak)
    assert net(c.data.X).tolist() == [2.25, 2.25, 4.0]
    assert not c.limit.W.flags.writeable
    assert not c.multipliers.flags.writeable


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("4.1",), "theorem must be one of '3.2', '4.2'"),
        (("3.2", 0.0), r"h must lie in \(0, 0.4\], found 0.0"),
        (("3.2", 0.5), r"h must lie in \(0, 0.4\], found 0.5"),
        (("4.2", 0.1), "h must be left out for theorem '4.2', found 0.1"),
    ],
)
def test_other_constructions_are_refused(arguments, message):
    theorem, *h = arguments
    with pytest.raises(ValueError, match=message):
        rf.datasets.vardi_shamir_srebro(theorem, **({"h": h[0]} if h else {}))


@pytest.mark.parametrize(("theorem", "is_below"), [("3.2", False), ("4.2", True), ("4.3", True)])
def test_the_starts_documented_as_such_are_below_ln_2(theorem, is_below):
    c = rf.datasets.vardi_shamir_srebro(theorem)
    loss = np.logaddexp(0.0, -rf.Network(*c.start)(c.data.X)).sum()
    assert bool(loss < np.log(2)) is is_below
