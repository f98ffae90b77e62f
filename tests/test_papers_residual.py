"""What the claims of [PL] Figures 1 and 2 measure, against cases that are known."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers import Context
from reluflow.papers._claim import verdict
from reluflow.papers.phuong_lampert import _figure1 as figure1
from reluflow.papers.phuong_lampert import _figure2 as figure2

TINY = figure2.Size(8, 4, 3, 3)


def test_the_network_is_that_of_equation_30():
    net = figure2.residual_start(TINY, seed=1)
    W = figure2.matrices(net)
    x = np.random.default_rng(0).standard_normal((5, TINY.d))
    f = x @ W[0].T
    for matrix in W[1:]:
        f = f + np.maximum(f, 0) @ matrix.T
    assert net(x) == pytest.approx(np.maximum(f, 0) @ net.layers[-1].W[0], rel=1e-13)
    assert [matrix.shape for matrix in W] == [(3, 4), (3, 3), (3, 3)]
    assert np.abs(W[0]).max() <= 0.05 / 2


def test_rows_along_two_directions_are_told_from_rows_along_three():
    two = np.array([[1.0, 0, 0], [2, 0.1, 0], [0, -3, 0], [0.1, -1, 0.1]])
    directions, share = figure2.two_directions(two)
    assert share == pytest.approx(1)
    assert sorted(np.round(np.abs(directions).max(axis=1), 2)) == [1.0, 1.0]
    assert figure2.two_directions(np.eye(3))[1] == pytest.approx(2 / 3)
    star = np.array([[1.0, 0, 0], [-0.5, 0.9, 0], [-0.5, -0.9, 0]])
    assert figure2.two_directions(star)[1] < 0.7


def test_rows_are_compared_with_the_closer_max_margin_direction():
    data = rf.datasets.phuong_lampert(20, 4, seed=1)
    vectors = rf.convex.max_margin_vectors(data)
    rows = np.array([2 * vectors.plus.w, 0.1 * vectors.minus.w, -vectors.plus.w])
    found = figure2.closest(rows, data)
    assert found[:2] == pytest.approx([1, 1])
    assert found[2] < 0.9


def test_sides_at_the_end_follow_from_the_events_and_a_missing_one_is_noticed():
    data = rf.datasets.phuong_lampert(TINY.n, TINY.d, seed=2)
    run = rf.integrate(data, figure2.residual_start(TINY, seed=2), until=30.0, reduction="mean", rtol=1e-7)
    assert run.status == "reached_time"
    assert len(run.events) > 5
    assert figure2.misplaced(run) == 0
    assert figure2.misplaced(run, 1 - 1 / len(run.events)) == 1


def test_the_picture_has_the_panels_of_the_paper():
    data = rf.datasets.phuong_lampert(TINY.n, TINY.d, seed=2)
    start = figure2.residual_start(TINY, seed=2)
    figure = figure2._figure(start, data, None)
    letters = sorted(ax.get_title(loc="left")[1:2] for ax in figure.axes if ax.get_title(loc="left"))
    assert letters == list(figure2.LETTERS)


@pytest.mark.parametrize(("name", "module", "late"), [("PL-F1", figure1, "_ON"), ("PL-F2", figure2, "ON")])
def test_what_is_left_of_the_start_is_no_rank_two_until_it_is_nothing_beside_the_second(
    name, module, late, monkeypatch
):
    """At the time of the figures the third singular value is a quarter and an eighth of the second, and that passed."""
    monkeypatch.setattr(module, late, np.log(600.0), raising=False)
    [claim] = rf.papers.claims(name)
    outcome = claim.run(Context(quick=True))
    assert verdict(claim, outcome)[0] == "failed"
    off = [number for number in outcome.numbers if number.ok is False]
    assert all("third singular value over the second" in number.name or "mean cosine" in number.name for number in off)
