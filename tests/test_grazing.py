"""Events that a run of one tolerance has and another has not: excursions below the error of the run."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def teacher() -> rf.Dataset:
    rng = np.random.default_rng(0)
    X, V = rng.standard_normal((100, 20)), rng.standard_normal((3, 20)) / 20**0.5
    return rf.Dataset(X, np.maximum(X @ V.T, 0) @ [1.0, -1.0, 1.0])


def by_pair(events: rf.flow.EventTable) -> dict[tuple[int, int], list[rf.flow.Event]]:
    found: dict[tuple[int, int], list[rf.flow.Event]] = {}
    for event in events:
        found.setdefault((event.neuron, event.sample), []).append(event)
    return found


def excursions(more: list[rf.flow.Event], fewer: list[rf.flow.Event]) -> list[tuple[float, float]]:
    """When the neuron is away in `more` and not in `fewer`: the two events that `fewer` lacks follow each other."""
    kinds, times = [e.kind for e in fewer], np.array([e.t for e in fewer])
    found = []
    for k in range(len(more) - 1):
        rest = more[:k] + more[k + 2 :]
        if [e.kind for e in rest] == kinds and more[k].kind.startswith("leave") and more[k + 1].kind == "slide":
            off = np.abs([e.t for e in rest] - times).max(initial=0.0)
            found.append((off, more[k].t, more[k + 1].t))
    return [(first, last) for _, first, last in sorted(found)[:1]]


@pytest.mark.slow
def test_what_a_looser_tolerance_misses_rises_less_than_its_error() -> None:
    data, net = teacher(), rf.Network.init(50, 20, scale=1e-8, seed=0)
    stop = rf.Stop(mean_loss=1e-26, time=1e6)
    loose, tight = (rf.integrate(data, net, until=stop, loss="squared", rtol=rtol) for rtol in (1e-9, 1e-12))
    assert rf.analysis.relative_error(loose.final, tight.final) < 1e-7
    fewer, more = by_pair(loose.events), by_pair(tight.events)
    assert fewer.keys() == more.keys()
    different = [pair for pair in more if [e.kind for e in more[pair]] != [e.kind for e in fewer[pair]]]
    assert len(different) < 30  # of some thousand pairs
    for j, i in different:
        is_more = len(more[j, i]) > len(fewer[j, i])
        full, other = (tight, loose) if is_more else (loose, tight)
        ((first, last),) = excursions(*((more[j, i], fewer[j, i]) if is_more else (fewer[j, i], more[j, i])))
        W, _ = full.states(np.linspace(first, last, 21))
        beside, _ = other.states(np.linspace(first, last, 21))
        height = np.abs(W[:, j] @ data.X[i]).max() / np.linalg.norm(data.X[i])
        assert height < 2.0 * np.linalg.norm(W[:, j] - beside[:, j], axis=1).max()
