"""Neurons that begin with an output weight of zero on boundaries: the sign that it comes to have says who holds them.

Read as a negative one, a neuron left boundaries that hold it and came back, once or without end at one instant.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import quad

import reluflow as rf


def told(sol: rf.Solution) -> list[tuple[int, int, str]]:
    return [(e.neuron, e.sample, e.kind) for e in sol.events]


@pytest.mark.parametrize("sign", [1, -1])
def test_a_neuron_held_while_its_output_leaves_zero(sign: int) -> None:
    """On w = (w₁, 0) the other samples pull by 1/2 - a w₁ towards the side on which the second one pulls back by 1.

    With u = a w₁ and w₁² - a² = 1: du/dt = (5/2 - 2u) √(1 + 4u²), until the pull turns over at u = 1/2.
    """
    data = rf.Dataset(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), sign * np.array([2.0, -1.0, 0.5]))
    net = rf.Network(np.array([[1.0, 0.0]]), np.zeros(1))
    sol = rf.integrate(data, net, until=1.0, loss="squared", reduction="sum", rtol=1e-11)
    assert sol.status == "reached_time"
    assert told(sol) == [(0, 1, "start_slide"), (0, 1, "leave_down")]
    leaves, _ = quad(lambda u: 1.0 / ((2.5 - 2.0 * u) * np.sqrt(1.0 + 4.0 * u * u)), 0.0, 0.5)
    assert sol.events[1].t == pytest.approx(leaves, rel=1e-10)


def test_a_neuron_that_leaves_at_once() -> None:
    """The pulls of the second and the last sample cancel at t = 0 and not behind it."""
    X = np.array([[0.0, -1.0], [-1.0, 1.0], [-1.0, 0.0], [-2.0, -2.0], [-1.0, 2.0]])
    data = rf.Dataset(X, np.array([1.0, -1.0, -1.0, -1.0, 1.0]))

    def run(a: float) -> rf.Solution:
        return rf.integrate(data, rf.Network(np.array([[0.0, 0.5]]), np.array([a])), until=2.0)

    sol = run(0.0)
    assert told(sol) == [(0, 2, "start_slide"), (0, 2, "leave_down")]
    assert sol.events[1].t == 0.0
    np.testing.assert_allclose(sol.final.W, run(1e-9).final.W, atol=1e-8)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_dependent_boundaries_hold_as_beside_zero(rtol: float) -> None:
    """Three boundaries through one line in space: of the multipliers two can take up what pulls."""
    X = [[-2, -1, -1], [-1, 2, 0], [2, 2, 0], [1, -2, 1], [-1, 1, -2], [-2, -2, 0], [0, -2, -2]]
    X += [[2, 2, 1], [2, 2, -1], [-2, 2, 0], [-1, 1, 2]]
    y = np.r_[1.0, -np.ones(10)]

    def run(a: float) -> rf.Solution:
        net = rf.Network(np.array([[-0.25, -0.25, 0.0]]), np.array([a]), leak=0.5)
        return rf.integrate(rf.Dataset(np.array(X, float), y), net, until=0.1, loss="exponential", rtol=rtol)

    sol = run(0.0)
    assert sol.status == "reached_time"
    assert told(sol) == [(0, sample, "start_slide") for sample in (4, 9, 10)]
    np.testing.assert_allclose(sol.final.W, run(1e-9).final.W, atol=max(1e-8, rtol))
    np.testing.assert_allclose(sol.final.a, run(1e-9).final.a, atol=max(1e-8, rtol))


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-11])
@pytest.mark.parametrize("loss", ["exponential", "logistic"])
def test_a_neuron_that_has_decayed_onto_dependent_boundaries_rests_there(loss, rtol):
    """Neuron 0 is (0, -ε, -½) with a = ε, which falls for ever; below rounding it is on boundaries 0 to 2, of rank 2.

    With a = 0 it has no sign. Its boundaries were said to repel, and it left them and came back without taking time.
    """
    data = rf.Dataset([[0, -1, 0], [1, 0, 0], [1, 1, 0], [0, 0, 1]], [-1, -1, -1, 1])
    net = rf.Network([[0.0, -0.5, -0.5], [0.0, 0.0, 1.0]], [0.5, 1.0])
    sol = rf.integrate(data, net, until=150.0, loss=loss, rtol=rtol)
    assert sol.status == "reached_time"
    assert not len(sol.branchings)
    np.testing.assert_allclose(sol.final.W[0], [0.0, 0.0, -0.5], atol=1e-13)
    np.testing.assert_allclose(sol(100.0).W[0], [0.0, 0.0, -0.5], atol=1e-13)
    # The other neuron does not see it: w grows with a, from the same length, on its one sample.
    alone = rf.integrate(rf.Dataset([[1.0]], [1]), rf.Network([[1.0]], [1.0]), until=150.0, loss=loss, rtol=1e-12)
    np.testing.assert_allclose(sol.final.a[1], alone.final.a[0], rtol=10 * rtol)
    more = rf.integrate(data, sol, until=200.0, loss=loss, rtol=rtol)
    assert more.status == "reached_time"
    assert not [e for e in more.events if e.neuron == 0 and e.t > 0]


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_a_neuron_beside_all_samples_to_its_rounding_has_one_side_in_all_coordinates(rtol: float) -> None:
    """Of both neurons z is some 1e-20; leaving out what is orthogonal to the sample changes it by as much."""
    X = [[-1.2081228752115754, -0.47994193028032345, 1.5830023541306462]]
    W = [[-0.00343850790349816, 0.008655505578321907, 0.0], [-0.003514220673957136, 0.008846091822544632, 0.0]]
    net = rf.Network(W, [-0.009313490936205444, 0.0], leak=0.1)
    sol = rf.integrate((X, [-1.0]), net, until=5.0, rtol=rtol)
    assert sol.status == "reached_time", sol.message
    assert (sol.events.replay(sol.pattern0) == sol.final.pattern).all()
    # Either side is as near: from clearly beside the boundary the run goes to one of these ends.
    x = np.array(X[0]) / np.linalg.norm(X[0])
    aside = [
        rf.Network(np.array(W) + s * 1e-13 * np.outer([1, r], x), net.a, leak=0.1) for s in (1, -1) for r in (1, -1)
    ]
    ends = [rf.integrate((X, [-1.0]), start, until=5.0).final.theta for start in aside]
    assert min(np.abs(end - sol.final.theta).max() for end in ends) < 1e-5
