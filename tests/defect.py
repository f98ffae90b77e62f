"""An oracle that does not trust the integrator: is a solution a solution of the flow, from its states alone?

Between consecutive events and kept states the pattern stands still, and with v the Clarke velocity, computed here from
X, y and the state in plain numpy, θ(b) - θ(a) = ∫ v and L(a) - L(b) = ∫ |v|². Both integrals are taken by Gauss's rule
on states of `sol.at`; in the clock log t where t is late. Besides, at the same points:

- the pattern is that of the state, and on a boundary the neuron slides on, the pre-activation is zero;
- the velocity is in the Clarke set: multipliers exist in the box (a bounded least-squares problem), or, where
  boundaries are dependent and one of them repels, zero is in the hull of the cells beside the point;
- `sol.at` gives the kept states, the kept log loss is that of the state, the loss falls, a² - |w|² stands.

Every number is relative to the size of the neuron, of the pulls on it, or of the loss.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.optimize import lsq_linear

import reluflow as rf
from twin_rules import Problem, hull_gap, independent

NODES, WEIGHTS = (v / 2 for v in np.polynomial.legendre.leggauss(8))
NODES = NODES + 0.5
# An interval of this ratio of times is integrated in log t.
RATIO = 1.2
# Intervals are halved so often, until Gauss's rule gives the same on both halves to this part of the neuron.
MOST_HALVINGS, QUADRATURE = 7, 1e-10
# Shorter than this part of its time an interval says nothing about velocities.
SHORTEST = 1e-9
# Cells of so many dependent boundaries are enumerated; of more the hull is not asked for.
MOST_CELLS = 9
# Smaller neurons have no relative errors: the results keep nothing below 1e-290.
SMALLEST = 1e-300
# Between these logarithms of times exp keeps its digits.
PLAIN_TIMES = 600


@dataclass(frozen=True)
class Finding:
    what: str
    size: float
    log_t: float = -np.inf
    neuron: int = -1
    samples: tuple[int, ...] = ()

    def __str__(self) -> str:
        t = f"t = {np.exp(self.log_t)!r}" if self.log_t < 700 else f"log t = {self.log_t!r}"
        who = f", neuron {self.neuron}" if self.neuron >= 0 else ""
        which = f", samples {list(self.samples)}" if self.samples else ""
        return f"{self.what} off by {self.size:.1e} at {t}{who}{which}"


@dataclass
class Defect:
    """The largest finding of each check; `skipped` counts hulls that were too large to ask for."""

    findings: dict[str, Finding] = field(default_factory=dict)
    skipped: int = 0

    @property
    def worst(self) -> Finding:
        return max(self.findings.values(), key=lambda f: f.size)

    def add(self, found: Finding) -> None:
        size = found.size if np.isfinite(found.size) else np.inf
        if found.what not in self.findings or size > self.findings[found.what].size:
            self.findings[found.what] = found

    def __str__(self) -> str:
        return "\n".join(str(f) for f in sorted(self.findings.values(), key=lambda f: -f.size))


def of(sol: rf.Solution, max_intervals: int = 40) -> Defect:
    """The defect of a solution, on so many of its intervals, evenly chosen."""
    judge = Judge(sol)
    judge.kept_states()
    cuts = judge.cuts()
    chosen = np.unique(np.linspace(0, len(cuts) - 2, max_intervals).astype(int)) if len(cuts) > 1 else []
    for k in chosen:
        judge.interval(cuts[k], cuts[k + 1])
    return judge.found


def assert_small(sol: rf.Solution, tol: float, max_intervals: int = 40) -> None:
    found = of(sol, max_intervals)
    assert found.worst.size <= tol, f"{sol.status}, {len(sol.events)} events, {len(sol.branchings)} branchings\n{found}"


class Judge:
    def __init__(self, sol: rf.Solution):
        self.sol, self.found = sol, Defect()
        self.p = Problem(sol.data.X, sol.data.y, sol.leak, sol.loss, sol.reduction)
        self.lengths = np.linalg.norm(sol.data.X, axis=1)

    # --- what the run kept ---

    def kept_states(self) -> None:
        sol = self.sol
        size = self.sizes(sol.W, sol.a)
        balance = sol.a**2 - np.sum(sol.W**2, axis=2)
        drift = np.abs(balance - balance[0]) / np.maximum(np.max(size, axis=0) ** 2, SMALLEST)
        k, j = np.unravel_index(np.argmax(drift), drift.shape)
        self.found.add(Finding("balance", float(drift[k, j]), sol.log_t[k], int(j)))
        rise = np.diff(sol.log_loss) / np.maximum(1.0, np.abs(sol.log_loss[1:]))
        if len(rise):
            self.found.add(Finding("falling loss", float(max(np.max(rise), 0.0)), sol.log_t[1 + int(np.argmax(rise))]))
        W, a = self.states(sol.log_t[1:]) if len(sol.t) > 1 else (sol.W[1:], sol.a[1:])
        off = self.sizes(W - sol.W[1:], a - sol.a[1:]) / np.maximum(size[1:], SMALLEST)
        if off.size:
            k, j = np.unravel_index(np.argmax(off), off.shape)
            self.found.add(Finding("dense output", float(off[k, j]), sol.log_t[k + 1], int(j)))
        for k in range(len(sol.t)):
            want = self.log_loss(sol.W[k], sol.a[k])
            off_loss = abs(want - sol.log_loss[k]) / max(1.0, abs(want))
            self.found.add(Finding("kept loss", float(off_loss), sol.log_t[k]))
        final = sol.final
        self.signs(sol.log_t_end, final.W, final.a, np.asarray(final.pattern))

    def log_loss(self, W: np.ndarray, a: np.ndarray) -> float:
        q = self.p.margins(W, a)
        if self.p.loss == "exponential":
            terms = -q
        else:
            with np.errstate(over="ignore"):
                terms = np.where(q > 30, -q, np.log(np.logaddexp(0.0, -np.minimum(q, 30))))
        top = np.max(terms)
        return float(top + np.log(self.p.weight * np.sum(np.exp(terms - top))))

    @staticmethod
    def sizes(W: np.ndarray, a: np.ndarray) -> np.ndarray:
        top = np.maximum(np.max(np.abs(W), axis=-1), np.abs(a))
        top = np.where(top > 0, top, 1.0)  # squares of tiny ones would be zero
        return top * np.sqrt(np.sum((W / top[..., None]) ** 2, axis=-1) + (a / top) ** 2)

    # --- one interval of one pattern ---

    def cuts(self) -> np.ndarray:
        """Logarithms of the times of events and kept states; the first one may be -inf."""
        sol = self.sol
        return np.unique(np.r_[sol.log_t, sol.events.log_t, sol.log_t_end])

    def states(self, log_t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """At logarithms of times; -inf is the start."""
        log_t = np.asarray(log_t, float)
        W, a = np.repeat(self.sol.W[:1], len(log_t), axis=0), np.repeat(self.sol.a[:1], len(log_t), axis=0)
        plain = np.abs(log_t) < PLAIN_TIMES
        if plain.any():
            t = np.clip(np.exp(log_t[plain]), self.sol.t_start, self.sol.t_end)
            W[plain], a[plain] = self.sol.states(t)
        far = ~plain & np.isfinite(log_t)
        if far.any():
            W[far], a[far] = self.sol.states(log_times=log_t[far])
        return W, a

    def interval(self, low: float, high: float) -> None:
        if high - low <= SHORTEST * max(1.0, abs(high)):
            return
        middle = 0.5 * (low + high) if low > -np.inf else high - 1.0
        row = np.asarray(
            self.sol.at(log_t=middle).pattern if middle >= PLAIN_TIMES else self.sol.pattern(np.exp(middle))
        )
        frames = [self.frame(r) for r in row]
        plain = high - low <= np.log(RATIO) or low == -np.inf
        for where in (low, middle, high) if low > -np.inf else (middle, high):
            inside = where + 1e-6 * (middle - where)
            W, a = (v[0] for v in self.states(np.array([inside])))
            self.signs(inside, W, a, row)
            self.multipliers(inside, W, a, row)
        ends = self.states(np.array([low, high]))
        size = np.maximum(self.sizes(ends[0][1], ends[1][1]), SMALLEST)
        u, v = np.exp([low, high]) if plain else (low, high)
        change_W, change_a, drop = self.integral(u, v, plain, row, frames, size)
        off = self.sizes(ends[0][1] - ends[0][0] - change_W, ends[1][1] - ends[1][0] - change_a) / size
        j = int(np.argmax(off))
        self.found.add(Finding("velocity", float(off[j]), high, j))
        if high < PLAIN_TIMES:
            before, after = (self.log_loss(ends[0][k], ends[1][k]) for k in (0, 1))
            fall = np.exp(before) * -np.expm1(after - before)
            self.found.add(Finding("fall of the loss", float(abs(fall - drop) / np.exp(before)), high))

    def integral(self, u, v, plain, row, frames, size, whole=None, depth=0):
        """∫ of the velocity and of its square, halved until both halves agree with the whole."""
        whole = whole or self.gauss(u, v, plain, row, frames)
        middle = 0.5 * (u + v)
        left, right = (self.gauss(*ends, plain, row, frames) for ends in ((u, middle), (middle, v)))
        both = tuple(x + y for x, y in zip(left, right, strict=True))
        off = np.max(self.sizes(both[0] - whole[0], both[1] - whole[1]) / size)
        if depth >= MOST_HALVINGS or (off <= QUADRATURE and abs(both[2] - whole[2]) <= QUADRATURE * abs(both[2])):
            return both
        left = self.integral(u, middle, plain, row, frames, size, left, depth + 1)
        right = self.integral(middle, v, plain, row, frames, size, right, depth + 1)
        return tuple(x + y for x, y in zip(left, right, strict=True))

    def gauss(self, u, v, plain, row, frames):
        nodes = u + (v - u) * NODES
        log_t = np.log(nodes) if plain else nodes
        total_W, total_a, drop = 0.0, 0.0, 0.0
        for k, (W, a) in enumerate(zip(*self.states(log_t), strict=True)):
            log_rate = 0.0 if plain else log_t[k]
            vW, va = self.velocity(W, a, row, frames, log_rate)
            weight = (v - u) * WEIGHTS[k]
            total_W, total_a = total_W + weight * vW, total_a + weight * va
            drop += weight * float(np.sum(vW**2) + np.sum(va**2)) * np.exp(-log_rate)
        return total_W, total_a, drop

    def frame(self, row: np.ndarray) -> np.ndarray | None:
        """An orthonormal basis of the boundaries that a neuron slides on, or None."""
        boundaries = self.boundaries(row)
        if not boundaries:
            return None
        _, s, vt = np.linalg.svd(self.p.normals[boundaries], full_matrices=False)
        return vt[s > 1e-10 * s[0]]

    def boundaries(self, row: np.ndarray) -> list[int]:
        return sorted({int(c) for c in self.p.boundary_of[row == 0]})

    def velocity(self, W, a, row, frames, log_rate):
        """Clarke's velocity in the clock of log_rate, of neurons that stay on all boundaries they slide on."""
        slopes = np.where(row > 0, 1.0, np.where(row < 0, self.p.leak, 0.0))
        lam = self.p.duals(self.margins(W, a, slopes), log_rate)
        drive = (slopes * lam) @ self.p.X
        for j, basis in enumerate(frames):
            if basis is not None:
                drive[j] -= basis.T @ (basis @ drive[j])
        return a[:, None] * drive, np.sum(W * drive, axis=1)

    def margins(self, W, a, slopes):
        return self.p.y * (a @ (slopes * (W @ self.p.X.T)))

    # --- what must hold at a point ---

    def signs(self, log_t: float, W: np.ndarray, a: np.ndarray, row: np.ndarray) -> None:
        scale = np.outer(np.maximum(self.sizes(W, a), SMALLEST), self.lengths.clip(SMALLEST))
        Z = W @ self.p.X.T / scale
        wrong = np.where(row == 0, np.abs(Z), np.maximum(-row * Z, 0.0))
        j, i = np.unravel_index(np.argmax(wrong), wrong.shape)
        self.found.add(Finding("signs", float(wrong[j, i]), log_t, int(j), (int(i),)))

    def multipliers(self, log_t: float, W: np.ndarray, a: np.ndarray, row: np.ndarray) -> None:
        """How far zero is from the Clarke set within the span of what a neuron slides on, as a part of the pulls."""
        slopes = np.where(row > 0, 1.0, np.where(row < 0, self.p.leak, 0.0))
        q = self.margins(W, a, slopes)
        least = float(np.min(q))
        lam = self.p.duals(q, least if self.p.loss == "exponential" else max(least, 0.0))
        lam = lam / np.max(np.abs(lam))
        for j in range(len(a)):
            boundaries = self.boundaries(row[j])
            if not boundaries or not (np.any(W[j]) and a[j]):
                continue
            gap = self.gap(j, float(a[j]), lam, slopes[j], boundaries)
            if gap is not None:
                samples = tuple(int(i) for i in np.flatnonzero(row[j] == 0))
                self.found.add(Finding("multipliers", gap, log_t, j, samples))

    def gap(self, j: int, a: float, lam: np.ndarray, slopes: np.ndarray, boundaries: list[int]) -> float | None:
        normals, drive = self.p.normals[boundaries], (slopes * lam) @ self.p.X
        edges = np.array([self.p.edges(lam, c) for c in boundaries])
        repels = bool(np.any(a * (edges[:, 1] - edges[:, 0]) > 0))
        if repels and not independent(normals):
            if len(boundaries) > MOST_CELLS:
                self.found.skipped += 1
                return None
            return float(max(-hull_gap(self.p, lam, boundaries, drive), 0.0))
        width = edges[:, 1] - edges[:, 0]
        A, b = (width[:, None] * normals).T, -(drive + edges[:, 0] @ normals)
        _, s, vt = np.linalg.svd(normals, full_matrices=False)
        span = vt[s > 1e-10 * s[0]]
        A, b = span @ A, span @ b
        scale = float(np.abs(lam) @ (self.lengths * np.maximum(slopes, self.p.leak))) + float(np.sum(np.abs(edges)))
        if scale == 0.0:
            return 0.0
        if len(boundaries) == len(span):
            tau = np.linalg.lstsq(A, b, rcond=None)[0]
            if np.all((tau >= 0) & (tau <= 1)):
                return 0.0
        fit = lsq_linear(A / scale, b / scale, bounds=(0, 1), method="bvls", tol=1e-15)
        return float(np.sqrt(2 * fit.cost))
