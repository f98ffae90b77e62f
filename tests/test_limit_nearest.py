"""Limits of data on the axes, some of which have samples of both labels: their networks are a continuum.

The max-margin function is in closed form: each axis with one label has the least margin at its smallest sample, and the
others have none. Which of the networks that compute it is the limit is told by the flow alone.
"""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

# Axis, size and label of each sample; weights and output weights of the start.
Problem = tuple[list[int], list[int], list[int], list[list[float]], list[float]]
CONTINUA: list[Problem] = [
    (
        [0, 1, 2, 0, 2, 0, 0],
        [1, 2, 3, 1, 3, 1, 1],
        [-1, -1, 1, -1, 1, 1, -1],
        [[0.5, -0.7, -0.5], [0.1, 0.8, -0.5], [-0.6, 0.7, -0.3], [0.6, 0.6, 0.9]],
        [0.1, -0.2, 0.5, 0.1],
    ),
    (
        [0, 1, 2, 3, 2, 2, 3, 2],
        [1, 2, 1, 1, 2, 3, 2, 1],
        [1, 1, 1, -1, -1, 1, 1, 1],
        [
            [0.9, 1.0, -0.3, -0.8],
            [0.5, 0.4, -0.5, 0.1],
            [-0.1, -0.8, 0.8, -0.7],
            [-0.8, -0.2, -0.8, -0.6],
            [-0.8, -0.1, -0.7, -1.0],
        ],
        [0.2, -0.1, -0.2, 0.3, 1.0],
    ),
    (
        [0, 1, 2, 0, 1, 2, 2],
        [1, 1, 2, 2, 1, 2, 2],
        [-1, -1, 1, 1, -1, -1, 1],
        [[0.4, 0.6, 0.1], [0.2, 0.9, 0.8], [-0.5, 0.9, -1.0], [0.1, 0.2, 0.8], [-0.6, 0.6, 0.9], [0.3, 0.8, -0.1]],
        [0.2, -0.5, 0.4, 0.5, 0.1, -0.7],
    ),
]
# Neurons outside the limit that no sample pulls across a boundary with which their pull is aligned.
UNDRIVEN: list[Problem] = [
    (
        [0, 1, 2, 3, 1],
        [2, 1, 1, 1, 2],
        [1, -1, -1, 1, 1],
        [
            [0.1, -0.6, 0.2, 0.9],
            [0.6, -0.5, 0.1, 0.9],
            [0.9, 0.3, 0.8, 0.8],
            [0.2, 0.1, -0.8, -0.1],
            [-0.5, -0.4, -0.5, -0.5],
            [-0.2, 0.2, 0.3, 0.1],
        ],
        [-0.9, 0.5, 0.2, -0.4, -0.1, 0.9],
    ),
    (
        [0, 1, 2, 3, 1, 2, 1],
        [1, 1, 2, 2, 1, 2, 1],
        [1, 1, 1, 1, 1, -1, -1],
        [
            [0.6, 0.1, -0.6, -0.9],
            [-0.1, -0.1, 0.1, -0.8],
            [1.0, 0.1, -0.6, 0.1],
            [0.1, 0.6, -0.3, -1.0],
            [-0.9, -0.7, -0.2, 0.7],
        ],
        [0.2, 0.1, -0.6, -0.2, -1.0],
    ),
]


def data_of(problem: Problem) -> rf.Dataset:
    axes, sizes, labels = problem[:3]
    return rf.Dataset(np.eye(max(axes) + 1)[axes] * np.array(sizes)[:, None], labels)


def largest_margins(problem: Problem) -> np.ndarray:
    """Return the values of the max-margin function at the unit vectors, up to a factor, where each axis is driven."""
    axes, sizes, labels = (np.array(part) for part in problem[:3])
    values = np.zeros(axes.max() + 1)
    for axis in range(len(values)):
        seen = set(labels[axes == axis])
        if len(seen) == 1:
            values[axis] = seen.pop() / sizes[axes == axis].min()
    return values


def assert_limit(problem: Problem) -> rf.Solution:
    data = data_of(problem)
    sol = rf.integrate(data, rf.Network(problem[3], problem[4]), until=rf.Stop(limit=True))
    assert sol.status == "reached_limit"
    found, expected = sol.limit.network(np.eye(data.d)), largest_margins(problem)
    driven = np.abs(found) > 1e-6 * np.abs(found).max()
    np.testing.assert_allclose(found[driven] / found[driven][0], expected[driven] / expected[driven][0], rtol=1e-9)
    return sol


@pytest.mark.parametrize("problem", CONTINUA)
def test_of_the_networks_of_a_continuum_it_is_the_flow_s(problem: Problem) -> None:
    limit = assert_limit(problem).limit
    assert limit.freedom > 0
    later = rf.integrate(data_of(problem), rf.Network(problem[3], problem[4]), until=rf.Stop(log_time=1e10)).final
    assert np.linalg.norm(later.theta / later.norm - limit.network.theta) < 0.06


@pytest.mark.parametrize("problem", UNDRIVEN)
def test_a_neuron_stays_beside_a_boundary_across_which_no_sample_pulls_it(problem: Problem) -> None:
    assert_limit(problem)
