"""States kept at given norms of the parameters."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf


def obtuse(seed: int = 1) -> tuple[rf.Dataset, rf.Network]:
    return rf.datasets.wang_pilanci("obtuse"), rf.Network.init(10, 2, scale=1e-2, seed=seed)


def log_norms(sol: rf.Solution) -> np.ndarray:
    """Logarithms of |θ| of the kept states, which may be too large to be squared together."""
    sizes = np.array([max(np.abs(W).max(), np.abs(a).max()) for W, a in zip(sol.W, sol.a, strict=True)])
    W, a = sol.W / sizes[:, None, None], sol.a / sizes[:, None]
    return np.asarray(np.log(sizes) + 0.5 * np.log((W**2).sum(axis=(1, 2)) + (a**2).sum(axis=1)))


def test_states_have_the_norms_asked_for_and_are_those_of_their_times() -> None:
    data, net = obtuse()
    wanted = np.array([-2.5, -1.0, 0.0, 0.5, 1.0, 2.0])
    sol = rf.integrate(data, net, until=rf.Stop(log_norm=2.0), save_at_log_norm=wanted)
    np.testing.assert_allclose(log_norms(sol), wanted, atol=1e-12)
    assert np.all(np.diff(sol.log_t) > 0)
    plain = rf.integrate(data, net, until=rf.Stop(log_time=sol.log_t[-1]), save_at_log=sol.log_t)
    for W, a, other_W, other_a in zip(sol.W, sol.a, plain.W, plain.a, strict=True):
        np.testing.assert_allclose(W, other_W, rtol=0, atol=1e-7 * np.abs(W).max())
        np.testing.assert_allclose(a, other_a, rtol=0, atol=1e-7 * np.abs(a).max())
    np.testing.assert_allclose(sol.log_loss, plain.log_loss, atol=1e-6)


def test_times_of_norms_have_a_closed_form() -> None:
    """One balanced neuron on one sample of size 1, exponential loss: q = r²/2, and dq/dt = 2 q e^-q."""
    sol = rf.integrate(
        rf.Dataset([[0.6, 0.8]], [1]),
        rf.Network([[0.06, 0.08]], [0.1]),
        until=rf.Stop(log_norm=2.0),
        loss="exponential",
        save_at_log_norm=[-1.0, 0.0, 1.0, 1.5],
    )
    for log_norm, t in zip((-1.0, 0.0, 1.0, 1.5), sol.t, strict=True):
        q = np.linspace(0.01, 0.5 * math.exp(2 * log_norm), 400_001)
        rate = np.exp(q) / (2 * q)
        time = float(((rate[1:] + rate[:-1]) / 2 * np.diff(q)).sum())
        assert t == pytest.approx(time, rel=1e-5)


def test_norms_beyond_the_digits_of_log_t() -> None:
    data, net = obtuse()
    wanted = [1.0, 10.0, 20.0, 100.0, 300.0]
    sol = rf.integrate(data, net, until=rf.Stop(log_norm=310.0), save_at_log_norm=wanted)
    np.testing.assert_allclose(log_norms(sol), wanted, atol=1e-10)
    np.testing.assert_allclose(sol.log_loss, -sol.log_t, rtol=0.05)


def test_a_norm_that_the_start_has_gives_the_start() -> None:
    data, net = obtuse()
    size = math.log(net.norm)
    sol = rf.integrate(data, net, until=rf.Stop(log_norm=0.0), save_at_log_norm=[size - 1, size - 0.5, 0.0])
    assert sol.t[:2].tolist() == [0.0, 0.0]
    np.testing.assert_array_equal(sol.W[0], net.W)
    assert log_norms(sol)[2] == pytest.approx(0.0, abs=1e-12)


def test_the_first_time_counts_where_the_norm_falls_again() -> None:
    """A neuron on the wrong side shrinks first: the start has the norm, and so has a later state on the way up."""
    data = rf.Dataset([[1.0]], [1])
    net = rf.Network([[0.5], [0.1]], [-0.5, 0.1])
    size = math.log(net.norm)
    sol = rf.integrate(data, net, until=50.0, save_at_log_norm=[size - 1e-9, size + 1e-3])
    assert sol.t[0] == 0.0
    assert sol.t[1] > 1.0
    least = min(sol(float(t)).norm for t in np.linspace(0.0, sol.t[1], 50))
    assert least < 0.9 * net.norm


def test_legs_to_the_limit_keep_them(tmp_path: Path) -> None:
    data = rf.datasets.wine("class_1", "class_2")
    net = rf.Network.init(20, data.d, scale=0.1, seed=0)
    wanted = [1.0, 2.0, 5.0, 15.0, 300.0]
    sol = rf.integrate(data, net, until=rf.Stop(limit=True), save_at_log_norm=wanted)
    assert sol.status == "reached_limit"
    np.testing.assert_allclose(log_norms(sol), wanted[:4], atol=1e-10)
    assert "1 of 5 norms of save_at_log_norm were not reached, the first is 300.0" in sol.message
    assert sol.settings.until == rf.Stop(limit=True)
    sol.save(tmp_path / "run.npz")
    again = rf.load(tmp_path / "run.npz")
    np.testing.assert_array_equal(again.W, sol.W)
    np.testing.assert_array_equal(again.settings.save_at_log_norm, wanted)


def test_a_run_that_needs_one_leg_has_the_settings_asked_for() -> None:
    data, net = obtuse()
    sol = rf.integrate(data, net, until=rf.Stop(limit=True))
    assert sol.log_t_end == 30.0  # the first leg's end
    assert sol.settings.until == rf.Stop(limit=True)
    assert sol.settings.save_at_log_norm is None
    assert len(sol.t) > 2


def test_ensembles_and_classes_keep_them() -> None:
    data, net = obtuse()
    alone = rf.integrate(data, net, until=rf.Stop(log_norm=1.0), save_at_log_norm=[0.0, 1.0])
    runs = rf.integrate_many(data, [net, net], until=rf.Stop(log_norm=1.0), save_at_log_norm=[0.0, 1.0]).collect()
    for run in runs:
        np.testing.assert_array_equal(run.value.W, alone.W)
    classes = rf.datasets.MultiClassDataset([[1.0, 0.2], [-0.3, 1.0], [-1.0, -1.0]], ["a", "b", "c"])
    many = rf.integrate(
        classes,
        rf.Network.init(6, 2, classes=3, scale=0.1, seed=0),
        until=rf.Stop(log_norm=0.5),
        save_at_log_norm=[0.0, 0.5],
    )
    for one in many:
        np.testing.assert_allclose(log_norms(one), [0.0, 0.5][: len(one.t)], atol=1e-12)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"save_at_log_norm": []}, "save_at_log_norm must hold at least one norm, found none"),
        ({"save_at_log_norm": [1.0, 1.0]}, "save_at_log_norm must increase strictly"),
        ({"save_at_log_norm": [math.nan]}, "save_at_log_norm must hold finite numbers"),
        ({"save_at_log_norm": [341.0]}, "save_at_log_norm must hold norms that are reachable, up to 340"),
        (
            {"save_at_log_norm": [3.0], "until": rf.Stop(log_norm=2.0)},
            "save_at_log_norm must hold norms that are reachable, up to 2.0, found 3.0",
        ),
        ({"save_at_log_norm": [1.0], "save_at": [1.0]}, "save_at_log_norm must be left out where save_at is given"),
        (
            {"save_at_log_norm": [1.0], "save_at_log": [1.0]},
            "save_at_log_norm must be left out where save_at_log is given",
        ),
    ],
)
def test_bad_norms_are_named(options: dict[str, object], said: str) -> None:
    data, net = obtuse()
    with pytest.raises(ValueError, match=said):
        rf.integrate(data, net, **{"until": 5.0, **options})  # type: ignore[arg-type]


def test_layered_networks_refuse_them() -> None:
    net = rf.DeepNetwork.init([rf.Dense(2), rf.Dense(1)], dim=1, seed=0)
    with pytest.raises(ValueError, match="save_at_log_norm must be left out for a layered network"):
        rf.integrate(rf.Dataset([[1.0]], [1]), net, until=1.0, save_at_log_norm=[1.0])
    with pytest.raises(ValueError, match="save_at_log_norm must be left out for a layered network"):
        rf.integrate_many(rf.Dataset([[1.0]], [1]), [net], until=1.0, save_at_log_norm=[1.0])
