"""The slow reference flow of layered networks with kinks: scipy's DOP853, restarted at every event."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy.integrate import DOP853
from scipy.optimize import brentq

from layered_twin import Model, Place, Sides, UndecidedError, start
from layered_twin_rules import cells, continuations, groups, margin, with_sides

LOOKS = np.linspace(0.0, 1.0, 5)[1:]  # parts of a step at which the boundaries are looked at
NEAR = 1e-9  # a pre-activation below this part of θ is zero at an event
PAST = 1e-6  # what leaves is decided this far behind the instant, where its rate is no longer zero
SHORT = 0.1  # the longest step


@dataclass
class Run:
    """What a run met: rows (t, node, unit, sample, kind), and where it is."""

    theta: np.ndarray
    sides: Sides
    t: float = 0.0
    events: list[tuple[float, int, int, int, str]] = field(default_factory=list)


class Piece:
    """The flow between two events."""

    def __init__(self, model: Model, run: Run) -> None:
        self.model, self.run = model, run
        self.held = model.held(run.sides)
        around = cells(model, run.theta, run.sides, self.held) if self.held else []
        self.parts = [(group, self.cut(around, group)) for group in groups(model, run.theta, run.sides)]
        live = model.live(run.sides)
        self.moving: list[Place] = [
            (v, int(i), int(u))
            for v, node in enumerate(model.nodes)
            if v and node.leak is not None
            for i, u in np.argwhere(live[v] & (run.sides[v] != 0))
        ]
        self.fresh = self.boundaries(run.theta) <= NEAR  # at zero since an event: not yet on its side

    def cut(self, around: list[Sides], group: list[Place]) -> list[Sides]:
        """Sides around one group, the other groups held."""
        found: dict[bytes, Sides] = {}
        others = [p for p in self.held if p not in group]
        for cell in around:
            cut = with_sides(cell, others, [0] * len(others))
            found.setdefault(b"".join(side.tobytes() for side in cut), cut)
        return list(found.values())

    def velocity(self, _: float, theta: np.ndarray) -> np.ndarray:
        return self.model.velocity(theta, self.run.sides, self.held)[0]

    def boundaries(self, theta: np.ndarray) -> np.ndarray:
        """What stays positive until an event: z on its side, the margins of what is held."""
        z, _ = self.model.forward(theta, self.run.sides)
        own = [z[v][i, u] * self.run.sides[v][i, u] for v, i, u in self.moving]
        return np.array(own + margin(self.model, theta, self.run.sides, self.held, self.parts))

    def event_in(self, solver: DOP853, before: float) -> tuple[float, int] | None:
        """Time and number of the first boundary that is met between `before` and the solver's time."""
        theta_at = solver.dense_output()
        old = before
        for part in LOOKS:
            t = before + part * (solver.t - before)
            now = self.boundaries(theta_at(t))
            met = [int(b) for b in np.flatnonzero((now < 0.0) & ~self.fresh)]
            if met:
                roots = [(self.root(theta_at, old, t, b), b) for b in met]
                return min(roots)
            self.fresh &= now <= NEAR
            old = t
        return None

    def root(self, theta_at: object, low: float, high: float, b: int) -> float:
        value = lambda t: self.boundaries(theta_at(t))[b]  # noqa: E731
        return float(brentq(value, low, high, xtol=1e-14, rtol=1e-14)) if value(low) > 0.0 else low


def advance(model: Model, run: Run, end: float) -> None:
    """Go to the next event or to the end."""
    piece = Piece(model, run)
    solver = DOP853(piece.velocity, run.t, run.theta, end, rtol=1e-11, atol=1e-12, max_step=SHORT)
    while solver.status == "running":
        before = solver.t
        solver.step()
        event = piece.event_in(solver, before)
        if event is None:
            continue
        t, which = event
        run.theta, run.t = np.asarray(solver.dense_output()(t)), t
        decide(model, run, piece, which)
        return
    if solver.status == "failed":
        raise UndecidedError("the integrator gave up")
    run.theta, run.t = solver.y, end


def decide(model: Model, run: Run, piece: Piece, which: int) -> None:
    """Find the one continuation and list what changed."""
    z = model.raw(run.theta, run.sides)
    at = [p for p in piece.moving if abs(z[p[0]][p[1:]]) < NEAR * max(1.0, np.abs(run.theta).max())]
    at += [piece.moving[which]] if which < len(piece.moving) and piece.moving[which] not in at else []
    theta = run.theta
    if which >= len(piece.moving):
        theta = theta + PAST * piece.velocity(run.t, theta)
        at = [p for p in at if abs(model.raw(theta, run.sides)[p[0]][p[1:]]) < NEAR]
    found = continuations(model, theta, with_sides(run.sides, at, [0] * len(at)))
    if len(found) != 1:
        raise UndecidedError(f"{len(found)} continuations at t = {run.t:.12g}")
    record(model, run, found[0])
    run.sides = found[0]


def record(model: Model, run: Run, after: Sides) -> None:
    before_live, live = model.live(run.sides), model.live(after)
    for v in range(1, len(after)):
        if model.nodes[v].leak is None:
            continue
        for i, u in np.argwhere((after[v] != run.sides[v]) | (live[v] != before_live[v])).tolist():
            old = run.sides[v][i, u] if before_live[v][i, u] else None
            new = after[v][i, u] if live[v][i, u] else None
            if old != new:
                run.events.append((run.t, v, u, i, kind(old, new)))


def kind(old: int | None, new: int | None) -> str:
    """Name a change of side; None: empty."""
    if new is None:
        return "void"
    if new == 0:
        return "slide"
    way = "up" if new > 0 else "down"
    return ("wake_" if old is None else "leave_" if old == 0 else "cross_") + way


def follow(model: Model, theta: np.ndarray, end: float, most: int = 400) -> Run:
    """Integrate from a start without zeros to the time `end`.

    Raises
    ------
    UndecidedError
        No continuation is valid somewhere, or several are.
    """
    run = Run(np.array(theta, dtype=float), start(model, theta))
    while run.t < end:
        advance(model, run, end)
        if len(run.events) > most:
            raise UndecidedError(f"more than {most} events")
    return run
