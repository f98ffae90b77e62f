"""A neuron that goes through w = 0 on a ray meets all boundaries there."""

from __future__ import annotations

import pytest

import compare
import reluflow as rf


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-9, 1e-11, 1e-13])
def test_a_neuron_on_a_plane_that_one_sample_pulls_through_zero_meets_all_boundaries_there(rtol):
    """It slides on x4 and x0 alone acts, along which it lies: w = s x0, and s falls through zero.

    What was left of w there was rounding, of which the boundaries were met one by one: at some tolerances the neuron
    slid on that of x0, and died at w = 0.
    """
    X = [[0, -2, 1], [2, 2, 2], [0, 0, -1], [0, 2, 0], [-2, 0, 0], [-1, 0, -2]]
    data, net = rf.Dataset(X, [1, -1, -1, -1, 1, 1]), rf.Network([[-0.5, -1.0, 0.5]], [-1.5])
    options = {"until": rf.Stop(time=20.0), "loss": "logistic", "weight_decay": 0.1}
    sol = rf.integrate(data, net, rtol=rtol, **options)
    assert sol.status == "reached_time"
    assert [(e.sample, e.kind) for e in sol.events] == [
        (4, "slide"),
        (0, "cross_down"),
        (1, "cross_up"),
        (3, "cross_up"),
        (4, "leave_down"),
    ]
    assert len({float(t) for t in sol.events.t[1:]}) == 1
    # With w = s x0 / |x0| it goes on as the layered core has it, too.
    layered = rf.integrate(
        (X, [1, -1, -1, -1, 1, 1]),
        rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], [-0.5, -1.0, 0.5, -1.5], dim=3),
        rtol=1e-12,
        **options,
    )
    W, a = [layered.final.theta[:3]], layered.final.theta[3:]
    compare.assert_same_state(sol.final.W, sol.final.a, W, a, max(10 * rtol, 1e-10), "at the end")


@pytest.mark.parametrize("rtol", [1e-7, 1e-8, 1e-9, 3e-10, 1e-10, 1e-11, 1e-12])
def test_what_is_left_at_zero_is_rounding_of_the_largest_w_there_was(rtol):
    """Neurons 2 and 3 lie on an axis of the cube and fall along it to w = 0, in steps of which the last are short.

    Beside their lengths what was left of w was no rounding: at rtol 1e-9 neuron 2, at 3e-10 and 1e-11 neuron 3 did not
    branch at the origin, and outputs ended 0.7 off.
    """
    X = [[-1, -1, 1], [1, 1, 1], [1, -1, 1], [1, -1, -1], [-1, 1, -1], [1, -1, 1]]
    data = rf.Dataset(X, [-1, 1, -1, 1, -1, 1])
    net = rf.Network(
        [[0.5, 0.5, 0.5], [0.5, -0.5, 0.0], [-0.5, 0.0, 0.0], [-0.5, 0.0, 0.0]],
        [0.3450428840850386, 0.7428464181834313, 1.955041353514644, 0.974648148319025],
    )
    sol = rf.integrate(data, net, until=60.0, loss="exponential", rtol=rtol)
    assert sol.status == "reached_time"
    assert [(b.neuron, sorted(map(int, b.samples))) for b in sol.branchings] == [(2, [*range(6)]), (3, [*range(6)])]
    best = rf.integrate(data, net, until=60.0, loss="exponential", rtol=1e-13)
    compare.assert_same_state(sol.final.W, sol.final.a, best.final.W, best.final.a, max(10 * rtol, 1e-9), "at the end")
