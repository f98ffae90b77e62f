"""Layered networks and several outputs: each run checked against its reference, then beside Euler, scipy and diffrax.

D1: digits 3 against 8, ReLU 64-50-50-1, exponential loss, mean; D2: a small ReLU net in which units slide; quiet: a
deep linear net, which has no event; ten: all ten digits, softmax, 50 neurons of scale 1e-2. D2 and quiet have stored
references of another method in extended precision; the others are compared with the flow at a hundredth of the
tolerance. scipy and diffrax go straight through the kinks.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import problems
import reluflow as rf
from peers import installed
from points import event_error, timed
from reluflow.layered._gradient import Backward, duals
from text import Table, seconds, times

STORED = Path(__file__).resolve().parent.parent / "tests" / "data" / "layered"
FILES = {"D2": "deep3_relu", "quiet": "deep_linear"}
# End time, tolerance, steps of Euler, and the tolerance at which scipy comes to an error like ours, or near it.
RUNS = {
    "D1": (0.1, 1e-8, 1000, 1e-11),
    "D2": (5.0, 1e-10, 100_000, 1e-6),
    "quiet": (None, 1e-10, 100_000, 1e-11),
    "ten": (3e-5, 1e-8, 100, 1e-10),
}
MAX_ERROR, MAX_EVENT_ERROR = 1e-7, 1e-6

Record = dict[str, Any]


class OutOfTimeError(Exception):
    """The processor time of a run is over."""


@dataclass(frozen=True)
class Start:
    """Data, network and end of a run, and the state and the times of events where they are stored."""

    data: tuple[np.ndarray, np.ndarray]
    net: rf.DeepNetwork
    loss: str
    reduction: str
    end: float
    rtol: float
    theta: np.ndarray | None = None
    event_t: np.ndarray | None = None


def load(name: str) -> Start:
    """The run of that name."""
    end, rtol = RUNS[name][:2]
    if name in FILES:
        with np.load(STORED / f"{FILES[name]}.npz") as stored:
            net = rf.DeepNetwork.from_nodes(json.loads(str(stored["spec"])), stored["theta0"])
            data = (stored["X"], stored["y"])
            loss, reduction, t = str(stored["loss"]), str(stored["reduction"]), float(stored["times"][-1])
            return Start(data, net, loss, reduction, t, rtol, stored["theta"][-1], stored["event_t"])
    assert end is not None
    if name == "D1":
        layers = [rf.Dense(50), rf.Dense(50), rf.Dense(1, activation="linear")]
        net = rf.DeepNetwork.init(layers, dim=64, scale=0.5, seed=1)
        return Start(problems.digits(), net, "exponential", "mean", end, rtol)
    digits = rf.datasets.digits()
    plain = rf.Network.init(50, digits.d, outputs=digits.K, scale=1e-2, seed=0)
    layers = [rf.Dense(50), rf.Dense(digits.K, activation="linear")]
    net = rf.DeepNetwork(layers, np.concatenate([plain.W.ravel(), plain.a.T.ravel()]), dim=digits.d)
    return Start((digits.X, digits.labels), net, "cross_entropy", "sum", end, rtol)


def solve(start: Start, rtol: float) -> Any:
    return rf.integrate(
        start.data, start.net, until=start.end, loss=start.loss, reduction=start.reduction, rtol=rtol, n_threads=1
    )


def target(start: Start) -> tuple[np.ndarray, np.ndarray]:
    """The state and the times of the events, stored or by a hundredth of the tolerance."""
    if start.theta is not None and start.event_t is not None:
        return start.theta, np.sort(start.event_t)
    sol = solve(start, start.rtol / 100)
    return sol.final.theta, np.sort(sol.events.t)


def error_of(theta: np.ndarray, right: np.ndarray) -> float:
    return float(np.linalg.norm(theta - right) / np.linalg.norm(right)) if np.isfinite(theta).all() else np.inf


def checked(name: str, start: Start, right: tuple[np.ndarray, np.ndarray]) -> Record:
    """The flow; ends the program if the state or an event is wrong."""
    sol, spent = timed(lambda: solve(start, start.rtol))
    found = np.sort(sol.events.t[np.asarray(sol.events.kind) != "void"])
    error = error_of(sol.final.theta, right[0]) if sol.success else np.inf
    off = event_error(found, right[1])
    if not error <= MAX_ERROR or len(found) != len(right[1]) or not off <= MAX_EVENT_ERROR:
        raise SystemExit(f"{name} is wrong: {sol.status}, error {error:.1e}, {len(found)} of {len(right[1])} events")
    return {"error": error, "n_events": len(found), "n_steps": sol.stats["steps"], "seconds": spent}


def euler(start: Start, right: np.ndarray, n_steps: int) -> Record:
    begin = process_time()
    run = rf.descend(
        start.data,
        start.net,
        step=start.end / n_steps,
        n_steps=n_steps,
        loss=start.loss,
        reduction=start.reduction,
    )
    return {"euler_seconds": process_time() - begin, "euler_error": error_of(run.final.theta, right)}


def samples_of(start: Start) -> tuple[np.ndarray, np.ndarray]:
    """X and the targets (n, K); of classes one-hot rows."""
    X, y = start.data
    if start.loss == "cross_entropy":
        return X, np.eye(start.net.n_outputs)[y]
    return X, np.asarray(y, dtype=float).reshape(len(X), -1)


def velocity_of(start: Start, until: float) -> Callable[[float, np.ndarray], np.ndarray]:
    """dθ/dt in numpy, with the slope at a kink that of z < 0; from `until` on, by the processor's clock, it raises."""
    X, targets = samples_of(start)
    network = Backward(start.net.nodes, X)
    factor = 1.0 / len(X) if start.reduction == "mean" else 1.0

    def velocity(_: float, theta: np.ndarray) -> np.ndarray:
        if process_time() > until:
            raise OutOfTimeError
        return factor * network.descent(duals(network.outputs(theta), targets, start.loss), theta.size)

    return velocity


def scipy_run(start: Start, right: np.ndarray, rtol: float, limit: float) -> Record:
    begin = process_time()
    size = float(np.abs(start.net.theta).max())
    try:
        found = solve_ivp(
            velocity_of(start, begin + limit),
            (0.0, start.end),
            start.net.theta,
            method="DOP853",
            rtol=rtol,
            atol=rtol * size,
        )
        error = error_of(found.y[:, -1], right) if found.success else np.inf
    except OutOfTimeError:
        error = np.inf
    return {"scipy_seconds": process_time() - begin, "scipy_error": error if np.isfinite(error) else None}


def diffrax_run(name: str, right: np.ndarray, rtol: float, limit: float) -> Record:
    """Dopri8 in a process of its own; nothing where diffrax is not installed."""
    if installed("diffrax") is None:
        return {"diffrax_seconds": None, "diffrax_error": None}
    call = [sys.executable, "-m", "peers.layered_with_diffrax", name, str(rtol), str(limit)]
    done = subprocess.run(call, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    if done.returncode > 0:
        raise SystemExit(f"diffrax on {name} failed: {done.stderr.strip().splitlines()[-1]}")
    if done.returncode < 0:  # by its time limit
        return {"diffrax_seconds": limit, "diffrax_error": None}
    answer = json.loads(done.stdout)
    error = None if answer["theta"] is None else error_of(np.array(answer["theta"]), right)
    return {"diffrax_seconds": answer["seconds"], "diffrax_error": error}


def measured(name: str, limit: float) -> Record:
    """All runs of a row; one of a peer ends at this processor time."""
    start = load(name)
    right = target(start)
    row = checked(name, start, right)
    n_steps, rtol = RUNS[name][2:]
    peers = {**scipy_run(start, right[0], rtol, limit), **diffrax_run(name, right[0], rtol, limit)}
    return {"name": name, **row, **euler(start, right[0], n_steps), **peers}


def ended(row: Record, peer: str) -> tuple[str, str]:
    """The error and the seconds of a peer, as text."""
    error, spent = row[f"{peer}_error"], row[f"{peer}_seconds"]
    if spent is None:
        return "not installed", ""
    return "no end" if error is None else f"{error:.1e}", seconds(spent)


def layers_table(rows: Sequence[Record], limit: float) -> Table:
    cells = [
        (
            row["name"], f"{row['error']:.1e}", f"{row['n_events']:,}", f"{row['n_steps']:,}", seconds(row["seconds"]),
            f"{row['euler_error']:.1e}", seconds(row["euler_seconds"]),
            *ended(row, "scipy"), *ended(row, "diffrax"), times(row["scipy_seconds"], row["seconds"]),
        )
        for row in rows
    ]  # fmt: skip
    note = (
        "D1: digits 3 against 8, ReLU 64-50-50-1, exponential loss, to t = 0.1; D2: a small ReLU net in which units "
        "slide; quiet: a deep linear net without events; ten: all ten digits, softmax, 50 neurons of scale 1e-2, to "
        "t = 3e-5. Every event and the last state are checked first. scipy is DOP853 straight through the kinks on a "
        "velocity in numpy, diffrax Dopri8 at the same tolerance, compiled before; both are given up after "
        f"{limit:g} s. Euler's steps are our own."
    )
    head = ("run", "error", "events", "steps", "seconds", "Euler", "seconds", "DOP853", "seconds", "diffrax", "seconds",
            "DOP853 takes")  # fmt: skip
    return Table("Layered networks and several outputs", head, cells, note)
