"""The file of a certificate: JSON, every float in hexadecimal, so that nothing is lost and any language can read it."""

from __future__ import annotations

import hashlib
import json
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from .._files import atomic_write

if TYPE_CHECKING:
    from ._proof import Proof

FORMAT = "reluflow-proof 2"


def encode(value: Any) -> Any:
    """Return a value as JSON holds it: floats as hexadecimal strings, arrays as nested lists."""
    if isinstance(value, np.ndarray):
        return encode(value.tolist())
    if isinstance(value, dict):
        return {key: encode(part) for key, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [encode(part) for part in value]
    return value.hex() if isinstance(value, float) else value


def checksum(record: dict[str, Any]) -> str:
    """Return SHA-256 of a record without its checksum: of its JSON with sorted names and without white space."""
    rest = {name: value for name, value in record.items() if name != "checksum"}
    return hashlib.sha256(json.dumps(rest, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


def write(proof: Proof, path: str | os.PathLike[str]) -> None:
    """Write a certificate by rename."""
    names = ("status", "proved_until", "reason", "neuron", "sample", "t_reason", "bound", "steps", "digits")
    record = {"format": FORMAT, **{name: encode(getattr(proof, name)) for name in (*names, "problem", "claims")}}
    record["events"] = encode(vars(proof.events))
    record["states"] = [encode(vars(state)) for state in proof.states]
    record["checksum"] = checksum(record)
    with atomic_write(path) as file:
        file.write((json.dumps(record, indent=1) + "\n").encode())
