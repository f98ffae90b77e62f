"""The benchmark problems P1, P1s, P2, P3, P4, and their stored reference runs.

| name | what                                  | n, d, m       | scale |
|------|---------------------------------------|---------------|-------|
| P1   | the 2-D example of [WP]               | 2, 2, 10      | 1e-2  |
| P1s  | the same with acute classes           | 2, 2, 10      | 1e-2  |
| P2   | the recipe of [PL] section 5.1        | 500, 20, 100  | 5e-3  |
| P3   | digits 3 against 8, centred           | 357, 64, 50   | 1e-3  |
| P4   | P3 with 2,000 neurons                 | 357, 64, 2000 | 1e-3  |

The squared loss has problems of its own:

| S1   | a teacher of 3 neurons                | 200, 10, 100  | 1e-3  |
| S2   | exactly orthogonal inputs             | 10, 10, 50    | 1e-3  |
| S3   | one input and a bias                  | 20, 2, 200    | 1e-3  |
| S4   | P3 with its labels as targets         | 357, 64, 50   | 1e-3  |

ReLU, sum; logistic loss for the first ones. Every start is balanced: |a_j| = |w_j| = scale. The data and the starts
are rebuilt from seeds, but for the samples of P2, which are stored. The references restarted a DOP853 at every event,
with error control per neuron at 1e-12; P4 has none. Those of the squared loss are written by
tools/write_squared_references.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

DATA = Path(__file__).parent / "data"
# (seed of the start, width, scale)
STARTS = {
    "P1": (1, 10, 1e-2),
    "P1s": (1, 10, 1e-2),
    "P2": (None, 100, 5e-3),
    "P3": (3, 50, 1e-3),
    "P4": (4, 2000, 1e-3),
}
NAMES = tuple(STARTS)


@dataclass(frozen=True)
class Regression:
    """Seed of data and start, width, scale, and the times of the stored states, which end with that of the run."""

    seed: int
    width: int
    scale: float
    times: tuple[float, ...]


REGRESSIONS = {
    "S1": Regression(0, 100, 1e-3, (0.005, 0.01, 0.02)),
    "S2": Regression(1, 50, 1e-3, (1.0, 2.0, 5.0, 20.0)),
    "S3": Regression(2, 200, 1e-3, (0.3, 1.0, 3.0)),
    "S4": Regression(3, 50, 1e-3, (0.0001, 0.0002)),
}
# The order of the codes in the stored event kinds.
KINDS = ("cross_up", "cross_down", "slide", "leave_up", "leave_down", "die", "branch")
# P2 draws its start after this many candidate samples from the same generator.
P2_SEED, P2_CANDIDATES = 2, 994


@dataclass(frozen=True)
class Problem:
    """X (n, d), y (n,), and the start W (m, d), a (m,). Leak 0, logistic loss, sum."""

    name: str
    X: np.ndarray
    y: np.ndarray
    W: np.ndarray
    a: np.ndarray
    loss: str = "logistic"
    reduction: str = "sum"
    leak: float = 0.0


@dataclass(frozen=True)
class Reference:
    """States W (k, m, d), a (k, m) at t (k,), and the events up to the last time that P2 and P3 have any."""

    t: np.ndarray
    W: np.ndarray
    a: np.ndarray
    event_t: np.ndarray
    event_neuron: np.ndarray
    event_sample: np.ndarray
    event_kind: list[str]

    def state(self, t: float) -> tuple[np.ndarray, np.ndarray]:
        k = int(np.flatnonzero(self.t == t)[0])
        return self.W[k], self.a[k]


def balanced_start(rng: np.random.Generator, width: int, dim: int, scale: float) -> tuple[np.ndarray, np.ndarray]:
    """Directions uniform on the sphere, signs with even odds, |w_j| = |a_j| = scale."""
    G = rng.standard_normal((width, dim))
    sign = np.where(rng.random(width) < 0.5, -1.0, 1.0)
    return G * (scale / np.linalg.norm(G, axis=1, keepdims=True)), sign * scale


def plane(cosine_sign: float) -> tuple[np.ndarray, np.ndarray]:
    """Two samples of opposite class, at an obtuse (-1) or an acute (+1) angle."""
    X = np.array([[1.65, 0.47 * cosine_sign], [0.47 * cosine_sign, 1.35]])
    return X, np.array([1.0, -1.0])


def digits() -> tuple[np.ndarray, np.ndarray]:
    """scikit-learn's digits 3 (+1) and 8 (-1), pixels over 16, centred."""
    from sklearn.datasets import load_digits

    raw = load_digits()
    rows = np.isin(raw.target, (3, 8))
    X = raw.data[rows] / 16.0
    return X - X.mean(axis=0), np.where(raw.target[rows] == 3, 1.0, -1.0)


def samples(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name in ("P1", "P1s"):
        return plane(-1.0 if name == "P1" else 1.0)
    if name == "P2":
        with np.load(DATA / "P2.npz") as stored:
            X = stored["X"]
        return X, np.repeat([1.0, -1.0], len(X) // 2)
    return digits()


def regression(name: str) -> Problem:
    """The problem of the squared loss of that name."""
    made = REGRESSIONS[name]
    rng = np.random.default_rng(made.seed)
    if name == "S1":
        X, V = rng.standard_normal((200, 10)), rng.standard_normal((3, 10))
        y = np.maximum(X @ V.T, 0) @ (np.array([1.0, -1.0, 1.0]) / np.linalg.norm(V, axis=1))
    elif name == "S2":
        X, y = np.diag(rng.uniform(0.5, 2.0, 10)), rng.choice([-1.0, 1.0], 10) * rng.uniform(0.5, 2.0, 10)
    elif name == "S3":
        x = np.sort(rng.uniform(-1.0, 1.0, 20))
        X, y = np.column_stack((x, np.ones(20))), np.sin(3 * x) + 0.1 * rng.standard_normal(20)
    else:
        X, y = digits()
    W, a = balanced_start(rng, made.width, X.shape[1], made.scale)
    return Problem(name, X, y, W, a, loss="squared")


def load(name: str) -> Problem:
    """The problem of that name."""
    if name in REGRESSIONS:
        return regression(name)
    if name not in STARTS:
        raise ValueError(f"name must be one of {', '.join(NAMES)}, found {name!r}")
    X, y = samples(name)
    seed, width, scale = STARTS[name]
    rng = np.random.default_rng(P2_SEED if seed is None else seed)
    if seed is None:
        rng.standard_normal((P2_CANDIDATES, X.shape[1]))
    W, a = balanced_start(rng, width, X.shape[1], scale)
    return Problem(name, X, y, W, a)


def reference(name: str) -> Reference:
    """The stored run of that problem (all but P4 have one)."""
    path = DATA / f"{name}.npz"
    if not path.exists():
        raise ValueError(f"name must be one of P1, P1s, P2, P3, found {name!r}")
    with np.load(path) as stored:
        part = {key: stored[key] for key in ("t", "W", "a", "event_t", "event_neuron", "event_sample")}
        return Reference(**part, event_kind=[KINDS[k] for k in stored["event_kind"]])
