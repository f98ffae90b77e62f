"""Hostile problems, one generator a kind, each from a seed: nearly parallel samples, ties, starts on boundaries, ...

`problem(kind, seed)` is a `families.Setup`; `log_time` is that of the late kinds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import reluflow as rf

KINDS: dict[str, Callable[[np.random.Generator], dict]] = {}


def kind(f):
    KINDS[f.__name__] = f
    return f


def init(rng, m, d, scale, how="balanced"):
    W = rng.standard_normal((m, d))
    a = np.linalg.norm(W, axis=1) * rng.choice([-1.0, 1.0], m)
    if how == "heavy":
        a *= np.exp(rng.uniform(0.1, 5, m))
    if how == "light":
        a *= np.exp(-rng.uniform(0.1, 5, m))
    if how == "a0":
        a *= rng.choice([0.0, 1.0], m, p=[0.7, 0.3])
    if how == "w0":
        W *= rng.choice([0.0, 1.0], (m, 1), p=[0.7, 0.3])
    return W * scale, a * scale


def base(rng, X, y=None, m=None, scale=None, how=None, **kw):
    X = np.asarray(X, float)
    n, d = X.shape
    y = rng.choice([-1.0, 1.0], n) if y is None else y
    m = int(rng.integers(1, 7)) if m is None else m
    scale = float(rng.choice([1e-3, 1e-1, 1.0])) if scale is None else scale
    how = str(rng.choice(["balanced", "balanced", "heavy", "light", "a0", "w0"])) if how is None else how
    W, a = init(rng, m, d, scale, how)
    loss = str(rng.choice(["logistic", "exponential"]))
    p = {
        "X": X,
        "y": y,
        "W": W,
        "a": a,
        "leak": float(rng.choice([0.0, 0.0, 0.0, 0.1, 0.5])),
        "loss": loss,
        "reduction": "sum",
        "rtol": 1e-9,
        "log_t": None,
        "t": float(rng.choice([3.0, 10.0, 30.0])),
    }
    size = np.max(np.linalg.norm(X, axis=1))
    p["t"] *= (1 + np.log(1 / min(scale, 1.0))) / max(size, 1e-300)
    p.update(kw)
    return p


def shape(rng):
    return int(rng.integers(2, 10)), int(rng.integers(2, 6))


@kind
def near_parallel(rng):
    n, d = shape(rng)
    X = rng.standard_normal((n, d))
    eps = 10.0 ** -rng.uniform(4, 10, (n, 1))
    X2 = X * rng.choice([1.0, -1.0, 2.0], (n, 1)) + eps * rng.standard_normal((n, d))
    return base(rng, np.vstack([X, X2]))


@kind
def parallel_rounding(rng):
    n, d = shape(rng)
    X = rng.standard_normal((n, d))
    return base(rng, np.vstack([X, X * rng.uniform(-3, 3, (n, 1)), X / 3.0, X * np.pi]))


@kind
def norms(rng):
    n, d = shape(rng)
    return base(rng, rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-6, 6, (n, 1)))


@kind
def collinear(rng):
    n, d = shape(rng)
    X = np.outer(rng.standard_normal(n), rng.standard_normal(d))
    if rng.random() < 0.5:
        X = np.vstack([X, rng.standard_normal((1, d))])
    return base(rng, X)


@kind
def integers(rng):
    n, d = shape(rng)
    X = rng.integers(-2, 3, (n + 3, d)).astype(float)
    X[np.all(X == 0, 1), 0] = 1
    p = base(rng, X)
    m = len(p["a"])
    W = rng.integers(-2, 3, (m, d)) / 8.0
    return p | {"W": W, "a": rng.integers(-3, 4, m) / 8.0}


@kind
def integers_balanced(rng):
    """Integer data, Pythagorean weights: ties and exact balance."""
    n = int(rng.integers(3, 9))
    X = rng.integers(-2, 3, (n, 2)).astype(float)
    X[np.all(X == 0, 1), 0] = 1
    p = base(rng, X)
    m = len(p["a"])
    tri = np.array([[3, 4], [4, -3], [-3, 4], [0, 5], [5, 0], [-4, -3], [-5, 0]]) / 8.0
    return p | {"W": tri[rng.integers(len(tri), size=m)], "a": rng.choice([-5, 5], m) / 8.0}


@kind
def onehot(rng):
    n, d = int(rng.integers(3, 12)), int(rng.integers(2, 7))
    X = np.eye(d)[rng.integers(d, size=n)]
    if rng.random() < 0.5:
        X = X + np.eye(d)[rng.integers(d, size=n)]
    return base(rng, X)


@kind
def wide_d(rng):
    n = int(rng.integers(2, 6))
    return base(rng, rng.standard_normal((n, n + int(rng.integers(1, 30)))))


@kind
def tall_n(rng):
    return base(
        rng, rng.standard_normal((int(rng.integers(60, 200)), int(rng.integers(1, 4)))), m=int(rng.integers(1, 5))
    )


@kind
def one_d(rng):
    X = rng.standard_normal((int(rng.integers(1, 8)), 1))
    if rng.random() < 0.4:
        X = np.round(3 * X) + (np.round(3 * X) == 0)
    return base(rng, X)


@kind
def bias(rng):
    n, d = shape(rng)
    X = rng.standard_normal((n, d)) if rng.random() < 0.5 else rng.integers(-2, 3, (n, d)).astype(float)
    return base(rng, np.c_[X, np.ones(n)])


@kind
def bias_1d_grid(rng):
    n = int(rng.integers(3, 12))
    return base(rng, np.c_[np.linspace(-1, 1, n), np.ones(n)])


@kind
def huge(rng):
    n, d = shape(rng)
    return base(rng, rng.standard_normal((n, d)), scale=float(rng.choice([10.0, 100.0, 1e4])))


@kind
def leaks(rng):
    n, d = shape(rng)
    return base(rng, rng.standard_normal((n, d)), leak=float(rng.choice([0.99, 1e-8, 1 - 1e-12, 1e-300])))


@kind
def negative_margins(rng):
    """Exponential loss, first margins about -50 .. -900."""
    n, d = shape(rng)
    p = base(rng, rng.standard_normal((n, d)), scale=1.0, loss="exponential", how="balanced")
    z = np.maximum(p["W"] @ p["X"].T, p["leak"] * (p["W"] @ p["X"].T))
    f = p["a"] @ z
    top = np.max(np.abs(f))
    if top == 0:
        return p
    c = np.sqrt(float(rng.choice([50.0, 400.0, 720.0, 900.0])) / top)
    y = -np.sign(f) + (f == 0)
    return p | {"W": p["W"] * c, "a": p["a"] * c, "y": y, "t": 1.0}


@kind
def contradictory(rng):
    n, d = shape(rng)
    X = rng.standard_normal((n, d))
    y = rng.choice([-1.0, 1.0], n)
    return base(rng, np.vstack([X, X]), np.r_[y, -y])


@kind
def contradictory_part(rng):
    n, d = shape(rng)
    X = rng.standard_normal((n, d))
    y = rng.choice([-1.0, 1.0], n)
    k = max(1, n // 2)
    return base(
        rng,
        np.vstack([X, X[:k], -X[:k]]),
        np.r_[y, -y[:k], rng.choice([-1.0, 1.0], k)],
        log_t=float(rng.choice([5, 12])),
    )


@kind
def on_walls(rng):
    n, d = shape(rng)
    X = rng.standard_normal((n, d))
    X[:, 0] = rng.choice([0.0, 1.0, -1.0], n)
    X[np.all(X == 0, 1), 0] = 1
    p = base(rng, X)
    W = np.zeros_like(p["W"])
    W[:, 0] = rng.choice([-0.5, 0.5], len(W))
    return p | {"W": W, "a": rng.choice([-0.5, 0.5, 1.0], len(W))}


@kind
def tied(rng):
    """Copies of neurons and copies with the opposite output."""
    n, d = shape(rng)
    p = base(rng, rng.standard_normal((n, d)))
    return p | {"W": np.vstack([p["W"]] * 3), "a": np.r_[p["a"], p["a"], -p["a"]]}


@kind
def sign_symmetric(rng):
    """x, -x with opposite labels; w, -w."""
    n, d = shape(rng)
    X = rng.standard_normal((n, d))
    y = rng.choice([-1.0, 1.0], n)
    p = base(rng, np.vstack([X, -X]), np.r_[y, -y])
    return p | {"W": np.vstack([p["W"], -p["W"]]), "a": np.r_[p["a"], -p["a"]]}


@kind
def tiny(rng):
    n, d = shape(rng)
    s = float(rng.choice([1e-150, 1e-130, 1e-100, 1e-50]))
    p = base(rng, rng.standard_normal((n, d)), scale=s, how="balanced")
    return p | {"t": p["t"] * 2}


@kind
def mixed_scale(rng):
    n, d = shape(rng)
    p = base(rng, rng.standard_normal((n, d)), scale=1.0, how="balanced", m=6)
    c = 10.0 ** rng.uniform(-120, 0, (6, 1))
    return p | {"W": p["W"] * c, "a": p["a"] * c[:, 0]}


@kind
def tolerances(rng):
    n, d = shape(rng)
    return base(rng, rng.standard_normal((n, d)), rtol=float(rng.choice([1e-2, 1e-3, 1e-5, 1e-12, 1e-13, 1e-14])))


@kind
def late(rng):
    n, d = shape(rng)
    return base(rng, rng.standard_normal((n, d)), m=8, log_t=float(rng.choice([20, 100, 1e4])))


@kind
def late_bias(rng):
    n, d = shape(rng)
    X = np.c_[rng.standard_normal((n, d - 1)), np.ones(n)]
    return base(rng, X, m=8, log_t=float(rng.choice([20, 100, 1e4])))


@kind
def late_integers(rng):
    n, d = shape(rng)
    X = rng.integers(-2, 3, (n, d)).astype(float)
    X[np.all(X == 0, 1), 0] = 1
    return base(rng, X, m=8, log_t=float(rng.choice([20, 100])))


@kind
def real_like(rng):
    """Standardised integers: many values shared, correlated features, mislabelled points."""
    n, d = int(rng.integers(20, 50)), int(rng.integers(3, 8))
    F = rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.3 * rng.standard_normal((n, d))
    X = np.round(2 * F)
    X = (X - X.mean(0)) / (X.std(0) + 1e-9)
    y = np.where(F[:, 0] > 0, 1.0, -1.0)
    y[rng.random(n) < 0.1] *= -1
    return base(rng, X, y, m=6, scale=1e-2, how="balanced")


@kind
def dense_boundaries_plane(rng):
    """Many boundaries with a nearly common intersection line."""
    k = int(rng.integers(4, 9))
    phi = rng.uniform(0, np.pi, k)
    X = np.c_[np.cos(phi), np.sin(phi), 1e-9 * rng.standard_normal(k)]
    return base(rng, np.vstack([X, rng.standard_normal((2, 3))]))


@kind
def ties(rng):
    """Rows of small integers, some again, opposite or in multiples, labelled anew; neurons on boundaries."""
    n, d = int(rng.integers(3, 9)), int(rng.integers(2, 5))
    low, high = ((0, 1), (-1, 1), (0, 3), (-2, 2))[rng.integers(4)]
    X = rng.integers(low, high + 1, (n + 2, d)).astype(float)
    X[np.all(X == 0, 1), 0] = 1
    if rng.random() < 0.4:
        X = np.c_[X, np.ones(len(X))]
    again = rng.integers(len(X), size=len(X) // 3)
    p = base(rng, np.vstack([X, X[again] * rng.choice([1.0, 1.0, -1.0, 2.0, 1 / 3], (len(again), 1))]))
    for j in range(len(p["a"]) // 2):
        along = X[rng.integers(len(X))]
        p["W"][j] -= (p["W"][j] @ along) / (along @ along) * along
        p["a"][j] = np.copysign(np.linalg.norm(p["W"][j]), p["a"][j])
    scale = float(rng.choice([1.0, 1.0, 1e-8, 1e-100, 100.0]))
    if p["loss"] == "exponential":  # margins to -8: faster falls are beyond the oracle
        z = p["W"] @ p["X"].T
        scale = min(scale, 1.0, np.sqrt(4.0 / max(np.abs(p["a"] @ np.maximum(z, p["leak"] * z)).max(), 1e-300)))
    W, a = scale * np.vstack([p["W"], p["W"][:1]]), scale * np.r_[p["a"], -p["a"][0]]
    t = p["t"] * (1 - np.log(min(scale, 1.0)))
    return p | {"W": W, "a": a, "t": t, "reduction": str(rng.choice(["sum", "mean"]))}


@dataclass(frozen=True)
class Hostile:
    """A problem with its start, its end and the options of its run."""

    data: rf.Dataset
    net: rf.Network
    until: rf.Stop
    options: dict

    def run(self, **changes) -> rf.Solution:
        return rf.integrate(self.data, self.net, **{"until": self.until, **self.options, **changes})


def problem(kind: str, seed: int, **changes) -> Hostile:
    """`changes` replace fields of the drawn problem, such as log_t."""
    p = KINDS[kind](np.random.default_rng([seed, sum(map(ord, kind))])) | changes
    late = p["log_t"] is not None
    return Hostile(
        data=rf.Dataset(p["X"], p["y"]),
        net=rf.Network(p["W"], p["a"], leak=p["leak"]),
        until=rf.Stop(log_time=p["log_t"]) if late else rf.Stop(time=float(p["t"])),
        options={"loss": p["loss"], "reduction": p["reduction"], "rtol": p["rtol"]},
    )
