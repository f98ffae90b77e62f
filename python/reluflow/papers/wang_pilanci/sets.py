"""Figures 1, 2, 6, 8, 9: the rectified ellipsoid, its extreme points, its polar set and the dual optimum."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from ..._validation import FloatArray
from ...analysis import RectifiedEllipsoid, rectified_ellipsoid
from ...conditions import is_spike_free, orthogonal_separability
from ...convex import ExtremePoints, dual, extreme_points, max_margin, polar_set, spikes, unit_vectors
from ...datasets import Dataset, counterexample
from ._pictures import extreme_figure, polar_figure, set_figure
from ._tools import Claim, Context, Number, Outcome, exact, in_print, obtuse, printed, shown, spike_free, unit

DIRECTIONS = 720  # in which the polar sets are compared
LIGHT = 1e-9  # a maximum below this is 0: the cell has no extreme point but 0

__all__ = ["CLAIMS"]


def _points(data: Dataset, found: ExtremePoints) -> FloatArray:
    """Return (Xu_j)₊ of the extreme points of all cells in which the maximum or the minimum is not 0."""
    ends = np.vstack((found.highest[found.maximum > LIGHT], found.lowest[found.minimum < -LIGHT]))
    return np.maximum(ends @ data.X.T, 0.0)


def _extreme_numbers(data: Dataset, neurons: FloatArray, signs: npt.ArrayLike, found: ExtremePoints) -> list[Number]:
    """Each optimal neuron is the extreme point of its cell, and attains |λᵀ(Xu)₊| = 1."""
    numbers = []
    for k, (u, sign) in enumerate(zip(unit(neurons), np.asarray(signs), strict=True)):
        ends, others = (found.highest, found.lowest) if sign > 0 else (found.lowest, found.highest)
        nearest, wrong = (float(np.linalg.norm(points - u, axis=1).min()) for points in (ends, others))
        name = f"distance of optimal neuron {k + 1} from an extreme point u_j; control: of the other sign"
        numbers.append(printed(name, nearest, 0.0, 1e-9, control=wrong))
    numbers.append(exact("max of λᵀ(Xu)₊ over the ball", float(found.maximum.max()), 1.0))
    return numbers


def _figure_of_extremes(data: Dataset) -> Outcome:
    solution = max_margin(data)
    found = extreme_points(data, solution.duals)
    optimal = np.maximum(unit(solution.neurons) @ data.X.T, 0.0)
    figure = extreme_figure(rectified_ellipsoid(data), _points(data, found), optimal, solution.duals)
    numbers = [
        *_extreme_numbers(data, solution.neurons, solution.signs, found),
        shown("P*", solution.value),
        *(shown(f"λ* of sample {i + 1}", value) for i, value in enumerate(solution.duals)),
    ]
    return Outcome("the convex program solved, and the extreme point of every cell", tuple(numbers), {"set": figure})


def _figure_1(context: Context) -> Outcome:
    data = obtuse()
    outcome = _figure_of_extremes(data)
    lengths = np.linalg.norm(data.X, axis=1)
    tips = spikes(data.X)
    more = [
        exact("P* = 1/|x₁| + 1/|x₂|", max_margin(data).value, float((1 / lengths).sum())),
        *(exact(f"length of spike {i + 1} is |x_{i + 1}|", tips.length[i], lengths[i]) for i in range(2)),
        exact("cells of the plane", len(extreme_points(data, [1.0, -1.0]).patterns), 4),
    ]
    return Outcome(outcome.ran, (*outcome.numbers, *more), outcome.figures)


def _figure_9(context: Context) -> Outcome:
    data = spike_free()
    outcome = _figure_of_extremes(data)
    solution = max_margin(data)
    star = np.linalg.solve(data.X, np.ones(2))
    more = [
        exact("distance of the optimal neuron from X⁻¹1", float(np.linalg.norm(solution.neurons[0] - star)), 0.0),
        exact("P* = |X⁻¹1|", solution.value, float(np.linalg.norm(star))),
        printed("optimal neurons", len(solution.neurons), 1),
    ]
    return Outcome(outcome.ran, (*outcome.numbers, *more), outcome.figures)


def _gap_of_polar_sets(data: Dataset) -> tuple[float, FloatArray]:
    """Return how far Q* lies inside the polar set of its spikes at most, relatively, and the outline of the latter."""
    ways = unit_vectors(2, DIRECTIONS)
    whole = polar_set(data.X, ways)
    outline = polar_set(data.X, ways, vectors=spikes(data.X).u)
    return float((1 - np.linalg.norm(whole, axis=1) / np.linalg.norm(outline, axis=1)).max()), outline


def _figure_2(context: Context) -> Outcome:
    data = obtuse()
    gap, outline = _gap_of_polar_sets(data)
    found = dual(data)
    corner = data.y / np.linalg.norm(data.X, axis=1)
    numbers = (
        printed(
            "Q* is the polar set of the two spikes: largest relative gap; control: orthogonal samples",
            gap,
            0.0,
            1e-9,
            control=_gap_of_polar_sets(counterexample("corner"))[0],
        ),
        printed("λ* is feasible and maximal: D* beside P*", found.lower, max_margin(data).value, 1e-9),
        *(exact(f"λ* of sample {i + 1} is y/|x|", found.duals[i], corner[i]) for i in range(2)),
        shown("orthogonally separable", bool(orthogonal_separability(data))),
    )
    figure = polar_figure(rectified_ellipsoid(data), outline, found.duals)
    return Outcome(
        f"Q* and the polar set of its spikes in {DIRECTIONS} directions, and (15)", numbers, {"dual": figure}
    )


def _two_spikes(context: Context) -> Outcome:
    data = counterexample("corner")
    gap, outline = _gap_of_polar_sets(data)
    cosine = -0.3
    tilted = Dataset([[1.0, 0.0], [cosine, np.sqrt(1 - cosine**2)]], [1, -1])
    numbers = (
        shown("orthogonally separable", bool(orthogonal_separability(data))),
        printed("Q* is the polar set of the two spikes: largest relative gap", gap, 0.0, 1e-9),
        exact("support value of the corner (1, 1) of the box is √2", _corner_value(data), np.sqrt(2)),
        exact("the same for cos(x₁, x₂) = -0.3 is √(2 + 2 cos)", _corner_value(tilted), np.sqrt(2 - 0.6)),
        exact("gap for cos(x₁, x₂) below -1/2 (App. F.1)", _gap_of_polar_sets(obtuse())[0], 0.0),
    )
    duals = dual(data).duals
    return Outcome(
        "two unit samples that are orthogonal, and two at cos = -0.3",
        numbers,
        {"dual": polar_figure(rectified_ellipsoid(data), outline, duals)},
    )


def _corner_value(data: Dataset) -> float:
    """Return max |λᵀ(Xu)₊| for λ = (1, 1), the corner of the box of two unit spikes that the labels do not point to."""
    way = np.ones((1, 2))
    return float(1 / np.linalg.norm(polar_set(data.X, way)[0]) * np.sqrt(2))


def _outlines(data: Dataset, *, other: Dataset | None = None) -> Outcome:
    """Draw the two sets, with the spike test behind it; both captions say that the data are not spike-free.

    The control is the verdict for other data.
    """
    sets: RectifiedEllipsoid = rectified_ellipsoid(data)
    verdict = is_spike_free(data)
    independent = bool((data.X[0] @ data.X[1]) >= 0)  # for two independent points in the plane
    ratio = _largest_pull_back(data)
    numbers = (
        in_print(
            "spike-free, which the caption denies" + ("; control: the data of F.2" if other else ""),
            bool(verdict),
            False,
            control=bool(is_spike_free(other)) if other else None,
        ),
        exact("spike-free iff x₁·x₂ >= 0", bool(verdict), independent),
        exact("largest |X⁺(Xu)₊| over unit u", ratio, verdict.witness.spike, 1e-4),
        exact("(Xu)₊ = XX⁺(Xu)₊ for all u: rank", float(np.linalg.matrix_rank(data.X)), 2),
    )
    return Outcome("both outlines on 360 directions, the spike test on 3,600", numbers, {"sets": set_figure(sets)})


def _largest_pull_back(data: Dataset) -> float:
    rows = np.maximum(unit_vectors(2, 3600) @ data.X.T, 0.0)
    return float(np.linalg.norm(rows @ np.linalg.pinv(data.X).T, axis=1).max())


def _figure_6(context: Context) -> Outcome:
    return _outlines(obtuse(), other=spike_free())


def _figure_8(context: Context) -> Outcome:
    return _outlines(spike_free())


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "WP-F1",
        "WP",
        "Figure 1",
        "The rectified ellipsoid and its extreme points",
        "On the data of App. F.1 the optimal neurons of (14), scaled to length one, are the vectors that maximise or "
        "minimise λᵀD_jXu in their cells: tips of the spikes of Q.",
        ("000 Fig 1", "S000-F1", "B-000-20"),
        _figure_1,
    ),
    Claim(
        "WP-F2",
        "WP",
        "Figure 2",
        "The polar set and the dual optimum",
        "On the data of App. F.1 the polar set Q* is that of the two spikes alone, and the dual optimum is its corner.",
        ("000 Fig 2", "B-000-22", "S000-F1"),
        _figure_2,
    ),
    Claim(
        "WP-D17",
        "WP",
        "App. F.1",
        "Orthogonal separability does not reduce Q* to two spikes",
        "As the dataset is orthogonally separable, Q* reduces to the polar set of the two vectors at the spikes.",
        ("D-17", "B-000-22", "S000-D"),
        _two_spikes,
        "differs",
        "'as the dataset is orthogonal separable, the set [...] reduces to' that of the two spikes (App. F.1). On "
        "F.1 it does, because cos(x₁, x₂) = -0.575 is below -1/2. For orthogonal unit samples the corner (1, 1) of "
        "the box of the spikes has the support value √2, so it is not in Q*. Corrected: for two samples Q* is the "
        "polar set of the two spikes if cos(x₁, x₂) <= -1/2, and, if they are orthogonally separable, under Yλ >= 0.",
    ),
    Claim(
        "WP-F6",
        "WP",
        "Figure 6",
        "Ellipsoid and rectified ellipsoid, orthogonally separable data",
        "The data of App. F.1 are orthogonally separable and not spike-free: two spikes stand out of the ellipse.",
        ("000 Fig 6", "B-000-10"),
        _figure_6,
    ),
    Claim(
        "WP-F8",
        "WP",
        "Figure 8",
        "Ellipsoid and rectified ellipsoid, spike-free data",
        "The caption and the text say that the data of App. F.2 are not spike-free; the title of the section, that "
        "they are.",
        ("000 Fig 8", "D-5", "S000-F2", "B-000-10"),
        _figure_8,
        "misprint",
        "'non-spike-free' (captions of Figures 8, 9 and 10, and the text of App. F.2) against 'spike-free' in the "
        "title of App. F.2. X⁺(Xu)₊ is never longer than u (largest length 1.000), and X is invertible: the data are "
        "spike-free. Two independent points in the plane are so iff x₁·x₂ >= 0.",
    ),
    Claim(
        "WP-F9",
        "WP",
        "Figure 9",
        "Extreme points of the second rectified ellipsoid",
        "On the data of App. F.2 one neuron is optimal, an extreme point of Q along λ that is no spike.",
        ("000 Fig 9", "S000-F2"),
        _figure_9,
    ),
)
