"""Matrices on which the fast method of LAPACK gives up."""

import numpy as np
import pytest

import reluflow as rf
from reluflow._linear_algebra import least_squares, svd
from reluflow.layered import DeepNetwork, Dense


def no_convergence(*_: object, **__: object) -> None:
    raise np.linalg.LinAlgError("SVD did not converge")


@pytest.fixture
def fast_method_fails(monkeypatch):
    monkeypatch.setattr(np.linalg, "svd", no_convergence)
    monkeypatch.setattr(np.linalg, "lstsq", no_convergence)


@pytest.mark.parametrize("full_matrices", [True, False])
@pytest.mark.parametrize("shape", [(7, 4), (4, 7), (5, 5)])
def test_singular_values_without_the_fast_method(shape, full_matrices, fast_method_fails):
    M = np.random.default_rng(0).standard_normal(shape)
    U, s, V = svd(M, full_matrices=full_matrices)
    small = min(shape)
    np.testing.assert_allclose(U[:, :small] * s @ V[:small], M, atol=1e-14)
    assert (len(U.T), len(V)) == (shape if full_matrices else (small, small))


def test_least_squares_without_the_fast_method(monkeypatch):
    rng = np.random.default_rng(1)
    M = rng.standard_normal((6, 3)) @ rng.standard_normal((3, 5))  # of rank 3
    aims = rng.standard_normal((6, 2))
    usual = least_squares(M, aims)
    np.testing.assert_allclose(usual, np.linalg.pinv(M) @ aims, atol=1e-12)
    cut = least_squares(M, aims, 0.9)
    monkeypatch.setattr(np.linalg, "lstsq", no_convergence)
    np.testing.assert_allclose(least_squares(M, aims), usual, atol=1e-13)
    np.testing.assert_allclose(least_squares(M, aims, 0.9), cut, atol=1e-13)


def test_what_is_not_finite_has_neither():
    M = np.full((30, 30), np.nan)
    with pytest.raises(np.linalg.LinAlgError):
        svd(M)
    with pytest.raises(np.linalg.LinAlgError):
        least_squares(M, np.ones(30))


def test_the_limit_of_a_network_whose_equations_need_it():
    """The fast method fails on their matrix, of 105 rows, and the run raised LinAlgError."""
    X = np.array([[1, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, 1]], dtype=float)
    net = DeepNetwork.init([Dense(8), Dense(6), Dense(1)], dim=3, scale=0.1, seed=0)
    sol = rf.integrate((X, [1, -1, -1, 1]), net, until=rf.Stop(limit=True), rtol=1e-8)
    assert sol.limit.certified, sol.message
    np.testing.assert_allclose(sol.limit.margin, 0.05278749791, rtol=1e-8)
