"""Samples that span less than their coordinates: what a neuron has outside rests, and rounding is none of it."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

#: Two samples as combinations of the rows, e_0 + e_1 and e_1 - e_0.
EMBEDDINGS = {
    "a zero column": [[1, 0, 0], [0, 0, 1]],
    "a column twice": [[1, 0, 1], [0, 1, 0]],
    "two columns twice": [[1, 0, 1, 0], [0, 1, 0, 1]],
    "a sum of columns": [[1, 0, 1], [0, 1, 1]],
    "fewer samples than columns": [[0, 1, 1, 3, -2], [1, 2, 0, -1, 1]],
    "columns of several sizes": [[7.0, 0.3, 0.02], [-1.0, 0.7, 0.05]],
}
WEIGHTS = np.array([2.0, 3.0])


def beside_both(name: str) -> tuple[rf.Dataset, np.ndarray]:
    """Return two samples at an angle of 90 degrees and more, and a vector in their span beside both."""
    X = np.array([[1.0, 1.0], [-1.0, 1.0]]) @ np.array(EMBEDDINGS[name], dtype=float)
    w = np.linalg.solve(X @ X.T, [3.0, 4.5] * np.linalg.norm(X, axis=1)) @ X
    return rf.Dataset(X, [1.0, 1.0], weights=WEIGHTS), w


def rate_beside(data: rf.Dataset, held: int) -> float:
    """Return |P g| at outputs far below one: half of what the other sample counts, times x without its part along e."""
    x, e = data.X[1 - held], data.X[held]
    return float(0.5 * WEIGHTS[1 - held] * np.linalg.norm(x - (x @ e) / (e @ e) * e))


@pytest.mark.parametrize("name", EMBEDDINGS)
def test_a_balanced_neuron_in_the_span_decays_for_ever(name: str) -> None:
    """Both samples push it back, it meets a boundary, and slides along it towards zero, which it never reaches.

    The rounding of its coordinates counted as a part outside the span: it died at 1e-16 of its start, and could not go
    on from there, since it was not on the boundaries that it had met.
    """
    data, w = beside_both(name)
    net = rf.Network([w], [-np.linalg.norm(w)])
    met = rf.integrate(data, net, until=rf.Stop(events=1)).events[0]
    assert met.kind == "slide"
    rate = rate_beside(data, int(met.sample))
    middle = rf.integrate(data, net, until=met.t + 100.0 / rate)  # at 1e-43, far below the rounding of w
    whole, parts = (rf.integrate(data, start, until=met.t + 200.0 / rate) for start in (net, middle))
    for end in (whole, parts):
        assert [event.kind for event in end.events] == (["slide"] if end is whole else [])
        assert np.log(end.final.norm / middle.final.norm) == pytest.approx(-100.0, rel=1e-7)
    limit = rf.integrate(data, net, until=rf.Stop(limit=True)).limit
    assert limit is not None
    assert limit.margin == 0.0


@pytest.mark.parametrize("part", [1e-3, 1e-6, 1e-10])
@pytest.mark.parametrize("name", EMBEDDINGS)
def test_what_a_neuron_has_outside_the_span_stays(name: str, part: float) -> None:
    """Of a balanced neuron a tends to that part, and w in the span comes to zero, where one with |a| > |w| dies."""
    data, w = beside_both(name)
    outside = np.linalg.svd(data.X)[2][-1]
    start = w + part * outside
    sol = rf.integrate(data, rf.Network([start], [-np.linalg.norm(start)]), until=60.0)
    assert sol.events[-1].kind == "die"
    rounding = 1e-14 * float(np.linalg.norm(start))  # of the start, and of the span itself where columns differ in size
    np.testing.assert_allclose(sol.final.W[0], part * outside, rtol=0.0, atol=rounding)
    assert sol.final.a[0] == pytest.approx(-part, rel=1e-8, abs=rounding)
