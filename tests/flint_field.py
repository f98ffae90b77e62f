"""The field of a pattern in ball arithmetic: Taylor coefficients, a-priori boxes, what neurons may do at boundaries."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from flint import arb, arb_mat, ctx

from flint_series import ONE, ZERO, Series, dot, product, sign_of

BITS = 400
ORDER = 32

State = tuple[list[list[arb]], list[arb]]


class NotDecidedError(Exception):
    """The checker cannot go on: two events of one neuron together, a sign that stays uncertain."""


@dataclass(frozen=True)
class Event:
    """An event and the balls' bounds of its time."""

    lo: arb
    hi: arb
    neuron: int
    sample: int
    kind: str


@dataclass
class Neuron:
    """A neuron's ball, its slope at each sample, and what it does at boundaries."""

    w: list[arb]
    a: arb
    slope: list[arb]
    side: list[int]
    held: list[int] = field(default_factory=list)
    fresh: set[int] = field(default_factory=set)  # boundaries just left: on the right side, perhaps by nothing
    left: set[int] = field(default_factory=set)  # those on which it slid: there the rate is known to be so, too
    at_rest: bool = False


@dataclass(frozen=True)
class Motion:
    """Taylor coefficients of a step: of w and a of every neuron, of the duals, and of what is watched."""

    w: list[list[Series]]
    a: list[Series]
    dual: list[Series]
    multiplier: list[dict[int, Series]]
    gradient: list[list[arb]]  # of the start


class Field:
    """A problem, its neurons, and their flow from a start in general position."""

    def __init__(
        self,
        X: np.ndarray,
        y: np.ndarray,
        W: np.ndarray,
        a: np.ndarray,
        *,
        leak: float = 0.0,
        loss: str = "logistic",
        reduction: str = "sum",
    ) -> None:
        ctx.prec = BITS
        self.x = [[arb(float(v)) for v in row] for row in X]
        self.y = [int(v) for v in y]
        self.leak, self.loss = arb(leak), loss
        self.share = arb(1) / len(self.y) if reduction == "mean" else arb(1)
        self.t = ZERO
        self.radius = ZERO  # Euclidean, of all neurons together
        self.events: list[Event] = []
        self.neurons = []
        for row, out in zip(W, a, strict=True):
            w = [arb(float(v)) for v in row]
            sides = [sign_of(dot(w, x)) for x in self.x]
            if 0 in sides:
                raise NotDecidedError("a start on a boundary")
            slopes = [arb(1) if s > 0 else self.leak for s in sides]
            self.neurons.append(Neuron(w, arb(float(out)), slopes, sides))
        self.length = arb(1) / 64

    def when(self) -> float:
        return float(self.t.mid())

    def state(self) -> State:
        return [neuron.w for neuron in self.neurons], [neuron.a for neuron in self.neurons]

    def motion(self, w: list[list[arb]], a: list[arb], order: int) -> Motion:
        """Return the Taylor coefficients of the flow of the present pattern up to this order, at a ball."""
        m, n = len(a), len(self.y)
        ws = [[[value] for value in row] for row in w]
        out = [[value] for value in a]
        q: list[Series] = [[] for _ in range(n)]
        p: list[Series] = [[] for _ in range(n)]
        change: list[Series] = [[] for _ in range(n)]
        g: list[list[Series]] = [[[] for _ in row] for row in w]
        multiplier: list[dict[int, Series]] = [{h: [] for h in neuron.held} for neuron in self.neurons]
        for k in range(order + 1):
            products = [[product(out[j], series, k) for series in ws[j]] for j in range(m)]
            for i in range(n):
                margin = arb(0)
                for j, neuron in enumerate(self.neurons):
                    if i not in neuron.held:
                        margin += neuron.slope[i] * dot(self.x[i], products[j])
                q[i].append(self.y[i] * margin)
                p[i].append(self._next_dual(q[i], p[i], change[i], k))
                change[i].append(p[i][k] - (product(p[i], p[i], k) if self.loss == "logistic" else 0))
            for j, neuron in enumerate(self.neurons):
                self.gradient_of(neuron, [series[k] for series in p], g[j], multiplier[j])
                if k < order:
                    for c, series in enumerate(ws[j]):
                        series.append(product(out[j], g[j][c], k) / (k + 1))
            for j in range(m):
                if k < order:
                    rate = arb(0)
                    for c in range(len(w[j])):
                        rate += product(g[j][c], ws[j][c][: k + 1], k)
                    out[j].append(rate / (k + 1))
        return Motion(ws, out, p, multiplier, [[series[0] for series in row] for row in g])

    def _next_dual(self, q: Series, p: Series, change: Series, k: int) -> arb:
        if k == 0:
            return 1 / (1 + q[0].exp()) if self.loss == "logistic" else (-q[0]).exp()
        total = arb(0)
        for order in range(1, k + 1):
            total -= order * q[order] * change[k - order]
        return total / k

    def gradient_of(self, neuron: Neuron, p: list[arb], g: list[Series], multiplier: dict[int, Series]) -> None:
        """Append a coefficient of the gradient of a neuron, projected on what it slides on, and of its multipliers."""
        free = [arb(0) for _ in g]
        if not neuron.at_rest:
            for i, x in enumerate(self.x):
                if i not in neuron.held:
                    for c, value in enumerate(x):
                        free[c] += self.share * self.y[i] * p[i] * neuron.slope[i] * value
            if neuron.held:
                for h, part in zip(neuron.held, self.solve(neuron.held, free), strict=True):
                    multiplier[h].append(-part)
                    free = [value - part * x for value, x in zip(free, self.x[h], strict=True)]
        for series, value in zip(g, free, strict=True):
            series.append(value)

    def box(self, h: arb) -> State:
        """Return a box B that the flow does not leave in [0, h]: u + [0, h] F(B) lies inside B."""
        w, a = self.state()
        span = ZERO.union(h)
        box = (w, a)
        for _ in range(20):
            rates = self.motion(*box, 1)
            moved = [
                [v + span * rate[1] for v, rate in zip(row, series, strict=True)]
                for row, series in zip([*w, a], [*rates.w, rates.a], strict=True)
            ]
            pairs = list(zip([*box[0], box[1]], moved, strict=True))
            if all(old.contains(new) for one, other in pairs for old, new in zip(one, other, strict=True)):
                return moved[:-1], moved[-1]
            wider = [[new + arb(0, 0.1) * (new - new.mid()) for new in other] for _, other in pairs]
            box = (wider[:-1], wider[-1])
        raise NotDecidedError(f"no a-priori box at t = {self.when()}")

    def expand(self, state: State, box: State) -> Motion:
        """Taylor coefficients at a state, the last one taken over the box."""
        at_start, over_box = self.motion(*state, ORDER), self.motion(*box, ORDER + 1)

        def joined(one: Series, other: Series) -> Series:
            return [*one, other[ORDER + 1]]

        return Motion(
            [[joined(o, b) for o, b in zip(*rows, strict=True)] for rows in zip(at_start.w, over_box.w, strict=True)],
            [joined(o, b) for o, b in zip(at_start.a, over_box.a, strict=True)],
            [joined(o, b) for o, b in zip(at_start.dual, over_box.dual, strict=True)],
            [
                {k: joined(one[k], other[k]) for k in one}
                for one, other in zip(at_start.multiplier, over_box.multiplier, strict=True)
            ],
            at_start.gradient,
        )

    def room(self, dual: Series, multiplier: Series, i: int) -> tuple[Series, Series]:
        """How far a slope is below one and above the leak, times the dual: linear in the duals."""
        pulled = [self.y[i] * value / self.share for value in multiplier]
        return (
            [p - v for p, v in zip(dual, pulled, strict=True)],
            [v - self.leak * p for p, v in zip(dual, pulled, strict=True)],
        )

    def placed(
        self, neuron: Neuron, out: arb, motion: Motion, held: list[int], sides: dict[int, int]
    ) -> tuple[bool, dict[int, arb]]:
        """Tell whether a neuron may slide on these boundaries with others on these sides, and the rates of those."""
        slopes = list(neuron.slope)
        for i, side in sides.items():
            slopes[i] = ONE if side > 0 else self.leak
        multiplier: dict[int, Series] = {h: [] for h in held}
        g: list[Series] = [[] for _ in neuron.w]
        there = Neuron(neuron.w, out, slopes, neuron.side, held)
        self.gradient_of(there, [series[0] for series in motion.dual], g, multiplier)
        inside = all(
            self.y[h] * out < 0 and all(room[0] > 0 for room in self.room(motion.dual[h][:1], multiplier[h], h))
            for h in held
        )
        return inside, {i: out * dot(self.x[i], [series[0] for series in g]) for i in sides}

    def solve(self, held: list[int], vector: list[arb]) -> list[arb]:
        """Return the coefficients of rows that make a vector's part along boundaries."""
        rows = [self.x[h] for h in held]
        gram = arb_mat([[dot(one, other) for other in rows] for one in rows])
        solved = gram.solve(arb_mat([[dot(row, vector)] for row in rows]))
        return [solved[k, 0] for k in range(len(held))]

    def project(self, neuron: Neuron) -> None:
        """Take out of a ball what is not on the boundaries on which the neuron certainly is."""
        if neuron.held and not neuron.at_rest:
            for h, part in zip(neuron.held, self.solve(neuron.held, neuron.w), strict=True):
                neuron.w = [v - part * x for v, x in zip(neuron.w, self.x[h], strict=True)]
