"""The squared loss to interpolation, from small starts and large ones: what a run costs, and what an event.

A teacher of three neurons, 100 samples in 20 dimensions, 50 neurons. A run is checked before its time counts: its
gradient, computed from the weights alone, and its end beside that of a run of a tighter tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

import own
import reluflow as rf
from points import timed
from text import Table, seconds

N, D, M, SEED = 100, 20, 50, 0
MEAN_LOSS = 1e-26
MAX_GRADIENT = 2e-11
TIGHT = 1e-11  # rtol of the run that is compared with


@dataclass(frozen=True)
class Fitted:
    """One run from a start of some size."""

    scale: float
    gradient: float
    n_events: int
    n_tight: int
    n_steps: int
    seconds: float
    status: str


def data() -> rf.Dataset:
    """The samples with the outputs of the teacher."""
    rng = np.random.default_rng(SEED)
    X, V = rng.standard_normal((N, D)), rng.standard_normal((3, D)) / D**0.5
    return rf.Dataset(X, np.maximum(X @ V.T, 0) @ [1.0, -1.0, 1.0])


def solve(scale: float, rtol: float = own.RTOL) -> rf.Solution:
    """Run until the samples are fitted."""
    stop = rf.Stop(mean_loss=MEAN_LOSS, time=1e6)
    net = rf.Network.init(M, D, scale=scale, seed=SEED)
    return rf.integrate(data(), net, until=stop, loss="squared", rtol=rtol, n_threads=1)


def gradient_norm(net: rf.Network, samples: rf.Dataset) -> float:
    """|∂L| at the network, with slope 0 at a kink."""
    pulls = ((net.W @ samples.X.T > 0) * (net(samples.X) - samples.y)) @ samples.X
    return float(np.hypot(np.linalg.norm(net.a[:, None] * pulls), np.linalg.norm((net.W * pulls).sum(axis=1))))


def measured(scale: float) -> Fitted:
    """Run at the default tolerance; end the program if it is wrong."""
    sol, spent = timed(lambda: solve(scale))
    gradient = gradient_norm(sol.final, data())
    tight = solve(scale, TIGHT)
    error = rf.analysis.relative_error(sol.final, tight.final)
    if not sol.success or gradient > MAX_GRADIENT or error > own.MAX_ERROR:
        raise SystemExit(f"scale {scale:g} is wrong: {sol.status}, gradient {gradient:.1e}, error {error:.1e}")
    return Fitted(scale, gradient, len(sol.events), len(tight.events), sol.stats["steps"], spent, sol.status)


def record(scale: float) -> dict[str, object]:
    """The run as plain values."""
    return asdict(measured(scale))


def fitted_table(rows: Sequence[Fitted]) -> Table:
    cells = [
        (f"{r.scale:g}", f"{r.gradient:.1e}", f"{r.n_events:,}", f"{r.n_tight:,}", f"{r.n_steps:,}", seconds(r.seconds),
         seconds(r.seconds / max(r.n_events, 1)))
        for r in rows
    ]  # fmt: skip
    note = (
        f"A teacher of 3 neurons, {N} samples in {D} dimensions, {M} neurons, squared loss, to a mean loss of"
        f" {MEAN_LOSS:g}. The gradient at the end is computed from the weights; the end is compared"
        f" with that of a run with rtol = {TIGHT:g}, whose events stand beside. Where the numbers differ, neurons leave"
        " a boundary and come back, and rise less than the error of the run."
    )
    return Table(
        "To interpolation",
        ("scale", "gradient", "events", f"at {TIGHT:g}", "steps", "seconds", "seconds an event"),
        cells,
        note,
    )
