"""Neurons under a λ that varies piece by piece: what happens on the boundaries that they slide on."""

from __future__ import annotations

import numpy as np
import pytest

from reluflow.kinks._constant_duals import start


@pytest.mark.parametrize(("pull", "side"), [(0.3, 1), (0.7, -1)])
def test_a_neuron_leaves_a_boundary_that_comes_to_repel_to_the_side_of_its_middle(pull, side):
    # It slides on the first boundary; then both the other sample and that of the boundary change their signs. Either
    # side pulls the neuron away (it was undecided), and it has left while the interval closed, before both did.
    X = np.array([[1.0, 0.0], [pull, 1.0]])
    flow = start(X, np.array([-1.0, 1.0]), 0.0, np.array([[0.0, 1.0]]), np.array([1.0]), np.array([[0, 1]], np.int8))
    flow.carry(np.array([-1.0, 1.0]), 0.1)
    assert flow.pattern.tolist() == [[0, 1]]
    flow.carry(np.array([1.0, -1.0]), 0.2)
    assert flow.reasons == {}
    assert flow.pattern.tolist() == [[side, 1]]


def test_a_neuron_that_is_put_on_a_repelling_boundary_stays_undecided():
    X = np.array([[1.0, 0.0], [0.3, 1.0]])
    flow = start(X, np.array([1.0, -1.0]), 0.0, np.array([[0.0, 1.0]]), np.array([1.0]), np.array([[0, 1]], np.int8))
    flow.run()
    assert "3 continuations" in flow.reasons[0]
