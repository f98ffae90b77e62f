"""A survey of long runs on ordinary data: which reach a limit that is certified, of what kind, and what they cost.

python bench/limits.py                      # one seed of every kind
python bench/limits.py --seeds 0:3 wine     # three seeds of the kinds whose name holds one of these words
python bench/limits.py --list               # the names of the kinds
python bench/limits.py --rtol 1e-9          # at another tolerance than the default of such runs
python bench/limits.py --against 1e-11      # how far the limits are from those at this tolerance
python bench/limits.py --more --seeds 10    # bits, whole numbers and wrong labels instead

Data of scikit-learn and random ones; with and without a constant column, slope of the inactive side 0 or 0.1, both
losses, 20 to 60 neurons, scales 1e-3 to 1. A line a run: how it ended, the verdict of its limit, log t and log |θ| at
the end, steps, events and seconds of one core. Below: every limit that is not certified with its reason, and the
counts. The exit code tells whether more than one in twenty is not certified, or took more than 2,000 steps.
"""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import product
from time import process_time

# One core: the threads of a linear algebra library that wait for each other would count as work.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from sklearn.datasets import load_breast_cancer, make_circles, make_classification, make_moons

import reluflow as rf

MAX_STEPS = 2000
MAX_MISSES = 1 / 20
Draw = Callable[[int], rf.Dataset]


@dataclass(frozen=True)
class Kind:
    """Data with the network that is trained on them."""

    name: str
    draw: Draw
    bias: bool
    width: int
    scale: float
    leak: float = 0.0
    loss: str = "logistic"

    def __str__(self) -> str:
        return (
            f"{self.name}{'_bias' if self.bias else ''}_m{self.width}_{self.scale:g}"
            f"{f'_leak{self.leak:g}' if self.leak else ''}{'_exp' if self.loss == 'exponential' else ''}"
        )

    def data(self, seed: int) -> rf.Dataset:
        data = self.draw(seed)
        return rf.Dataset(np.c_[data.X, np.ones(data.n)], data.y) if self.bias else data


# --- the data ---


def fixed(name: str, a: object, b: object) -> Draw:
    return cache(lambda seed: getattr(rf.datasets, name)(a, b))


def cancer(seed: int) -> rf.Dataset:
    return rf.datasets.breast_cancer()


def unscaled_cancer(seed: int) -> rf.Dataset:
    """In units in which the samples have norms from 1e-3 to about 4."""
    X, y = load_breast_cancer(return_X_y=True)
    return rf.Dataset(X / 1000.0, np.where(y == 0, 1.0, -1.0))


def moons(noise: float) -> Draw:
    def draw(seed: int) -> rf.Dataset:
        X, y = make_moons(60, noise=noise, random_state=seed)
        return rf.Dataset(X, 2.0 * y - 1)

    return draw


def circles(seed: int) -> rf.Dataset:
    X, y = make_circles(60, noise=0.05, factor=0.5, random_state=seed)
    return rf.Dataset(X, 2.0 * y - 1)


def random_labels(n: int, d: int) -> Draw:
    def draw(seed: int) -> rf.Dataset:
        rng = np.random.default_rng(seed)
        return rf.Dataset(rng.standard_normal((n, d)), rng.choice([-1.0, 1.0], n))

    return draw


def bits(seed: int) -> rf.Dataset:
    """Draw a function of four bits."""
    return rf.Dataset(list(product([-1.0, 1.0], repeat=4)), np.random.default_rng(seed).choice([-1.0, 1.0], 16))


def whole_numbers(seed: int) -> rf.Dataset:
    """Points of a cube of 64, some of them twice, with random labels, and a constant column."""
    rng = np.random.default_rng(seed)
    return rf.Dataset(np.c_[rng.integers(0, 4, (40, 3)), np.ones(40)], rng.choice([-1.0, 1.0], 40))


def wrong_xor(seed: int) -> rf.Dataset:
    """Exclusive or of two signs, with a tenth of the labels wrong."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((40, 2))
    return rf.Dataset(X, np.sign(X[:, 0] * X[:, 1]) * np.where(rng.random(40) < 0.1, -1.0, 1.0))


def wrong_classes(seed: int) -> rf.Dataset:
    X, y = make_classification(60, n_features=6, n_informative=3, flip_y=0.15, random_state=seed)
    return rf.Dataset(X, 2.0 * y - 1)


WINE = ("class_0", "class_1", "class_2")
IRIS = ("setosa", "versicolor", "virginica")


def draws() -> dict[str, Draw]:
    out: dict[str, Draw] = {"cancer": cancer, "cancer_unscaled": unscaled_cancer}
    for i, j in ((0, 1), (1, 2)):
        out[f"wine{i}{j}"] = fixed("wine", WINE[i], WINE[j])
        out[f"iris{i}{j}"] = fixed("iris", IRIS[i], IRIS[j])
    for i, j in ((0, 1), (3, 5), (3, 8)):
        out[f"digits{i}{j}"] = fixed("digits", i, j)
    out |= {"moons": moons(0.1), "moons_noisy": moons(0.3), "circles": circles}
    return out | {"random_20x10": random_labels(20, 10), "random_40x5": random_labels(40, 5)}


def kinds() -> list[Kind]:
    """Every data set with four networks; what varies between them is spread over the list."""
    out = []
    for number, (name, draw) in enumerate(draws().items()):
        planar = name.startswith(("moons", "circles"))
        for turn in range(4):
            out.append(
                Kind(
                    name,
                    draw,
                    bias=planar or turn % 2 == 1,
                    width=(20, 60)[(number + turn // 2) % 2],
                    scale=(1e-3, 1e-1, 1.0)[(number + turn) % 3],
                    leak=(0.0, 0.0, 0.0, 0.1)[turn],
                    loss=("logistic", "exponential")[(number // 2 + turn // 2) % 2],
                )
            )
    return out


def more_kinds() -> list[Kind]:
    """Data with ties and contradictions, each with two networks."""
    return [
        Kind(draw.__name__, draw, draw in (wrong_xor, wrong_classes), width, scale, leak, loss)
        for draw in (bits, whole_numbers, wrong_xor, wrong_classes)
        for width, scale, leak, loss in ((30, 1e-2, 0.0, "logistic"), (50, 0.3, 0.1, "exponential"))
    ]


# --- the runs ---


@dataclass(frozen=True)
class Outcome:
    sol: rf.Solution
    limit: rf.limits.Limit
    warned: str
    seconds: float

    @property
    def is_certified(self) -> bool:
        return self.sol.success and self.limit.certified


def one(kind: Kind, seed: int, until: rf.Stop, seconds: float = np.inf, rtol: float | None = None) -> Outcome:
    data = kind.data(seed)
    net = rf.Network.init(kind.width, data.d, scale=kind.scale, seed=seed, leak=kind.leak)
    begin = process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        sol = rf.integrate(
            data,
            net,
            loss=kind.loss,
            until=until,
            rtol=rtol,
            n_threads=1,
            callback=lambda _: process_time() - begin > seconds,
        )
        limit = sol.limit
    return Outcome(sol, limit, "; ".join(str(w.message) for w in caught), process_time() - begin)


def distances(kind: Kind, seed: int, o: Outcome, other: Outcome) -> str:
    """Return how far two limits of one flow are from each other: at the samples, and the networks."""
    if not (o.is_certified and other.is_certified and o.limit.kind == other.limit.kind):
        return f"  not both certified: {o.sol.status}, {other.sol.status}"
    data, nets = kind.data(seed), (o.limit.network, other.limit.network)
    size = 1.0 if o.limit.kind == "direction" else nets[1].norm
    outputs = np.abs(nets[0](data.X) - nets[1](data.X)).max() / size**2
    return f"  outputs {outputs:.1e}, network {np.linalg.norm(nets[0].theta - nets[1].theta) / size:.1e}"


def row(kind: Kind, seed: int, o: Outcome) -> str:
    verdict = f"{o.limit.kind} {'certified' if o.limit.certified else '-'}"
    size = float(np.log(o.sol.final.norm))
    return (
        f"{f'{kind} {seed}':36} {o.sol.status:16} {verdict:20} {o.sol.log_t_end:9.3g} {size:8.3g} "
        f"{o.sol.stats['steps']:7} {len(o.sol.events):7} {o.seconds:8.2f}"
    )


def parse(words: Sequence[str]) -> argparse.Namespace:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("words", nargs="*", help="take the kinds whose name holds one of these")
    p.add_argument("--seeds", default="1", help="a count, or first:last")
    p.add_argument("--log-time", type=float, default=None, help="stop there, and not where the limit is certified")
    p.add_argument("--seconds", type=float, default=10.0, help="the most that one run may take, of one core")
    p.add_argument("--rtol", type=float, default=None, help="the tolerance of the runs, by default that of `integrate`")
    p.add_argument("--against", type=float, default=None, help="run again at this tolerance, and compare the limits")
    p.add_argument("--more", action="store_true", help="bits, whole numbers and wrong labels instead")
    p.add_argument("--list", action="store_true", help="name the kinds, run nothing")
    return p.parse_args(words)


def main(words: Sequence[str]) -> int:
    args = parse(words)
    first, _, last = args.seeds.rpartition(":")
    chosen = [
        k for k in (more_kinds() if args.more else kinds()) if not args.words or any(w in str(k) for w in args.words)
    ]
    if args.list:
        print(*chosen, sep="\n")
        return 0
    until = rf.Stop(log_time=args.log_time, limit=None if args.log_time else True)
    head = f"{'kind, seed':36} {'status':16} {'limit':20} {'log t':>9} {'log |θ|':>8}"
    print(f"{head} {'steps':>7} {'events':>7} {'seconds':>8}", flush=True)
    outcomes, misses = [], []
    for kind in chosen:
        for seed in range(int(first or 0), int(last)):
            o = one(kind, seed, until, args.seconds, args.rtol)
            outcomes.append(o)
            end = distances(kind, seed, o, one(kind, seed, until, args.seconds, args.against)) if args.against else ""
            print(row(kind, seed, o) + end, flush=True)
            if not o.is_certified or o.warned:
                misses.append(f"{kind} {seed}: {o.sol.message}; {o.limit.reason}; {o.warned}")
    print(*misses, sep="\n")
    seconds = [o.seconds for o in outcomes]
    long = sum(o.sol.stats["steps"] > MAX_STEPS for o in outcomes)
    certified = sum(o.is_certified for o in outcomes)
    print(
        f"{certified} of {len(outcomes)} certified; {long} took more than {MAX_STEPS} steps; "
        f"median {np.median(seconds):.2f} s, longest {max(seconds):.2f} s"
    )
    return int(max(len(outcomes) - certified, long) > MAX_MISSES * len(outcomes))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
