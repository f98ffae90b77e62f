"""The slow drift far out: its equations, and that it takes the way of the legs that it stands for."""

import math

import numpy as np
import pytest
from sklearn.datasets import load_wine

import reluflow as rf
from certificate import certify_alone
from reluflow.flow import _drift, _to_limit
from reluflow.flow._beyond import Beyond
from reluflow.flow._drift import drift
from reluflow.flow._drift_equations import Factors, Frame, packed, unpacked
from reluflow.flow._drift_piece import Piece, State, gradients
from reluflow.limits._groups import groups


def raw_wine(a: int, b: int) -> rf.Dataset:
    """Two classes of wine in the units they come in: columns of sizes 1e-3 to 10."""
    X, y = load_wine(return_X_y=True)
    kept = (y == a) | (y == b)
    return rf.Dataset(X[kept] / 100, np.where(y[kept] == a, 1.0, -1.0))


def narrow(data: rf.Dataset, width: int = 6) -> rf.Network:
    return rf.Network.init(width, data.d, scale=1e-2, seed=0)


TO_LIMIT = rf.Stop(limit=True)


def point(seed: int, n_groups: int = 3, k: int = 5, d: int = 4) -> tuple[np.ndarray, np.ndarray]:
    """Gradients (H, k, d) and y of groups whose margins are one number."""
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((n_groups, k, d)) + 1.0
    y = packed(np.abs(rng.standard_normal((n_groups, d))), np.log(rng.random(n_groups)))
    for _ in range(20):
        y = Factors.of(D, y).levelled()
    return D, y


# --- equations ---


@pytest.mark.parametrize("seed", range(5))
def test_what_moves_the_groups_is_the_flow_of_the_margins(seed: int) -> None:
    """K λ = c 1 and λ·q = Σ A_c: all margins grow as |θ|² does, and |θ| by one e-folding a unit of time."""
    D, y = point(seed)
    factors = Factors.of(D, y)
    v, log_mass = unpacked(y, len(D))
    A, lam = np.exp(log_mass), factors.duals()
    g = np.einsum("ckd,k->cd", D, lam)
    np.testing.assert_allclose(factors.pulls(), g, rtol=1e-9)
    q = np.einsum("c,ckd,cd->k", A, D, v)
    np.testing.assert_allclose(q, factors.margin, rtol=1e-12)
    assert lam @ q == pytest.approx(A.sum(), rel=1e-12)
    along = (g * v).sum(axis=1)
    growth = np.einsum("c,ckd,cd->k", A, D, g + v * along[:, None])  # of a w: w' = a g, a' = g·w
    np.testing.assert_allclose(growth, growth.mean(), rtol=1e-9)
    np.testing.assert_allclose(factors.velocity(), packed(g - v * along[:, None], 2 * (along - 1)), atol=1e-9)


@pytest.mark.parametrize("seed", range(5))
def test_the_derivative_is_that_of_the_velocity(seed: int) -> None:
    D, y = point(seed)
    J, h = Factors.of(D, y).derivative(D), 1e-6
    for i, unit in enumerate(np.eye(len(y))):
        ahead, behind = (Factors.of(D, y + sign * h * unit).velocity() for sign in (1, -1))
        np.testing.assert_allclose(J[:, i], (ahead - behind) / (2 * h), atol=1e-6 * np.abs(J).max())


@pytest.mark.parametrize("k", [2, 3])
def test_the_frame_of_the_pulls_has_the_same_flow(k: int) -> None:
    """In it a group has as many coordinates as its samples have directions; what is across fades as v' = -v (g·v)."""
    D, y = point(0, k=k, d=6)
    D[0, 1:] = D[0, 0] * np.arange(2, k + 1)[:, None]  # a group of one direction
    frame, h = Frame.of(D, 2.0, y), 1e-6
    reduced = frame.reduced(y)
    assert frame.D.shape == (3, k, k)
    np.testing.assert_allclose(frame.whole(2.0, reduced), y, rtol=1e-13)
    rate = Factors.of(frame.D, reduced).velocity()
    ahead, behind = (frame.whole(2.0 + step, reduced + step * rate) for step in (h, -h))
    np.testing.assert_allclose((ahead - behind) / (2 * h), Factors.of(D, y).velocity(), atol=1e-7)


def test_margins_are_levelled_to_rounding() -> None:
    D, y = point(0)
    rough = y + 1e-4 * np.random.default_rng(1).standard_normal(len(y))
    for _ in range(3):
        rough = Factors.of(D, rough).levelled()
    v, log_mass = unpacked(rough, len(D))
    q = np.einsum("c,ckd,cd->k", np.exp(log_mass), D, v)
    assert np.ptp(q) <= 1e-13 * q.mean()
    assert np.abs(rough - y).max() <= 0.1


# --- events ---


def one_group(first: float, pattern: int, v: tuple[float, float]) -> tuple[Piece, State]:
    """One group that feels the sample (first, 1) alone, on a side of the boundary of (1, 0), which counts nothing."""
    data = rf.Dataset([[1.0, 0.0], [first, 1.0]], [1, 1], weights=[0.0, 1.0])
    net = rf.Network([v], [1.0])._with(np.array([v]), np.ones(1), np.array([[pattern, 1]], np.int8))
    sorted_, heavy, support = groups(data, net), np.array([0]), np.array([1])
    piece = Piece(data, net, sorted_, heavy, np.arange(0), support, gradients(data, sorted_, heavy, support))
    return piece, State(0.0, packed(np.array([v]), np.zeros(1)), np.zeros(0))


@pytest.mark.parametrize(("first", "side"), [(0.5, 1), (-0.5, -1)])
def test_a_group_leaves_a_boundary_to_the_side_where_it_is_pulled(first: float, side: int) -> None:
    piece, state = one_group(first, 0, (0.0, 1.0))
    changed = piece.changed(state)
    assert changed is not None
    assert changed[0].groups.pattern.tolist() == [[side, 1]]
    assert len(changed[0].groups.bases[0]) == 0


def test_a_group_crosses_the_boundary_of_a_sample_without_weight() -> None:
    piece, state = one_group(-0.5, 1, (-1e-8, 1.0))
    changed = piece.changed(state)
    assert changed is not None
    assert changed[0].groups.pattern.tolist() == [[-1, 1]]


# --- the way of the legs ---


@pytest.mark.parametrize(("end", "stays"), [(1100.0, False), pytest.param(4000.0, True, marks=pytest.mark.thorough)])
def test_a_drift_takes_the_way_of_the_legs(monkeypatch: pytest.MonkeyPatch, end: float, stays: bool) -> None:
    """From log |θ| = 420. A group crosses boundaries, the first at 1014; from 3910 on it stays on that of sample 72."""
    data = raw_wine(0, 2)
    monkeypatch.setattr(Beyond, "drift", lambda self, deadline: False)
    runs = []
    for norms in ((420.0,), (420.0, 520.0, 640.0, *np.arange(800.0, end + 1, 100.0))):
        monkeypatch.setattr(_to_limit, "LOG_NORMS", norms)
        runs.append(rf.integrate(data, narrow(data), until=TO_LIMIT))
    begin, legs = (run._raw for run in runs)
    length = runs[1].stats["beyond_log_norm"] - runs[0].stats["beyond_log_norm"]
    monkeypatch.setattr(_drift, "_LARGEST", 420.0 + length)
    net = runs[0].final._with(begin["beyond_W"], begin["beyond_a"], begin["beyond_pattern"])
    with np.errstate(divide="ignore"):
        found = drift(data, net, begin["beyond_sample_weights"], np.log(np.abs(net.a)), log_norm=420.0)
    assert found is not None
    assert found.events > 0
    assert found.length == pytest.approx(length, abs=1e-6)
    np.testing.assert_array_equal(found.pattern, legs["beyond_pattern"])
    assert bool((found.pattern[:, 72] == 0).any()) is stays
    theta = np.column_stack((found.W, found.a))
    expected = np.column_stack((legs["beyond_W"], legs["beyond_a"]))
    np.testing.assert_allclose(theta / np.linalg.norm(theta), expected / np.linalg.norm(expected), atol=1e-6)
    weights = legs["beyond_sample_weights"]
    np.testing.assert_allclose(found.weights, weights / weights.sum(), atol=1e-5)


@pytest.mark.parametrize(
    "classes", [(0, 2), *(pytest.param(pair, marks=pytest.mark.thorough) for pair in ((1, 2), (0, 1)))]
)
def test_raw_units_have_a_certified_limit(classes: tuple[int, int]) -> None:
    """Their directions settle at log |θ| of 10⁴ to 10⁸; networks of both widths come to one function."""
    data = raw_wine(*classes)
    outputs = []
    for width in (6, 20):
        sol = rf.integrate(data, narrow(data, width), until=TO_LIMIT)
        assert sol.status == "reached_limit", sol.message
        assert sol.stats["beyond_log_norm"] > 10_000
        assert certify_alone(data, sol.limit) <= 1e-9
        outputs.append(sol.limit.network(data.X))
    np.testing.assert_allclose(outputs[0], outputs[1], rtol=0, atol=1e-9 * np.abs(outputs[0]).max())


def test_a_network_at_its_limit_drifts_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    data = rf.datasets.wine("class_0", "class_1")
    sol = rf.integrate(data, rf.Network.init(8, data.d, scale=0.1, seed=0), until=TO_LIMIT)
    limit = sol.limit
    assert limit.certified
    weights = np.abs(limit.duals) / np.abs(limit.duals).sum()
    with np.errstate(divide="ignore"):
        sizes = np.log(np.abs(limit.network.a))
    found = drift(data, limit.network, weights, sizes, log_norm=1e5)
    assert found is not None
    assert (found.length, found.is_far, found.rests) == (9e5, True, False)  # ten times as far: the limit is asked for
    moved = np.column_stack((found.W, found.a)) - limit.network.theta.reshape(limit.network.width, -1)
    assert np.abs(moved).max() <= 1e-6
    monkeypatch.setattr(_drift, "_MOST_STEPS", 5)
    found = drift(data, limit.network, weights, sizes, log_norm=1e5)
    assert found is not None
    assert (found.is_far, found.rests) == (False, True)


def test_a_state_that_does_not_drift_is_left_alone() -> None:
    """Weights that are not those of the drift: a layer, or margins that are not one number."""
    data = rf.datasets.wine("class_0", "class_1")
    sol = rf.integrate(data, rf.Network.init(8, data.d, scale=0.1, seed=0), until=TO_LIMIT)
    net = sol.limit.network
    weights = np.abs(sol.limit.duals)
    sizes = np.log(np.maximum(np.abs(net.a), 1e-300))
    rng = np.random.default_rng(0)
    assert drift(data, net, weights * rng.uniform(0.5, 2.0, data.n), sizes, log_norm=420.0) is None
    turned = net._with(net.W + 1e-3 * rng.standard_normal(net.W.shape), net.a, net.pattern)
    assert drift(data, turned, weights, sizes, log_norm=420.0) is None


def test_a_drift_whose_numbers_leave_their_range_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trial of the implicit method may be far off: no warning, and legs go on."""
    data = raw_wine(0, 2)

    def far_off(self: Factors) -> np.ndarray:
        return np.full(self.v.size + len(self.v), 1.0) * np.exp(np.float64(1e4))

    monkeypatch.setattr(Factors, "velocity", far_off)
    monkeypatch.setattr(_to_limit, "LOG_NORMS", (420.0, 430.0))
    sol = rf.integrate(data, narrow(data), until=TO_LIMIT)
    assert sol.status == "limit_not_certified"
    assert sol.stats["beyond_log_norm"] == pytest.approx(430.0)


def test_an_interruption_of_a_drift_keeps_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(self: Beyond, deadline: float) -> bool:
        raise KeyboardInterrupt

    monkeypatch.setattr(Beyond, "drift", interrupted)
    data = raw_wine(0, 2)
    sol = rf.integrate(data, narrow(data), until=TO_LIMIT)
    assert (sol.status, sol.success) == ("interrupted", False)
    assert math.log(sol.final.norm) == pytest.approx(340.0)
    assert sol.stats["beyond_log_norm"] == pytest.approx(420.0)


def test_a_callback_is_asked_between_legs_shorter_than_its_period() -> None:
    """Each leg waited for a whole period, so that none beyond the range of doubles ever asked."""
    data = raw_wine(0, 2)
    sol = rf.integrate(
        data, narrow(data), until=TO_LIMIT, callback=lambda progress: math.isinf(progress.log_t), callback_period=0.3
    )
    assert sol.status == "stopped_by_callback"


def test_where_a_leg_fails_behind_a_drift_the_run_goes_on_from_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """It ends as legs alone do, with the work of both."""
    data = raw_wine(0, 2)
    monkeypatch.setattr(_to_limit, "LOG_NORMS", (420.0, 520.0, 640.0))
    own, drifts, lost = Beyond.drift, [], []

    def noted(self: Beyond, deadline: float) -> bool:
        drifts.append(own(self, deadline))
        return drifts[-1]

    def is_lost(leg: rf.Solution) -> bool:
        lost.append(leg.stats["steps"])
        return True

    monkeypatch.setattr(Beyond, "drift", noted)
    monkeypatch.setattr(_to_limit, "_is_lost", is_lost)
    sol = rf.integrate(data, narrow(data), until=TO_LIMIT)
    assert (drifts, len(lost)) == ([True], 1)
    monkeypatch.setattr(Beyond, "drift", lambda self, deadline: False)
    alone = rf.integrate(data, narrow(data), until=TO_LIMIT)
    assert sol.status == alone.status == "limit_not_certified"
    assert sol.stats["beyond_log_norm"] == alone.stats["beyond_log_norm"] == pytest.approx(640.0)
    assert sol.stats["steps"] > alone.stats["steps"] + lost[0]  # and those of the drift
    for name in ("beyond_W", "beyond_a", "beyond_pattern", "beyond_sample_weights"):
        np.testing.assert_array_equal(sol._raw[name], alone._raw[name])
