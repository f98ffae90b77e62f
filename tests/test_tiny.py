"""Starts whose squares leave the doubles: neurons keep a scale of their own, so that their events are right."""

from __future__ import annotations

import numpy as np
import pytest

import compare
import reluflow as rf


def start(kind: str, seed: int, scale: float, leak: float) -> tuple[rf.Dataset, rf.Network]:
    rng = np.random.default_rng([seed, 17])
    X = rng.standard_normal((7, 3)) if kind == "random" else rng.integers(-2, 3, (7, 3)).astype(float)
    X[~X.any(axis=1), 0] = 1.0
    W = rng.standard_normal((5, 3))
    a = np.linalg.norm(W, axis=1) * rng.choice([-1.0, 1.0], 5)
    return rf.Dataset(X, rng.choice([-1.0, 1.0], 7)), rf.Network(scale * W, scale * a, leak=leak)


@pytest.mark.parametrize("kind", ["random", "integers"])
@pytest.mark.parametrize("leak", [0.0, 0.1])
@pytest.mark.parametrize("loss", ["logistic", "exponential"])
@pytest.mark.parametrize("scale", [1e-50, 1e-100, 1e-130, 1e-150])
def test_a_tiny_start_grows_without_a_failure(scale: float, loss: str, leak: float, kind: str) -> None:
    for seed in range(8):
        data, net = start(kind, seed, scale, leak)
        until = rf.Stop(time=-3.0 * np.log(scale), seconds=60.0)
        sol = rf.integrate(data, net, until=until, loss=loss)
        assert sol.success or sol.status == "undecided_event", (seed, sol.message)
        assert np.max(np.diff(sol.log_loss), initial=0.0) <= 1e-12, seed


def test_the_early_phase_has_no_scale() -> None:
    """While all neurons are tiny the weights are constant: events at 1e-150 are those at 1e-60, and the shapes too."""
    for seed in range(8):
        runs = []
        for scale in (2.0**-200, 2.0**-498):
            data, net = start("random", seed, scale, 0.0)
            runs.append(rf.integrate(data, net, until=20.0))
        one, two = runs
        assert one.success
        assert two.success
        assert one.events.neuron.tolist() == two.events.neuron.tolist()
        assert one.events.sample.tolist() == two.events.sample.tolist()
        assert one.events.t == pytest.approx(two.events.t, rel=1e-9)
        sizes = np.abs(one.final.a)
        assert (np.abs(one.final.W - two.final.W * 2.0**298).max(axis=1) <= 1e-6 * sizes).all()


def test_a_neuron_that_decays_below_the_doubles_comes_back_with_its_events() -> None:
    """Two samples push a tiny neuron in by e^-1000; a large one unlearns the stronger of them, and it grows again."""
    data = rf.Dataset([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [-1, 1, 1])
    net = rf.Network([[1e-120, 0.0], [1.0, 0.0]], [-1e-120, 1.0])
    sol = rf.integrate(data, net, until=1e4)
    assert sol.success, sol.message
    assert np.max(np.diff(sol.log_loss), initial=0.0) <= 1e-14
    assert not np.isnan(sol.final.a).any()


def test_a_state_with_tiny_neurons_on_boundaries_is_continued():
    """Squares of 1e-180 leave the doubles: the check of a carried pattern takes sizes without them."""
    data = rf.Dataset([[1.0, 1.0], [1.0, -1.0]], [1, -1])
    net = rf.Network([[1e-180, 1e-180 * (1 + 2e-16)], [0.3, 0.1]], [1e-180 * np.sqrt(2), 0.4], pattern=[[1, 0], [1, 1]])
    assert rf.integrate(data, net, until=1.0).success


def test_rounding_takes_no_neuron_across_a_boundary_that_its_direction_tends_to() -> None:
    """On signs a tiny neuron can tend to a repelling boundary that it stays beside; a bend of 1e-17 took it across."""
    X = [[1, 1, 1, -1, 1], [-1, -1, 1, -1, 1], [1, 1, 1, 1, 1], [1, -1, 1, 1, 1], [-1, -1, -1, -1, 1], [2, 2, 2, 2, 2]]
    W = [[1, 1, -2, 0, -1], [1, -1, 2, 2, -1], [1, -1, 2, 1, 2], [2, 0, 1, -2, 1], [0, 1, -2, 0, 2], [1, 0, 0, 0, 1]]
    data = rf.Dataset(np.array(X, dtype=float), [1, -1, -1, 1, 1, -1])
    W = np.array(W) * 1e-100
    net = rf.Network(W, np.linalg.norm(W, axis=1) * [1, -1, 1, -1, 1, -1])
    runs = [rf.integrate(data, net, until=155.0, rtol=rtol) for rtol in (1e-9, 1e-12)]
    assert runs[0].events.sample.tolist() == runs[1].events.sample.tolist()
    assert runs[0].log_loss_end == pytest.approx(runs[1].log_loss_end, rel=1e-9)
    late = runs[0].t > 60.0
    kept, dense = runs[0].W[late], runs[0].states(runs[0].t[late])[0]
    assert np.max(np.abs(kept - dense).max(axis=2) / np.linalg.norm(kept, axis=2)) < 1e-6


# Three neurons of a hostile problem, to 330 digits: Taylor series in decimal arithmetic, every event a root of one.
COUNTS = [[2, 0, 0, 1], [1, 1, 1, 0], [1, 0, 1, 1], [0, 0, 1, 2], [1, 0, 2, 0], [0, 3, 0, 0]]
BESIDE_W = [
    [4.6993315105030125e-101, -1.4129130214322876e-100, 1.0218566922104564e-100, -7.2354782647604417e-101],
    [1.4603150343730384e-101, 2.7080862700482522e-102, 3.8565639085991400e-101, 3.6761221424847667e-101],
    [1.9125253733509948e-100, 4.4506843902978672e-101, 1.3985560665219504e-100, 4.7869901002304420e-102],
]
BESIDE_A = [4.7368272001177049e-100, 6.4633094731343653e-100, 4.2441307720669122e-100]
BESIDE_END = 231.2585092994046
BESIDE_FINAL_W = [
    [-0.3942068401697489, -1.1826205205092466, 1.5768273606789955, -1.1826205205092466],
    [-8.829296733862931e-07, 0.8123220426493494, -1.8052332833702434, 1.8052341662999167],
    [-7.189302572645643e-07, 0.6614376124247263, -1.4699209551518866, 1.469921674082144],
]
BESIDE_FINAL_A = [2.332159117487833, 2.679105205761628, 2.1814758897273485]


@pytest.mark.parametrize("rtol", [1e-9, 1e-10, 1e-12])
def test_a_neuron_crosses_one_of_the_boundaries_that_it_is_beside_and_not_all(rtol: float) -> None:
    """Neuron 0 tends to (1, -1, 0, 0), where the boundaries of samples 1 and 3 meet: 1e-16 of itself away from both.

    When the others have grown it comes to the first, slides along it, and moves away from the second.
    """
    data = rf.Dataset(np.array(COUNTS, dtype=float), [1, -1, -1, 1, 1, 1])
    rng = np.random.default_rng(1)
    for order in (np.arange(3), rng.permutation(3)):
        net = rf.Network(np.array(BESIDE_W)[order], np.array(BESIDE_A)[order])
        sol = rf.integrate(data, net, until=BESIDE_END, rtol=rtol, loss="exponential")
        assert sol.success, sol.message
        assert not len(sol.branchings)
        first = order.tolist().index(0)
        assert sol.events.sample[sol.events.neuron == first].tolist() == [1, 0, 2]
        W, a = np.array(BESIDE_FINAL_W)[order], np.array(BESIDE_FINAL_A)[order]
        compare.assert_same_state(sol.final.W, sol.final.a, W, a, 100 * rtol, "at the end")


@pytest.mark.parametrize("seed", [16, 18, 55, 83, 85, 101, 105])
def test_a_neuron_that_comes_back_from_e_to_the_minus_500_is_as_large_as_it_should_be(seed: int) -> None:
    """It grew at the rate of the start of each step, and was let go where one began: 2e-5 to 5e-2 off at any rtol."""
    rng = np.random.default_rng([seed, 150])
    data = rf.Dataset(rng.standard_normal((8, 3)), rng.choice([-1.0, 1.0], 8))
    net = rf.Network.init(5, 3, scale=1e-150, seed=seed)
    one, two = (rf.integrate(data, net, until=4000.0, rtol=rtol).final for rtol in (1e-9, 1e-12))
    size = np.hypot(np.linalg.norm(two.W, axis=1), two.a)
    off = np.maximum(np.abs(one.W - two.W).max(axis=1), np.abs(one.a - two.a))[size > 1e-280] / size[size > 1e-280]
    assert off.max() < 1e-8


@pytest.mark.parametrize("rtol", [1e-4, 1e-7, 1e-10])
@pytest.mark.parametrize("ratio", [3.0, 30.0, 300.0])
def test_a_neuron_that_wakes_a_larger_sample_ends_the_step_of_the_slow_one(ratio: float, rtol: float) -> None:
    """Outputs are zero to rounding: no event disturbs the others, and steps are as long as the slow rate allows."""
    data = rf.Dataset([[0.1, 0.0], [0.03 * ratio, 0.1 * ratio]], [1.0, 1.0])
    net = rf.Network(1e-30 * np.array([[1.0, -0.5]]), [1e-30])
    slow = 0.5 * data.X[0]
    fast = slow + 0.5 * data.X[1]

    def moved(theta: np.ndarray, g: np.ndarray, t: float) -> np.ndarray:
        rates, modes = np.linalg.eigh(np.block([[np.zeros((2, 2)), g[:, None]], [g, np.zeros(1)]]))
        return modes @ (np.exp(rates * t) * (modes.T @ theta))

    met = rf.integrate(data, net, until=rf.Stop(events=1), rtol=rtol).events.t[0]
    at_boundary = moved(np.append(net.W[0], net.a), slow, met)
    assert abs(data.X[1] @ at_boundary[:2]) < 10 * rtol * np.linalg.norm(at_boundary) * ratio
    for factor in (1.0, 10.0, 25.0):
        t = met + factor / np.linalg.norm(fast)
        end = rf.integrate(data, net, until=t, rtol=rtol).final
        expected = moved(at_boundary, fast, factor / np.linalg.norm(fast))
        assert np.linalg.norm(np.append(end.W[0], end.a) - expected) < 100 * rtol * np.linalg.norm(expected)
