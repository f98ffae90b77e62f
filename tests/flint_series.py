"""Polynomials with balls as coefficients: values, signs on an interval, roots."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from flint import arb

HALVINGS = 12
ZERO, ONE, UNIT = arb(0), arb(1), arb(0, 1)

Series = list[arb]


def sign_of(value: arb) -> int:
    return 1 if value > 0 else -1 if value < 0 else 0


def size(value: arb) -> arb:
    return abs(value).upper()


def dot(left: Sequence[arb], right: Sequence[arb]) -> arb:
    total = arb(0)
    for one, other in zip(left, right, strict=True):
        total += one * other
    return total


def length(values: Iterable[arb]) -> arb:
    return sum((value**2 for value in values), ZERO).sqrt()


def product(left: Series, right: Series, k: int) -> arb:
    """Coefficient k of a product of series."""
    return dot(left[: k + 1], right[k::-1])


def value_at(series: Series, s: arb) -> arb:
    total = arb(0)
    for coefficient in reversed(series):
        total = total * s + coefficient
    return total


def derivative(series: Series) -> Series:
    return [k * series[k] for k in range(1, len(series))]


def keeps(series: Series, sign: int, hi: arb, lo: arb = ZERO, *, starts: int = 0, depth: int = HALVINGS) -> bool:
    """Tell whether a polynomial certainly has this sign on (lo, hi].

    At lo it and its derivatives, `starts` of them in all, are known to have it or to be zero.
    """
    span = lo.union(hi)
    if sign_of(value_at(series, span)) == sign:
        return True
    slope = derivative(series)
    turns = sign_of(value_at(slope, span))
    if turns == sign and (starts or sign_of(value_at(series, lo)) == sign):
        return True
    if turns == -sign and sign_of(value_at(series, hi)) == sign:
        return True
    if starts and keeps(slope, sign, hi, lo, starts=starts - 1, depth=0):
        return True
    if depth == 0:
        return False
    middle = ((lo + hi) / 2).mid()
    return keeps(series, sign, middle, lo, starts=starts, depth=depth - 1) and keeps(
        series, sign, hi, middle, depth=depth - 1
    )


def root_of(series: Series, sign: int, end: arb) -> arb | None:
    """Where the middle polynomial loses this sign in (0, end]: by halves, then Newton's method. A guess, no bound."""
    middle = [c.mid() for c in series]
    grid = [(end * k / 64).mid() for k in range(65)]
    after = next((k for k in range(1, 65) if sign_of(value_at(middle, grid[k]).mid()) != sign), None)
    if after is None:
        return None
    lo, hi = grid[after - 1], grid[after]
    for _ in range(30):
        half = ((lo + hi) / 2).mid()
        lo, hi = (half, hi) if sign_of(value_at(middle, half).mid()) == sign else (lo, half)
    root = lo
    for _ in range(8):
        root = (root - value_at(middle, root) / value_at(derivative(middle), root)).mid()
    return root
