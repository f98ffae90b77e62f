"""The units in which a proof is computed, for inputs of any size.

With inputs divided by s², weights times s and times times s² the flow is the same: f = Σ a φ(w·x) keeps its values, and
both sides of w' = a Σ λ x are divided by s. A power of two does not round. The bounds have floors for what
underflow takes, which are nothing beside inputs of size one and hide everything beside those of size 1e10 or 1e-20.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import FloatArray

_UNDERFLOW = 1e-300  # more than what numbers lose that fall below the smallest normal one


@dataclass(frozen=True)
class Units:
    """How many times as large weights are in a proof: s, a power of two. Times are s² times as long."""

    size: float = 1.0

    @classmethod
    def of(cls, problem: dict[str, Any], until: float, latest: float) -> Units:
        """Return the units in which the largest input has size one, as far as no time gets beyond ``latest``."""
        size = 2.0 ** round(0.5 * math.log2(float(np.abs(problem["X"]).max())))
        if until > 0:
            size = min(size, max(1.0, 2.0 ** math.floor(0.5 * (math.log2(latest) - math.log2(until)))))
        again = cls(1.0 / size).problem(cls(size).problem(problem))
        exact = all(np.array_equal(again[name], problem[name]) for name in ("X", "W", "a", "t"))
        return cls(size) if exact else cls()

    def time(self, t: Any) -> Any:
        """Return times in these units."""
        return t * self.size**2

    def back(self, t: float) -> float:
        """Return a time of these units in those of the problem."""
        return t / self.size**2

    def problem(self, problem: dict[str, Any]) -> dict[str, Any]:
        """Return a problem in these units."""
        X, W, a = problem["X"] / self.size**2, problem["W"] * self.size, problem["a"] * self.size
        return {**problem, "X": X, "W": W, "a": a, "t": self.time(problem["t"])}

    def result(self, raw: dict[str, Any]) -> dict[str, Any]:
        """Return what was proved in these units in those of the problem."""
        times, unit, size = raw["events"], self.size**2, self.size
        events = {name: times[name] / unit for name in ("t", "t_low")}
        events["t_radius"] = _up(times["t_radius"], unit) + np.where(_rounds(times["t_low"], unit), _UNDERFLOW, 0.0)
        events["t_lo"], events["t_hi"] = -_up(-times["t_lo"], unit), _up(times["t_hi"], unit)
        found = raw["states"]
        states = {name: found[name] / size for name in ("W", "W_low", "a", "a_low")}
        lost = _rounds(found["a"], size) | _rounds(found["a_low"], size)
        lost |= (_rounds(found["W"], size) | _rounds(found["W_low"], size)).any(axis=-1)
        states["radius"] = _up(found["radius"], size) + np.where(lost, _UNDERFLOW, 0.0)
        states["t"] = found["t"] / unit
        ends = {name: raw[name] / unit for name in ("t", "proved_until")}
        bound = raw["bound"] / size
        return {**raw, **ends, "bound": bound, "events": {**times, **events}, "states": {**found, **states}}


def _rounds(values: FloatArray, unit: float) -> Any:
    """Tell which values a division rounds, since they fall below the smallest normal number."""
    return values / unit * unit != values


def _up(values: FloatArray, unit: float) -> FloatArray:
    """Divide, upwards where that rounds."""
    parts = values / unit
    return np.asarray(np.where(parts * unit < values, np.nextafter(parts, np.inf), parts))
