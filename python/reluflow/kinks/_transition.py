"""What one neuron does where activation boundaries meet: the decision of the core, with λ given."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .. import _core
from .._validation import FloatArray
from ._boundaries import span

Sides = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Corner:
    """The boundaries through a neuron's place, and the gradient of the samples that are on none of them.

    Attributes
    ----------
    normals : ndarray, shape (k, d)
    lower, upper : ndarray, shape (k,)
        What the samples of each boundary add along its normal, below and above it.
    drive : ndarray, shape (d,)
        Σ λ_i s_i x_i over the samples that are on none of the boundaries.
    sign : float
        Sign of the output weight.
    scale : float
        Σ |λ_i| |x_i| over all samples, against which rates are zero.
    """

    normals: FloatArray
    lower: FloatArray
    upper: FloatArray
    drive: FloatArray
    sign: float
    scale: float


def continuations(corner: Corner) -> list[Sides] | None:
    """Every way on: for each boundary +1 (leaves upwards), -1 (leaves downwards) or 0 (stays).

    None where there are too many boundaries to list them all. The rule is `TransitionSolver` of the core
    (docs/design/corners.md).
    """
    basis = span(corner.normals)
    normals, below, above, rest = (
        np.ascontiguousarray(part)
        for part in (corner.normals @ basis.T, corner.lower, corner.upper, basis @ corner.drive)
    )
    sides, is_all = _core.continuations(normals, below, above, rest, corner.sign, corner.scale)
    return [tuple(way) for way in sides] if is_all else None
