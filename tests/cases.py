"""The trusted trajectories in `data/cases`: 40-digit runs of the flow, one file a run."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from compare import Event, from_table

FOLDER = Path(__file__).parent / "data" / "cases"


@dataclass(frozen=True)
class Case:
    """One trusted run. `checkpoints` hold t, log_t, log_loss, theta_norm, margin, W, a."""

    name: str
    X: np.ndarray
    y: np.ndarray
    W: np.ndarray
    a: np.ndarray
    leak: float
    loss: str
    reduction: str
    clock: str
    end: str
    branch: dict | None
    events: list[Event]
    ties: list[int]
    checkpoints: list[dict]

    @property
    def pattern(self) -> np.ndarray:
        """Exact signs of the pre-activations at the start, (m, n)."""
        return np.sign(exact_products(self.W, self.X)).astype(int)


def exact_products(W: np.ndarray, X: np.ndarray) -> np.ndarray:
    """W Xᵀ with every sum rounded once, so that its zeros are the true ones."""
    from fractions import Fraction
    from math import fsum

    def dot(w, x):
        exact = sum((Fraction(float(p)) * Fraction(float(q)) for p, q in zip(w, x, strict=True)), Fraction(0))
        return fsum([float(exact)]) if exact else 0.0

    return np.array([[dot(w, x) for x in X] for w in W])


@cache
def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.json"))


@cache
def load(name: str) -> Case:
    raw = json.loads((FOLDER / f"{name}.json").read_text())
    ev = raw["events"]
    columns = ([e[key] for e in ev] for key in ("t", "neuron", "sample", "kind"))
    return Case(
        name=raw["name"],
        X=np.array(raw["X"]),
        y=np.array(raw["y"], float),
        W=np.array(raw["W"]),
        a=np.array(raw["a"]),
        leak=raw["leak"],
        loss=raw["loss"],
        reduction=raw["reduction"],
        clock=raw["clock"],
        end=raw["end"],
        branch=raw["branch"],
        events=from_table(*columns),
        ties=[e["tie"] for e in ev],
        checkpoints=raw["checkpoints"],
    )
