"""Runs to prove: stored cases and benchmark problems, with what is known of them."""

from __future__ import annotations

import cases
import reluflow as rf
from problems_path import problems


def case_run(name: str) -> tuple[cases.Case, rf.Solution, list[dict]]:
    """Return a stored case, its run, and its stored points in doubles' range."""
    case = cases.load(name)
    kept = [point for point in case.checkpoints if point["t"] is not None and float(point["t"]) < 1e12]
    net = rf.Network(case.W, case.a, leak=case.leak)
    until = max(float(point["t"]) for point in kept)
    run = rf.integrate(rf.Dataset(case.X, case.y), net, until=until, loss=case.loss, reduction=case.reduction)
    return case, run, [point for point in kept if float(point["t"]) <= run.t_end]


def benchmark(name: str, until: float) -> tuple[rf.Solution, problems.Reference]:
    """Return the run of a benchmark problem at a tight tolerance, and its stored reference."""
    problem = problems.load(name)
    data, net = rf.Dataset(problem.X, problem.y), rf.Network(problem.W, problem.a)
    return rf.integrate(data, net, until=until, rtol=1e-12), problems.reference(name)
