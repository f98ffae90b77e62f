"""The core against the slow twin on random small problems of every family."""

from __future__ import annotations

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st

import agree
import families
import twin

# Derandomised: the same examples on every run and machine. A smaller seed is no simpler problem: no shrinking.
FEW = settings(max_examples=4, deadline=None, derandomize=True, phases=[Phase.explicit, Phase.generate])
MANY = settings(FEW, max_examples=10)
SEEDS = st.integers(min_value=0, max_value=2**31 - 1)


def agrees(family: str, seed: int) -> None:
    setup = families.make(family, seed)
    try:
        fault = agree.check(setup)
    except twin.UndecidedError:
        assume(False)
    assert fault is None, f"{family} {seed}: {fault}"


@pytest.mark.parametrize("family", list(families.FAMILIES))
@FEW
@given(seed=SEEDS)
def test_the_core_agrees_with_the_twin(family, seed):
    agrees(family, seed)


@pytest.mark.thorough
@pytest.mark.parametrize("family", list(families.FAMILIES))
@MANY
@given(seed=SEEDS)
def test_the_core_agrees_with_the_twin_on_many_problems(family, seed):
    agrees(family, seed)
