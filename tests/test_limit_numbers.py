"""The limit of any state: no warning, no division by zero, and nothing certified that is no number."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import reluflow as rf
from reluflow.limits import Limit
from reluflow.limits._limit_of import limit_of

KINDS = (
    "normal",
    "repeated",
    "integers",
    "boolean",
    "one input",
    "sizes",
    "contradiction",
    "mirrored",
    "units",
    "four copies",
)


def samples(kind: str, rng: np.random.Generator) -> rf.Dataset:
    """Draw a few samples of a kind that ordinary data can be."""
    n, d = int(rng.integers(2, 14)), int(rng.integers(1, 5))
    X, y = rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n)
    if kind == "repeated":
        X, y = np.repeat(X, 2, axis=0), np.repeat(y, 2)
    elif kind == "integers":
        X = rng.integers(-2, 3, (n, d)) + 0.0
    elif kind == "boolean":
        X = np.c_[rng.choice([0.0, 1.0], (n, d)), np.ones(n)]
    elif kind == "one input":
        X = np.c_[rng.standard_normal(n), np.ones(n)]
    elif kind == "sizes":
        X = X * 10.0 ** rng.uniform(-8, 8, (n, 1))
    elif kind == "contradiction":
        X, y = np.vstack((X, X)), np.r_[y, -y]
    elif kind == "mirrored":
        X, y = np.vstack((X, -X)), np.r_[y, y]
    elif kind == "units":
        X = X * 10.0 ** rng.uniform(-6, 6, d)
    elif kind == "four copies":
        X, y = np.tile(X, (4, 1)), np.tile(y, 4)
    kept = X.any(axis=1)
    kept[0] = True
    X[0] += ~X[0].any()
    weights = rng.uniform(0.1, 5.0, int(kept.sum())) if rng.random() < 0.2 else None
    return rf.Dataset(X[kept], y[kept], weights=weights)


def state(data: rf.Dataset, rng: np.random.Generator) -> rf.Network:
    """Draw a network of any size, with neurons that rest, that stand on boundaries, or that all have one sign."""
    width = int(rng.integers(1, 9))
    size = 10.0 ** (rng.uniform(-6, 6) if rng.random() < 0.7 else rng.uniform(-100, 60))
    W, a = size * rng.standard_normal((width, data.d)), size * rng.standard_normal(width)
    what = rng.integers(0, 8)
    if what == 0:
        W[rng.random(width) < 0.5] = 0.0
    elif what == 1:
        a[rng.random(width) < 0.5] = 0.0
    elif what == 2:
        W[:], a[:] = 0.0, 0.0
    elif what == 3:
        x = data.X[rng.integers(data.n)]
        W = W - np.outer(W @ x / (x @ x), x)
    elif what == 4:
        a = np.abs(a) * rng.choice([-1.0, 1.0])
    return rf.Network(W, a, leak=float(rng.choice([0.0, 0.0, 0.1, 0.9])))


def strict(data: rf.Dataset, net: rf.Network, loss: str, decay: float = 0.0) -> Limit:
    """Work out a limit where every warning and every slip of the arithmetic is an error."""
    with warnings.catch_warnings(), np.errstate(all="raise"):
        warnings.simplefilter("error")
        return limit_of(data, net, loss, decay)


@pytest.mark.parametrize("kind", KINDS)
def test_the_limit_of_a_random_state_never_warns(kind: str) -> None:
    for seed in range(40):
        rng = np.random.default_rng([seed, KINDS.index(kind)])
        data = samples(kind, rng)
        loss = str(rng.choice(["logistic", "exponential", "squared"]))
        limit = strict(data, state(data, rng), loss, float(rng.choice([0.0, 0.0, 0.01])))
        assert not limit.certified or limit.residuals.largest <= 1e-11
        assert limit.certified or limit.reason


@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared"])
@pytest.mark.parametrize("kind", sorted({*KINDS} - {"sizes", "units"}))
def test_the_limit_of_a_state_on_the_way_never_warns(kind: str, loss: str) -> None:
    rng = np.random.default_rng([7, KINDS.index(kind)])
    data = samples(kind, rng)
    net = rf.Network.init(6, data.d, scale=0.1, seed=0)
    for log_time in (-2.0, 2.0, 60.0):
        sol = rf.integrate(data, net, until=rf.Stop(log_time=log_time, events=5000), loss=loss)  # type: ignore[arg-type]
        limit = strict(data, sol.final, loss)
        assert not limit.certified or limit.residuals.largest <= 1e-11


def test_a_state_whose_equations_leave_the_floats_has_no_certified_limit() -> None:
    data = rf.Dataset([[1.0], [2.0]], [1, -1])
    limit = strict(data, rf.Network([[40.0]], [40.0]), "exponential", 0.01)
    assert not limit.certified
    assert "range of floats" in limit.reason


def test_a_minimum_at_rest_is_found_from_where_its_loss_is_flat() -> None:
    """Newton's first step promised next to nothing and went to margins of -700, whose exponential overflows."""
    x, z = "32323112022122311201", "21022113312121130203"
    X = np.array([[float(a), float(b), 1.0] for a, b in zip(x, z, strict=True)])
    y = np.array([1.0 if sign == "+" else -1.0 for sign in "-+--++--+-+-+-+++-+-"])
    nets = [rf.Network.init(20, 3, scale=1e-3 * (1.0 + k * 1e-13), seed=3) for k in range(3)]
    ends = [rf.integrate(rf.Dataset(X, y), net, loss="exponential", until=rf.Stop(limit=True)) for net in nets]
    # of thirteen such starts one meets an event of rounding where its loss stalls, before the limit is asked for
    found = [sol for sol in ends if sol.status == "reached_limit"]
    assert len(found) >= 2
    assert all("margins that stay finite in this pattern" in sol.limit.reason for sol in found)
