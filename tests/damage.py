"""Damage to files, and what is read of them: everything that was written, or a refusal that names the path."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import numpy as np

Read = TypeVar("Read")


def read_or_refused(load: Callable[[Path], Read], path: Path) -> Read | None:
    """What is in a file, or None if it was refused with its path."""
    try:
        return load(path)
    except ValueError as error:
        if str(path) in str(error):
            return None
        raise


def flipped(content: bytes, rng: np.random.Generator) -> bytes:
    """Turn one bit."""
    damaged = bytearray(content)
    damaged[rng.integers(len(content))] ^= 1 << rng.integers(8)
    return bytes(damaged)
