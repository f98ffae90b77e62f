"""How often runs of small random layered networks do not end as asked: survey_layered.py [COUNT [FIRST [KINDS]]].

    python tools/survey_layered.py            # 60 starts of each of the 19 kinds: 1,140 starts
    python tools/survey_layered.py 10 60 deep5,residual

Every start is run three times: with rtol 1e-10, with 1e-12, and with its samples and the units of its hidden layers in
another order. One line for each kind, one for each run that ended otherwise, with its start, its status and its
message, and one for each start whose runs ended as asked in different places.
"""

from __future__ import annotations

import sys
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

import reluflow as rf

SAMPLES = 8
END = 3.0
LONGEST = 5.0  # seconds of one run
SAME = 1e-6  # ends closer than this part of the largest parameter are one
D = rf.Dense


@dataclass(frozen=True)
class Kind:
    """A kind of network: its layers, or a word for layers with random masks; inputs, loss, leak and scale."""

    layers: tuple[Any, ...] | str = (D(5), D(4), D(1))
    dim: int = 3
    loss: str = "logistic"
    leak: float = 0.0
    scale: float = 1.0
    targets: str = "signs"


RESIDUAL = (D(4), rf.Residual(D(4)), rf.Residual(D(4)), D(1))
NARROW = (D(2), D(2), D(2), D(1))
BIASES = (D(5, bias=True), D(4, bias=True), D(1, bias=True))
KINDS = {
    "relu": Kind(),
    "exp": Kind(loss="exponential"),
    "leaky": Kind(leak=0.1),
    "leaky_exp4": Kind((D(4), D(4), D(3), D(1)), loss="exponential", leak=0.2),
    "narrow": Kind(NARROW),
    "narrow_leaky": Kind(NARROW, leak=0.1),
    "deep5": Kind((D(4),) * 4 + (D(1),), scale=1.4),
    "bias": Kind(BIASES, dim=2, loss="squared", targets="numbers"),
    "bias_leak_ce": Kind((D(4, bias=True), D(4, bias=True), D(3)), loss="cross_entropy", leak=0.1, targets="classes"),
    "ce": Kind((D(5), D(4), D(3)), loss="cross_entropy", targets="classes"),
    "k2": Kind((D(5), D(4), D(2)), loss="squared", targets="pairs"),
    "residual": Kind(RESIDUAL),
    "residual_leak": Kind(RESIDUAL, leak=0.1),
    "conv": Kind((rf.Conv1d(2, 3), D(3), D(1)), dim=5, loss="exponential"),
    "convconv": Kind((rf.Conv1d(2, 3), rf.Conv1d(2, 2), D(1)), dim=6),
    "mask": Kind("masked"),
    "diag": Kind((rf.Diagonal(), rf.Diagonal(), D(1))),
    "diag_dense": Kind((rf.Diagonal(), D(4), D(1))),
    "relu_out": Kind((D(4), D(3), D(1, activation="relu")), loss="squared", targets="sizes"),
}


def problem(name: str, seed: int) -> tuple[tuple[np.ndarray, np.ndarray], rf.DeepNetwork, str]:
    """Make data, network and loss of one start."""
    kind = KINDS[name]
    rng = np.random.default_rng([seed, sum(map(ord, name))])
    y = rng.choice([-1.0, 1.0], SAMPLES)
    y[:2] = 1, -1
    X = rng.standard_normal((SAMPLES, 3))
    if kind.dim != 3:
        X = X[:, :2] if kind.dim == 2 else rng.standard_normal((SAMPLES, kind.dim))
    y = targets(kind.targets, y, rng)
    layers = kind.layers
    if isinstance(layers, str):
        layers = (D(6, mask=mask(rng, 6, 3)), D(4, mask=mask(rng, 4, 6)), D(1))
    net = rf.DeepNetwork.init(list(layers), dim=kind.dim, scale=kind.scale * 2**0.5, seed=seed, leak=kind.leak)
    return (X, y), net, kind.loss


def targets(kind: str, signs: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    if kind == "classes":
        return np.concatenate(([0, 1, 2], rng.integers(0, 3, SAMPLES - 3)))
    if kind == "signs":
        return signs
    numbers = rng.standard_normal((SAMPLES, 2) if kind == "pairs" else SAMPLES)
    return np.abs(numbers) if kind == "sizes" else numbers


def mask(rng: np.random.Generator, rows: int, cols: int) -> np.ndarray:
    """Draw a mask in which every unit has an input."""
    kept: np.ndarray = rng.random((rows, cols)) < 0.6
    kept[~kept.any(axis=1), 0] = True
    return kept


def reordered(
    data: tuple[np.ndarray, np.ndarray], net: rf.DeepNetwork, seed: int
) -> tuple[tuple[np.ndarray, np.ndarray], rf.DeepNetwork]:
    """Give samples and hidden units another order; parameters keep theirs."""
    rng = np.random.default_rng(seed)
    spec = [dict(node) for node in net.spec]
    inner = [rng.permutation(node["size"]) for node in spec]
    for ends in (0, -1):
        inner[ends] = np.arange(spec[ends]["size"])
    for order, node in zip(inner, spec, strict=True):
        if node["bias"] is not None:
            node["bias"] = [node["bias"][u] for u in order]
        node["edges"] = [dict(edge) for edge in node["edges"]]
        for edge in node["edges"]:
            for key in ("idx", "const"):
                if edge[key] is not None:
                    edge[key] = np.asarray(edge[key])[np.ix_(order, inner[edge["src"]])].tolist()
    samples = rng.permutation(SAMPLES)
    return (data[0][samples], data[1][samples]), rf.DeepNetwork.from_nodes(spec, net.theta)


def runs_of(name: str, seed: int, ways: int = 3) -> list[rf.layered.DeepSolution]:
    """Run one start as it is, at a tighter tolerance, and in another order."""
    data, net, loss = problem(name, seed)
    other, turned = reordered(data, net, seed)
    asked = ((data, net, 1e-10), (data, net, 1e-12), (other, turned, 1e-10))[:ways]
    until = rf.Stop(time=END, seconds=LONGEST)
    return [rf.integrate(X, one, until=until, rtol=rtol, loss=loss) for X, one, rtol in asked]


def as_asked(sol: rf.layered.DeepSolution) -> bool:
    return sol.status in ("reached_time", "stationary")


def distance(runs: list[rf.layered.DeepSolution]) -> float:
    """Measure how far runs that ended as asked are from the first of them, relative to the parameters."""
    thetas = [run.final.theta for run in runs if as_asked(run)]
    return max((float(np.abs(one - thetas[0]).max() / np.abs(thetas[0]).max()) for one in thetas[1:]), default=0.0)


def survey(name: str, seeds: range) -> Counter[str]:
    """Run the starts of one kind, and print what ended otherwise."""
    ends: Counter[str] = Counter()
    for seed in seeds:
        runs = runs_of(name, seed)
        ends[runs[0].status] += 1
        ends["some run ended otherwise"] += not all(map(as_asked, runs))
        for run, way in zip(runs, ("as it is", "rtol 1e-12", "reordered"), strict=True):
            if not as_asked(run):
                print(f"    {name} {seed}, {way}: {run.status}: {run.message}", flush=True)
        if (apart := distance(runs)) > SAME:
            ends["ends differ"] += 1
            print(f"    {name} {seed}: ends differ by {apart:.1e}", flush=True)
    print(f"{name}: {dict(ends)}", flush=True)
    return ends


def main(arguments: list[str]) -> None:
    count = int(arguments[0]) if arguments else 60
    first = int(arguments[1]) if len(arguments) > 1 else 0
    names = arguments[2].split(",") if len(arguments) > 2 else list(KINDS)
    total: Counter[str] = Counter()
    for name in names:
        total += survey(name, range(first, first + count))
    print(f"all: {dict(total)}")


if __name__ == "__main__":
    main(sys.argv[1:])
