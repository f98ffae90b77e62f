"""A slow obvious twin of the flow: DOP853 between events, every rule of the kinks by enumeration.

It shares nothing with the core: explicit Runge-Kutta instead of Taylor series, margins of every boundary and
every multiplier sampled on the dense output and polished by root finding on fresh sub-steps, no locality,
no sector groups. Only for small problems.
"""

from __future__ import annotations

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq, minimize_scalar

from twin_rules import (
    Problem,
    TwinRun,
    UndecidedError,
    Watch,
    complement,
    continuations,
    hull_gap,
    independent,
    interval_gaps,
    multipliers,
)

# Zero for a pre-activation, as a part of |theta_j| |x_i|: reached together with another boundary.
ON_BOUNDARY = 1e-11
# A margin that starts below this and falls is an event now.
NOW = 1e-11
GRID = 0.5 - 0.5 * np.cos(np.pi * np.arange(1, 33) / 32)
MAX_ROUNDS = 20
# A multiplier that stays at an end of its range up to rounding (orthogonal samples) does not leave it.
END_TOL = 1e-13
# A point this close to the border of a hull, in convex weights, is in it: the weights come from a linear program.
HULL_TOL = 1e-12

KINDS = {(-1, 1): "cross_up", (1, -1): "cross_down", (0, 1): "leave_up", (0, -1): "leave_down"}


class Twin:
    def __init__(self, problem: Problem, W, a, tol: float = 1e-13):
        self.p, self.tol = problem, tol
        self.W, self.a = np.array(W, float), np.array(a, float)
        self.m, self.d = self.W.shape
        self.t = 0.0
        self.balance = self.a**2 - np.sum(self.W**2, axis=1)
        self.balance[np.abs(self.balance) <= 1e-14 * self.a**2] = 0.0
        self.sigma = np.sign(self.W @ problem.X.T).astype(int)
        self.run = TwinRun(pattern0=self.sigma.copy())
        self.fresh: set[tuple[int, int]] = set()
        self.log_clock = False
        self.signed = problem.loss == "squared"  # weights change their signs
        self.range_sign: dict[tuple[int, int], float] = {}

    # ---- the smooth motion in a fixed pattern -------------------------------------------------
    def slopes(self) -> np.ndarray:
        return np.where(self.sigma > 0, 1.0, np.where(self.sigma < 0, self.p.leak, 0.0))

    def held(self, j: int) -> list[int]:
        return sorted({int(c) for c in self.p.boundary_of[self.sigma[j] == 0]})

    def prepare(self) -> None:
        self.S = self.slopes()
        self.H = [self.held(j) for j in range(self.m)]
        self.P = np.array([complement(self.p.normals[h], self.d) for h in self.H])

    def duals_at(self, W, a, t):
        """The duals, times t in the clock log t: there dθ/d log t = t dθ/dt."""
        Zs = self.S * (W @ self.p.X.T)
        return self.p.duals(self.p.arguments(a @ Zs), t if self.log_clock else 0.0)

    def rhs(self, t, state):
        W, a = self.split(state)
        drive = np.einsum("jde,je->jd", self.P, (self.S * self.duals_at(W, a, t)) @ self.p.X)
        return np.concatenate([(a[:, None] * drive).ravel(), np.sum(W * drive, axis=1)])

    def split(self, state):
        return state[: self.m * self.d].reshape(self.m, self.d), state[self.m * self.d :]

    def state(self):
        return np.concatenate([self.W.ravel(), self.a])

    def sizes(self):
        return np.sqrt(np.sum(self.W**2, axis=1) + self.a**2)

    def substep(self, state, h):
        """One DOP853 step of length h from `state`."""
        k = [self.rhs(self.t, state)]
        for row, c in zip(DOP853.A[1 : DOP853.n_stages], DOP853.C[1:], strict=False):
            k.append(self.rhs(self.t + c * h, state + h * (row[: len(k)] @ np.array(k))))
        return state + h * (DOP853.B @ np.array(k))

    def settle(self):
        """Put the state back on its exact invariants: held boundaries and balance."""
        for j in range(self.m):
            if self.H[j]:
                self.W[j] = self.P[j] @ self.W[j]
        w2 = np.sum(self.W**2, axis=1)
        live = self.balance >= 0
        size = np.sqrt(w2 + np.maximum(self.balance, 0))
        self.a = np.where(live, np.copysign(size, self.a), self.a)

    # ---- margins ------------------------------------------------------------------------------
    def watches(self) -> list[Watch]:
        out = [Watch(j, "pair", i) for j, i in zip(*np.nonzero(self.sigma), strict=True)]
        lam = self.duals_at(self.W, self.a, self.t)
        for j, held in enumerate(self.H):
            free = independent(self.p.normals[held])
            at_rest = free and not np.any(self.S[j] * lam) and not self.signed
            if not held or at_rest or self.size0[j] == 0:
                continue
            kinds = (["lower", "upper"] + ["range"] * self.signed) if free else ["hull"]
            out += [Watch(j, kind, c) for c in (held if free else held[:1]) for kind in kinds]
            if self.signed and free:
                gaps = interval_gaps(self.p, lam, held, (self.S[j] * lam) @ self.p.X)
                self.range_sign |= {(j, c): float(np.sign(r)) for c, r in zip(held, gaps[:, 2], strict=True)}
            if self.balance[j] < 0:
                out.append(Watch(j, "weight", -1))
        return [w for w in out if self.size0[w.neuron] > 0]

    def margin_row(self, watches, y, s=0.0):
        """The margins of the watches in state y, s after the present time."""
        W, a = self.split(y)
        Z = W @ self.p.X.T / self.xnorm / self.size0[:, None].clip(1e-300)
        lam = self.duals_at(W, a, self.t + s)
        tau: dict[int, np.ndarray] = {}
        out = np.empty(len(watches))
        for k, w in enumerate(watches):
            if w.what == "pair":
                out[k] = self.sigma[w.neuron, w.index] * Z[w.neuron, w.index]
            elif w.what == "weight":
                out[k] = self.a_sign[w.neuron] * a[w.neuron] / self.size0[w.neuron]
            else:
                if w.neuron not in tau:
                    drive = (self.S[w.neuron] * lam) @ self.p.X
                    make = hull_gap if w.what == "hull" else interval_gaps if self.signed else multipliers
                    tau[w.neuron] = np.atleast_1d(make(self.p, lam, self.H[w.neuron], drive))
                place = self.H[w.neuron].index(w.index)
                if w.what == "hull":
                    out[k] = tau[w.neuron][0] + HULL_TOL
                elif w.what == "range":
                    out[k] = self.range_sign[w.neuron, w.index] * tau[w.neuron][place, 2]
                elif self.signed:
                    out[k] = tau[w.neuron][place, int(w.what == "upper")] + END_TOL
                else:
                    v = tau[w.neuron][place]
                    out[k] = (v if w.what == "lower" else 1.0 - v) + END_TOL
        return out

    # ---- finding the first event of a step ----------------------------------------------------
    def first_event(self, watches, y0, h, dense, limit):
        """(offset, watch) of the first margin that turns negative within (0, limit], or None."""
        start = self.margin_row(watches, y0)
        table = np.array([self.margin_row(watches, dense(self.t + s * limit), s * limit) for s in GRID])
        lows = table.min(axis=0)
        best = None
        for k, w in enumerate(watches):
            column = np.r_[start[k], table[:, k]]
            fresh = w.what == "pair" and (w.neuron, w.index) in self.fresh
            if lows[k] >= 0:
                bracket = self.dip(watches, k, column, dense, limit)
            else:
                first = int(np.flatnonzero(table[:, k] < 0)[0])
                bracket = (GRID[first - 1] * limit if first else 0.0, GRID[first] * limit)
                if first == 0 and start[k] <= NOW:
                    if fresh:
                        bracket = self.fresh_return(watches, k, y0, limit)
                    else:
                        return 0.0, w
            if bracket is None or (best is not None and bracket[0] > best[0]):
                continue
            root = self.polish(watches, k, y0, bracket)
            if best is None or root < best[0]:
                best = (root, w)
        return best

    def fresh_return(self, watches, k, y0, limit):
        low, value = 0.0, 0.0
        for s in GRID[0] * limit * 2.0 ** np.arange(-30, 1):
            now = self.margin_row(watches, self.substep(y0, s), s)[k]
            if now < 0 and value > 0:
                return low, s
            if now < 0:
                raise UndecidedError(f"a fresh pair of neuron {watches[k].neuron} does not leave its boundary")
            low, value = s, now
        return None

    def dip(self, watches, k, column, dense, limit):
        """A bracket of a short visit below zero between two samples, if there is one."""
        grid = np.r_[0.0, GRID] * limit
        for i in range(1, len(grid) - 1):
            drop = max(column[i - 1], column[i + 1]) - column[i]
            if drop < 0 or column[i] > column[i - 1] or column[i] > column[i + 1] or column[i] > 4 * drop:
                continue
            low = minimize_scalar(
                lambda s: self.margin_row([watches[k]], dense(self.t + s), s)[0],
                bounds=(grid[i - 1], grid[i + 1]),
                method="bounded",
                options={"xatol": 1e-9 * limit},
            )
            if low.fun < 0:
                return grid[i - 1], float(low.x)
        return None

    def polish(self, watches, k, y0, bracket):
        def value(s):
            return self.margin_row([watches[k]], self.substep(y0, s) if s else y0, s)[0]

        low, high = bracket
        f_low, f_high = value(low), value(high)
        while f_high > 0 and high < 1.0001 * bracket[1]:  # dense output and sub-step differ by rounding
            high *= 1 + 1e-7
            f_high = value(high)
        if f_low <= 0:
            return low
        if f_high > 0:
            return bracket[1]
        return brentq(value, low, high, xtol=1e-300, rtol=9e-16)

    # ---- decisions ----------------------------------------------------------------------------
    def decide(self, j: int, extra: int | None = None, leave: bool = False) -> None:
        """Give neuron j its continuation, all its zero pre-activations together; with `leave` it may not stay."""
        Z = self.W[j] @ self.p.X.T
        near = np.abs(Z) <= ON_BOUNDARY * self.sizes()[j] * self.xnorm
        near |= self.sigma[j] == 0
        if extra is not None:
            near[extra] = True
        boundaries = sorted({int(c) for c in self.p.boundary_of[near]})
        lam = self.p.duals(self.p.margins(self.W, self.a), self.t if self.log_clock else 0.0)
        rate = self.a[j]
        tiny = abs(rate) <= 1e-13 * self.sizes()[j]
        if tiny:
            slope = np.where(self.sigma[j] > 0, 1.0, self.p.leak) * ~near
            rate = float(np.sum(lam * slope * Z))
            if rate == 0.0:
                return
        ways = continuations(self.p, lam, self.sigma[j], boundaries, rate)
        if leave:
            ways = [way for way in ways if any(way.signs.values())]
        if len(ways) != 1:
            if not ways:
                raise UndecidedError(f"no continuation for neuron {j} at t = {self.t!r}")
            self.run.status = "branch"
            self.run.branch = {"t": self.t, "neuron": j, "options": [self.as_samples(w.signs) for w in ways]}
            return
        self.become(j, self.as_samples(ways[0].signs))
        if np.all(near):
            self.W[j] -= self.p.normals.T @ np.linalg.lstsq(self.p.normals.T, self.W[j], rcond=None)[0]

    def as_samples(self, signs: dict[int, int]) -> dict[int, int]:
        return {i: s for c, sign in signs.items() for i, s in self.p.sample_signs(c, sign).items()}

    def become(self, j: int, signs: dict[int, int]) -> None:
        for i, s in signs.items():
            self.sigma[j, i] = s
            self.fresh.add((j, i))

    def handle(self, w: Watch) -> None:
        if w.what in ("pair",):
            self.decide(w.neuron, w.index)
        elif w.what == "range":
            self.open_branch(w)
        elif w.what in ("weight", "hull"):
            if w.what == "weight":
                self.a[w.neuron] = 0.0
            self.decide(w.neuron, leave=w.what == "hull")
        else:
            self.become(w.neuron, self.as_samples({w.index: 1 if w.what == "upper" else -1}))

    def open_branch(self, w: Watch) -> None:
        """An attracting boundary turns into a repelling one under a neuron that stands on it: it may stay or leave."""
        ways = [{}] + [{w.index: sign} for sign in (1, -1)]
        self.run.status = "branch"
        self.run.branch = {"t": self.t, "neuron": w.neuron, "options": [self.as_samples(way) for way in ways]}

    def record(self, before: np.ndarray) -> None:
        for j, i in zip(*np.nonzero(before != self.sigma), strict=True):
            old, new = before[j, i], self.sigma[j, i]
            kind = "slide" if new == 0 else KINDS[(old, new)]
            self.run.events.append((self.t, int(j), int(i), kind))

    def start(self) -> None:
        """Continuations of the pairs that are zero at the start."""
        before = self.sigma.copy()
        names = {1: "start_up", -1: "start_down", 0: "start_slide"}
        for j in range(self.m):
            if self.sizes()[j] > 0 and np.any(before[j] == 0):
                self.decide(j)
                if self.run.status == "branch":
                    return
                for i in np.flatnonzero(before[j] == 0):
                    self.run.events.append((0.0, j, int(i), names[int(self.sigma[j, i])]))

    # ---- the loop -----------------------------------------------------------------------------
    def integrate(self, t_end: float, save_at=(), max_events: int = 10_000) -> TwinRun:
        self.xnorm = np.linalg.norm(self.p.X, axis=1)
        saves = [s for s in save_at if s <= t_end]
        self.start()
        rounds = 0
        while self.t < t_end and self.run.status == "reached_time":
            at = self.t
            self.segment(t_end, saves)
            rounds = rounds + 1 if self.t == at else 0
            if rounds > MAX_ROUNDS:
                raise UndecidedError(f"events repeat at t = {self.t!r}")
            if len(self.run.events) >= max_events:
                self.run.status = "max_events"
        self.run.pattern, self.run.time = self.sigma.copy(), self.t
        return self.run

    def follow(self, log_end: float, save_at=()) -> TwinRun:
        """Go on from the end of `integrate` in the clock log t: times of events and states are then log t."""
        self.t, self.log_clock = float(np.log(self.t)), True
        self.run = TwinRun(pattern0=self.sigma.copy())
        while self.t < log_end and self.run.status == "reached_time":
            self.segment(log_end, [s for s in save_at if s <= log_end])
        self.run.pattern, self.run.time = self.sigma.copy(), self.t
        return self.run

    def segment(self, t_end, saves) -> None:
        """Move in one pattern up to its next event, and change the pattern there."""
        self.size0 = self.sizes()
        self.a_sign = np.where(self.a != 0, np.sign(self.a), 1.0)
        self.prepare()
        zero = self.a == 0
        if np.any(zero):
            rate = self.rhs(self.t, self.state())[self.m * self.d :]
            self.a_sign = np.where(zero, np.sign(rate), self.a_sign)
        self.settle()
        solver = self.solver(t_end)
        watches = self.watches()
        while self.t < t_end:
            y0 = self.state()
            stops = [s for s in saves if s > self.t]
            solver.step()
            if solver.status == "failed":
                raise UndecidedError("DOP853 failed")
            dense = solver.dense_output()
            hit = self.first_event(watches, y0, solver.t - self.t, dense, solver.t - self.t)
            reach = solver.t if hit is None else self.t + hit[0]
            self.save(y0, [s for s in stops if s <= reach])
            if hit is None:
                self.t = solver.t
                self.W, self.a = (part.copy() for part in self.split(solver.y))
            else:
                self.W, self.a = (part.copy() for part in self.split(self.substep(y0, hit[0])))
                if hit[0] > 0:
                    self.fresh = set()
                self.t = reach
            self.settle()
            if hit is not None:
                before = self.sigma.copy()
                self.handle(hit[1])
                self.record(before)
                return
            self.fresh = set()
            self.size0 = self.sizes()
            solver = self.solver(t_end, solver.h_abs)

    def solver(self, t_end, first=None):
        atol = self.tol * np.concatenate([np.repeat(self.size0, self.d), self.size0]).clip(1e-300)
        span = t_end - self.t
        first = None if first is None or first >= span else first
        return DOP853(self.rhs, self.t, self.state(), t_end, rtol=2.3e-14, atol=atol, first_step=first)

    def save(self, y0, times) -> None:
        for s in times:
            W, a = self.split(self.substep(y0, s - self.t))
            self.run.t.append(s)
            self.run.W.append(W.copy())
            self.run.a.append(a.copy())
            self.run.log_loss.append(self.p.log_loss(self.p.margins(W, a)))


def run(setup, save_at=(), tol: float = 1e-13) -> TwinRun:
    """Run the twin on a `families.Setup`."""
    problem = Problem(setup.X, setup.y, setup.leak, setup.loss, setup.reduction, setup.weights)
    with np.errstate(over="ignore", invalid="ignore"):  # a trial stage of DOP853 may leave all bounds
        return Twin(problem, setup.W, setup.a, tol).integrate(setup.t_end, save_at)


def integrate(X, y, W, a, t_end, *, leak=0.0, loss="logistic", reduction="sum", save_at=(), tol=1e-13):
    """Run the twin; `save_at` in plain time. Returns a TwinRun."""
    problem = Problem(np.array(X, float), np.array(y, float), leak, loss, reduction)
    return Twin(problem, W, a, tol).integrate(t_end, save_at)
