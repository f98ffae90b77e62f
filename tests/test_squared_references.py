"""The squared loss against stored runs of an independent method: every event, and the states along the way."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

import compare
import reluflow as rf
import write_squared_references as tool
from problems_path import problems

RTOL = 1e-12
TINY = 1e-6  # of the largest neuron: below it a neuron's own relative error is not compared


@cache
def solve(name: str, rtol: float = RTOL) -> rf.Solution:
    """Run to the end of the reference, in which neurons at rest stay where the flow branches."""
    p, ref = problems.load(name), problems.reference(name)
    options = {"until": float(ref.t[-1]), "loss": "squared", "rtol": rtol, "save_at": ref.t, "on_branch": "stay"}
    return rf.integrate(rf.Dataset(p.X, p.y), rf.Network(p.W, p.a), **options)


@pytest.mark.parametrize("name", list(problems.REGRESSIONS))
def test_states_are_those_of_the_reference(name: str) -> None:
    sol, ref = solve(name), problems.reference(name)
    assert sol.success, sol.message
    assert sol.t.tolist() == ref.t.tolist() == list(problems.REGRESSIONS[name].times)
    for k, t in enumerate(sol.t):
        W, a = ref.state(t)
        off = np.sqrt(np.sum((sol.W[k] - W) ** 2, axis=1) + (sol.a[k] - a) ** 2)
        size = np.sqrt(np.sum(W**2, axis=1) + a**2)
        assert np.linalg.norm(off) <= 1e-9 * np.linalg.norm(size), f"t = {t!r}: {np.linalg.norm(off):.2e}"
        assert np.all(off <= 1e-8 * np.maximum(size, TINY * size.max())), f"t = {t!r}: {(off / size).max():.2e}"


@pytest.mark.parametrize("name", list(problems.REGRESSIONS))
def test_every_event_is_that_of_the_reference(name: str) -> None:
    p, sol, ref = problems.load(name), solve(name), problems.reference(name)
    first = np.sign(p.W @ p.X.T).astype(int)
    stored = compare.from_table(ref.event_t, ref.event_neuron, ref.event_sample, ref.event_kind)
    want, have = (compare.rest_as_death(first, events) for events in (stored, compare.from_solution(sol)))
    assert len(want) == len(ref.event_t) > 100
    compare.assert_same_events(want, have, first, rtol=1e-9)


@pytest.mark.parametrize("name", list(problems.REGRESSIONS))
def test_the_references_are_runs_of_their_problems(name: str) -> None:
    """Balance and the loss, from the stored numbers alone; they were written by a tool of this repository."""
    p, ref = problems.load(name), problems.reference(name)
    states = [(p.W, p.a), *zip(ref.W, ref.a, strict=True)]
    losses = [0.5 * np.sum((p.y - a @ np.maximum(W @ p.X.T, 0)) ** 2) for W, a in states]
    assert np.all(np.diff(losses) < 0)
    np.testing.assert_allclose(np.linalg.norm(ref.W, axis=2), np.abs(ref.a), rtol=1e-13)
    # The signs after the events are those of the last state; pairs that slide are on their boundaries.
    signs = np.sign(p.W @ p.X.T).astype(int)
    for j, i, kind in zip(ref.event_neuron, ref.event_sample, ref.event_kind, strict=True):
        signs[j, i] = compare.sign_after(kind)
    heights = ref.W[-1] @ p.X.T / np.outer(np.abs(ref.a[-1]), np.linalg.norm(p.X, axis=1))
    assert np.all(np.abs(heights[signs == 0]) < 1e-12)
    assert np.all((heights * signs)[signs != 0] > 0)


def test_the_tool_writes_what_is_stored() -> None:
    ref = problems.reference("S2")
    run = tool.Run(problems.load("S2"))
    W, a = run.follow(1.0, np.array([1.0]))
    until = int(np.searchsorted(ref.event_t, 1.0))
    assert (run.events.neuron, run.events.sample) == (
        ref.event_neuron[:until].tolist(),
        ref.event_sample[:until].tolist(),
    )
    assert run.events.kind == ref.event_kind[:until]
    np.testing.assert_allclose(run.events.t, ref.event_t[:until], rtol=1e-12)
    np.testing.assert_allclose(W[0], ref.state(1.0)[0], rtol=0, atol=1e-15)
    np.testing.assert_allclose(a[0], ref.state(1.0)[1], rtol=1e-12)
