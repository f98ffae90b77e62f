"""The benchmarks check an answer before they time it."""

from __future__ import annotations

import runpy
from typing import Any

import pytest

import problems

BENCH = problems.DATA.parent / "__main__.py"


@pytest.fixture
def scope() -> dict[str, Any]:
    return runpy.run_path(str(BENCH))


def test_a_bench_gives_the_flow_and_descent_beside_it(scope: dict[str, Any]) -> None:
    flow, descent = scope["bench"]("P1", 1.0, 1e-2)
    assert flow.error < 1e-8
    assert flow.events == (problems.reference("P1").event_t <= 1.0).sum()
    assert flow.error < descent.error < 0.1
    assert descent.steps == 100
    assert flow.seconds > 0


def test_a_wrong_answer_is_not_timed(scope: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    right = problems.reference("P1")
    moved = problems.Reference(right.t, right.W + 1e-3, *(getattr(right, name) for name in list(vars(right))[2:]))
    monkeypatch.setattr(problems, "reference", lambda name: moved)
    with pytest.raises(SystemExit, match="P1 to t = 1 is wrong"):
        scope["bench"]("P1", 1.0, None)
