"""Writes the reference runs of the squared loss in bench/data, by a method that shares nothing with the core.

DOP853 of scipy with a local error of 1e-13 of each neuron, restarted at every event. Between events the pattern is
fixed and the right-hand side smooth. Every margin is watched on the dense output of a step: pre-activations, and how
far the multiplier of a sliding pair is from the ends of its interval. The first to pass zero is located there,
corrected on a single step of the method, and decided by a bounded least-squares problem. Where the flow branches,
neurons at rest stay. Only for balanced starts, and samples in general position or exactly orthogonal.

    python tools/write_squared_references.py S2 S3
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import lsq_linear

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "bench"))
import problems

TOL = 1e-13  # of a step, beside the size of each neuron
LEAST_RTOL = 2.3e-14  # the least that scipy takes
GRID = np.array([0.02, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0])  # of a step, where margins are looked at
PULL_TOL = 1e-12  # of a sample across a boundary: below this it is rounding
LEFT = 1e-10  # a pair that has just changed is watched again from this distance on
GAPS = 4.0  # a step goes on for so many of the gaps between the last events at most


@dataclass
class Events:
    """Columns of the events so far."""

    t: list[float] = field(default_factory=list)
    neuron: list[int] = field(default_factory=list)
    sample: list[int] = field(default_factory=list)
    kind: list[str] = field(default_factory=list)

    def add(self, t: float, j: int, i: int, kind: str) -> None:
        """Append one event."""
        for column, value in zip((self.t, self.neuron, self.sample, self.kind), (t, j, i, kind), strict=True):
            column.append(value)


@dataclass(frozen=True)
class Watches:
    """Margins that have to stay positive: of the pairs with a sign, then of the two ends of each sliding pair."""

    signs: np.ndarray  # of the pairs over the sizes of neuron and sample, 0 where one slides; shape (m, n)
    sliding: list[tuple[int, int, int]]  # neuron, sample, -1 for the lower or +1 for the upper end
    shares: np.ndarray  # the multiplier of each is minus this row times the drive of its neuron


class Run:
    """One run of the flow."""

    def __init__(self, problem: problems.Problem) -> None:
        self.X, self.y = problem.X, problem.y
        self.lengths = np.linalg.norm(self.X, axis=1)
        self.normals = self.X / self.lengths[:, None]
        self.W, self.a = problem.W.copy(), problem.a.copy()
        self.m, self.d = self.W.shape
        self.t = 0.0
        self.sigma = np.sign(self.W @ self.X.T).astype(int)
        self.events = Events()
        self.fresh: set[tuple[int, int]] = set()
        self.known: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        self.arrange()

    # --- motion in a fixed pattern -----------------------------------------------------------------------------------

    def arrange(self) -> None:
        """Prepare the slopes, and the projectors of the neurons that slide."""
        self.S = (self.sigma > 0).astype(float)
        self.held = {int(j): np.flatnonzero(self.sigma[j] == 0) for j in np.flatnonzero((self.sigma == 0).any(axis=1))}
        for rows in self.held.values():
            if rows.tobytes() not in self.known:
                share = np.linalg.pinv(self.normals[rows].T)
                self.known[rows.tobytes()] = share, np.eye(self.d) - self.normals[rows].T @ share
        self.shares = {j: self.known[rows.tobytes()][0] for j, rows in self.held.items()}
        self.sliders = np.array(list(self.held), dtype=int)
        stacked = [self.known[rows.tobytes()][1] for rows in self.held.values()]
        self.projectors = np.array(stacked).reshape(-1, self.d, self.d)

    def split(self, state: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return W and a of a state."""
        return state[: self.m * self.d].reshape(self.m, self.d), state[self.m * self.d :]

    def duals(self, W: np.ndarray, a: np.ndarray) -> np.ndarray:
        """Return the errors y - f in the present pattern."""
        return self.y - a @ (self.S * (W @ self.X.T))

    def rhs(self, _: float, state: np.ndarray) -> np.ndarray:
        """Return the velocity in the present pattern."""
        W, a = self.split(state)
        pulls = (self.S * self.duals(W, a)) @ self.X
        if len(self.sliders):
            pulls[self.sliders] = np.matmul(self.projectors, pulls[self.sliders, :, None])[:, :, 0]
        return np.concatenate(((a[:, None] * pulls).ravel(), np.einsum("jd,jd->j", W, pulls)))

    def moved(self, state: np.ndarray, h: float) -> np.ndarray:
        """One step of the method."""
        stages = [self.rhs(0.0, state)]
        for row in DOP853.A[1 : DOP853.n_stages]:
            stages.append(self.rhs(0.0, state + h * (row[: len(stages)] @ np.array(stages))))
        return state + h * (DOP853.B @ np.array(stages))

    def settle(self, state: np.ndarray) -> None:
        """Take a state over, put back on the boundaries that it slides on and on balance."""
        W, a = (part.copy() for part in self.split(state))
        if len(self.sliders):
            W[self.sliders] = np.matmul(self.projectors, W[self.sliders, :, None])[:, :, 0]
        self.W, self.a = W, np.copysign(np.linalg.norm(W, axis=1), a)

    # --- margins -----------------------------------------------------------------------------------------------------

    def watches(self) -> Watches:
        """Return what has to stay positive from here on; a neuron that rests on a boundary has no ends to meet."""
        sliding, shares = [], []
        lam = self.duals(self.W, self.a)
        for j, rows in self.held.items():
            across = np.abs(self.shares[j] @ (self.S[j, :, None] * self.X).T).max(axis=1)
            for i, pull, share in zip(rows, across, self.shares[j], strict=True):
                attracting = self.a[j] * lam[i] < 0
                at_rest = pull <= PULL_TOL  # no other sample moves the neuron across
                if attracting and not at_rest:
                    sliding += [(j, int(i), -1), (j, int(i), 1)]
                    shares += [share, share]
        signs = self.sigma / np.outer(np.abs(self.a), self.lengths)
        return Watches(signs, sliding, np.array(shares).reshape(-1, self.d))

    def margins(self, state: np.ndarray, watches: Watches) -> np.ndarray:
        """Return all margins: pairs row by row, then the ends of the multipliers."""
        W, a = self.split(state)
        heights = ((W @ self.X.T) * watches.signs).ravel()
        if not watches.sliding:
            return heights
        lam = self.duals(W, a)
        scale = np.abs(lam) @ self.lengths
        neurons, samples, end = np.array(watches.sliding).T
        need = -np.sum(watches.shares * ((self.S[neurons] * lam) @ self.X), axis=1)
        above = np.where(end < 0, need, lam[samples] * self.lengths[samples] - need)
        # The sign is that of an attracting boundary's weight, so that a weight past zero shows too.
        return np.concatenate((heights, -np.sign(a[neurons]) * above / scale))

    def one(self, state: np.ndarray, watches: Watches, k: int) -> float:
        """Return margin k alone."""
        if k >= watches.signs.size:
            return float(self.margins(state, watches)[k])
        j, i = divmod(k, len(self.X))
        return float((self.split(state)[0][j] @ self.X[i]) * watches.signs[j, i])

    # --- steps -------------------------------------------------------------------------------------------------------

    def follow(self, t_end: float, times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Run to the end; return the states at the times."""
        W, a = [], []
        h, gaps, last = min(1e-6, t_end), t_end, 0.0
        while self.t < t_end:
            watches, state = self.watches(), np.concatenate((self.W.ravel(), self.a))
            sizes = np.concatenate((np.repeat(np.abs(self.a), self.d), np.abs(self.a)))
            first = min(h, GAPS * gaps, t_end - self.t)
            solver = DOP853(self.rhs, self.t, state, t_end, rtol=LEAST_RTOL, atol=TOL * sizes, first_step=first)
            solver.step()
            taken, h = solver.t - self.t, solver.h_abs
            hit = self.first_hit(watches, state, solver.dense_output(), taken)
            reach = taken if hit is None else hit[0]
            for s in times[(times > self.t) & (times <= self.t + reach)]:
                now = self.split(self.moved(state, s - self.t))
                W.append(now[0].copy())
                a.append(now[1].copy())
            end_state = solver.y if hit is None else self.moved(state, reach)
            self.t = solver.t if hit is None else self.t + reach
            self.settle(end_state)
            away = np.abs(self.W @ self.X.T) > LEFT * np.outer(np.abs(self.a), self.lengths)
            self.fresh = {pair for pair in self.fresh if not away[pair]}
            if hit is None:
                gaps = max(gaps, taken)
                continue
            gaps, last = 0.8 * gaps + 0.2 * (self.t - last), self.t
            self.decide(watches, hit[1])
            if len(self.events.t) % 500 == 0:
                print(f"  t = {self.t:.6g}, {len(self.events.t)} events", flush=True)
        return np.array(W), np.array(a)

    def first_hit(self, watches: Watches, state: np.ndarray, dense: DOP853, taken: float) -> tuple[float, int] | None:
        """Return when the first margin passes zero, and which; None if none does in this step."""
        table = np.array([self.margins(dense(self.t + s * taken), watches) for s in GRID])
        fresh = [j * len(self.X) + i for j, i in self.fresh]
        table[:, fresh] = np.where(np.maximum.accumulate(table[:, fresh] > LEFT, axis=0), table[:, fresh], 1.0)
        candidates = []
        for k in np.flatnonzero((table < 0).any(axis=0)):
            first = int(np.argmax(table[:, k] < 0))
            candidates.append((GRID[first - 1] * taken if first else 0.0, GRID[first] * taken, int(k)))
        candidates += self.dips(table, taken)
        best: tuple[float, int] | None = None
        for low, high, k in sorted(candidates):
            if best is None or low <= best[0]:
                root = self.root(lambda s: dense(self.t + s), watches, k, low, high)
                if root is not None and (best is None or root < best[0]):
                    best = root, k
        return None if best is None else (self.corrected(watches, state, best), best[1])

    def corrected(self, watches: Watches, state: np.ndarray, best: tuple[float, int]) -> float:
        """Correct the time of a root of the dense output by Newton's method on single steps."""
        at, k = best
        now = self.moved(state, at)
        ahead = self.one(now + 1e-6 * at * self.rhs(0.0, now), watches, k)
        value = self.one(now, watches, k)
        rate = (ahead - value) / (1e-6 * at) if at > 0 else 0.0
        # A root that is met and left in one point has no rate to go by.
        return max(at - value / rate, 0.0) if rate < 0 else at

    def dips(self, table: np.ndarray, taken: float) -> list[tuple[float, float, int]]:
        """Return brackets of visits below zero between points of the grid, as a parabola through three sees them."""
        found = []
        left, middle, right = table[:-2], table[1:-1], table[2:]
        low = (middle > 0) & (middle < left) & (middle < right) & (middle < 0.5 * np.maximum(left, right))
        for g, k in zip(*np.nonzero(low), strict=True):
            places = GRID[g : g + 3] * taken
            parabola = np.polyfit(places, table[g : g + 3, k], 2)
            if np.polyval(parabola, -0.5 * parabola[1] / parabola[0]) < 0:
                found.append((places[0], -0.5 * parabola[1] / parabola[0], int(k)))
        return found

    def root(
        self, dense: Callable[[float], np.ndarray], watches: Watches, k: int, low: float, high: float
    ) -> float | None:
        """Locate where margin k passes zero in a bracket: the secant rule, kept inside by bisection."""

        def value(s: float) -> float:
            return self.one(dense(s), watches, k)

        f_low, f_high = value(low), value(high)
        if f_low <= 0:
            return low
        if f_high > 0:
            return None
        for _ in range(60):
            middle = high - f_high * (high - low) / (f_high - f_low)
            if not low < middle < high:
                middle = 0.5 * (low + high)
            f = value(middle)
            if abs(f) < 1e-16 or high - low <= 1e-15 * (self.t + high):
                return middle
            if f > 0:
                low, f_low, f_high = middle, f, 0.5 * f_high
            else:
                high, f_high, f_low = middle, f, 0.5 * f_low
        return high

    # --- decisions ---------------------------------------------------------------------------------------------------

    def decide(self, watches: Watches, k: int) -> None:
        """Change the pattern where margin k has passed zero."""
        if k >= watches.signs.size:
            j, i, end = watches.sliding[k - watches.signs.size]
            self.change(j, {i: end})
            return
        j, i = divmod(k, len(self.X))
        lam = self.duals(self.W, self.a)
        old = self.sigma[j, i]
        if self.a[j] * lam[i] > 0:
            self.change(j, {i: -old, **self.signs_of(j, lam, {i: -old})})
        else:
            self.change(j, self.signs_of(j, lam, {i: 0}))

    def signs_of(self, j: int, lam: np.ndarray, new: dict[int, int]) -> dict[int, int]:
        """Return the new signs of all boundaries that a neuron stands on, by bounded least squares."""
        row = self.sigma[j].copy()
        row[list(new)] = list(new.values())
        on = np.flatnonzero(row == 0)
        if not len(on):
            return {}
        drive = ((row > 0) * lam) @ self.X
        tops = lam[on] * self.lengths[on]
        inside = self.a[j] * tops < 0  # a boundary that has turned repelling under a neuron at rest stays as it is
        E, low, high = self.normals[on[inside]].T, np.minimum(tops[inside], 0.0), np.maximum(tops[inside], 0.0)
        c = lsq_linear(E, -drive, bounds=(low, high), method="bvls", tol=1e-15).x
        velocity = self.a[j] * (drive + E @ c)
        rates = velocity @ E
        signs = np.where(np.abs(rates) <= 1e-11 * abs(self.a[j]) * (np.abs(lam) @ self.lengths), 0, np.sign(rates))
        return {int(i): int(s) for i, s in zip(on[inside], signs, strict=True)}

    def change(self, j: int, signs: dict[int, int]) -> None:
        """Give the pairs of a neuron their new signs, and record the events."""
        for i, sign in signs.items():
            old = int(self.sigma[j, i])
            if sign == old:
                continue
            kind = "slide" if sign == 0 else ("cross" if old else "leave") + ("_up" if sign > 0 else "_down")
            self.events.add(self.t, j, i, kind)
            self.sigma[j, i] = sign
            self.fresh.add((j, i))
        self.arrange()
        self.settle(np.concatenate((self.W.ravel(), self.a)))


def write(name: str) -> None:
    """Run one problem and store its events and states."""
    begin = time.process_time()
    times = np.array(problems.REGRESSIONS[name].times)
    run = Run(problems.load(name))
    W, a = run.follow(float(times[-1]), times)
    events = run.events
    np.savez_compressed(
        problems.DATA / f"{name}.npz",
        t=times,
        W=W,
        a=a,
        event_t=np.array(events.t),
        event_neuron=np.array(events.neuron, dtype=np.int16),
        event_sample=np.array(events.sample, dtype=np.int16),
        event_kind=np.array([problems.KINDS.index(kind) for kind in events.kind], dtype=np.int8),
    )
    print(f"{name}: {len(events.t)} events, {time.process_time() - begin:.0f} s of one core", flush=True)


if __name__ == "__main__":
    for chosen in sys.argv[1:] or list(problems.REGRESSIONS):
        write(chosen)
