"""Reads certificates."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from .._files import checked_path
from .._validation import invalid
from ._proof import Proof, ProvedEvents, State
from ._writing import FORMAT


def _floats(value: Any) -> Any:
    return [_floats(part) for part in value] if isinstance(value, list) else float.fromhex(value)


def load(path: str | os.PathLike[str]) -> Proof:
    """Read a certificate that `Proof.save` wrote.

    It has everything but the means to prove again: `proof(t)` answers at the times that were asked for.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        Not a certificate; the message names the path.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
    >>> sol = rf.integrate(data, rf.Network.init(4, 2, scale=1e-2, seed=1), until=10.0)
    >>> proof = rf.prove(sol)
    >>> proof.save("certificate.json")
    >>> rf.proof.load("certificate.json").proved_until == proof.proved_until
    True
    """
    place = checked_path(path)
    with open(place, encoding="utf-8") as file:
        try:
            record = json.load(file)
            if record["format"] != FORMAT:
                raise invalid("path", f"name a certificate ({FORMAT})", f"{record['format']!r} in {str(place)!r}")
            return _proof(record)
        except (KeyError, TypeError, AttributeError, json.JSONDecodeError, UnicodeDecodeError) as error:
            raise invalid("path", f"name a certificate ({FORMAT})", f"{str(place)!r} ({error})") from None


def _proof(record: dict[str, Any]) -> Proof:
    events = record["events"]
    problem = record["problem"]
    claims = record["claims"]
    for name in ("X", "y", "W", "a"):
        problem[name] = np.array(_floats(problem[name]))
    problem["leak"], problem["t"] = float.fromhex(problem["leak"]), float.fromhex(problem["t"])
    claims["t"] = np.array(_floats(claims["t"]), np.float64)
    states = (
        State(
            float.fromhex(state["t"]),
            *(np.array(_floats(state[name])) for name in ("W", "a", "radius", "W_low", "a_low")),
        )
        for state in record["states"]
    )
    floats = ("t_lo", "t_hi", "t", "t_low", "t_radius", "margin")
    found = ProvedEvents(
        **{name: np.array(_floats(events[name]), np.float64) for name in floats},
        neuron=np.array(events["neuron"], np.int64),
        sample=np.array(events["sample"], np.int64),
        kind=np.array(events["kind"], np.str_),
    )
    return Proof(
        status=record["status"],
        proved_until=float.fromhex(record["proved_until"]),
        reason=record["reason"],
        neuron=record["neuron"],
        sample=record["sample"],
        t_reason=float.fromhex(record["t_reason"]),
        events=found,
        states=tuple(states),
        bound=float.fromhex(record["bound"]),
        steps=record["steps"],
        digits=record["digits"],
        problem=problem,
        claims=claims,
    )
