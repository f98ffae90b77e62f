"""Units of layered networks whose weights come to zero as a whole: their boundaries meet and depend on each other."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf


def planar(seed: int) -> tuple[rf.Dataset, rf.Network]:
    """Samples of the plane in general position, and a start that is not balanced."""
    rng = np.random.default_rng([80, seed])
    n = int(rng.integers(4, 8))
    X, y = rng.standard_normal((n, 2)), np.where(rng.random(n) < 0.5, -1.0, 1.0)
    m, leak = int(rng.integers(1, 3)), float(rng.choice([0, 0, 0.2]))
    return rf.Dataset(X, y), rf.Network(rng.standard_normal((m, 2)) * 0.5, rng.standard_normal(m), leak=leak)


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-11])
@pytest.mark.parametrize(("seed", "branches"), [(738, True), (3196, True), (82, False), (2222, False)])
def test_a_unit_at_zero_does_what_a_neuron_does(seed: int, branches: bool, rtol: float) -> None:
    """It slides on one sample as it comes to zero, where the four to six others meet at one instant to the last bit.
    Which of them it slid on afterwards was decided by rounding: it went through zero on its own line, where three ways
    are open, or stayed at zero for good, where it leaves later."""
    data, net = planar(seed)
    layers = rf.DeepNetwork([rf.Dense(net.a.size), rf.Dense(1)], np.r_[net.W.ravel(), net.a], dim=2, leak=net.leak)
    options = {"until": 4.0, "loss": "exponential", "rtol": rtol}
    own, sol = rf.integrate(data, net, **options), rf.integrate(data, layers, **options)
    assert bool(sol.branchings) == branches
    np.testing.assert_allclose(sol.final.theta, np.r_[own.final.W.ravel(), own.final.a], atol=1e3 * rtol)


WHOLE = ([[-2.0, 2, -1], [-3, 1, -2], [-2, 0, 0]], [1.0, 1, -1])
KERNELS = [-0.14038606, -0.44654294, 0.5802129622, 0.4880327881, -1.45382158, -1.05499018, -0.12624037, 0.34916868]


@pytest.mark.parametrize("rtol", [1e-6, 1e-9, 1e-11])
@pytest.mark.parametrize("order", [[0, 1, 2], [2, 0, 1], [1, 2, 0]])
def test_a_kernel_stays_at_zero_as_long_as_no_direction_lowers_the_loss(order: list[int], rtol: float) -> None:
    """All places share the kernel, so that it comes to zero on all of them at once, and leaves as soon as moving it
    lowers the loss. In one order of the samples it was held there for ever."""
    X, y = (np.asarray(part)[order] for part in WHOLE)
    net = rf.DeepNetwork([rf.Conv1d(2, 2), rf.Dense(1)], KERNELS, dim=3)
    sol = rf.integrate(rf.Dataset(X, y), net, until=1.0, rtol=rtol, loss="exponential")
    comes = max(event.t for event in sol.events if event.kind == "slide")
    leaves = min(event.t for event in sol.events if event.t > comes)
    angle = np.linspace(-np.pi, np.pi, 20001)
    u = np.stack([np.cos(angle), np.sin(angle)])

    def falls(t: float) -> float:
        """The rate at which the loss changes as the first kernel moves from zero, in the best direction."""
        theta = sol(t).theta
        duals = -y * np.exp(-y * np.ravel(rf.DeepNetwork([rf.Conv1d(2, 2), rf.Dense(1)], theta, dim=3)(X)))
        return min(sum(theta[4 + p] * duals @ np.maximum(X[:, p : p + 2] @ u, 0.0) for p in (0, 1)))

    np.testing.assert_allclose(sol(leaves - 1e-3).theta[:2], 0.0, atol=1e-12)
    assert falls(leaves - 1e-3) >= 0.0
    assert falls(leaves + 1e-3) < 0.0
    assert np.abs(sol(1.0).theta[:2]).min() > 0.1


@pytest.mark.parametrize("dim", [1, 2])
def test_a_neuron_that_loses_its_last_samples_rests_with_weight_decay_too(dim: int) -> None:
    """Decay alone moves the rest of w·x that rounding and the time of the event leave: its sign is that of no motion.

    The neuron was taken to have crossed, one time in two, and stayed inactive where the others leave again.
    """
    kinds = set()
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = np.abs(rng.standard_normal((3, 1))) * rng.standard_normal((1, dim))
        Y = rng.standard_normal((3, 2))
        W = X[:1] * [[0.3 * abs(rng.standard_normal())], [1.0]]
        a = np.array([-np.abs(rng.standard_normal(2)) * np.sign(Y[0]), [0.7, 0.3]])
        sol = rf.integrate((X, Y), rf.Network(W, a), until=4.0, loss="squared", weight_decay=0.5)
        kinds |= {event.kind for event in sol.events}
    assert kinds <= {"die", "leave_up", "branch"}
    assert "die" in kinds


@pytest.mark.parametrize("part", [0.25, 0.5, 0.7])
def test_a_sample_in_two_parts_is_the_sample_where_a_neuron_dies(part: float) -> None:
    X, Y = np.array([[0.15], [0.4], [1.3]]), np.array([[0.0, -1.0], [0.0, -1.0], [1.0, 0.0]])
    net = rf.Network([[0.73], [2.2], [-6.1]], [[1.37, -2.9], [0.97, -4.0], [0.56, -1.0]])
    rule = {"until": 1.0, "loss": "squared", "reduction": "mean", "weight_decay": 2.0}
    whole = rf.integrate((X, Y), net, **rule)
    assert [event.kind for event in whole.events][:3] == ["die"] * 3
    split = rf.integrate((np.vstack((X, X)), np.vstack((Y, Y)), np.repeat([part, 1 - part], 3)), net, **rule)
    np.testing.assert_allclose(split.final.W, whole.final.W, atol=1e-9)


@pytest.mark.parametrize("rtol", [1e-3, 1e-6, 1e-9, 1e-12])
def test_all_parameters_may_come_to_zero_at_one_instant(rtol: float) -> None:
    """Both samples push the one neuron that reads them to zero, along the boundary of the second at last. Its sides
    there were compared with what rounding had left of it, and no step was short enough."""
    data = rf.Dataset([[0.46, -1.85], [-2.16, -0.51]], [-1.0, -1.0])
    net = rf.Network([[-0.02, -0.075]], [0.078])
    sol = rf.integrate(data, net, until=1.0, loss="exponential", train="first", rtol=rtol)
    assert sol.status == "reached_time"
    assert np.abs(sol.final.W).max() < 1e-16
    assert (sol.final.pattern == 0).all()
    assert sol.log_loss_end == pytest.approx(np.log(2.0), rel=1e-12)
