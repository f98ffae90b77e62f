"""Where the limit of a layered run is looked for, and what is said where there is none near."""

from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow._linear_algebra import eigh
from reluflow._validation import FloatArray
from reluflow.layered import DeepSolution, Dense, _limit_of

# On eight samples; the next in three layers.
WIDE, DEEP = [Dense(6), Dense(1)], [Dense(5), Dense(4), Dense(1)]


def run(layers: list[Dense], log_time: float, seed: int = 2) -> tuple[DeepSolution, FloatArray]:
    """Return a run and the margins at its end."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((8, 4)), np.where(rng.random(8) > 0.5, 1.0, -1.0)
    net = rf.DeepNetwork.init(layers, dim=4, scale=0.3, seed=seed)
    sol = rf.integrate((X, y), net, until=rf.Stop(log_time=log_time))
    return sol, y * sol.final(X).ravel()


@pytest.fixture
def solves(monkeypatch: pytest.MonkeyPatch) -> list[None]:
    """Grow by one whenever the equations of a support are solved."""
    done: list[None] = []
    solve = _limit_of.zero_near

    def counted(*given):
        done.append(None)
        return solve(*given)

    monkeypatch.setattr(_limit_of, "zero_near", counted)
    return done


@pytest.mark.parametrize("layers", [WIDE, DEEP])
def test_far_from_all_kkt_points_the_state_itself_is_told(layers: list[Dense], solves: list[None]) -> None:
    """Its margin and how far it is from the conditions, and no point of somewhere else."""
    sol, margins = run(layers, 2.5)
    assert margins.min() > 0  # it grows
    found = sol.limit
    assert found.kind == "direction"
    assert not found.certified
    assert "no KKT point was found within 0.1 of the state" in found.reason
    assert np.isnan(found.turn)
    unit = sol.final.theta / sol.final.norm
    np.testing.assert_allclose(found.network.theta, unit, rtol=1e-14)
    assert found.margin == pytest.approx(margins.min() / sol.final.norm**found.degree, rel=1e-12)
    assert len(solves) <= 2  # twenty sets, each with a hundred steps of Newton's method, were tried


def test_a_gradient_beyond_the_largest_double_leaves_the_limit_open() -> None:
    """Singular values of such numbers are an error of the linear algebra; the reason is told instead."""
    X, y = np.array([[1.0, 0.0], [1.0, 0.1], [0.0, 1.0]]), np.array([1.0, -1.0, 1.0])
    net = rf.DeepNetwork.init([Dense(3), Dense(2), Dense(1)], dim=2, scale=20.0, seed=3)
    found = rf.integrate((X, y), net, until=rf.Stop(steps=1), loss="exponential").limit
    assert not found.certified
    assert "beyond the largest double" in found.reason


def test_eigenvalues_without_the_fast_method(monkeypatch: pytest.MonkeyPatch) -> None:
    M = np.random.default_rng(0).standard_normal((6, 6))
    M = M + M.T
    usual, vectors = eigh(M)
    np.testing.assert_allclose(vectors * usual @ vectors.T, M, atol=1e-14)

    def fails(*_: object) -> None:
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr(np.linalg, "eigh", fails)
    slow, vectors = eigh(M)
    np.testing.assert_allclose(slow, usual, atol=1e-14)
    np.testing.assert_allclose(vectors * slow @ vectors.T, M, atol=1e-14)
    with pytest.raises(np.linalg.LinAlgError):
        eigh(np.full((2, 2), np.nan))


def test_a_critical_point_is_no_limit_if_what_slides_lets_go_on_the_way() -> None:
    """Near t = 20 and 55 the pattern has a critical point; a unit leaves its boundary at t = 69, for another one."""
    X = np.array([[0, 2], [2, 1], [0, -1], [-1, 2], [2, 0], [-2, 2], [-1, -2], [-2, -1]])
    data = rf.Dataset(X, [1.0, 2.0, 0.0, -1.0, 0.0, 2.0, -1.0, -2.0]).with_bias(1.0)
    W, a = np.array([[-0.03, -0.01, 0.09], [0.08, -0.01, 0.06], [0.08, 0.02, 0.06]]), np.array([0.1, -0.1, 0.1])
    net = rf.DeepNetwork([rf.Dense(3), rf.Dense(1)], np.concatenate((W.ravel(), a)), dim=3, leak=0.1)
    options: dict[str, Any] = {"until": rf.Stop(limit=True), "loss": "squared"}
    found = rf.integrate(data, net, **options)
    wanted = rf.integrate(data, rf.Network(W, a, leak=0.1), **options).limit
    assert found.status == "reached_limit"
    assert found.limit.certified
    np.testing.assert_allclose(found.limit.network(data.X), wanted.network(data.X), atol=1e-9)
    for log_t in (3.0, 4.0):
        early = rf.integrate(data, net, until=rf.Stop(log_time=log_t), loss="squared").limit
        assert early.residuals.largest < 1e-9
        assert early.turn < 0.1
        assert not early.certified
        assert "leave the last pattern on the way" in early.reason
