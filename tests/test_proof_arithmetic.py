"""Sums of two doubles, against rational numbers: the bounds that proofs of 32 digits rest on."""

from __future__ import annotations

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from reluflow import _core

SQUARE = Fraction(1, 2**106)  # u²

# What each operation may miss, relative to its result, in units u²; 0 where it is exact.
OPERATIONS = {
    "x + y": (lambda x, y: sum(x) + sum(y), 3.01),
    "x - y": (lambda x, y: sum(x) - sum(y), 3.01),
    "x * y": (lambda x, y: sum(x) * sum(y), 6.0),
    "x / y": (lambda x, y: sum(x) / sum(y), 15.01),
    "x + high": (lambda x, y: sum(x) + y[0], 2.0),
    "x * high": (lambda x, y: sum(x) * y[0], 2.0),
    "x / high": (lambda x, y: sum(x) / y[0], 3.0),
    "exact sum of highs": (lambda x, y: x[0] + y[0], 0.0),
    "exact product of highs": (lambda x, y: x[0] * y[0], 0.0),
}


def exact(words: np.ndarray) -> list[tuple[Fraction, ...]]:
    return [tuple(map(Fraction, row)) for row in words.tolist()]


def total(words: np.ndarray) -> list[Fraction]:
    return [sum(row, Fraction(0)) for row in exact(words)]


def numbers(rng: np.random.Generator, size: int) -> np.ndarray:
    """Numbers of 106 bits and of fewer, of all signs and of sizes that differ, shape (size, 2)."""
    high = rng.normal(size=size) * 2.0 ** rng.integers(-40, 40, size)
    low = high * 2.0**-53 * rng.uniform(-0.99, 0.99, size) * 2.0 ** -rng.integers(0, 30, size)
    low[rng.random(size) < 0.1] = 0.0
    sums = high + low
    return np.stack((sums, low - (sums - high)), axis=1)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_operation_misses_no_more_than_its_theorem_says(operation: str) -> None:
    rng = np.random.default_rng(1)
    x, y = numbers(rng, 4000), numbers(rng, 4000)
    # Sums that cancel: the second number is nearly the first, or is it but for the low word.
    y[:1000] = -x[:1000] * (1.0 + 2.0 ** -rng.integers(20, 60, 1000))[:, None]
    y[1000:1500, 0] = -x[1000:1500, 0]
    y[1000:1500, 1] = x[1000:1500, 1] * rng.choice([-1.0, 0.5, 0.0], 500)
    formula, allowed = OPERATIONS[operation]
    found = _core.proof_arithmetic(operation, x, y)
    worst = Fraction(0)
    for left, right, value in zip(exact(x), exact(y), exact(found), strict=True):
        true = formula(left, right)
        error = abs(sum(value) - true)
        assert error <= Fraction(allowed) * SQUARE * abs(true)
        assert float(sum(value)) == float(value[0]), "the high word is not the sum rounded"
        worst = max(worst, error / abs(true) if true else Fraction(0))
    # The bound is not loose by orders: a smaller one would be seen.
    assert worst >= Fraction(allowed) * SQUARE / 8


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_weights_of_32_digits_are_within_their_bound(loss: str) -> None:
    rng = np.random.default_rng(2)
    margins = np.concatenate((np.linspace(-600.0, 600.0, 201), rng.uniform(-3.0, 3.0, 400), 0.34657359 * np.ones(20)))
    q = np.stack((margins, margins * 2.0**-54 * rng.uniform(-1.0, 1.0, len(margins))), axis=1)
    allowed = Decimal(32 if loss == "logistic" else 16) * Decimal(2) ** -106
    worst = Decimal(0)
    with localcontext() as context:
        context.prec = 60
        for margin, weight in zip(q.tolist(), _core.proof_arithmetic(loss, q, q).tolist(), strict=True):
            power = sum(map(Decimal, margin)).exp()
            true = 1 / power if loss == "exponential" else 1 / (1 + power)
            error = abs(sum(map(Decimal, weight)) / true - 1)
            assert error <= allowed
            worst = max(worst, error)
    assert worst > allowed / 40


def test_sums_of_rows_are_within_their_bound_whatever_cancels() -> None:
    rng = np.random.default_rng(3)
    for count, width in ((1, 1), (3, 5), (40, 47), (357, 6)):
        factors, rows = numbers(rng, count), rng.normal(size=(count, width))
        factors[rng.random(count) < 0.2] = 0.0
        if count > 10:  # the last row takes back nearly everything
            rows[-1] = -np.round(factors[:-1].sum(axis=1) @ rows[:-1], 3)
            factors[-1] = (1.0, 0.0)
        found = total(_core.proof_combine(factors, rows))
        for c, value in enumerate(found):
            terms = [f * Fraction(r) for f, r in zip(total(factors), rows[:, c].tolist(), strict=True)]
            assert abs(value - sum(terms)) <= 8 * (count + 1) * SQUARE * sum(map(abs, terms))


def test_exact_products_see_what_cancels_to_thirty_digits() -> None:
    rng = np.random.default_rng(4)
    for size in (1, 4, 64):
        v = rng.normal(size=size)
        w = numbers(rng, size)
        if size > 1:
            rest = -(total(w[:-1]) @ np.array([Fraction(c) for c in v[:-1].tolist()])) / Fraction(float(v[-1]))
            w[-1, 0] = float(rest)
            w[-1, 1] = float(rest - Fraction(w[-1, 0]))
        high, low, error = _core.proof_exact_dot(v, w)
        terms = [Fraction(c) * x for c, x in zip(v.tolist(), total(w), strict=True)]
        sizes = sum(map(abs, terms))
        assert abs(Fraction(high) + Fraction(low) - sum(terms)) <= Fraction(error)
        assert Fraction(error) <= Fraction(2, 10**40) * sizes + 5 * SQUARE * abs(sum(terms)) + Fraction(1, 10**279)
        assert size == 1 or abs(sum(terms)) < Fraction(1, 10**30) * sizes
