"""Rows of data as rational numbers: which are parallel, and what is left of one beside others."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from .._validation import FloatArray


class NotProvedError(Exception):
    """Something has no certain sign."""


def by_boundary(X: FloatArray, held: Iterable[int]) -> list[list[tuple[int, float]]]:
    """Sort samples by boundary, without rounding: the number of each, and what multiple of the first one it is."""
    found: list[list[tuple[int, float]]] = []
    for h in held:
        x = [Fraction(value) for value in X[h].tolist()]
        for members in found:
            first = [Fraction(value) for value in X[members[0][0]].tolist()]
            k = next(c for c, value in enumerate(first) if value)
            ratio = x[k] / first[k]
            if x == [ratio * value for value in first]:
                members.append((h, float(ratio)))
                break
        else:
            found.append([(h, 1.0)])
    return found


def dot(v: Iterable[Fraction], w: Iterable[Fraction]) -> Fraction:
    """Return the product of two rows of one length."""
    return sum((p * q for p, q in zip(v, w, strict=True)), Fraction(0))


def projected(x: list[Fraction], held: list[list[Fraction]]) -> list[Fraction]:
    """Take the part along `held` out of x: Gram-Schmidt without roots."""
    basis: list[list[Fraction]] = []
    for row in [*held, x]:
        rest = row
        for b in basis:
            along = dot(row, b) / dot(b, b)
            rest = [p - along * q for p, q in zip(rest, b, strict=True)]
        if len(basis) < len(held) and not any(rest):
            raise NotProvedError("boundaries on which a neuron slides are dependent")
        basis.append(rest)
    return basis[-1]
