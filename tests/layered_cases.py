"""The stored runs of layered networks in `data/layered`, computed by another method in extended precision."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import reluflow as rf

FOLDER = Path(__file__).parent / "data" / "layered"
NEW_NAMES = {"hold": "slide", "release_up": "leave_up", "release_down": "leave_down"}
NAMES = sorted(path.stem for path in FOLDER.glob("*.npz"))
# Events of one instant are one set, whose order means nothing.
SAME_TIME = 1e-11

Row = tuple[float, int, int, int, str]


@dataclass(frozen=True)
class LayeredCase:
    """One stored run."""

    net: rf.DeepNetwork
    data: tuple[np.ndarray, np.ndarray]
    loss: str
    reduction: str
    times: np.ndarray
    theta: np.ndarray
    events: list[Row]


def load(name: str) -> LayeredCase:
    with np.load(FOLDER / f"{name}.npz") as file:
        stored = {key: file[key] for key in file.files}
    loss = str(stored["loss"])
    targets = stored["y"].T if loss == "squared" else stored["y"]
    kinds = [NEW_NAMES.get(str(kind), str(kind)) for kind in stored["event_kind"]]
    columns = (stored[f"event_{column}"].tolist() for column in ("t", "node", "unit", "sample"))
    return LayeredCase(
        rf.DeepNetwork.from_nodes(json.loads(str(stored["spec"])), stored["theta0"]),
        (stored["X"], targets),
        loss,
        str(stored["reduction"]),
        stored["times"].astype(float),
        stored["theta"],
        ordered(list(zip(*columns, kinds, strict=True))),
    )


def events_of(sol: rf.layered.DeepSolution) -> list[Row]:
    """The rows of a run as the stored ones are listed: without units that lose their last live input."""
    rows = [(e.t, e.layer, e.unit, e.sample, e.kind) for e in sol.events if e.kind != "void"]
    return ordered(rows)


def ordered(rows: list[Row]) -> list[Row]:
    """Sort by time, and sets of one time by place."""
    found: list[Row] = []
    group: list[Row] = []
    for row in sorted(rows):
        if group and row[0] - group[0][0] > SAME_TIME * max(1.0, row[0]):
            found += sorted(group, key=lambda r: r[1:])
            group = []
        group.append(row)
    return found + sorted(group, key=lambda r: r[1:])
