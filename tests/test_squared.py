"""The squared loss: stored references, closed forms, and what the weights of samples mean."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import reluflow as rf
from reluflow.kinks import RENAMED_KINDS

# A trajectory by extrapolation in 80-bit arithmetic with events located on re-integrated steps; 3 inputs, 6 neurons.
REFERENCE = Path(__file__).parent / "data" / "two_squared.npz"


@pytest.fixture(scope="module")
def reference() -> dict[str, np.ndarray]:
    with np.load(REFERENCE) as stored:
        return {name: stored[name] for name in stored}


def problem(reference: dict[str, np.ndarray]) -> tuple[rf.Dataset, rf.Network]:
    theta = reference["theta0"]
    return rf.Dataset(reference["X"], reference["y"]), rf.Network(theta[:18].reshape(6, 3), theta[18:])


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_the_stored_reference_is_met_to_the_tolerance(reference, rtol) -> None:
    data, net = problem(reference)
    times = reference["times"]
    sol = rf.integrate(data, net, until=float(times[-1]), loss="squared", rtol=rtol, save_at=times)
    assert sol.status == "reached_time"
    found = np.hstack((sol.W.reshape(len(times), -1), sol.a))
    assert np.abs(found - reference["theta"]).max() <= rtol


def test_every_event_of_the_reference_is_found(reference) -> None:
    data, net = problem(reference)
    sol = rf.integrate(data, net, until=float(reference["times"][-1]), loss="squared", rtol=1e-12)
    found = sorted(zip(sol.events.neuron, sol.events.sample, sol.events.t, sol.events.kind, strict=True))
    kinds = [RENAMED_KINDS.get(str(kind), str(kind)) for kind in reference["event_kind"]]
    columns = (*(reference["event_" + name] for name in ("unit", "sample", "t")), kinds)
    wanted = sorted(zip(*columns, strict=True))
    assert [(j, i, kind) for j, i, _, kind in found] == [(j, i, kind) for j, i, _, kind in wanted]
    np.testing.assert_allclose([t for _, _, t, _ in found], [t for _, _, t, _ in wanted], rtol=1e-10)


@pytest.mark.parametrize("scale", [1e-100, 1e-8, 0.3])
def test_one_balanced_neuron_grows_like_a_logistic_curve(scale) -> None:
    # u = a² = w² follows u' = 2 u (y - u) from u0.
    y, u0 = 1.7, scale**2
    sol = rf.integrate(rf.Dataset([[1.0]], [y]), rf.Network([[scale]], [scale]), until=1e3, loss="squared")
    waking = np.log((y - u0) / u0) / (2 * y)  # when half of y is fitted
    for t in waking + np.array([-0.7, 0.0, 0.4, 2.0]):
        if t > 0:
            u = y / (1.0 + np.exp(2 * y * (waking - t)))
            assert sol(t).a[0] ** 2 == pytest.approx(u, rel=1e-7)
    assert sol.final.a[0] ** 2 == pytest.approx(y, rel=1e-14)


def test_a_whole_number_of_counts_is_as_many_repeats() -> None:
    rng = np.random.default_rng(3)
    X, counts = rng.normal(size=(7, 3)), np.array([1, 3, 2, 0, 1, 4, 1])
    net = rf.Network.init(8, 3, scale=0.2, seed=4)
    for loss, y in (
        ("squared", rng.normal(size=7)),
        ("logistic", np.sign(rng.normal(size=7))),
        ("exponential", np.sign(rng.normal(size=7))),
    ):
        weighted = rf.Dataset(X, y, weights=counts)
        repeated = rf.Dataset(np.repeat(X, counts, axis=0), np.repeat(y, counts))
        one = rf.integrate(weighted, net, until=3.0, loss=loss)
        many = rf.integrate(repeated, net, until=3.0, loss=loss)
        np.testing.assert_allclose(one.final.theta, many.final.theta, rtol=1e-8, atol=1e-9)
        assert one.log_loss_end == pytest.approx(many.log_loss_end, abs=1e-8)
        descents = [rf.descend(data, net, step=1e-3, n_steps=50, loss=loss) for data in (weighted, repeated)]
        np.testing.assert_allclose(descents[0].final.theta, descents[1].final.theta, rtol=1e-12)


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_a_sample_that_counts_nothing_may_have_any_margin(loss) -> None:
    # Its loss alone was beyond the doubles, and the sum was nan.
    net = rf.Network([[1.0, 40.0], [0.5, -1.0]], [-40.0, 0.5])
    run = rf.integrate(rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, 1], weights=[1, 0]), net, until=1.0, loss=loss)
    alone = rf.integrate(rf.Dataset([[1.0, 0.0]], [1]), net, until=1.0, loss=loss)
    assert run.status == "reached_time", run.message
    np.testing.assert_allclose(run.final.theta, alone.final.theta, rtol=1e-9)
    assert run.log_loss_end == pytest.approx(alone.log_loss_end, rel=1e-9)


@pytest.mark.parametrize("leak", [0.0, 0.2])
def test_descent_with_falling_steps_tends_to_the_flow(leak) -> None:
    rng = np.random.default_rng(5)
    data = rf.Dataset(rng.normal(size=(6, 2)), rng.normal(size=6), weights=rng.uniform(0.5, 2.0, size=6))
    net = rf.Network.init(5, 2, scale=0.5, seed=6, leak=leak)
    end = rf.integrate(data, net, until=1.0, loss="squared", reduction="mean").final.theta
    gaps = []
    for n_steps in (1000, 4000):
        run = rf.descend(data, net, step=1.0 / n_steps, n_steps=n_steps, loss="squared", reduction="mean")
        gaps.append(float(np.abs(run.final.theta - end).max()))
    assert gaps[0] < 5e-3
    assert gaps[1] < 0.3 * gaps[0]


@pytest.mark.thorough
def test_small_starts_fit_the_targets_of_a_teacher_to_rounding() -> None:
    rng = np.random.default_rng(7)
    X, W = rng.normal(size=(15, 6)), rng.normal(size=(2, 6))
    data = rf.Dataset(X, np.maximum(X @ W.T, 0.0) @ np.array([1.0, -1.0]))
    sol = rf.integrate(data, rf.Network.init(40, 6, scale=1e-8, seed=8), until=rf.Stop(seconds=900), loss="squared")
    assert sol.status == "stationary"
    assert np.abs(sol.final(X) - data.y).max() < 1e-12


def test_the_loss_falls_and_the_balance_stays() -> None:
    rng = np.random.default_rng(9)
    data = rf.Dataset(rng.integers(-2, 3, size=(12, 3)) + 0.5, rng.integers(-3, 4, size=12))
    net = rf.Network(rng.normal(size=(6, 3)), rng.normal(size=6), leak=0.1)
    sol = rf.integrate(data, net, until=50.0, loss="squared")
    assert sol.success
    assert (np.diff(sol.log_loss) <= 1e-9).all()
    np.testing.assert_allclose(
        sol.final.a**2 - (sol.final.W**2).sum(axis=1), net.a**2 - (net.W**2).sum(axis=1), rtol=1e-12
    )


def test_a_run_is_kept_and_continued_whole(tmp_path, reference) -> None:
    data, net = problem(reference)
    data = rf.Dataset(data.X, data.y, weights=np.arange(1.0, 11.0))
    whole = rf.integrate(data, net, until=2.0, loss="squared")
    half = rf.integrate(data, net, until=0.8, loss="squared")
    half.save(tmp_path / "half.npz")
    loaded = rf.load(tmp_path / "half.npz")
    assert loaded.data == data
    assert np.array_equal(loaded(0.4).theta, half(0.4).theta)
    rest = rf.integrate(data, loaded, until=2.0, loss="squared")
    np.testing.assert_allclose(rest.final.theta, whole.final.theta, atol=1e-8)
    many = rf.integrate_many(data, [net, net], until=2.0, loss="squared")
    assert all(np.array_equal(run.result.final.theta, whole.final.theta) for run in many)


def test_a_neuron_that_rests_on_a_boundary_branches_when_the_weight_of_its_sample_passes_zero() -> None:
    # Neuron 1 rests on the boundary of sample 1: its output is positive and the error too, and it is inactive on
    # sample 0. Neuron 2 has to fit -3 at sample 0 and takes the output at sample 1 below its target on the way.
    data = rf.Dataset([[1.0, 0.0], [0.6, 0.8]], [-3.0, 0.2])
    net = rf.Network([[0.5, 0.5], [-0.8, 0.6], [0.5, 0.1]], [1.0, 1.0, -1.0])
    sol = rf.integrate(data, net, until=20.0, loss="squared", rtol=1e-11)
    assert len(sol.branchings) == 1
    branching = next(iter(sol.branchings))
    before = sol(float(branching.t) * (1 - 1e-9))
    assert before.pattern[1].tolist() == [-1, 0]
    assert float(before(data.X)[1]) == pytest.approx(0.2, abs=1e-7)
    assert sol(float(branching.t) * (1 + 1e-9)).pattern[1, 1] == 1


@pytest.mark.parametrize("seed", [31, 38, 43, 57])
def test_an_error_that_passes_zero_sends_away_who_slides_on_its_sample_at_any_tolerance(seed: int) -> None:
    # All errors become far smaller than the targets; then some pass zero while neurons slide on their samples, and
    # those boundaries repel from then on.
    rng = np.random.default_rng(seed)
    data = rf.Dataset(np.sign(rng.standard_normal((20, 4))), np.full(20, 3.0)).with_bias(1.0)
    net = rf.Network.init(8, 5, scale=0.05, seed=seed)
    tight = rf.integrate(data, net, until=30.0, loss="squared", rtol=1e-12)
    assert len(tight.branchings)
    for rtol in (1e-7, 1e-9):
        sol = rf.integrate(data, net, until=30.0, loss="squared", rtol=rtol)
        assert len(sol.events) == len(tight.events)
        np.testing.assert_allclose(sol.final.theta, tight.final.theta, atol=100 * rtol)


def test_a_limit_that_is_far_says_nothing_of_margins_which_errors_do_not_have() -> None:
    """One neuron goes from w = a = 1/2 to w = a = 2, where w a = 4: 3/2 sqrt 2 = 2.1 away, where x = 1 is the unit."""
    sol = rf.integrate(rf.Dataset([[1.0]], [4.0]), rf.Network([[0.5]], [0.5]), until=1e-6, loss="squared")
    assert not sol.limit.certified
    expected = "the late phase is not reached: the critical point of the last pattern is 2.1 |θ| away"
    assert sol.limit.reason == expected
