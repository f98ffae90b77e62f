"""The times of the flow and of its kernels, by pytest-benchmark: the answer is checked before it is timed.

`make bench` runs these; `make test` does not collect them. To compare with an earlier run:
`pytest bench/test_speed.py --benchmark-autosave`, then `--benchmark-compare`.
"""

from __future__ import annotations

from typing import Any

import pytest

import own
import problems
import reluflow as rf
from points import Case, start, stored

RUNS = (("P1", 1e4), ("P1s", 1e4), ("P2", 3e-3), ("P2", 100.0), ("P3", 0.15), ("P3", 3.5), ("P3", 10.0))


@pytest.mark.parametrize(("name", "t"), RUNS)
def test_the_flow(benchmark: Any, name: str, t: float) -> None:
    case = Case(name, t, ())
    point = own.checked(case, stored(case))
    benchmark.extra_info |= {"error": point.error, "events": point.n_events}
    benchmark.pedantic(lambda: own.solve(name, t), rounds=5 if point.seconds < 1.0 else 2, warmup_rounds=1)


@pytest.mark.parametrize("name", ["P2", "P3", "P4"])
def test_a_hundred_euler_steps(benchmark: Any, name: str) -> None:
    """The kernels of the right-hand side. One step is checked against the gradient written out."""
    problem = problems.load(name)
    data, net = start(name)
    Z = problem.X @ problem.W.T
    margins = problem.y * ((Z > 0.0) * Z @ problem.a)
    pull = problem.y / (1.0 + own.np.exp(margins))
    W = problem.W + 1e-3 * ((Z > 0.0) * pull[:, None]).T @ problem.X * problem.a[:, None]
    own.np.testing.assert_allclose(rf.descend(data, net, step=1e-3, n_steps=1).final.W, W, rtol=1e-10, atol=1e-18)
    benchmark.pedantic(lambda: rf.descend(data, net, step=1e-6, n_steps=100), rounds=3, warmup_rounds=1)


def test_the_late_phase(benchmark: Any) -> None:
    row = own.late("P1", 1e10, 1e-9)
    assert row.status == "reached_log_time"
    benchmark.pedantic(lambda: own.late("P1", 1e10, 1e-9), rounds=5, warmup_rounds=1)
