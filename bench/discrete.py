"""A survey of Boolean and integer data: which kinds end, whether they are right, and what they cost.

python bench/discrete.py                           # 2 seeds of every kind, 20 neurons
python bench/discrete.py --seeds 0:20 parity iris  # 20 seeds of the kinds whose name holds one of these words
python bench/discrete.py --neurons 100 --list      # the names of the kinds

Each problem is integrated with the default settings and again at rtol 1e-12. A line a kind: how its runs ended, the
largest difference in log loss between both, steps, events and seconds of the default run; then every run that failed,
with its message. The exit code tells whether any did.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from time import perf_counter

import numpy as np

import reluflow as rf

TIME, SCALE, TIGHT = 50.0, 1e-2, 1e-12
SAME_LOG_LOSS = 1e-6  # the default run against the tight one
LEAKS = (0.0, 0.1)
N_ROWS = 80  # of a cube that is too large
FULL = 6  # the largest dimension of a full cube
Draw = Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray]]


@dataclass(frozen=True)
class Kind:
    """Samples of integers with labels, with or without a constant column, under one slope of the inactive side."""

    name: str
    draw: Draw
    bias: bool
    leak: float

    def data(self, seed: int) -> rf.Dataset:
        X, y = self.draw(np.random.default_rng(seed))
        return rf.Dataset(np.c_[X, np.ones(len(X))] if self.bias else X, y)

    def net(self, data: rf.Dataset, seed: int, neurons: int) -> rf.Network:
        return rf.Network.init(neurons, data.d, scale=SCALE, seed=seed, leak=self.leak)


# --- the rows ---


def usable(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Without rows of zeros, which no weight moves."""
    rows = np.any(X != 0, axis=1)
    return X[rows].astype(float), y[rows].astype(float)


def bits(rng: np.random.Generator, d: int, keep_repeats: bool) -> np.ndarray:
    """Rows of d bits: the full cube if it is small, otherwise some of it, each once unless repeats are kept."""
    if keep_repeats:
        rows = rng.integers(0, 2, (N_ROWS, d))
        return np.vstack([rows, rows[: N_ROWS // 8]])
    if d <= FULL:
        return np.array(list(product((0, 1), repeat=d)))
    return np.unique(rng.integers(0, 2, (N_ROWS, d)), axis=0)


def boolean(rng: np.random.Generator, B: np.ndarray, truth: np.ndarray, signed: bool) -> tuple[np.ndarray, np.ndarray]:
    order = rng.permutation(len(B))
    return usable((2 * B - 1 if signed else B)[order], np.where(truth, 1, -1)[order])


def parity(k: int, d: int, signed: bool, repeats: bool = False) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        B = bits(rng, d, repeats)
        return boolean(rng, B, B[:, :k].sum(axis=1) % 2 == 0, signed)

    return draw


def majority(d: int, signed: bool, repeats: bool = False) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        B = bits(rng, d, repeats)
        return boolean(rng, B, 2 * B.sum(axis=1) > d, signed)

    return draw


def integers(n: int, d: int, low: int, high: int) -> Draw:
    """Integers from low to high, labelled at random; repeated rows keep their own labels."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return usable(rng.integers(low, high + 1, (n, d)), rng.choice([-1, 1], n))

    return draw


def line(n: int) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return np.linspace(-1, 1, n)[:, None], rng.choice([-1.0, 1.0], n)

    return draw


def plane(side: int) -> Draw:
    """A square grid of integers about the origin; the labels are those of a quadric."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = np.array(list(product(np.arange(side) - side // 2, repeat=2)))
        A, c = rng.standard_normal((2, 2)), rng.standard_normal(2)
        value = np.einsum("ni,ij,nj->n", X, A, X) + X @ c
        return usable(X, np.where(value > np.median(value), 1, -1))

    return draw


def hot(n: int, d: int, ones: int) -> Draw:
    """`ones` ones in each row, among them the same place twice: one-hot, two-hot, or k-sparse counts."""

    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        X = sum(np.eye(d)[rng.integers(d, size=n)] for _ in range(ones))
        return usable(X, rng.choice([-1, 1], n))

    return draw


def flowers(first: str, second: str) -> Draw:
    def draw(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        data = rf.datasets.iris(first, second)
        return data.X, data.y

    return draw


def draws() -> dict[str, Draw]:
    cube = {f"parity{k}_d{d}": (k, d) for k, d in product((2, 3, 4), (6, 8, 12, 20))}
    out: dict[str, Draw] = {}
    for name, (k, d) in cube.items():
        out[f"{name}_signs"], out[f"{name}_bits"] = parity(k, d, True), parity(k, d, False)
    out["parity2_d8_signs_repeats"] = parity(2, 8, True, repeats=True)
    out["parity3_d8_bits_repeats"] = parity(3, 8, False, repeats=True)
    for d in (5, 9):
        out[f"majority_d{d}_signs"], out[f"majority_d{d}_bits"] = majority(d, True), majority(d, False)
    out["majority_d9_bits_repeats"] = majority(9, False, repeats=True)
    out |= {"ternary_40x6": integers(40, 6, -1, 1), "ternary_20x4": integers(20, 4, -1, 1)}
    out |= {"quaternary_40x5": integers(40, 5, 0, 3), "fives_30x3": integers(30, 3, -2, 2)}
    out |= {"line_12": line(12), "line_21": line(21), "plane_5": plane(5), "plane_7": plane(7)}
    out |= {"onehot_20x6": hot(20, 6, 1), "twohot_30x6": hot(30, 6, 2), "counts_40x8": hot(40, 8, 4)}
    return out | {"iris_01": flowers("setosa", "versicolor"), "iris_12": flowers("versicolor", "virginica")}


def kinds() -> list[Kind]:
    return [
        Kind(f"{name}{'_bias' if bias else ''}{f'_leak{leak:g}' if leak else ''}", draw, bias, leak)
        for name, draw in draws().items()
        for bias, leak in product((False, True), LEAKS)
        if bias or not name.startswith("line")  # one column is one boundary
    ]


# --- the runs ---


@dataclass(frozen=True)
class Outcome:
    seed: int
    status: str
    fault: str  # empty if the run is right
    difference: float
    steps: int
    events: int
    seconds: float


def one(kind: Kind, seed: int, neurons: int, seconds: float) -> Outcome:
    """The default run of a problem, judged by the one at rtol 1e-12."""
    data = kind.data(seed)
    net = kind.net(data, seed, neurons)
    until = rf.Stop(time=TIME, seconds=seconds)
    begin = perf_counter()
    sol = rf.integrate(data, net, until=until)
    took = perf_counter() - begin
    fault, difference = "", np.nan
    if sol.status == "reached_seconds" or not sol.success:
        fault = f"{sol.status} at t = {sol.t_end:.4g}: {sol.message}"
    else:
        tight = rf.integrate(data, net, until=until, rtol=TIGHT)
        difference = abs(tight.log_loss_end - sol.log_loss_end)
        if tight.status == "reached_seconds" or not tight.success:
            fault = f"at rtol {TIGHT:g} {tight.status} at t = {tight.t_end:.4g}: {tight.message}"
        elif not difference <= SAME_LOG_LOSS:
            first = [f"{b.neuron} at {b.t:.4g}" for b in (*sol.branchings[:1], *tight.branchings[:1])]
            fault = f"log loss differs by {difference:.1e}" + (f", branches {first}" if first else "")
    return Outcome(seed, sol.status, fault, difference, sol.stats["steps"], len(sol.events), took)


def row(kind: Kind, outcomes: Sequence[Outcome]) -> str:
    ends = ", ".join(f"{status} {count}" for status, count in Counter(o.status for o in outcomes).items())
    differences = [o.difference for o in outcomes if np.isfinite(o.difference)]
    worst = f"{max(differences):.1e}" if differences else "–"
    steps, events, seconds = (np.mean([getattr(o, name) for o in outcomes]) for name in ("steps", "events", "seconds"))
    wrong = sum(bool(o.fault) for o in outcomes)
    verdict = f"{wrong} fail" if wrong else "ok"
    return f"{kind.name:36} {verdict:8} {ends:44} {worst:>8} {steps:8.0f} {events:8.0f} {seconds:8.2f}"


def parse(words: Sequence[str]) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("words", nargs="*", help="take the kinds whose name holds one of these")
    p.add_argument("--seeds", default="2", help="a count, or first:last")
    p.add_argument("--neurons", type=int, default=20)
    p.add_argument("--seconds", type=float, default=30.0, help="the most that one run may take")
    p.add_argument("--list", action="store_true", help="name the kinds, run nothing")
    return p.parse_args(words)


def main(words: Sequence[str]) -> int:
    args = parse(words)
    first, _, last = args.seeds.rpartition(":")
    chosen = [k for k in kinds() if not args.words or any(w in k.name for w in args.words)]
    if args.list:
        print(*(k.name for k in chosen), sep="\n")
        return 0
    head = f"{'kind':36} {'':8} {'ends':44} {'Δ ln L':>8} {'steps':>8} {'events':>8} {'seconds':>8}"
    print(head, flush=True)
    total, failed, causes = 0, 0, Counter[str]()
    for kind in chosen:
        outcomes = [one(kind, seed, args.neurons, args.seconds) for seed in range(int(first or 0), int(last))]
        print(row(kind, outcomes), flush=True)
        for o in outcomes:
            if o.fault:
                print(f"    seed {o.seed}: {o.fault}", flush=True)
                causes[o.fault.split(" at t =")[0].split(" by ")[0]] += 1
        total, failed = total + len(outcomes), failed + sum(bool(o.fault) for o in outcomes)
    print(f"{failed} of {total} runs fail: {dict(causes)}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
