"""Families of small problems, one generator a kind, each from a seed: the sort of thing the flow must get right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np


@dataclass(frozen=True)
class Setup:
    """A problem with its start and end time."""

    X: np.ndarray
    y: np.ndarray
    W: np.ndarray
    a: np.ndarray
    leak: float
    loss: str
    reduction: str
    t_end: float
    weights: np.ndarray | None = None

    @property
    def save_at(self) -> np.ndarray:
        """Three times of the run at which states are compared, the last one its end."""
        return self.t_end * np.array([0.3, 0.7, 1.0])

    @property
    def options(self) -> dict:
        return {"loss": self.loss, "reduction": self.reduction}


def scale_time(n: int, reduction: str, scale: float) -> float:
    """A horizon that covers the escape from the origin and some of what follows."""
    base = 3.0 + 1.5 * np.log10(1.0 / scale)
    return base * (n / 2 if reduction == "mean" else 1.0)


def start(rng: np.random.Generator, m: int, d: int, scale: float, balanced: bool = True):
    W = scale * rng.standard_normal((m, d))
    size = np.linalg.norm(W, axis=1)
    a = np.where(rng.random(m) < 0.5, -1.0, 1.0) * size
    return (W, a) if balanced else (W, a * np.exp(rng.uniform(-1.2, 1.2, m)))


def random(rng: np.random.Generator, balanced: bool = True) -> Setup:
    n, d, m = int(rng.integers(2, 9)), int(rng.integers(2, 5)), int(rng.integers(1, 6))
    scale = float(rng.choice([1.0, 0.1, 0.01, 1e-4]))
    W, a = start(rng, m, d, scale, balanced)
    reduction = str(rng.choice(["sum", "mean"]))
    return Setup(
        X=rng.standard_normal((n, d)),
        y=rng.choice([-1.0, 1.0], n),
        W=W,
        a=a,
        leak=float(rng.choice([0.0, 0.1, 0.5])),
        loss=str(rng.choice(["logistic", "exponential"])),
        reduction=reduction,
        t_end=float(scale_time(n, reduction, scale)),
    )


def unbalanced(rng: np.random.Generator) -> Setup:
    return random(rng, balanced=False)


def heavy_output(rng: np.random.Generator) -> Setup:
    """|a| > |w|: neurons may slide into w = 0 and out again."""
    s = random(rng)
    s = replace(s, X=s.X[:, :2], W=s.W[:, :2])
    size = np.linalg.norm(s.W, axis=1)
    return replace(s, a=np.copysign(size * np.exp(rng.uniform(0.05, 1.0, len(s.a))), s.a))


def repeated(rng: np.random.Generator) -> Setup:
    """Some samples twice, with the same or the other label."""
    s = random(rng)
    k = int(rng.integers(1, len(s.y) + 1))
    rows = rng.integers(0, len(s.y), k)[: 8 - min(len(s.y), 7)]
    return replace(s, X=np.vstack([s.X, s.X[rows]]), y=np.r_[s.y, rng.choice([-1.0, 1.0], len(rows))])


def opposite(rng: np.random.Generator) -> Setup:
    """x and -x both in the data."""
    s = random(rng)
    k = min(len(s.y), 4)
    labels = rng.choice([-1.0, 1.0], k)
    return replace(s, X=np.vstack([s.X[:k], -s.X[:k]]), y=np.r_[s.y[:k], labels])


def multiples(rng: np.random.Generator) -> Setup:
    """x and c x for powers of two c: proportional samples, exactly."""
    s = random(rng)
    k = min(len(s.y), 4)
    factor = rng.choice([-2.0, -0.5, 0.5, 2.0, 4.0], (k, 1))
    labels = rng.choice([-1.0, 1.0], k)
    return replace(s, X=np.vstack([s.X[:k], factor * s.X[:k]]), y=np.r_[s.y[:k], labels])


def mirrored(rng: np.random.Generator) -> Setup:
    """Data and neurons mapped to themselves by a reflection: pairs of simultaneous events."""
    s = random(rng)
    flip = np.ones(s.X.shape[1])
    flip[-1] = -1.0
    k, p = min(len(s.y), 4), min(len(s.a), 2)
    return replace(
        s,
        X=np.vstack([s.X[:k], s.X[:k] * flip]),
        y=np.r_[s.y[:k], s.y[:k]],
        W=np.vstack([s.W[:p], s.W[:p] * flip]),
        a=np.r_[s.a[:p], s.a[:p]],
    )


def identical(rng: np.random.Generator) -> Setup:
    """Neurons that come twice, one of them scaled."""
    s = random(rng)
    c = float(rng.choice([1.0, 0.5, 2.0**-20]))
    return replace(s, W=np.vstack([s.W, c * s.W[:2]]), a=np.r_[s.a, c * s.a[:2]])


def on_walls(rng: np.random.Generator) -> Setup:
    """Starts with exact zeros: small integers, w orthogonal to one or two samples, some w = 0 or a = 0."""
    s = random(rng, balanced=False)
    d = s.X.shape[1]
    X = rng.integers(-3, 4, s.X.shape).astype(float)
    X[np.all(X == 0, axis=1), 0] = 1.0
    W = rng.integers(-3, 4, s.W.shape) / 4.0
    a = rng.integers(-4, 5, len(s.a)) / 4.0
    for j in range(len(W)):
        i = int(rng.integers(len(X)))
        what = rng.integers(4)
        if what < 2:  # one exact zero
            p, q = rng.permutation(d)[:2]
            W[j] = 0.0
            W[j, p], W[j, q] = X[i, q] / 4.0, -X[i, p] / 4.0
        elif what == 2 and d == 3:  # two
            W[j] = np.cross(X[i], X[int(rng.integers(len(X)))]) / 8.0
    return replace(s, X=X, W=W, a=a, t_end=min(s.t_end, 8.0))


def orthogonal(rng: np.random.Generator) -> Setup:
    """Orthogonally separable: x_i y_i in a narrow cone."""
    s = random(rng)
    X = np.abs(s.X) * s.y[:, None]
    return replace(s, X=X)


def flat(rng: np.random.Generator) -> Setup:
    """Rank of X below d."""
    s = random(rng)
    d = s.X.shape[1]
    basis = rng.standard_normal((max(1, d - 1), d))
    return replace(s, X=rng.standard_normal((len(s.y), len(basis))) @ basis)


def crowded(rng: np.random.Generator) -> Setup:
    """Few dimensions, many samples with random labels: holds, slides and releases."""
    s = random(rng)
    d = int(rng.integers(2, 4))
    W, a = start(rng, 4, d, float(rng.choice([0.3, 1e-2])))
    y = rng.choice([-1.0, 1.0], 8)
    X = rng.standard_normal((8, d)) + 0.3 * y[:, None]
    return replace(s, X=X, y=y, W=W, a=a, t_end=20.0 * (4 if s.reduction == "mean" else 1))


def weighted(rng: np.random.Generator) -> Setup:
    """Samples that count differently, some not at all."""
    s = random(rng)
    weights = rng.choice([0.0, 0.5, 1.0, 3.0], len(s.y))
    weights[int(rng.integers(len(s.y)))] = 1.0
    return replace(s, weights=weights)


def squared(rng: np.random.Generator) -> Setup:
    """Real targets and the squared loss, every other time with weights."""
    s = random(rng, balanced=bool(rng.integers(2)))
    s = replace(s, X=s.X[:5], W=s.W[:3], a=s.a[:3], t_end=min(s.t_end, 6.0))
    weights = rng.uniform(0.3, 2.0, len(s.X)) if rng.integers(2) else None
    leak = float(rng.choice([0.0, 0.1]))
    return replace(s, y=rng.standard_normal(len(s.X)), leak=leak, loss="squared", weights=weights)


def squared_crowded(rng: np.random.Generator) -> Setup:
    """Two dimensions, more samples than fit: neurons slide, and rest where the weights change their signs."""
    n, m = 6, 3
    W, a = start(rng, m, 2, float(rng.choice([0.5, 0.1])))
    return Setup(
        X=rng.standard_normal((n, 2)),
        y=rng.normal(scale=1.5, size=n),
        W=W,
        a=a,
        leak=float(rng.choice([0.0, 0.0, 0.1])),
        loss="squared",
        reduction="sum",
        t_end=4.0,
    )


def squared_ties(rng: np.random.Generator) -> Setup:
    """Integer samples, parallel and orthogonal ones among them, and integer targets; some starts on boundaries."""
    s = on_walls(rng) if rng.integers(2) else random(rng)
    s = replace(s, X=s.X[:5], W=s.W[:3], a=s.a[:3], t_end=min(s.t_end, 3.0))
    X = rng.integers(-2, 3, s.X.shape).astype(float)
    X[np.all(X == 0, axis=1), 0] = 1.0
    weights = rng.integers(1, 4, len(X)).astype(float) if rng.integers(2) else None
    leak = float(rng.choice([0.0, 0.1]))
    y = rng.integers(-2, 3, len(X)).astype(float)
    return replace(s, X=X, y=y, leak=leak, loss="squared", weights=weights)


FAMILIES: dict[str, Callable[[np.random.Generator], Setup]] = {
    f.__name__: f
    for f in (
        random,
        unbalanced,
        heavy_output,
        repeated,
        opposite,
        multiples,
        mirrored,
        identical,
        on_walls,
        orthogonal,
        flat,
        crowded,
    )
}


# Of the squared loss, and of samples that count differently; the twin is slow on them.
REGRESSION = {f.__name__: f for f in (weighted, squared, squared_crowded, squared_ties)}


def make(family: str, seed: int) -> Setup:
    return (FAMILIES | REGRESSION)[family](np.random.default_rng([seed, len(family)]))
