"""How runs of layered networks on whole numbers end: survey_layered_discrete.py [COUNT [FIRST [KINDS]]].

    python tools/survey_layered_discrete.py          # 4 starts of each kind of data and of layers
    python tools/survey_layered_discrete.py 10 40 parity2,ternary/three

A kind of data (rows that repeat, are multiples of each other, Boolean functions, grids) with each of the kinds of
layers; networks of two layers run on the two-layer core too. One line for each kind, one for each run that did not end
as asked, and one for each whose end or whose events are not those of the other core,
or whose end is another at rtol 1e-12.
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable
from itertools import product

import numpy as np

import reluflow as rf

LONGEST = 20.0  # seconds of one run
SAME = 1e-6  # ends closer than this part of the largest parameter are one
SAME_KIND = {"stop": "slide", "die": "slide"}  # what rests for ever in two layers slides, until what is below moves
D = rf.Dense
Rows = tuple[np.ndarray, np.ndarray]

# layers, size of the start, leak, loss and the time to run to
LAYERS: dict[str, tuple[tuple[rf.Dense, ...], float, float, str, float]] = {
    "two": ((D(8), D(1)), 1e-2, 0.0, "exponential", 20.0),
    "two_leaky": ((D(8), D(1)), 1e-2, 0.1, "logistic", 20.0),
    "three": ((D(6), D(4), D(1)), 0.2, 0.0, "logistic", 20.0),
    "three_leaky": ((D(6), D(4), D(1)), 0.2, 0.1, "exponential", 20.0),
    "three_squared": ((D(6), D(4), D(1)), 0.2, 0.0, "squared", 10.0),
    "three_bias": ((D(5, bias=True), D(4, bias=True), D(1, bias=True)), 0.2, 0.0, "logistic", 20.0),
    "four": ((D(5), D(4), D(4), D(1)), 0.5, 0.0, "logistic", 10.0),
    "wide": ((D(8, bias=True), D(8, bias=True), D(1, bias=True)), 0.5, 0.0, "logistic", 20.0),
}


def cube(d: int) -> np.ndarray:
    return np.array(list(product((-1, 1), repeat=d)))


def parity(d: int, k: int) -> Callable[[np.random.Generator], Rows]:
    return lambda rng: (cube(d), np.prod(cube(d)[:, :k], axis=1))


def bits(d: int) -> Callable[[np.random.Generator], Rows]:
    """Parity of 0/1 bits, with a constant column."""

    def draw(rng: np.random.Generator) -> Rows:
        B = (cube(d) + 1) // 2
        return np.c_[B, np.ones(len(B))], np.prod(cube(d)[:, :2], axis=1)

    return draw


def majority(d: int) -> Callable[[np.random.Generator], Rows]:
    return lambda rng: (cube(d), np.sign(cube(d).sum(axis=1)))


def grid(rng: np.random.Generator) -> Rows:
    X = np.array([row for row in product((-1, 0, 1), repeat=2) if any(row)])
    return X, rng.choice([-1, 1], len(X))


def ternary(rng: np.random.Generator) -> Rows:
    X = rng.integers(-1, 2, (12, 3))
    X = X[np.any(X != 0, axis=1)]
    return X, rng.choice([-1, 1], len(X))


def one_hot(rng: np.random.Generator) -> Rows:
    return np.eye(4)[rng.integers(4, size=10)], rng.choice([-1, 1], 10)


def two_hot(rng: np.random.Generator) -> Rows:
    return np.eye(4)[rng.integers(4, size=12)] + np.eye(4)[rng.integers(4, size=12)], rng.choice([-1, 1], 12)


def repeats(rng: np.random.Generator) -> Rows:
    """Rows that repeat, with labels of their own."""
    X = rng.standard_normal((5, 3))
    return np.vstack([X, X[:3]]), rng.choice([-1, 1], 8)


def multiples(rng: np.random.Generator) -> Rows:
    """Rows and positive and negative multiples of them."""
    X = rng.standard_normal((4, 3))
    factors = rng.choice([0.5, 2.0, 3.0, 0.1, -1.0], 4)
    return np.vstack([X, factors[:, None] * X]), rng.choice([-1, 1], 8)


DATA: dict[str, Callable[[np.random.Generator], Rows]] = {
    "repeats": repeats,
    "multiples": multiples,
    "parity2": parity(3, 2),
    "parity3": parity(3, 3),
    "parity4": parity(4, 4),
    "bits": bits(3),
    "majority": majority(3),
    "grid": grid,
    "ternary": ternary,
    "onehot": one_hot,
    "twohot": two_hot,
}


def problem(data: str, layers: str, seed: int) -> tuple[Rows, rf.DeepNetwork, str, float]:
    """Make data, network, loss and end of one start."""
    rng = np.random.default_rng([seed, sum(map(ord, data))])
    X, y = DATA[data](rng)
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    y[:2] = 1, -1
    stack, scale, leak, loss, end = LAYERS[layers]
    net = rf.DeepNetwork.init(list(stack), dim=X.shape[1], scale=scale * 2**0.5, seed=seed, leak=leak)
    return (X, y), net, loss, end


def run(data: str, layers: str, seed: int, rtol: float = 1e-10) -> rf.layered.DeepSolution:
    rows, net, loss, end = problem(data, layers, seed)
    until = rf.Stop(time=end, seconds=LONGEST)
    return rf.integrate(rows, net, until=until, rtol=rtol, loss=loss, on_branch="active")


def on_two_layers(data: str, layers: str, seed: int) -> rf.Solution:
    """Run the same start on the core of two layers."""
    rows, net, loss, end = problem(data, layers, seed)
    two = rf.Network(net.layers[0].W, net.layers[1].W.ravel(), leak=LAYERS[layers][2])
    until = rf.Stop(time=end, seconds=LONGEST)
    return rf.integrate(rf.Dataset(*rows), two, until=until, rtol=1e-10, loss=loss, on_branch="active")


def against_two_layers(sol: rf.layered.DeepSolution, other: rf.Solution) -> str:
    """Say how the run of a network of two layers differs from that of the other core, or nothing."""
    theirs = np.concatenate((other.final.W.ravel(), other.final.a))
    apart = float(np.abs(sol.final.theta - theirs).max() / np.abs(theirs).max())
    if apart > SAME:
        return f"ends differ by {apart:.1e}"
    ours = Counter((e.unit, e.sample, e.kind) for e in sol.events)
    rest = Counter((e.neuron, e.sample, SAME_KIND.get(e.kind, e.kind)) for e in other.events)
    return "" if ours == rest else f"events differ: {ours - rest} and {rest - ours}"


def distance(one: rf.layered.DeepSolution, other: rf.layered.DeepSolution) -> float:
    """Relative to the largest parameter."""
    return float(np.abs(one.final.theta - other.final.theta).max() / np.abs(other.final.theta).max())


def as_asked(sol: rf.layered.DeepSolution) -> bool:
    return sol.status in ("reached_time", "stationary")


def survey(data: str, layers: str, seeds: range) -> Counter[str]:
    """Run the starts of one kind, and print what ended otherwise."""
    ends: Counter[str] = Counter()
    for seed in seeds:
        sol = run(data, layers, seed)
        ends[sol.status] += 1
        ends["runs"] += 1
        ends["branches"] += len(sol.branchings) > 0
        if not as_asked(sol):
            print(f"    {data}/{layers} {seed}: {sol.status}: {sol.message}", flush=True)
            continue
        tight = run(data, layers, seed, rtol=1e-12)
        if not as_asked(tight):
            ends["ended otherwise at rtol 1e-12"] += 1
            print(f"    {data}/{layers} {seed}, rtol 1e-12: {tight.status}: {tight.message}", flush=True)
        elif (apart := distance(sol, tight)) > SAME:
            ends["ends differ"] += 1
            print(f"    {data}/{layers} {seed}: ends differ by {apart:.1e} at rtol 1e-12", flush=True)
        if layers.startswith("two"):
            fault = against_two_layers(sol, on_two_layers(data, layers, seed))
            ends["unlike the two-layer core"] += bool(fault)
            if fault:
                print(f"    {data}/{layers} {seed}: {fault}", flush=True)
    print(f"{data}/{layers}: {dict(ends)}", flush=True)
    return ends


def main(arguments: list[str]) -> None:
    count = int(arguments[0]) if arguments else 4
    first = int(arguments[1]) if len(arguments) > 1 else 0
    words = arguments[2].split(",") if len(arguments) > 2 else [""]
    total: Counter[str] = Counter()
    for data, layers in product(DATA, LAYERS):
        if any(word in f"{data}/{layers}" for word in words):
            total += survey(data, layers, range(first, first + count))
    print(f"all: {dict(total)}")


if __name__ == "__main__":
    main(sys.argv[1:])
