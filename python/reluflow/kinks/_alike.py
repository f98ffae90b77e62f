"""Neurons that are alike, so that what is decided for one of them is decided for all."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import IntArray


def alike(*parts: npt.NDArray[Any]) -> list[IntArray]:
    """Group the numbers 0, 1, ..., k - 1 by equal bits of their entries, or rows, in all parts, each of length k."""
    found: dict[tuple[bytes, ...], list[int]] = {}
    for place, key in enumerate(zip(*([entry.tobytes() for entry in part] for part in parts), strict=True)):
        found.setdefault(key, []).append(place)
    return [np.array(places) for places in found.values()]
