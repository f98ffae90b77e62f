"""What happens where pre-activations of a layered network are zero, from the definitions alone.

Around a point the sides of what is zero are those that the directional derivatives have: ψ(z') in place of φ(z). A
continuation gives each place a side or holds it. It is valid if its velocity moves every place to its side, and if
that velocity is in the convex hull of the velocities of the cells around it (the Clarke subgradients).
"""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import nnls
from scipy.spatial import ConvexHull

from layered_twin import Model, Place, Sides, UndecidedError

MOST = 7  # places that are tried side by side
RATE = 1e-8  # a rate below this part of |normal||velocity| is zero
HULL = 1e-8  # distance from the hull that is rounding
SAMPLES = 60  # directions in which cells are looked for, for each place


def rates(model: Model, theta: np.ndarray, sides: Sides, d: np.ndarray) -> list[np.ndarray]:
    """The directional derivative of every z along d: places of side 0 move as ψ(z')."""
    z, h = model.forward(theta, sides)
    A, dA, slope = model.matrices(theta), model.matrices(d, fixed=False), model.slopes(sides)
    dz, dh = [np.zeros_like(model.X)], [np.zeros_like(model.X)]
    for v in range(1, len(model.nodes)):
        node = model.nodes[v]
        total = np.zeros_like(z[v]) + model.bias(d, v)
        for e, edge in enumerate(node.edges):
            sent, moved = (z, dz) if edge.tap == "z" else (h, dh)
            total = total + sent[edge.src] @ dA[v][e].T + moved[edge.src] @ A[v][e].T
        dz.append(total)
        turned = total if node.leak is None else np.maximum(total, node.leak * total)
        dh.append(np.where(sides[v] == 0, turned, slope[v] * total))
    return dz


def zeros(model: Model, sides: Sides) -> list[Place]:
    """All places whose side is 0."""
    return [
        (v, int(i), int(u))
        for v in range(1, len(model.nodes))
        if model.nodes[v].leak is not None
        for i, u in np.argwhere(sides[v] == 0)
    ]


def with_sides(sides: Sides, places: list[Place], values: list[int]) -> Sides:
    changed = [side.copy() for side in sides]
    for (v, i, u), value in zip(places, values, strict=True):
        changed[v][i, u] = value
    return changed


def along(model: Model, theta: np.ndarray, sides: Sides, d: np.ndarray, tol: np.ndarray | float) -> list[int]:
    """Signs of the rates of the places of side 0 along d; `tol` says what is zero."""
    dz = rates(model, theta, sides, d)
    values = np.array([dz[v][i, u] for v, i, u in zeros(model, sides)])
    return [int(s) for s in np.where(np.abs(values) <= tol, 0, np.sign(values))]


def scales(model: Model, theta: np.ndarray, sides: Sides, velocity: np.ndarray) -> np.ndarray:
    """What counts as zero for the rate of each place of side 0."""
    places = zeros(model, sides)
    lengths = np.linalg.norm(model.normals(theta, sides, places), axis=1) if places else np.zeros(0)
    return RATE * np.maximum(lengths, 1e-3) * max(float(np.linalg.norm(velocity)), 1e-300)


def cells(model: Model, theta: np.ndarray, sides: Sides, held: list[Place]) -> list[Sides]:
    """The sides around a state in which `held` is held: one for each cell that touches it."""
    places = zeros(model, sides)
    N = model.normals(theta, sides, held)
    basis = span(N)
    spread = np.linalg.pinv(N, rcond=1e-8) if len(basis) == len(held) else None
    draws = np.random.default_rng(1)
    found: dict[tuple[int, ...], Sides] = {}
    for _ in range(SAMPLES * len(held) ** 2):
        if spread is not None:
            signs = draws.choice([-1.0, 1.0], len(held)) * np.exp(3.0 * draws.standard_normal(len(held)))
            d = spread @ (signs * np.linalg.norm(N, axis=1))
        else:
            d = draws.standard_normal(len(basis)) @ basis
        pattern = along(model, theta, sides, d, 1e-13)
        found.setdefault(tuple(pattern), with_sides(sides, places, pattern))
    return list(found.values())


def in_hull(velocity: np.ndarray, corners: np.ndarray, scale: float) -> bool:
    """Whether a point lies in the convex hull of rows, up to rounding."""
    shifted = (corners - velocity) / scale
    weights, residual = nnls(np.vstack((shifted.T, np.ones(len(shifted)))), np.append(np.zeros(shifted.shape[1]), 1.0))
    return bool(residual <= HULL and abs(weights.sum() - 1.0) < 1e-6)


def settled(
    model: Model, theta: np.ndarray, sides: Sides, places: list[Place], wanted: tuple[int, ...]
) -> Sides | None:
    """Sides in which `places` have the wanted ones and what is empty otherwise goes where it moves; None if invalid."""
    trial = with_sides(sides, places, list(wanted))
    held = [place for place, side in zip(places, wanted, strict=True) if side == 0]
    for _ in range(4):
        live = model.live(trial)
        if any(not live[v][i, u] for v, i, u in held):
            return None  # held without an input: the same continuation is listed with it empty
        velocity, _ = model.velocity(theta, trial, held)
        moved = along(model, theta, sides, velocity, scales(model, theta, sides, velocity))
        after = with_sides(sides, zeros(model, sides), moved)
        for place in held:
            after[place[0]][place[1:]] = 0
        if all(np.array_equal(a, b) for a, b in zip(after, trial, strict=True)):
            break
        trial = after
    else:
        return None
    if any(trial[v][i, u] != side for (v, i, u), side in zip(places, wanted, strict=True)):
        return None
    if [p for p in model.held(trial) if p not in held]:
        return None
    return trial if is_admissible(model, theta, trial, held) else None


def is_admissible(model: Model, theta: np.ndarray, sides: Sides, held: list[Place]) -> bool:
    """Whether the velocity of a state is one of the Clarke subgradients."""
    if not held:
        return True
    velocity, _ = model.velocity(theta, sides, held)
    corners = np.array([model.free_velocity(theta, cell) for cell in cells(model, theta, sides, held)])
    scale = max(float(np.abs(corners).max()), 1e-300)
    return in_hull(velocity, corners, scale)


def continuations(model: Model, theta: np.ndarray, sides: Sides) -> list[Sides]:
    """All valid ways to go on from θ, where the places of side 0 are zero."""
    live = model.live(with_sides(sides, zeros(model, sides), [1] * len(zeros(model, sides))))
    first = [p for p in zeros(model, sides) if live[p[0]][p[1:]]]
    cut = model.live(sides)
    places = [p for p in first if cut[p[0]][p[1:]]]
    if len(places) > MOST:
        raise UndecidedError(f"{len(places)} places meet")
    found: list[Sides] = []
    for wanted in itertools.product((-1, 1, 0), repeat=len(places)):
        trial = settled(model, theta, sides, places, wanted)
        if trial is not None and not any(same(trial, other) for other in found):
            found.append(trial)
    return found


def same(first: Sides, second: Sides) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))


# --- what slides, along a run ---


def groups(model: Model, theta: np.ndarray, sides: Sides) -> list[list[Place]]:
    """What is held, in groups whose normals depend on each other."""
    held = model.held(sides)
    if not held:
        return []
    N = model.normals(theta, sides, held)
    N = N / np.linalg.norm(N, axis=1)[:, None]
    left, sizes, _ = np.linalg.svd(N)
    null = left[:, int((sizes > 1e-8).sum()) :]
    joint = np.abs(null @ null.T) > 1e-7
    names = list(range(len(held)))
    for a, b in np.argwhere(joint):
        names = [names[a] if name == names[b] else name for name in names]
    return [[p for p, name in zip(held, names, strict=True) if name == group] for group in sorted(set(names))]


def margin(
    model: Model, theta: np.ndarray, sides: Sides, held: list[Place], parts: list[tuple[list[Place], list[Sides]]]
) -> list[float]:
    """How far inside the hull of its cells each group's multiplier is; negative outside. Others keep theirs."""
    if not parts:
        return []
    velocity, mu = model.velocity(theta, sides, held)
    normals = model.normals(theta, sides, held)
    found = []
    for group, around in parts:
        others = {place: value for place, value in zip(held, mu, strict=True) if place not in group}
        N = normals[[held.index(place) for place in group]]
        corners = np.array([model.free_velocity(theta, cell, others) for cell in around]) - velocity
        found.append(inside(corners @ span(N).T))
    return found


def span(N: np.ndarray) -> np.ndarray:
    """An orthonormal basis of rows."""
    _, sizes, rows = np.linalg.svd(N / np.linalg.norm(N, axis=1)[:, None], full_matrices=False)
    basis: np.ndarray = rows[sizes > 1e-8]
    return basis


def inside(flat: np.ndarray) -> float:
    """The distance of 0 from the border of the hull of rows; negative outside."""
    if flat.shape[1] == 1:
        return float(min(flat.max(), -flat.min()))
    if len(flat) <= flat.shape[1]:
        raise UndecidedError("a hull without interior")
    return float(-ConvexHull(flat, qhull_options="QJ").equations[:, -1].max())
