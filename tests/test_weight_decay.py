"""Weight decay: closed forms, the objective, critical points, and descent as the witness."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import reluflow as rf
from reluflow.losses import duals, log_total, loss_arguments


def gradients(data: rf.Dataset, net: rf.Network, loss: str) -> np.ndarray:
    """Return Σ λ_i s_ji x_i of each neuron, away from boundaries, shape (m, d)."""
    slopes = np.where(net.W @ data.X.T > 0, 1.0, net.leak)
    return (slopes * duals(data, net(data.X), loss)) @ data.X


@pytest.mark.parametrize("scale", [1e-8, 0.3])
def test_one_balanced_neuron_grows_to_what_the_decay_leaves(scale) -> None:
    # u = a² = w² follows u' = 2 u (y - u) - 2 γ u: a logistic curve to y - γ.
    y, decay, u0 = 1.7, 0.4, scale**2
    data, net = rf.Dataset([[1.0]], [y]), rf.Network([[scale]], [scale])
    sol = rf.integrate(data, net, until=1e3, loss="squared", weight_decay=decay)
    top = y - decay
    waking = np.log((top - u0) / u0) / (2 * top)
    for t in waking + np.array([-0.7, 0.0, 0.4, 2.0]):
        if t > 0:
            assert sol(t).a[0] ** 2 == pytest.approx(top / (1.0 + np.exp(2 * top * (waking - t))), rel=1e-7)
    assert sol.final.a[0] ** 2 == pytest.approx(top, rel=1e-11)
    assert sol.limit.network.a[0] ** 2 == pytest.approx(top, rel=1e-14)


@pytest.mark.parametrize("loss", ["squared", "logistic", "exponential"])
def test_what_nothing_drives_decays_by_itself(loss) -> None:
    # Neuron 1 is inactive on both samples; the third coordinate is outside their span.
    data = rf.Dataset([[1.0, 0.2, 0.0], [0.3, 1.0, 0.0]], [1.0, -1.0])
    net = rf.Network([[0.5, 0.1, 0.7], [-0.3, -0.4, 0.2]], [0.6, 0.9])
    sol = rf.integrate(data, net, until=7.0, loss=loss, weight_decay=0.3)
    for t in (0.5, 3.0, 7.0):
        left = np.exp(-0.3 * t)
        np.testing.assert_allclose(sol(t).W[1], left * net.W[1], rtol=1e-12)
        assert sol(t).a[1] == pytest.approx(left * 0.9, rel=1e-12)
        assert sol(t).W[0, 2] == pytest.approx(left * 0.7, rel=1e-12)


@pytest.mark.parametrize(
    ("loss", "leak"), [("squared", 0.0), ("squared", 0.2), ("logistic", 0.0), ("exponential", 0.1)]
)
def test_balance_decays_and_descent_tends_to_the_flow(loss, leak) -> None:
    rng = np.random.default_rng(6)
    y = rng.normal(size=6)
    data = rf.Dataset(rng.normal(size=(6, 2)), y if loss == "squared" else np.sign(y))
    net = rf.Network(rng.normal(size=(5, 2)), rng.normal(size=5), leak=leak)
    sol = rf.integrate(data, net, until=1.0, loss=loss, weight_decay=0.5)
    balance = net.a**2 - (net.W**2).sum(axis=1)
    np.testing.assert_allclose(sol.final.a**2 - (sol.final.W**2).sum(axis=1), np.exp(-1.0) * balance, rtol=1e-11)
    gaps = []
    for n_steps in (1000, 4000):
        run = rf.descend(data, net, step=1.0 / n_steps, n_steps=n_steps, loss=loss, weight_decay=0.5)
        gaps.append(float(np.abs(run.final.theta - sol.final.theta).max()))
    assert gaps[0] < 5e-3
    assert gaps[1] < 0.3 * gaps[0]


@pytest.mark.parametrize("loss", ["squared", "logistic", "exponential"])
def test_the_run_ends_at_a_critical_point_of_the_whole_objective(loss) -> None:
    rng = np.random.default_rng(11)
    y = rng.normal(size=12)
    data = rf.Dataset(rng.normal(size=(12, 3)), y if loss == "squared" else np.sign(y))
    decay = 0.2
    net = rf.Network.init(10, 3, scale=0.1, seed=12, leak=0.1)
    sol = rf.integrate(data, net, until=rf.Stop(seconds=60), loss=loss, weight_decay=decay)
    assert sol.status == "stationary"
    objective = np.exp(sol.log_loss) + 0.5 * decay * ((sol.W**2).sum(axis=(1, 2)) + (sol.a**2).sum(axis=1))
    assert (np.diff(objective) <= 1e-9 * objective[:-1]).all()
    end, free = sol.final, (sol.final.pattern != 0).all(axis=1)
    g = gradients(data, end, loss)[free]
    np.testing.assert_allclose(end.a[free, None] * g, decay * end.W[free], atol=1e-8)
    np.testing.assert_allclose((g * end.W[free]).sum(axis=1), decay * end.a[free], atol=1e-8)
    limit = sol.limit
    assert limit.certified, limit.reason
    assert np.abs(limit.network.theta - end.theta).max() <= 1e-6
    at = gradients(data, limit.network, loss)[free]
    np.testing.assert_allclose(limit.network.a[free, None] * at, decay * limit.network.W[free], atol=1e-13)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("loss", ["squared", "logistic", "exponential"])
@pytest.mark.parametrize("seed", [13, 15, 17])
def test_ordinary_runs_end_at_certified_critical_points(seed, loss, reduction) -> None:
    rng = np.random.default_rng(seed)
    y = rng.normal(size=12)
    data = rf.Dataset(rng.normal(size=(12, 3)), y if loss == "squared" else np.sign(y))
    net = rf.Network.init(10, 3, scale=0.1, seed=seed + 1)
    decay = 0.2 if reduction == "sum" else 0.2 / 12
    sol = rf.integrate(
        data, net, until=rf.Stop(seconds=10), loss=loss, weight_decay=decay, reduction=reduction, rtol=1e-8
    )
    limit = sol.limit
    assert sol.status == "stationary"
    assert limit.certified, limit.reason
    assert limit.residuals.largest <= 1e-12
    assert (
        objective(data, limit.network, loss, reduction, decay)
        <= objective(data, sol.final, loss, reduction, decay) + 1e-12
    )


def objective(data: rf.Dataset, net: rf.Network, loss: str, reduction: str, decay: float) -> float:
    total = np.exp(log_total(loss_arguments(data, net(data.X), loss), loss, data.counts))
    return float(total / (data.n if reduction == "mean" else 1) + 0.5 * decay * net.norm**2)


def test_what_the_decay_leaves_of_one_sample_is_a_soft_threshold() -> None:
    # ½ (u - y)² + γ u over u = a w >= 0: u = y - γ, λ = γ.
    data = rf.Dataset([[1.0]], [1.7])
    limit = rf.integrate(data, rf.Network([[0.3]], [0.3]), until=1e3, loss="squared", weight_decay=0.4).limit
    assert (limit.certified, limit.point) == (True, "global")
    assert limit.network(data.X)[0] == pytest.approx(1.3, rel=1e-14)
    assert limit.duals[0] == pytest.approx(0.4, rel=1e-13)
    none = rf.integrate(data, rf.Network([[0.3]], [0.3]), until=1e3, loss="squared", weight_decay=2.0).limit
    assert (none.certified, none.point, none.network.norm) == (True, "global", 0.0)


def test_a_neuron_at_zero_leaves_a_critical_point_with_decay() -> None:
    # The network fits sample 0 as far as the decay allows; no neuron sees sample 1, which pulls by 1 > γ.
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, 1.0])
    start = rf.Network([[0.5, -0.1], [0.0, 0.0]], [0.5, 0.0])
    limit = rf.integrate(data, start, until=1e3, loss="squared", weight_decay=0.3).limit
    assert limit.certified, limit.reason
    assert (limit.point, limit.escape.neuron, limit.escape.order) == ("saddle", 1, 2)
    here = objective(data, limit.network, "squared", "sum", 0.3)
    W, a = np.array(limit.network.W), np.array(limit.network.a)
    W[1], a[1] = 1e-3 * limit.escape.w, 1e-3 * limit.escape.a
    assert objective(data, rf.Network(W, a), "squared", "sum", 0.3) < here


@pytest.mark.parametrize(("size", "aside"), [(1e-6, 1e-12), (1e-20, 1e-14)])
def test_no_run_rests_while_a_small_neuron_turns_to_where_it_grows(size: float, aside: float) -> None:
    """Neuron 1 shrinks until its output weight has changed its sign, and neuron 0 is at its end long before that."""
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [10.0, 1.0])
    net = rf.Network([[1.0, -1e-13], [-1e-9 * size, size]], [1.0, -size * (1 - aside)])
    for rtol in (1e-9, 1e-12):
        sol = rf.integrate(data, net, until=1e4, loss="squared", weight_decay=0.05, rtol=rtol)
        assert sol.final(data.X) == pytest.approx([9.95, 0.95], rel=1e-7)
        assert sol.stats["rest_log_t"] < np.log(1e4)


def test_a_small_neuron_at_the_direction_that_shrinks_it_lets_the_run_rest() -> None:
    """It sees one line only, on which it cannot turn: it never grows, although its gradient is above the decay."""
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [10.0, 1.0])
    net = rf.Network([[1.0, -1e-13], [0.0, 1e-6]], [1.0, -1e-6])
    sol = rf.integrate(data, net, until=rf.Stop(seconds=120), loss="squared", weight_decay=0.05)
    assert sol.status == "stationary"
    assert sol.final(data.X) == pytest.approx([9.95, 0.0], abs=1e-7)


@pytest.mark.parametrize("scale", [1e-30, 0.5, 10.0])
@pytest.mark.parametrize("same", [False, True])
def test_targets_of_zero_leave_nothing_and_the_run_ends(scale: float, same: bool) -> None:
    """Loss and objective fall below the smallest double; their logarithms then rose by inf or nan."""
    rng = np.random.default_rng(3)
    X = np.ones((4, 2)) if same else rng.normal(size=(4, 2))
    net = rf.Network(scale * rng.normal(size=(3, 2)), scale * rng.normal(size=3))
    sol = rf.integrate(rf.Dataset(X, np.zeros(4)), net, until=1e5, loss="squared", weight_decay=0.1)
    assert sol.status == "reached_time", sol.message
    assert np.abs(sol.final.theta).max() < 1e-20 * scale


@pytest.mark.parametrize("decay", [0.05, 0.2])
def test_a_neuron_slides_on_while_the_decay_brings_large_margins_back(decay: float) -> None:
    """The weight it slides by followed the mass over 37 e-foldings in a step: it left, again and again, by nothing."""
    X = np.array([[0, 0, 1, 1, 1], [1, 0, 1, 1, -1], [0, -1, -1, 0, -1], [-1, 1, -1, 0, 0], [0, 1, 0, 0, 1]], float)
    X = np.vstack([X, [[-1, 0, 1, 0, 1], [0, -1, -1, -1, 1], [0, -1, 1, 1, 0], [0, 1, 1, -1, -1]]])
    data = rf.Dataset(np.c_[X, np.ones(9)], [-1, -1, 1, 1, -1, -1, 1, 1, -1])
    net = rf.Network([[4.209208, -1.861068, 11.025665, -6.213937, -8.544087, -6.11537]], [-17.080939])
    sol = rf.integrate(data, net, until=3.0, weight_decay=decay)
    assert sol.status == "reached_time", sol.message
    assert [str(kind) for kind in sol.events.kind] == ["slide"]
    np.testing.assert_allclose(sol.final.a, sol(0.01).a * np.exp(-decay * 2.99), rtol=1e-7)


def test_a_step_of_terms_that_overflow_is_not_taken_for_one_without_terms() -> None:
    """Large neurons leave a boundary, and the first step after that is far too long, since no time passed in the last.

    Such a run also ended "at rest" where it was. It takes too many steps to wait for its end.
    """
    X = [[0.8, 1.0], [0.9, 1.0], [1.0, 1.0], [0.8, 1.0]]
    data = rf.Dataset(
        X,
        [-1, -1, -1, 1],
        weights=[0.12558352, 0.035894815, 0.00118116, 0.32077529],
    )
    W = [
        [13.0296482, -32.8389413],
        [-17.813529, -17.813529],
        [21.3652011, -17.0921608],
        [42.9491536, -89.5677644],
        [25.0729539, -95.846597],
        [-20.0316681, -20.0316681],
        [6.28840463, -47.2246645],
        [158.893932, -127.115146],
    ]
    net = rf.Network(
        W, [422.41953, -752.577814, -695.681327, 905.697263, 319.41866, -504.479008, -93.6561994, -373.334931]
    )
    until = rf.Stop(time=0.02, seconds=1)
    sol = rf.integrate(data, net, until=until, loss="exponential", reduction="mean", weight_decay=0.05)
    assert sol.success, sol.message
    assert sol.stats["steps"] > 1
    assert sol.log_loss_end < sol.log_loss[0] - 1e-5


def test_a_run_with_decay_is_kept_and_continued_whole(tmp_path) -> None:
    rng = np.random.default_rng(13)
    data = rf.Dataset(rng.normal(size=(8, 3)), rng.normal(size=8))
    net = rf.Network.init(6, 3, scale=0.5, seed=14)
    options = {"loss": "squared", "weight_decay": 0.1}
    whole = rf.integrate(data, net, until=3.0, **options)
    half = rf.integrate(data, net, until=1.0, **options)
    half.save(tmp_path / "half.npz")
    loaded = rf.load(tmp_path / "half.npz")
    assert loaded.settings.weight_decay == 0.1
    assert np.array_equal(loaded(0.4).theta, half(0.4).theta)
    rest = rf.integrate(data, loaded, until=3.0, **options)
    np.testing.assert_allclose(rest.final.theta, whole.final.theta, atol=1e-8)
    many = rf.integrate_many(data, [net, net], until=3.0, **options)
    assert all(np.array_equal(run.result.final.theta, whole.final.theta) for run in many)


def test_bad_decay_is_named() -> None:
    data, net = rf.Dataset([[1.0]], [1]), rf.Network([[0.1]], [0.1])
    for value, found in ((-1.0, "-1.0"), (np.nan, "nan"), ("much", "'much'")):
        with pytest.raises(ValueError, match=f"weight_decay must be a finite number of at least 0, found {found}"):
            rf.integrate(data, net, until=1.0, weight_decay=value)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
def test_a_run_to_the_limit_ends_where_it_is_certified(loss: str) -> None:
    rng = np.random.default_rng(3)
    X = np.c_[rng.standard_normal((12, 2)), np.ones(12)]
    data = rf.Dataset(X, np.where(rng.random(12) < 0.5, 1.0, -1.0))
    net = rf.Network.init(6, 3, scale=0.1, seed=0)
    options = {"loss": loss, "weight_decay": 0.03}
    sol = rf.integrate(data, net, until=rf.Stop(limit=True), **options)
    assert sol.status == "reached_limit"
    assert sol.success
    assert sol.limit.certified
    rest = rf.integrate(data, sol, until=rf.Stop(log_time=sol.log_t_end + 2.0), **options)
    np.testing.assert_allclose(rest.limit.network.theta, sol.limit.network.theta, atol=1e-9)
    beyond = rf.integrate(
        data, rf.integrate(data, net, until=rf.Stop(log_time=30.0), **options), until=rf.Stop(limit=True)
    )
    assert beyond.status in ("reached_limit", "stationary")
    assert beyond.limit.certified
    early = rf.integrate(data, net, until=rf.Stop(limit=True, time=1.0), **options)
    assert early.status == "reached_time"
    assert early.t_end == 1.0


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11])
def test_decay_that_outdoes_the_mass_within_a_step_is_followed(rtol):
    """Margins of 4 shrink by decay as fast as they are long to move: time, mass and margins feed each other.

    The series of time diverged in the step, while that of the weights had converged, and the state at its end was no
    number, however often the step was halved.
    """
    data = rf.Dataset([[1, -1, 0], [-1, 0, 0], [-1, 0, -1], [0, 0, 1], [1, -1, 0]], [-1, 1, 1, 1, -1])
    net = rf.Network([[1, -1, -0.5], [0, -0.5, -0.5], [-0.5, 1, 0.5]], [-1.5, -1.5, -1.5])
    options = {"until": 20.0, "loss": "exponential", "weight_decay": 0.1}
    sol = rf.integrate(data, net, rtol=rtol, **options)
    assert sol.status in ("reached_time", "stationary")
    tight = rf.integrate(data, net, rtol=1e-12, **options)
    np.testing.assert_allclose(sol.final.W, tight.final.W, rtol=0.0, atol=100 * rtol)
    np.testing.assert_allclose(sol.final.a, tight.final.a, rtol=0.0, atol=100 * rtol)


@pytest.mark.parametrize("scale", [1e2, 1e3, 1e5])
def test_errors_of_large_starts_fall_in_long_steps(scale: float) -> None:
    """Errors have no mass that falls with them: steps were as short as one of margins of |θ|² would ask for."""
    # u = a² = w² follows u' = 2 u (y - u) - 2 γ u.
    y, decay, u0 = 1.7, 0.4, scale**2
    until = rf.Stop(time=3.0, seconds=5)
    sol = rf.integrate(
        rf.Dataset([[1.0]], [y]), rf.Network([[scale]], [scale]), until=until, loss="squared", weight_decay=decay
    )
    assert sol.status == "reached_time"
    assert sol.stats["steps"] < 300
    top = y - decay
    for t in (0.1 / u0, 10.0 / u0, 0.1, 3.0):
        assert sol(t).a[0] ** 2 == pytest.approx(top / (1.0 + (top / u0 - 1.0) * np.exp(-2 * top * t)), rel=1e-7)


def test_constant_weights_of_large_negative_margins_ask_for_no_short_steps() -> None:
    """The weight of a logistic loss is one there, and w = a falls like e^{-(1 + γ) t} whatever its margin."""
    data, net = rf.Dataset([[1.0]], [-1.0]), rf.Network([[1e4]], [1e4])
    for time in (0.5, 3.0):
        sol = rf.integrate(data, net, until=rf.Stop(time=time, seconds=5), weight_decay=0.2)
        assert sol.status == "reached_time"
        assert sol.stats["steps"] < 100
        assert sol.final.a[0] == pytest.approx(1e4 * np.exp(-1.2 * time), rel=1e-7)


@pytest.mark.parametrize("scale", [1.0, 1e-8, 1e-14, 1e-60])
@pytest.mark.parametrize("loss", ["squared", "logistic", "exponential"])
def test_what_tends_to_zero_has_its_size_at_each_time(loss: str, scale: float) -> None:
    """It was at rest where its outputs were zero to rounding: at 1e-10, or where a small start was."""
    data = rf.Dataset([[1.0, 0.2], [0.3, 1.0]], [1.0, -1.0])
    net = rf.Network(scale * np.array([[0.5, 0.1], [0.4, -0.3]]), scale * np.array([0.6, -0.9]), leak=0.1)
    ends = {}
    for rtol in (1e-6, 1e-12):
        ends[rtol] = rf.integrate(data, net, until=300.0, loss=loss, weight_decay=1.5, rtol=rtol).final
    assert np.abs(ends[1e-6].theta / ends[1e-12].theta - 1.0).max() < 1e-4
    # Weights are those of zero outputs by then: from t = 200 on every neuron grows as its gradient and the decay say.
    until = rf.integrate(data, net, until=200.0, loss=loss, weight_decay=1.5)
    weight = np.array([0.5, -0.5]) if loss == "logistic" else np.array([1.0, -1.0])
    for j in range(2):
        g = (np.where(data.X @ until.final.W[j] > 0, 1.0, 0.1) * weight) @ data.X
        along = g @ until.final.W[j] / np.linalg.norm(until.final.W[j])
        ratio = ends[1e-12].a[j] / until.final.a[j]
        assert np.log(ratio) == pytest.approx(100.0 * (np.sign(until.final.a[j]) * along - 1.5), rel=1e-6)
    stopped = rf.integrate(data, net, until=rf.Stop(seconds=30), loss=loss, weight_decay=1.5)
    assert stopped.status == "stationary"
    later = rf.integrate(data, stopped, until=300.0).final
    assert np.abs(later.theta / ends[1e-12].theta - 1.0).max() < 1e-4
    assert not rf.integrate(data, net, until=1e6, loss=loss, weight_decay=1.5).final.theta.any()


@pytest.mark.parametrize("rtol", [1e-6, 1e-9])
@pytest.mark.parametrize("level", [0.9, 0.5, 0.1])
def test_a_loss_is_reached_where_the_decay_brings_it(level: float, rtol: float) -> None:
    """The motion without the decay needs few orders, and margins followed from their series of that order."""
    data, net = rf.Dataset([[1.0]], [-1.0]), rf.Network([[100.0]], [100.0])
    sol = rf.integrate(data, net, until=rf.Stop(loss=level * 1e4), weight_decay=5.6, rtol=rtol)
    assert sol.status == "reached_loss"
    assert sol.final(data.X)[0] == pytest.approx(level * 1e4, rel=1e-12)
    assert sol.t_end == pytest.approx(-np.log(level) / (2 * (1.0 + 5.6)), rel=10 * rtol)


@pytest.mark.parametrize("decay", [1e-3, 1e-4, 1e-5, 1e-6])
@pytest.mark.parametrize("seed", [0, 2, 3, 5, 6])
def test_regression_with_little_decay_ends_at_a_certified_point(seed: int, decay: float) -> None:
    # The errors are as small as the decay, and rounding of the outputs is more of them.
    rng = np.random.default_rng(seed)
    X, y = np.c_[rng.standard_normal((7, 2)), np.ones(7)], rng.standard_normal(7)
    until = rf.Stop(limit=True, seconds=20)
    start = rf.Network.init(5, 3, scale=0.1, seed=seed)
    sol = rf.integrate(rf.Dataset(X, y), start, until=until, loss="squared", weight_decay=decay)
    limit = sol.limit
    assert (sol.status, limit.certified) == ("reached_limit", True), sol.message
    # The gradient at these doubles, exactly: of neurons that stand on no boundary it is all there is.
    net, held = limit.network, set(limit.held[:, 0].tolist())
    W, a = ([Fraction(v) for v in part.ravel().tolist()] for part in (net.W, net.a))
    rows = [[Fraction(v) for v in x.tolist()] for x in X]
    lam = []
    for x, target in zip(rows, y.tolist(), strict=True):
        z = [sum(W[3 * j + c] * x[c] for c in range(3)) for j in range(5)]
        lam.append(Fraction(target) - sum(a[j] * max(z[j], Fraction(0)) for j in range(5)))
    size = decay * net.norm
    for j in set(range(5)) - held:
        on = [i for i, x in enumerate(rows) if sum(W[3 * j + c] * x[c] for c in range(3)) > 0]
        g = [sum(lam[i] * rows[i][c] for i in on) for c in range(3)]
        gradient = [a[j] * g[c] - Fraction(decay) * W[3 * j + c] for c in range(3)]
        assert float(max(map(abs, gradient))) < 1e-7 * size
