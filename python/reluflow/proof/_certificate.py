"""Reads certificates."""

from __future__ import annotations

import json
import os
from typing import Any

import numpy as np

from .._files import DamagedError, checked_path
from .._validation import invalid
from ._proof import Proof, ProvedEvents, State
from ._writing import FORMAT, checksum

_WITHOUT_CHECKSUM = "reluflow-proof 1"


def _floats(value: Any) -> Any:
    return [_floats(part) for part in value] if isinstance(value, list) else float.fromhex(value)


def load(path: str | os.PathLike[str]) -> Proof:
    """Read a certificate that `Proof.save` wrote.

    It has everything but the means to prove again: `proof(t)` answers at the times that were asked for.

    The checksum of the file finds damage. It is no signature: whoever edits a certificate can write the checksum that
    goes with it, and what the file says is then taken as proved. Where its source is in doubt, run `reluflow.prove`
    again. Files that versions before the checksum wrote are read without one.

    Raises
    ------
    FileNotFoundError
        No such file.
    ValueError
        Not a certificate, or a damaged one; the message names the path and what is wrong.

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
    content = place.read_bytes()
    try:
        record = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise invalid("path", f"name a certificate ({FORMAT})", f"{str(place)!r} ({error})") from None
    there = record.get("format") if isinstance(record, dict) else None
    if there not in (FORMAT, _WITHOUT_CHECKSUM):
        raise invalid("path", f"name a certificate ({FORMAT})", f"{there!r} in {str(place)!r}")
    try:
        if there == FORMAT or "checksum" in record:
            _check(record)
        return _proof(record)
    except Exception as error:  # whatever the wrong kind of value in a damaged file leads to
        reason = f"no {error}" if isinstance(error, KeyError) else str(error)
        raise invalid("path", "name a whole certificate", f"{str(place)!r}, damaged: {reason}") from error


def _check(record: dict[str, Any]) -> None:
    if record["checksum"] != checksum(record):
        raise DamagedError("the content is not the one of its checksum")


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
