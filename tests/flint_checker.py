"""A second prover, for tests: Moore's interval Taylor method in ball arithmetic (python-flint).

It shares no code and no arithmetic with the prover of the package. A step encloses the flow of the middle of a ball by
its Taylor polynomial and the next coefficient over an a-priori box (Picard's inclusion), and all other flows of the
ball by the logarithmic norm max |g_j|. Around an event a step of 1e-35 or so takes any slope between the leak and one,
as Clarke's rule allows, instead of saltation. It finds the events itself. For a few neurons in a few dimensions.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

from flint import arb, ctx

from flint_field import BITS, ORDER, Event, Field, Motion, Neuron, NotDecidedError, State
from flint_series import ONE, UNIT, ZERO, Series, derivative, dot, keeps, length, root_of, sign_of, size, value_at

TINY = arb(2) ** -120  # half of the window around an event, as a part of the step before it
GOAL = arb(2) ** -150  # of the last term of a step
ROUNDING = arb(2) ** -300  # of the middles of a step, far above the last of 400 bits


@dataclass(frozen=True)
class Watched:
    """A polynomial that has to keep its sign up to an event of this kind; `starts` as in `keeps`."""

    neuron: int
    sample: int
    kind: str
    series: Series
    sign: int
    starts: int = 0


def _at_once(watched: list[Watched], roots: list[arb | None], first: arb) -> tuple[list[Watched], arb]:
    """Return what may happen at the first root, and half of the time in which that is uncertain."""
    found, half = [], first * TINY
    for w, root in zip(watched, roots, strict=True):
        if root is not None:
            rate = abs(value_at(derivative(w.series), root).mid())
            own = max(first * TINY, 2 * arb(value_at(w.series, root).rad()) / rate, key=float)
            if root < first + 4 * own:
                found.append(w)
                half = max(half, own, key=float)
    return found, half.mid()


class Checker(Field):
    """The flow of one problem, enclosed step by step."""

    def run(self, until: float) -> None:
        """Go on to this time, or raise NotDecidedError."""
        end = arb(until)
        while self.t < end:
            h = self._exact(self.length) if self.t + self.length < end else end - self.t
            box = self.box(h)
            motion = self.expand(self.state(), box)
            last = max(size(series[-1]) for part in (motion.a, *motion.w) for series in part) * h ** (ORDER + 1)
            if not last < GOAL:
                self.length = h / 2
                continue
            watched = self._watched(motion)
            doubtful = [w for w in watched if not keeps(w.series, w.sign, h, starts=w.starts)]
            if not doubtful:
                self._advance(box, h)
                self.length = 2 * h if last < GOAL / 2**ORDER else h
                continue
            roots = [root_of(w.series, w.sign, h) for w in doubtful]
            first = min((r for r in roots if r is not None), key=float, default=None)
            now, half = _at_once(doubtful, roots, ZERO if first is None else first)
            before = self._exact(first - half) if first is not None and half < first else None
            if before is None or not all(keeps(w.series, w.sign, before, starts=w.starts) for w in watched):
                self.length = h / 2
                if h < TINY:
                    pairs = [(w.neuron, w.sample, w.kind) for w in doubtful]
                    raise NotDecidedError(f"signs of {pairs} at t = {self.when()}")
                continue
            self._advance(box, before)
            self._pass(now, half)
            self.length = h

    def _watched(self, motion: Motion) -> list[Watched]:
        """Everything that has to keep its sign."""
        found = []
        for j, neuron in enumerate(self.neurons):
            if neuron.at_rest:
                continue
            for i, x in enumerate(self.x):
                if i in neuron.held:
                    above, below = self.room(motion.dual[i], motion.multiplier[j][i], i)
                    found += [Watched(j, i, "leave_up", above, 1), Watched(j, i, "leave_down", below, 1)]
                else:
                    z = [dot(x, column) for column in zip(*motion.w[j], strict=True)]
                    if i in neuron.left:
                        found.append(Watched(j, i, "rate", derivative(z), neuron.side[i], starts=1))
                    found.append(Watched(j, i, "reach", z, neuron.side[i], (i in neuron.fresh) + (i in neuron.left)))
        return found

    def _exact(self, h: arb) -> arb:
        """Return a length near this one that leads to a time of few digits, so that no time is ever rounded."""
        with ctx.workprec(BITS // 2):
            after = (+(self.t + h)).mid()
        return after - self.t

    def _advance(self, box: State, h: arb) -> None:
        """Step: the flow from the middle of the ball by its series, all others by the logarithmic norm, max |g_j|."""
        norms = [length(gradient) for gradient in self.motion(*box, 1).gradient]
        radius = self.radius * (max(map(size, norms), key=float) * h).exp()
        for neuron in self.neurons:
            neuron.w, neuron.a = [v.mid() for v in neuron.w], neuron.a.mid()
            self.project(neuron)
        middle = self.expand(self.state(), box)
        ends = [[value_at(series, h) for series in [*rows, out]] for rows, out in zip(middle.w, middle.a, strict=True)]
        self.radius = (radius + ROUNDING + length(v.rad() for end in ends for v in end)).upper()
        for neuron, end in zip(self.neurons, ends, strict=True):
            *neuron.w, neuron.a = [v + self.radius * UNIT for v in end]
            self.project(neuron)
            neuron.fresh = {i for i in neuron.fresh if not sign_of(dot(neuron.w, self.x[i]))}
            neuron.left &= neuron.fresh
        self.t += h

    def _pass(self, now: list[Watched], half: arb) -> None:
        """Enclose the flow while these events happen, each of another neuron, and decide what follows.

        They happen this long from now, as far as the middles of the balls say.
        """
        if len({w.neuron for w in now}) < len(now) or any(w.kind == "rate" for w in now):
            raise NotDecidedError(f"two events of one neuron at t = {self.when()}")
        start, before = self.t, self.motion(*self.state(), 1)
        h = self._exact(max([3 * half, *(self._arrival(w, before) for w in now)], key=float))
        held = [list(neuron.held) for neuron in self.neurons]
        for w in now:
            neuron = self.neurons[w.neuron]
            if w.kind == "reach":
                # Whatever Clarke's rule allows, here and where this throws the neuron out of others.
                for i in [w.sample, *neuron.held]:
                    neuron.slope[i] = self.leak.union(ONE)
                neuron.held = []
            else:
                room, rate = self._room_at(w, before)
                part = size(8 * (abs(room) + abs(rate) * h) / before.dual[w.sample][0])
                neuron.slope[w.sample] = (ONE if w.kind == "leave_up" else self.leak) + part * UNIT
                neuron.held.remove(w.sample)
        box = self.box(h)
        over = self.motion(*box, 1)
        self._check_multipliers(over)
        after = [
            self._reached(w, held[w.neuron], over, box[1][w.neuron], h)
            if w.kind == "reach"
            else self._left(w, before, over, h)
            for w in now
        ]
        moves = [[h * rate[1] for rate in [*rows, out]] for rows, out in zip(over.w, over.a, strict=True)]
        self.radius = (self.radius + ROUNDING + length(v.rad() for move in moves for v in move)).upper()
        for neuron, move in zip(self.neurons, moves, strict=True):
            ends = [(v + part).mid() for v, part in zip([*neuron.w, neuron.a], move, strict=True)]
            *neuron.w, neuron.a = [v + self.radius * UNIT for v in ends]
        self.t += h
        for w, sides in zip(now, after, strict=True):
            self._follow(w, sides, held[w.neuron])
            kinds = [(i, self._kind(side, i in held[w.neuron])) for i, side in sides.items()]
            self.events += [Event(start, self.t, w.neuron, i, kind) for i, kind in kinds if kind]

    @staticmethod
    def _kind(side: int | None, was_held: bool) -> str | None:
        if side is None:
            return "die"
        if side == 0:
            return None if was_held else "slide"
        return f"{'leave' if was_held else 'cross'}_{'up' if side > 0 else 'down'}"

    def _follow(self, w: Watched, sides: dict[int, int | None], held: list[int]) -> None:
        """Put a neuron where it is after an event: at rest, or on a side of each boundary or on it (0)."""
        neuron = self.neurons[w.neuron]
        if None in sides.values():
            neuron.at_rest = True
            for i in [w.sample, *held]:
                neuron.slope[i] = ZERO
            return
        neuron.held = sorted({*neuron.held, *(i for i, side in sides.items() if side == 0)})
        self.project(neuron)
        for i, side in sides.items():
            if side:
                neuron.side[i], neuron.slope[i] = side, ONE if side > 0 else self.leak
                neuron.fresh.add(i)
                if i in held:
                    neuron.left.add(i)

    def _arrival(self, w: Watched, motion: Motion) -> arb:
        """Return a time in which a pre-activation certainly reaches zero."""
        if w.kind != "reach":
            return ZERO
        neuron = self.neurons[w.neuron]
        rate = self.placed(neuron, neuron.a, motion, neuron.held, {w.sample: w.sign})[1][w.sample]
        slowest = abs(rate).lower()
        return 2 * size(dot(neuron.w, self.x[w.sample])) / slowest if slowest > 0 else ZERO

    def _check_multipliers(self, motion: Motion) -> None:
        """Ask that every neuron stays on what it slides on."""
        for neuron, out in zip(self.neurons, motion.a, strict=True):
            if neuron.held and not neuron.at_rest and not self.placed(neuron, out[0], motion, neuron.held, {})[0]:
                raise NotDecidedError(f"a multiplier at t = {self.when()}")

    def _reached(self, w: Watched, held: list[int], over: Motion, out: arb, h: arb) -> dict[int, int | None]:
        """Decide what a neuron does at a boundary, by signs that hold over the whole window.

        The only way on is that of strict complementarity: multipliers inside their bounds where it slides, rates that
        point away where it does not.
        """
        neuron, i = self.neurons[w.neuron], w.sample
        inside, rates = self.placed(neuron, out, over, held, {i: w.sign})
        away = size(dot(neuron.w, self.x[i]))
        if not (inside and rates[i] * w.sign < 0 and away < -w.sign * rates[i] * h):
            raise NotDecidedError(f"the arrival of {w.neuron} at {i}, t = {self.when()}")
        if w.sign > 0 and all(s == 0 for k, s in enumerate([*neuron.slope, self.leak]) if k not in (i, *held)):
            return {i: None}
        found: list[dict[int, int | None]] = []
        for here in (0, -w.sign):
            for others in itertools.product((0, 1, -1), repeat=len(held)):
                sides = {i: here, **dict(zip(held, others, strict=True))}
                free = {k: side for k, side in sides.items() if side}
                stands, rates = self.placed(neuron, out, over, sorted(k for k in sides if k not in free), free)
                if stands and all(rates[k] * side > 0 for k, side in free.items()):
                    found.append(dict(sides))
        if len(found) != 1:
            raise NotDecidedError(f"what {w.neuron} does at {i}, t = {self.when()}")
        return found[0]

    def _room_at(self, w: Watched, motion: Motion) -> tuple[arb, arb]:
        """Return how far a multiplier that is about to leave is from its bound, and the rate of that."""
        room = self.room(motion.dual[w.sample], motion.multiplier[w.neuron][w.sample], w.sample)
        value = room[w.kind == "leave_down"]
        return value[0], value[1]

    def _left(self, w: Watched, before: Motion, over: Motion, h: arb) -> dict[int, int | None]:
        """Certify that a multiplier goes through its bound once in the window."""
        neuron, i = self.neurons[w.neuron], w.sample
        holding = Neuron(neuron.w, neuron.a, neuron.slope, neuron.side, [*neuron.held, i])
        multiplier: dict[int, Series] = {k: [] for k in holding.held}
        for k in range(2):
            self.gradient_of(holding, [series[k] for series in over.dual], [[] for _ in self.x[i]], multiplier)
        room, rate = (v[:2] for v in zip(*self.room(over.dual[i][:2], multiplier[i], i), strict=True))
        down = w.kind == "leave_down"
        at_start = self._room_at(w, before)[0]
        allowed = UNIT * neuron.slope[i].rad() * over.dual[i][0].lower()
        if not (rate[down] < 0 and at_start > 0 and at_start + h * rate[down] < 0 and allowed.contains(room[down])):
            raise NotDecidedError(f"the multiplier of {w.neuron}, {i} at t = {self.when()}")
        return {i: -1 if down else 1}
