"""The flow to forty digits: Taylor series in decimal arithmetic, every rule of the kinks from its definition.

It shares nothing with the core and nothing with the twin. Only for data in at most three dimensions, the logistic loss
with the sum, and boundaries that attract wherever a neuron stands on several at once: there the Clarke set is the drive
of the other samples plus a zonotope, dependent boundaries or not, and the neuron stays as long as zero is in it. Each
facet of the zonotope gives one analytic slack, so every event is a root of an analytic function, found to all digits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from itertools import combinations, product
from operator import mul

import numpy as np

DIGITS = 60
ORDER = 40
STEP = Decimal("0.04")
# Events this close are one instant.
SAME = Decimal("1e-45")
ROOT = Decimal("1e-50")
LOOKS = 6  # points of a step at which every slack is looked at
ZERO, ONE = Decimal(0), Decimal(1)
Vector = list[Decimal]


def dot(u: Sequence[Decimal], v: Sequence[Decimal]) -> Decimal:
    return sum(map(mul, u, v), ZERO)


def cross(u: Vector, v: Vector) -> Vector:
    return [u[1] * v[2] - u[2] * v[1], u[2] * v[0] - u[0] * v[2], u[0] * v[1] - u[1] * v[0]]


def convolve(f: Vector, g: Vector, k: int) -> Decimal:
    """Coefficient k of the product of two series."""
    return sum(map(mul, f[: k + 1], g[k::-1]), ZERO)


def value(series: Vector, s: Decimal) -> Decimal:
    out = ZERO
    for c in reversed(series):
        out = out * s + c
    return out


def project(vector: Vector, rows: list[Vector]) -> Vector:
    """The part of a vector outside the span of the rows, dependent ones or not."""
    basis: list[Vector] = []
    for row in rows:
        rest = outside(row, basis)
        if dot(rest, rest) > Decimal("1e-30") * dot(row, row):
            basis.append(rest)
    return outside(vector, basis)


def outside(vector: Vector, basis: list[Vector]) -> Vector:
    for _ in range(2):  # the second time takes the rounding of the first
        for b in basis:
            part = dot(vector, b) / dot(b, b)
            vector = [x - part * y for x, y in zip(vector, b, strict=True)]
    return vector


@dataclass(frozen=True)
class Facet:
    """A direction along which the zonotope of a sliding set ends; the neuron leaves along it when the slack is gone."""

    neuron: int
    samples: tuple[int, ...]
    normal: tuple[Decimal, ...]


@dataclass(frozen=True)
class Pair:
    neuron: int
    sample: int


@dataclass
class Exact:
    X: list[Vector]
    y: list[int]
    W: list[Vector]
    a: list[Decimal]
    sigma: list[list[int]] = field(default_factory=list)
    t: Decimal = ZERO
    events: list[tuple[Decimal, int, int, int, int]] = field(default_factory=list)  # t, neuron, sample, from, to
    narrowest: float = np.inf  # the smallest slack, as a part of the pulls, of any decision

    @classmethod
    def of(cls, X, y, W, a) -> Exact:
        """From floats, taken as the exact numbers that they are."""
        out = cls(rows(X), [int(v) for v in y], rows(W), [Decimal(float(v)) for v in a])
        out.sigma = [[sign(dot(w, x)) for x in out.X] for w in out.W]
        return out

    # --- the motion in one pattern ---

    def expand(self) -> None:
        """Taylor series of the weights and duals at the present time."""
        m, n, d = len(self.a), len(self.y), len(self.X[0])
        self.slide = [[i for i in range(n) if self.sigma[j][i] == 0] for j in range(m)]
        on = [[i for i in range(n) if self.sigma[j][i] > 0] for j in range(m)]
        part = [[project(x, [self.X[i] for i in self.slide[j]]) for x in self.X] for j in range(m)]
        self.square: list[Vector] = [[] for _ in range(n)]
        Ws = [[[v] for v in w] for w in self.W]
        As = [[v] for v in self.a]
        q: list[Vector] = [[] for _ in range(n)]
        p: list[Vector] = [[] for _ in range(n)]  # 1 / (1 + e^q)
        free: list[list[Vector]] = [[[] for _ in range(d)] for _ in range(m)]
        z = [{i: [] for i in on[j]} for j in range(m)]
        for k in range(ORDER + 1):
            for j in range(m):
                for i in on[j]:
                    z[j][i].append(dot(self.X[i], [Ws[j][c][k] for c in range(d)]))
            for i in range(n):
                f = sum((convolve(As[j], z[j][i], k) for j in range(m) if i in z[j]), ZERO)
                q[i].append(self.y[i] * f)
                if k == 0:
                    p[i].append(ONE / (ONE + q[i][0].exp()))
                else:  # p' = -p (1 - p) q'
                    self.square[i].append(p[i][k - 1] - convolve(p[i], p[i], k - 1))
                    slopes = [(r + 1) * q[i][r + 1] for r in range(k)]
                    p[i].append(-convolve(self.square[i], slopes, k - 1) / k)
            for j in range(m):
                pull = [self.y[i] * p[i][k] for i in on[j]]
                for c in range(d):
                    free[j][c].append(dot(pull, [part[j][i][c] for i in on[j]]))
            for j in range(m):
                for c in range(d):
                    Ws[j][c].append(convolve(As[j], free[j][c], k) / (k + 1))
                As[j].append(sum((convolve(Ws[j][c], free[j][c], k) for c in range(d)), ZERO) / (k + 1))
        self.series_W, self.series_a, self.series_p, self.on = Ws, As, p, on

    def slack(self, what: Pair | Facet, s: Decimal) -> Decimal:
        """What stays positive until the event."""
        j = what.neuron
        if isinstance(what, Pair):
            w = [value(c, s) for c in self.series_W[j]]
            return self.sigma[j][what.sample] * dot(self.X[what.sample], w)
        lam = [self.y[i] * value(self.series_p[i], s) for i in range(len(self.y))]
        return self.room(lam, j, self.on[j], what)

    def room(self, lam: Vector, j: int, active: Sequence[int], facet: Facet) -> Decimal:
        """How far the Clarke set reaches to the other side of zero, along -normal; the signed pull of a is in."""
        s = sign(self.a[j])
        out = -sum((s * lam[i] * dot(facet.normal, self.X[i]) for i in active), ZERO)
        for i in facet.samples:
            out += max(-s * lam[i] * dot(facet.normal, self.X[i]), ZERO)
        return out

    def facets(self, j: int, samples: Sequence[int]) -> list[Facet]:
        """Both sides of every direction in the span that is normal to all but one dimension of it."""
        if not samples:
            return []
        X = [self.X[i] for i in samples]
        normals: list[Vector] = []
        rank = int(np.linalg.matrix_rank(np.array(X, dtype=float)))
        if rank == 1:
            normals = [X[0]]
        elif rank == 2:
            plane = next(c for u, v in combinations(X, 2) if any(c := cross(u, v)))
            normals = [cross(u, plane) for u in X]
        else:
            normals = [c for u, v in combinations(X, 2) if any(c := cross(u, v))]
        return [Facet(j, tuple(samples), tuple(s * v for v in n)) for n in normals for s in (ONE, -ONE)]

    def watched(self) -> list[Pair | Facet]:
        out: list[Pair | Facet] = []
        for j, row in enumerate(self.sigma):
            if not any(s > 0 for s in row):
                continue  # at rest for ever
            out += [Pair(j, i) for i, s in enumerate(row) if s != 0]
            out += self.facets(j, self.slide[j])
        return out

    # --- events ---

    def duals(self) -> Vector:
        m = [
            sum((self.a[j] * max(dot(w, x), ZERO) for j, w in enumerate(self.W) if self.sigma[j][i] > 0), ZERO)
            for i, x in enumerate(self.X)
        ]
        return [y / (ONE + (y * f).exp()) for y, f in zip(self.y, m, strict=True)]

    def decide(self, j: int, near: list[int]) -> None:
        """The one continuation of a neuron on the boundaries `near`, by trying every one."""
        lam, a = self.duals(), sign(self.a[j])
        outside = [i for i, s in enumerate(self.sigma[j]) if s > 0 and i not in near]
        found: list[tuple[int, ...]] = []
        for signs in product((-1, 0, 1), repeat=len(near)):
            stay = [i for i, s in zip(near, signs, strict=True) if s == 0]
            active = outside + [i for i, s in zip(near, signs, strict=True) if s > 0]
            if any(a * lam[i] > 0 for i in stay):
                continue  # a boundary that repels: met alone here, and crossed
            pull = [sum((a * lam[i] * self.X[i][c] for i in active), ZERO) for c in range(len(self.X[0]))]
            rates = [
                s * dot(project(pull, [self.X[i] for i in stay]), self.X[i])
                for i, s in zip(near, signs, strict=True)
                if s != 0
            ]
            rooms = [self.room(lam, j, active, f) for f in self.facets(j, stay)]
            if all(r > SAME for r in rates) and all(r > -SAME for r in rooms):
                found.append(signs)
                parts = [abs(float(r)) for r in [*rates, *rooms] if abs(r) > SAME]
                self.narrowest = min([self.narrowest, *parts])
        if len(found) != 1:
            raise ArithmeticError(f"neuron {j} on {near} at {self.t}: continuations {found}")
        for i, s in zip(near, found[0], strict=True):
            self.become(j, i, s)

    def become(self, j: int, i: int, s: int) -> None:
        if self.sigma[j][i] != s:
            self.events.append((self.t, j, i, self.sigma[j][i], s))
            self.sigma[j][i] = s

    def release(self, facet: Facet) -> None:
        """Past a facet the velocity points along its normal: the samples that it moves leave, the others stay."""
        for i in facet.samples:
            if (side := sign(dot(facet.normal, self.X[i]))) != 0:
                self.become(facet.neuron, i, side)

    def advance(self, end: Decimal) -> None:
        """One step, ended by its first event."""
        self.expand()
        h = min(STEP, end - self.t)
        watched, fresh = self.watched(), self.fresh
        first, who = h, []
        for what in watched:
            new = (what.neuron, what.sample) in fresh if isinstance(what, Pair) else False
            start = Decimal("1e-12") * h if new else ZERO
            low = start
            for k in range(1, LOOKS + 1):
                high = start + (h - start) * k / LOOKS
                if self.slack(what, high) < 0:
                    at = self.root(what, low, high)
                    if at < first - SAME:
                        first, who = at, [what]
                    elif abs(at - first) <= SAME:
                        who.append(what)
                    break
                low = high
        self.W = [[value(c, first) for c in w] for w in self.series_W]
        self.a = [value(c, first) for c in self.series_a]
        self.t += first
        self.fresh = set()
        for j in sorted({w.neuron for w in who}):
            mine = [w for w in who if w.neuron == j]
            before = list(self.sigma[j])
            if isinstance(mine[0], Facet):
                self.release(mine[0])
            else:
                self.decide(j, sorted({w.sample for w in mine if isinstance(w, Pair)} | set(self.slide[j])))
            self.fresh |= {(j, i) for i, s in enumerate(before) if s != self.sigma[j][i]}

    def root(self, what: Pair | Facet, low: Decimal, high: Decimal) -> Decimal:
        """Regula falsi (Illinois) between a positive and a negative slack."""
        f, g = self.slack(what, low), self.slack(what, high)
        if f <= 0:
            return low
        for _ in range(200):
            at = (low * g - high * f) / (g - f)
            v = self.slack(what, at)
            if abs(v) < ROOT or high - low < ROOT:
                return at
            if v > 0:
                low, f, g = at, v, g / 2
            else:
                high, g, f = at, v, f / 2
        raise ArithmeticError(f"no root for {what}")

    def run(self, end: str) -> Exact:
        with localcontext() as context:
            context.prec = DIGITS
            self.fresh: set[tuple[int, int]] = set()
            while self.t < Decimal(end):
                self.advance(Decimal(end))
        return self

    @property
    def log_loss(self) -> Decimal:
        with localcontext() as context:
            context.prec = DIGITS
            terms = [(ONE - abs(v)) for v in self.duals()]
            return (-sum((v.ln() for v in terms), ZERO)).ln()


def rows(matrix) -> list[Vector]:
    return [[Decimal(float(v)) for v in row] for row in matrix]


def sign(v: Decimal) -> int:
    return (v > 0) - (v < 0)
