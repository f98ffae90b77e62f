"""Samples that drive nobody let neurons go once the mass of the others has fallen below their weight."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import brentq

import reluflow as rf

DATA = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1.0, -1.0])
INVERSE_WEIGHTS: dict[str, Callable[[float], float]] = {"exponential": np.exp, "logistic": lambda q: 1 + np.exp(q)}


def margin_at(time: float, output: float, inverse_weight: Callable[[float], float]) -> float:
    """Follow q = |a| w with a² - w² = output², which alone sees its sample: q' = |ℓ'(q)| (a² + w²)."""

    def time_of(q: float) -> float:
        return quad(lambda s: inverse_weight(s) / np.sqrt(output**4 + 4 * s * s), 0.0, q)[0]

    return float(brentq(lambda q: time_of(q) - time, 0.0, 20.0, xtol=1e-14))


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("size", [3.0, 10.0, 40.0, 1e3, 1e6])
def test_neuron_at_zero_leaves_once_its_sample_weighs_something(loss: str, size: float) -> None:
    """The margin of the first sample is -size², so that the other one weighs e^-size² of it at the start.

    Both margins of the neuron at zero are decided then, as if that were nothing. While the first sample comes right,
    in a time of e^-size², the other one comes to have all weight, though no neuron sees it.
    """
    net = rf.Network([[size, -1.0], [size / 2, -1.0], [0.0, 0.0]], [-1.5 * size, size, -3.0])
    sol = rf.integrate(DATA, net, loss=loss, until=2.0)
    want = margin_at(2.0, 3.0, INVERSE_WEIGHTS[loss])
    assert sol.final.a[2] * sol.final.W[2, 1] == pytest.approx(-want, rel=1e-8)
    np.testing.assert_array_equal(sol.final.pattern[2], [0, 1])
    np.testing.assert_array_equal(sol.events.replay(sol.pattern0), sol.final.pattern)
    middle = rf.integrate(DATA, net, loss=loss, until=1.0)
    np.testing.assert_allclose(sol(1.0).W, middle.final.W, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("loss", ["exponential", "logistic"])
@pytest.mark.parametrize("size", [3.0, 28.0, 40.0])
def test_unit_of_a_layered_network_does_so_where_its_sample_weighed_less_than_a_double_holds(
    loss: str, size: float
) -> None:
    net = rf.Network([[size, -1.0], [size / 2, -1.0], [0.0, 0.0]], [-1.5 * size, size, -3.0])
    own = rf.integrate(DATA, net, loss=loss, until=2.0)
    layered = rf.integrate(DATA, net, loss=loss, until=2.0, rates=(1.0, 1.0))
    np.testing.assert_allclose(layered.final.a, own.final.a, rtol=1e-8)
    assert layered.final.a[2] < -3.1


def test_sample_that_counts_nothing_holds_and_moves_no_unit_of_a_layered_network() -> None:
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], [1.0, -1.0, 1.0])
    net = rf.Network([[0.3, -0.2], [0.0, 0.0]], [0.5, -3.0])
    rest = {"until": 2.0, "loss": "exponential", "rates": (1.0, 1.0)}
    with_it = rf.integrate((data.X, data.y, [1.0, 1.0, 0.0]), net, **rest)
    without = rf.integrate((data.X[:2], data.y[:2]), net, **rest)
    np.testing.assert_allclose(with_it.final.a, without.final.a, rtol=1e-9)
    np.testing.assert_allclose(with_it.final.W, without.final.W, rtol=1e-9)
