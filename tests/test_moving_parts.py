"""A neuron that moves in some coordinates alone keeps the balance of these."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

#: Neuron 0 is active on the second sample alone, which moves its first coordinate, and its a = -w₀ falls like e^{-t}.
DATA = rf.Dataset([[1.0, 1.0], [1.0, 0.0]], [-1.0, 1.0])
SIZE = 2e-3


def beside(rest: float, output: float = -SIZE) -> rf.Network:
    return rf.Network([[SIZE, -rest]], [output])


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-12])
@pytest.mark.parametrize("rest", [4e-3, 1.0])
@pytest.mark.parametrize("decay", [0.0, 0.05])
def test_a_balanced_part_beside_one_at_rest_does_not_turn_over(rtol: float, rest: float, decay: float) -> None:
    """At 1e-8 of w a came to zero with an error of its own size, and grew to 3 with the other sign."""
    options = {"loss": "exponential", "weight_decay": decay, "rtol": rtol}
    times = [5.0, 10.0, 15.0, 20.0, 60.0]
    sol = rf.integrate(DATA, beside(rest), until=times[-1], save_at=times, **options)
    assert sol.status in ("reached_time", "stationary")
    for t, W, a in zip(sol.t, sol.W, sol.a, strict=True):
        assert W[0, 0] == pytest.approx(SIZE * np.exp(-(1.0 + decay) * t), abs=rtol * rest + 1e-8), t
        assert a[0] == -W[0, 0] <= 0.0, t
        assert W[0, 1] == pytest.approx(-rest * np.exp(-decay * t), rel=1e-12), t


def test_a_run_in_parts_keeps_the_balance_of_what_moves() -> None:
    whole = rf.integrate(DATA, beside(1.0), until=9.0, loss="exponential")
    state: rf.Network | rf.Solution = beside(1.0)
    for time in (3.0, 6.0, 9.0):
        state = rf.integrate(DATA, state, until=time, loss="exponential")
    np.testing.assert_allclose(state.final.a, whole.final.a, rtol=1e-4)
    assert state.final.a[0] == -state.final.W[0, 0] < 0.0


@pytest.mark.parametrize("part", [0.5, -0.5])
def test_a_part_out_of_balance_grows_with_the_sign_that_is_left(part: float) -> None:
    """Here one of w₀ and a comes to zero, at e^{-2t} = |part| / 4 or so: w₀ at its boundary, a with another sign."""
    sol = rf.integrate(DATA, beside(1.0, output=-SIZE * (1.0 + part)), until=4.0, loss="exponential")
    if part > 0.0:
        assert sol.events.kind.tolist() == ["die"]
        assert sol.final.W[0, 0] == 0.0
        assert sol.final.a[0] == pytest.approx(-SIZE * np.sqrt((1.0 + part) ** 2 - 1.0), rel=1e-5)
    else:
        assert not len(sol.events)
        assert sol.final.a[0] == pytest.approx(SIZE * (np.exp(4.0) * 0.25 - np.exp(-4.0) * 0.75), rel=0.01)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_a_neuron_balanced_in_the_span_of_the_samples_keeps_its_sign(rtol: float) -> None:
    """w₀ rests outside the span, and w₁ = -a to the last bit, which a² - |w|² + w₀² is not: a grew to -2."""
    data = rf.Dataset([[0.0, -1.0], [0.0, -2.0]], [-1.0, -1.0])
    net = rf.Network([[0.5, -1.0]], [1.0])
    sol = rf.integrate(data, net, until=20.0, loss="exponential", rtol=rtol)
    assert sol.status in ("reached_time", "stationary")
    assert not len(sol.events)
    assert 0.0 < sol.final.a[0] == -sol.final.W[0, 1] < max(rtol, 1e-12)
    assert sol.final.W[0, 0] == 0.5


#: Samples, labels, start, and options of runs in which a neuron decays for ever beside coordinates that rest.
DECAYING = {
    "one sample": ([[0, 0, 1, 0]], [1], [[-1, 0, 1, 1]], [-1], {"loss": "exponential", "weight_decay": 0.1}),
    "it three times": ([[1, 0]] * 3, [1, 1, 1], [[0.5, 0.5]], [-0.5], {"loss": "logistic", "weight_decay": 0.1}),
    "two of four": ([[4, 0], [2, -3], [0, 2], [0, -3]], [-1, -1, 1, 1], [[-1, 1]], [-1], {"loss": "logistic"}),
}


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-8, 1e-9, 1e-12])
@pytest.mark.parametrize("name", DECAYING)
def test_truncation_takes_no_decaying_part_across_its_boundary(name: str, rtol: float) -> None:
    """Its series is measured by the whole neuron: one of order five is below zero at 2.2 time constants."""
    X, y, W, a, options = DECAYING[name]
    sol = rf.integrate(rf.Dataset(X, y), rf.Network(W, a), until=20.0, rtol=rtol, **options)
    assert sol.status in ("reached_time", "stationary")
    assert not len(sol.events)
    assert -1e-2 * rtol**0.5 < sol.final.a[0] < 0.0


#: Data, start and options of runs in which the part of a neuron in the span of what acts on it is balanced, to the last
#: bit, and falls for ever; and the neuron.
IN_SPAN = {
    "along a diagonal": (
        ([[-1, -1, -1, -1], [1, 1, 1, 0]], [-1, -1]),
        ([[-0.5, 0.5, 1, 1], [-1, 0, -1, 0], [-1, 0.5, 0.5, 0]], [1, 1, 0.5]),
        {"loss": "exponential", "weight_decay": 0.1},
        1,
    ),
    "beside boundaries that it slides on": (
        ([[3, -2, -3], [0, -3, 3], [2, 0, 0], [0, -3, 3]], [-1, 1, -1, -1]),
        ([[0.5, 0.5, 0.5], [-1, 1, -0.5]], [0.5, -0.5]),
        {"loss": "logistic", "weight_decay": 0.1},
        0,
    ),
    "in four dimensions": (
        ([[1, -1, 1, -1], [-1, -1, 1, 1], [0, -1, -1, 0], [1, -1, -1, 1]], [-2, -1, 2, 1]),
        ([[0.5, 1, 0.5, -0.5]], [0.25]),
        {"loss": "squared"},
        0,
    ),
}


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-9, 1e-11, 1e-13])
@pytest.mark.parametrize("name", IN_SPAN)
def test_a_part_that_is_balanced_in_the_span_of_what_acts_keeps_its_sign(name: str, rtol: float) -> None:
    """What rests is no coordinate, so that a was kept on the difference of all: it passed zero, and grew to order one.

    What falls below the rounding of w may come to rest on its boundary (`die`), but does not leave it.
    """
    (X, y), (W, a), options, neuron = IN_SPAN[name]
    sol = rf.integrate(rf.Dataset(X, y), rf.Network(W, a), until=20.0, rtol=rtol, **options)
    assert sol.status in ("reached_time", "stationary")
    assert not sol.branchings
    own = sol.events.kind[(sol.events.neuron == neuron) & (sol.events.t > 0.0)]
    assert not {*own} & {"cross_up", "cross_down", "leave_down"}
    assert 0.0 <= sol.final.a[neuron] * np.sign(a[neuron]) < max(10.0 * rtol, 1e-9)


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-12])
def test_a_part_that_is_balanced_in_the_span_of_all_samples_with_a_leak_keeps_its_sign(rtol: float) -> None:
    """Weight decay moves all of w, and the two samples span a plane of the four dimensions."""
    data = rf.Dataset([[1, 1, 1, 1], [1, -1, 1, -1]], [1, 1])
    net = rf.Network([[1.5, 0.5, -0.5, 0.5]], [-np.sqrt(1.25)], leak=0.5)
    sol = rf.integrate(data, net, until=20.0, loss="logistic", weight_decay=0.1, rtol=rtol)
    assert sol.status in ("reached_time", "stationary")
    assert sol.final.a[0] <= 0.0
