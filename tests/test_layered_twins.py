"""Equal units are one unit to the flow: they stay equal to the last bit, wherever they stand among others."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def split(net: rf.Network, parts: int, unit: int = 0) -> rf.Network:
    """Replace a unit by equal ones that make the same network; `parts` is a square."""
    size = parts**-0.5
    W = np.vstack([net.W, np.repeat(net.W[unit : unit + 1], parts - 1, axis=0)])
    a = np.concatenate([net.a, np.repeat(net.a[unit : unit + 1], parts - 1, axis=0)])
    twins = [unit, *range(len(net.W), len(W))]
    W[twins] *= size
    a[twins] *= size
    return rf.Network(W, a, leak=net.leak)


def several_outputs() -> tuple[tuple[np.ndarray, np.ndarray], rf.Network]:
    """Five samples in five dimensions, three outputs, and one neuron, whose parts do not agree for long."""
    rng = np.random.default_rng(133)
    X = np.hstack([rng.standard_normal((5, 4)), np.ones((5, 1))])
    data = (X, rng.integers(-2, 3, (5, 3)).astype(float))
    return data, rf.Network([[-1.5, -1.0, 0.0, 1.5, 0.0]], [[1.5, -1.0, -1.5]])


@pytest.mark.parametrize("parts", [4, 9, 16])
@pytest.mark.parametrize("leak", [0.0, 0.5])
@pytest.mark.parametrize("beside", [[], [0.5]])
def test_parts_of_a_neuron_stay_equal(parts: int, leak: float, beside: list[float]) -> None:
    """Rounding differed with the lane of a sum in which they stood. It grew to a tenth of the weights by t = 10."""
    data, one = several_outputs()
    W, a = one.W, one.a
    for size in beside:
        W = np.vstack([W, [2.0 * size, size, -2.0 * size, 0.0, 0.5 * size]])
        a = np.vstack([a, [size, 2.0 * size, -2.0 * size]])
    one = rf.Network(W, a, leak=leak)
    many = split(one, parts)
    whole = rf.integrate(data, one, until=30.0, loss="squared")
    sol = rf.integrate(data, many, until=30.0, loss="squared", save_at=[5.0, 12.3, 30.0])
    twins = [0, *range(len(W), len(many.W))]
    for state in (*(rf.Network(sol.W[k], sol.a[k]) for k in range(3)), sol(8.1), sol.final):
        assert (state.W[twins] == state.W[0]).all()
        assert (state.a[twins] == state.a[0]).all()
    np.testing.assert_allclose(parts**0.5 * sol.final.W[0], whole.final.W[0], rtol=0.0, atol=1e-6)
    np.testing.assert_allclose(parts**0.5 * sol.final.a[0], whole.final.a[0], rtol=0.0, atol=1e-6)


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
@pytest.mark.parametrize("decay", [0.0, 0.01])
def test_equal_units_of_two_layers_stay_equal(loss: str, decay: float) -> None:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((8, 3))
    y = rng.standard_normal((8, 3)) if loss == "squared" else rng.integers(0, 3, 8)
    first, second = rng.standard_normal((4, 3)), rng.standard_normal((3, 4))
    first, second = first[[0, 1, 1, 2, 3, 1]], second[:, [0, 1, 1, 2, 3, 1]]
    second, third = second[[0, 1, 1, 2, 1]], rng.standard_normal((3, 3))[:, [0, 1, 1, 2, 1]]
    theta = np.concatenate([part.ravel() for part in (first, second, third)])
    net = rf.DeepNetwork([rf.Dense(6), rf.Dense(5), rf.Dense(3)], theta, dim=3)
    sol = rf.integrate((X, y), net, until=40.0, loss=loss, weight_decay=decay)
    assert sol.status == "reached_time", sol.message
    one, two, three = (layer.W for layer in sol.final.layers)
    assert (one[[2, 5]] == one[1]).all()
    assert (two[:, [2, 5]] == two[:, [1]]).all()
    assert (two[[2, 4]] == two[1]).all()
    assert (three[:, [2, 4]] == three[:, [1]]).all()


@pytest.mark.parametrize("apart", [1e-6, 1e-15])
def test_units_that_are_nearly_equal_are_two(apart: float) -> None:
    data, one = several_outputs()
    net = split(rf.Network(one.W, one.a, leak=0.5), 4)
    net = rf.Network(net.W * (1.0 + apart * np.arange(4)[:, None]), net.a, leak=0.5)
    sol = rf.integrate(data, net, until=2.0, loss="squared")
    assert len({row.tobytes() for row in sol.final.W}) == 4


def at_its_turn() -> tuple[np.ndarray, np.ndarray, rf.Network]:
    """One neuron that slides on sample 0 until its output weight passes zero, and leaves it there."""
    return np.array([[1.0, 0.0], [1.0, -1.0], [0.0, 1.0]]), np.array([1.0, -1.0, 1.0]), rf.Network([[0.0, 1.0]], [-0.5])


@pytest.mark.parametrize(
    "factors", [[1.0] * 8, [1.0] * 30, [2.0**k for k in range(-4, 5)], list(np.linspace(0.3, 1, 12))]
)
@pytest.mark.parametrize("leak", [0.0, 0.25])
def test_many_neurons_turn_at_once_as_one_does(factors: list[float], leak: float) -> None:
    """Multiples of a neuron are one of the size that their squares add up to. All 3^k sides of more than seven of them
    were too many to try, and the run was undecided."""
    X, y, one = at_its_turn()
    sizes = np.array(factors)
    whole = np.linalg.norm(sizes)
    many = rf.Network(sizes[:, None] * one.W, sizes * one.a[0], leak=leak)
    sol = rf.integrate((X, y), many, until=10.0, loss="squared", rates=(1.0, 1.0))
    alone = rf.Network(whole * one.W, whole * one.a, leak=leak)
    reference = rf.integrate((X, y), alone, until=10.0, loss="squared")
    assert sol.status == "reached_time", sol.message
    kinds = [kind for kind in reference.events.kind if kind != "branch"]
    for k in range(len(sizes)) if leak == 0.0 else ():
        assert [kind for kind in sol.events.kind[sol.events.neuron == k] if kind != "branch"] == kinds
    np.testing.assert_allclose(
        sol.final.W / sizes[:, None], np.repeat(reference.final.W, len(sizes), 0) / whole, atol=1e-7
    )
    np.testing.assert_allclose(sol.final.a / sizes, np.repeat(reference.final.a, len(sizes)) / whole, atol=1e-7)


def test_two_groups_of_equal_neurons_turn_at_once() -> None:
    X, y, one = at_its_turn()
    both = np.block([[X, np.zeros_like(X)], [np.zeros_like(X), X]])
    beside = [-1.0, -0.5]  # inactive on the samples of the others
    W = np.repeat([[*one.W[0], *beside], [*beside, *one.W[0]]], 6, axis=0)
    net = rf.Network(W, np.full(12, one.a[0]))
    sol = rf.integrate((both, np.tile(y, 2)), net, until=10.0, loss="squared", rates=(1.0, 1.0))
    assert sol.status == "reached_time", sol.message
    few = rf.Network(np.repeat(one.W, 6, axis=0), np.full(6, one.a[0]))
    reference = rf.integrate((X, y), few, until=10.0, loss="squared")
    np.testing.assert_allclose(sol.final.W[:6, :2], reference.final.W, atol=1e-7)
    np.testing.assert_allclose(sol.final.W[6:, 2:], reference.final.W, atol=1e-7)
    np.testing.assert_allclose(sol.final.a, np.tile(reference.final.a, 2), atol=1e-7)
