"""What a neuron may do at a kink: the slow obvious answer, by trying every sign of every boundary.

A boundary is a direction of pre-activation zero. Parallel samples (x, cx, -x) are one boundary. For a neuron that
stands on some boundaries, a continuation is a sign for each boundary (+1 leaves upward, -1 downward, 0 stays) such
that the velocity of that choice really goes there, and such that the velocity lies in the convex hull of
the velocities of the cells beside the point. All 3^k choices are tried.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product

import numpy as np
from scipy.optimize import linprog

# A rate below this part of the pulls that make it up is rounding, not motion.
RATE_TOL = 1e-13
# Rows are parallel when the sine of their angle is below this.
PARALLEL_TOL = 1e-14


class UndecidedError(RuntimeError):
    """The twin cannot tell what happens; a comparison with it means nothing there."""


@dataclass
class TwinRun:
    status: str = "reached_time"
    events: list[tuple[float, int, int, str]] = field(default_factory=list)
    t: list[float] = field(default_factory=list)
    W: list[np.ndarray] = field(default_factory=list)
    a: list[np.ndarray] = field(default_factory=list)
    log_loss: list[float] = field(default_factory=list)
    pattern0: np.ndarray | None = None
    pattern: np.ndarray | None = None
    branch: dict | None = None
    time: float = 0.0


@dataclass
class Watch:
    """One margin that must stay positive: a pair, a multiplier's end, or an output weight of a held neuron.

    Or, where weights change their signs, the range of a multiplier, counted positive at the start of the segment.
    """

    neuron: int
    what: str  # "pair", "lower", "upper", "range", "weight", "hull"
    index: int  # sample, or boundary


@dataclass(frozen=True)
class Problem:
    """A data set with a loss; boundaries are found once."""

    X: np.ndarray
    y: np.ndarray
    leak: float = 0.0
    loss: str = "logistic"
    reduction: str = "sum"
    counts: np.ndarray | None = None  # what each sample counts in the loss; None: one each
    boundary_of: np.ndarray = field(init=False)
    normals: np.ndarray = field(init=False)
    coef: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        boundary_of, normals, coef = [], [], []
        for x in self.X:
            size = np.linalg.norm(x)
            for k, u in enumerate(normals):
                if np.linalg.norm(x - (x @ u) * u) <= PARALLEL_TOL * size:
                    boundary_of.append(k)
                    coef.append(x @ u)
                    break
            else:
                boundary_of.append(len(normals))
                normals.append(x / size)
                coef.append(size)
        object.__setattr__(self, "boundary_of", np.array(boundary_of))
        object.__setattr__(self, "normals", np.array(normals))
        object.__setattr__(self, "coef", np.array(coef))

    def margins(self, W: np.ndarray, a: np.ndarray) -> np.ndarray:
        """What the loss takes: margins y f, or the errors f - y of the squared loss."""
        Z = W @ self.X.T
        return self.arguments(a @ np.maximum(Z, self.leak * Z))

    def arguments(self, f: np.ndarray) -> np.ndarray:
        return f - self.y if self.loss == "squared" else self.y * f

    def duals(self, q: np.ndarray, log_factor: float = 0.0) -> np.ndarray:
        """lambda_i = -dL/df_i, with the factor of the reduction and the counts, times exp(log_factor)."""
        if self.loss == "squared":
            return -q * np.exp(log_factor) * self.weights
        log_slope = -np.logaddexp(0.0, q) if self.loss == "logistic" else -q
        return self.y * np.exp(log_slope + log_factor) * self.weights

    @property
    def weight(self) -> float:
        if self.reduction == "sum":
            return 1.0
        return 1.0 / (len(self.y) if self.counts is None else self.counts.sum())

    @property
    def weights(self) -> np.ndarray:
        """What each sample's loss is taken times."""
        return self.weight * (np.ones(len(self.y)) if self.counts is None else self.counts)

    def log_loss(self, q: np.ndarray) -> float:
        if self.loss == "squared":
            terms = 0.5 * q**2
        else:
            terms = np.logaddexp(0.0, -q) if self.loss == "logistic" else np.exp(-q)
        return float(np.log(np.sum(self.weights * terms)))

    def edges(self, lam: np.ndarray, boundary: int) -> tuple[float, float]:
        """Coefficients along the boundary's normal of its samples' drive, on its lower and its upper side."""
        rows = self.boundary_of == boundary
        pull = lam[rows] * self.coef[rows]
        up = self.coef[rows] > 0
        lower = float(np.sum(np.where(up, self.leak, 1.0) * pull))
        upper = float(np.sum(np.where(up, 1.0, self.leak) * pull))
        return lower, upper

    def sample_signs(self, boundary: int, sign: int) -> dict[int, int]:
        """The signs of a boundary's samples when the boundary's own sign is `sign`."""
        rows = np.flatnonzero(self.boundary_of == boundary)
        return {int(i): int(sign * np.sign(self.coef[i])) for i in rows}


@dataclass(frozen=True)
class Continuation:
    signs: dict[int, int]  # boundary -> sign
    velocity: np.ndarray


def complement(normals: np.ndarray, d: int) -> np.ndarray:
    """Projector onto the complement of the rows of `normals`."""
    if len(normals) == 0:
        return np.eye(d)
    _, s, vt = np.linalg.svd(normals, full_matrices=False)
    basis = vt[s > 1e-12 * s[0]]
    return np.eye(d) - basis.T @ basis


def independent(normals: np.ndarray) -> bool:
    return len(normals) == 0 or (
        len(normals) <= normals.shape[1] and np.linalg.svd(normals, compute_uv=False)[-1] > 1e-9
    )


def multipliers(problem: Problem, lam: np.ndarray, held: list[int], drive: np.ndarray) -> np.ndarray:
    """Positions tau in [0, 1] between the lower and the upper edge of each held boundary (independent boundaries)."""
    normals = problem.normals[held]
    need = -np.linalg.lstsq(normals.T, drive, rcond=None)[0]
    edges = np.array([problem.edges(lam, c) for c in held])
    with np.errstate(divide="ignore", invalid="ignore"):
        return (need - edges[:, 0]) / (edges[:, 1] - edges[:, 0])


def interval_gaps(problem: Problem, lam: np.ndarray, held: list[int], drive: np.ndarray) -> np.ndarray:
    """Columns: how far the multiplier stands above the lower and below the upper edge, and the range of its interval.

    One row for each held boundary, in parts of what all samples could pull. The first two are counted positive inside
    the interval whichever edge is the larger one; nothing is divided by a range, which passes zero with the weights.
    """
    need = -np.linalg.lstsq(problem.normals[held].T, drive, rcond=None)[0]
    lower, upper = np.array([problem.edges(lam, c) for c in held]).T
    way = np.where(upper >= lower, 1.0, -1.0)
    scale = np.abs(lam) @ np.linalg.norm(problem.X, axis=1)
    return np.c_[way * (need - lower), way * (upper - need), upper - lower] / max(scale, 1e-300)


def cells(normals: np.ndarray) -> np.ndarray:
    """All sign vectors that some direction takes on these boundaries."""
    return _cells(normals.tobytes(), normals.shape)


@lru_cache(maxsize=64)
def _cells(raw: bytes, shape: tuple[int, int]) -> np.ndarray:
    normals = np.frombuffer(raw).reshape(shape)
    d = normals.shape[1]
    found = []
    for signs in product((-1, 1), repeat=len(normals)):
        rows = np.array(signs)[:, None] * normals
        fit = linprog(
            np.r_[np.zeros(d), -1.0],
            A_ub=np.c_[-rows, np.ones(len(rows))],
            b_ub=np.zeros(len(rows)),
            bounds=[(-1, 1)] * d + [(None, 1)],
        )
        if fit.status == 0 and -fit.fun > 1e-9:
            found.append(signs)
    return np.array(found)


def hull_gap(problem: Problem, lam: np.ndarray, held: list[int], drive: np.ndarray) -> float:
    """Largest weight that every cell can keep while the drive within the held span is cancelled.

    Positive or zero: the neuron can stay on these boundaries. Works for dependent boundaries too.
    """
    normals = problem.normals[held]
    edges = np.array([problem.edges(lam, c) for c in held])
    corner = cells(normals)
    pulls = np.where(corner > 0, edges[:, 1], edges[:, 0]) @ normals
    basis = np.linalg.svd(normals, full_matrices=False)
    span = basis[2][basis[1] > 1e-12 * basis[1][0]]
    scale = np.abs(lam) @ np.linalg.norm(problem.X, axis=1)
    fit = linprog(
        np.r_[np.zeros(len(pulls)), -1.0],
        A_ub=np.c_[-np.eye(len(pulls)), np.ones(len(pulls))],
        b_ub=np.zeros(len(pulls)),
        A_eq=np.c_[np.vstack([span @ pulls.T / scale, np.ones(len(pulls))]), np.zeros(len(span) + 1)],
        b_eq=np.r_[-span @ drive / scale, 1.0],
        bounds=[(None, None)] * len(pulls) + [(None, 1)],
    )
    if fit.status != 0:
        return -1.0
    return float(-fit.fun)


def can_stay(problem: Problem, lam: np.ndarray, held: list[int], drive: np.ndarray, slack: float) -> bool:
    """Whether some multipliers in the hull cancel the drive along the held boundaries."""
    if not held:
        return True
    normals = problem.normals[held]
    if not independent(normals):
        return hull_gap(problem, lam, held, drive) >= -1e-10
    need = -np.linalg.lstsq(normals.T, drive, rcond=None)[0]
    edges = np.array([problem.edges(lam, c) for c in held])
    low, high = edges.min(axis=1) - slack, edges.max(axis=1) + slack
    return bool(np.all((need >= low) & (need <= high)))


def continuations(
    problem: Problem, lam: np.ndarray, row: np.ndarray, boundaries: list[int], a: float
) -> list[Continuation]:
    """Every first-order continuation of one neuron that stands on `boundaries`, the other samples signed by `row`.

    `a` is the neuron's output weight, or its rate if the weight is zero: only its sign decides.
    """
    d = problem.X.shape[1]
    on = np.isin(problem.boundary_of, boundaries)
    slopes = np.where(row > 0, 1.0, problem.leak)
    outside = (lam * slopes * ~on) @ problem.X
    pulls = float((np.abs(lam) * slopes * ~on) @ np.linalg.norm(problem.X, axis=1))
    edges = {c: problem.edges(lam, c) for c in boundaries}
    found = []
    for signs in product((-1, 0, 1), repeat=len(boundaries)):
        held = [c for c, s in zip(boundaries, signs, strict=True) if s == 0]
        drive, scale = outside.copy(), pulls
        for c, s in zip(boundaries, signs, strict=True):
            if s != 0:
                drive = drive + edges[c][s > 0] * problem.normals[c]
                scale += abs(edges[c][s > 0])
        velocity = a * complement(problem.normals[held], d) @ drive
        tol = RATE_TOL * scale
        leaves = all(
            s * (velocity @ problem.normals[c]) > abs(a) * tol for c, s in zip(boundaries, signs, strict=True) if s
        )
        if leaves and can_stay(problem, lam, held, drive, tol):
            found.append(Continuation(dict(zip(boundaries, signs, strict=True)), velocity))
    return found
