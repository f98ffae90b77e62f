"""Two threads against one: P4, and ensembles of seeds. Wall-clock seconds, as threads are about them."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
from typing import Any

import numpy as np

import reluflow as rf
from points import start

SEEDS, REPEATS = 64, 9
Record = dict[str, Any]


def fastest(run: Callable[[], Any], repeats: int) -> tuple[Any, float]:
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        result = run()
        times.append(perf_counter() - begin)
    return result, min(times)


def pair(run: Callable[[int], list[rf.Solution]], repeats: int) -> Record:
    """One thread and two in turn; ends the program if they do not agree bit for bit."""
    (one, slow), (two, fast) = (fastest(lambda n=n: run(n), repeats) for n in (1, 2))
    same = len(one) == len(two) and all(
        np.array_equal(p.final.W, q.final.W) and np.array_equal(p.events.t, q.events.t)
        for p, q in zip(one, two, strict=True)
    )
    if not same or not all(sol.success for sol in one):
        raise SystemExit("two threads give another answer than one")
    return {"one": slow, "two": fast, "n_events": sum(len(sol.events) for sol in one)}


def single(name: str, t: float, repeats: int = 1) -> Record:
    data, net = start(name)
    return pair(lambda n: [rf.integrate(data, net, until=t, save_at=[t], n_threads=n)], repeats)


def seeds(data: rf.Dataset, width: int, t: float, repeats: int = REPEATS) -> Record:
    nets = [rf.Network.init(width, data.d, scale=1e-2, seed=seed) for seed in range(SEEDS)]
    return pair(
        lambda n: [run.result for run in rf.integrate_many(data, nets, until=t, n_threads=n).collect()], repeats
    )


def hundred() -> rf.Dataset:
    """100 samples in 10 dimensions, separable through the origin."""
    rng = np.random.default_rng(1)
    X, teacher = rng.standard_normal((100, 10)), rng.standard_normal(10)
    return rf.Dataset(X, np.where(X @ teacher > 0.0, 1.0, -1.0))
