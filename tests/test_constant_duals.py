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


@pytest.mark.parametrize("seed", range(5))
def test_neurons_that_are_decided_together_go_where_each_goes_by_itself(seed):
    # Copies of a few neurons, one of two signs, so that many are alike at the boundaries that they meet and leave.
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((12, 4))
    W = np.repeat(rng.standard_normal((6, 4)), 3, axis=0) * rng.uniform(0.5, 2.0, (18, 1))
    sign = np.where(rng.random(18) < 0.5, 1.0, -1.0)
    duals = [rng.standard_normal(12) for _ in range(6)]

    def carried(rows):
        flow = start(X, duals[0], 0.0, W[rows], sign[rows])
        for k, lam in enumerate(duals):
            flow.carry(lam, 0.7 * (k + 1))
        events = {(int(rows[j]), int(i), int(kind)) for _, *part in flow.log for j, i, kind in zip(*part, strict=True)}
        return flow, events

    together, events = carried(np.arange(18))
    assert (together.pattern == 0).any()  # some slide at the end
    assert len(events) > 36
    for j in range(18):
        alone, own = carried(np.array([j]))
        assert alone.w[0] == pytest.approx(together.w[j], abs=1e-12)
        assert alone.pattern[0].tolist() == together.pattern[j].tolist()
        assert (alone.log_norm[0], alone.status[0]) == pytest.approx((together.log_norm[j], together.status[j]))
        assert own == {event for event in events if event[0] == j}
