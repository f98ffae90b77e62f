"""Every bad argument of a random start raises ValueError that names it, what was found and what is expected."""

from __future__ import annotations

import math
from typing import Any

import pytest

import reluflow as rf

ROWS: list[tuple[str, dict[str, Any], str]] = [
    ("width 0", {"width": 0}, "width must be an integer of at least 1, found 0"),
    ("width 2.0", {"width": 2.0}, "width must be an integer of at least 1, found 2.0"),
    ("width True", {"width": True}, "width must be an integer of at least 1, found True"),
    ("dim -1", {"dim": -1}, "dim must be an integer of at least 1, found -1"),
    ("scale 0", {"scale": 0.0}, "scale must be a finite number above 0, found 0.0"),
    ("scale NaN", {"scale": math.nan}, "scale must be a finite number above 0, found nan"),
    ("balanced 'no'", {"balanced": "no"}, "balanced must be True or False, found a value of type str"),
    ("antisymmetric 1", {"antisymmetric": 1}, "antisymmetric must be True or False, found a value of type int"),
    (
        "three in pairs",
        {"antisymmetric": True},
        "width must be even for an antisymmetric start, whose neurons are pairs, found 3",
    ),
    ("imbalance NaN", {"imbalance": math.nan}, "imbalance must be a finite number, found nan"),
    (
        "imbalance too low",
        {"scale": 0.5, "imbalance": -0.3},
        "imbalance must be at least -|w_j|² = -0.25, found -0.3",
    ),
    (
        "imbalance of Gaussian weights",
        {"balanced": False, "imbalance": 0.1},
        "imbalance must be left out where balanced is False, for Gaussian weights have their own, found 0.1",
    ),
    (
        "norms of Gaussian weights",
        {"balanced": False, "norms": [1, 1, 1]},
        "norms must be left out where balanced is False, for Gaussian weights have their own, found norms",
    ),
    ("norm 0", {"norms": [1, 0, 1]}, "norms must hold numbers above 0, found 0 at row 1"),
    ("two norms", {"norms": [1, 1]}, "norms must hold 3 numbers, one for each neuron that is drawn, found 2"),
    (
        "norms of both halves",
        {"width": 4, "antisymmetric": True, "norms": [1, 1, 1, 1]},
        "norms must hold 2 numbers, one for each neuron that is drawn, found 4",
    ),
    ("signs of size 2", {"signs": [1, 2, -1]}, "signs must hold +1 and -1 only, found 2 at row 1"),
    ("one sign", {"signs": 1}, "signs must have the shape (m,), found the shape ()"),
    ("leak 2", {"leak": 2}, "leak must lie in [0, 1), found 2.0"),
    ("seed -1", {"seed": -1}, "seed must be an integer of at least 0, a numpy Generator or None, found -1"),
]


@pytest.mark.parametrize(("given", "message"), [pytest.param(given, says, id=name) for name, given, says in ROWS])
def test_a_bad_start_is_named(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        rf.Network.init(**{"width": 3, "dim": 2, **given})
    assert str(caught.value) == message
