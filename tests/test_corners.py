"""A neuron on boundaries that does not move, mostly at w = 0: nobody else may miss it, and it leaves when it can."""

from __future__ import annotations

import numpy as np
import pytest

import compare
import defect
import reluflow as rf
from reluflow.losses import duals

LEAK, TIME = 0.5, 30.0
# Problems in which a neuron passes w = 0 while the others are large enough to feel it.
FELT = (212, 439, 787, 965, 1248, 1550, 2099)
# Neuron 2 comes to w = 0, stays there on five boundaries of a plane, and can leave later.
LEAVES, NEURON = 900, 2


def problem(seed: int) -> tuple[rf.Dataset, rf.Network]:
    """Draw samples of norms that differ by hundreds, and neurons whose output weights outweigh the others."""
    rng = np.random.default_rng([seed, 4])
    n, m = int(rng.integers(3, 6)), int(rng.integers(2, 5))
    X = rng.standard_normal((n, 2)) * 10.0 ** rng.choice([0, 0, 1.5, 2.5], (n, 1))
    y = rng.choice([-1.0, 1.0], n)
    W = rng.standard_normal((m, 2))
    a = np.linalg.norm(W, axis=1) * np.exp(rng.uniform(0.1, 1.5, m)) * rng.choice([-1.0, 1.0], m)
    net, far = rf.Network(W, a, leak=LEAK), np.linalg.norm(X, axis=1) > 10
    y[far] = np.sign(net(X))[far]  # the start gives large samples large margins: they weigh nothing
    return rf.Dataset(X, y), net


def order_shifted(data: rf.Dataset, shift: int) -> rf.Dataset:
    return rf.Dataset(np.roll(data.X, shift, axis=0), np.roll(data.y, shift))


@pytest.mark.parametrize("seed", FELT)
def test_the_order_of_samples_does_not_tell_how_far_an_event_at_the_origin_is_felt(seed: int) -> None:
    """Of the boundaries that meet at w = 0 rounding says which is first; its sample may be one that weighs nothing."""
    data, net = problem(seed)
    run = rf.integrate(data, net, until=TIME, rtol=1e-12)
    for shift in range(data.n):
        other = rf.integrate(order_shifted(data, shift), net, until=TIME)
        assert other.status == "reached_time"
        compare.assert_same_state(other.final.W, other.final.a, run.final.W, run.final.a, 1e-7, f"shifted by {shift}")


@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_a_late_step_ends_where_a_neuron_passes_the_origin(reduction: str) -> None:
    """At log t = 285 a neuron with a large output weight passes w = 0 while others are hundreds in size."""
    rng = np.random.default_rng([3, 3])
    data = rf.Dataset(rng.standard_normal((8, 3)), np.where(np.arange(8) < 4, 1, -1))
    W = rng.standard_normal((12, 3))
    Z = data.X @ W.T
    a = np.linalg.lstsq(np.maximum(Z, LEAK * Z), data.y, rcond=None)[0]
    net = rf.Network(W, a, leak=LEAK)
    size = 2.0 / np.sqrt((data.y * net(data.X)).min())  # margins of at least 4
    net = rf.Network(size * W, size * a, leak=LEAK)
    until = rf.Stop(limit=True, log_time=1e3)
    run, tight = (rf.integrate(data, net, until=until, reduction=reduction, rtol=rtol) for rtol in (1e-9, 1e-12))
    assert (run.status, tight.status) == ("reached_log_time", "reached_log_time")
    assert np.all(np.diff(run.log_loss) <= 0)
    assert run.log_loss_end == pytest.approx(tight.log_loss_end, rel=1e-9)


def fastest_way_out(net: rf.Network, data: rf.Dataset) -> float:
    """Return the largest growth rate of the neuron at w = 0 over all directions: its gradient along them, times a."""
    angle = np.linspace(0, 2 * np.pi, 100_001)
    Z = np.column_stack((np.cos(angle), np.sin(angle))) @ data.X.T
    weights = data.y / (1 + np.exp(data.y * net(data.X)))
    return float(np.max(net.a[NEURON] * (np.maximum(Z, LEAK * Z) @ weights)))


def test_a_neuron_at_the_origin_leaves_as_soon_as_there_is_a_way_out() -> None:
    data, net = problem(LEAVES)
    run = rf.integrate(data, net, until=9.0)
    (point,) = run.branchings
    assert point.neuron == NEURON
    before, after = run(point.t * (1 - 1e-4)), run(point.t * (1 + 1e-4))
    assert not before.W[NEURON].any()
    assert after.W[NEURON].any()
    assert fastest_way_out(before, data) < 0 < fastest_way_out(after, data)


@pytest.mark.parametrize("cut", [1.1972, 1.2085, 1.212, 1.25, 2.0])
def test_a_run_cut_at_the_origin_leaves_when_the_whole_run_does(cut: float) -> None:
    data, net = problem(LEAVES)
    whole = rf.integrate(data, net, until=9.0)
    again = rf.integrate(data, rf.integrate(data, net, until=cut), until=9.0)
    compare.assert_same_state(again.final.W, again.final.a, whole.final.W, whole.final.a, 1e-9, f"cut at {cut}")
    assert whole.final.W[NEURON].any()


@pytest.mark.parametrize("loss", ["logistic", "exponential"])
def test_a_neuron_at_rest_leaves_when_the_samples_of_its_boundary_pull_it_away(loss: str) -> None:
    """Nothing else drives neuron 1, so it did not move, and no run looked whether it may leave.

    Below its boundary samples 1 and 2 pull against each other. Neuron 0 fits sample 1 until sample 2 pulls more.
    """
    data = rf.Dataset([[1.0, 0.0], [-1.0, 0.0], [-0.5, 0.0], [-1.0, -1.0]], [1, 1, -1, 1])
    net = rf.Network([[-0.1, -0.2], [0.0, 0.5]], [0.3, -0.5])
    run = rf.integrate(data, net, until=5.0, loss=loss)
    assert set(run.events.kind[run.events.neuron == 1]) == {"start_slide", "leave_down", "leave_up"}
    (left,) = set(run.events.t[run.events.sample == 1]) - {0.0}

    def pull(state: rf.Network) -> float:
        return float(data.X[1:3, 0] @ duals(data, state(data.X), loss)[1:3])

    assert pull(run(left)) == pytest.approx(0.0, abs=1e-9)
    assert pull(run(0.9 * left)) < -0.01
    assert pull(run(1.1 * left)) > 0.01
    assert run.final.W[1, 0] < -0.01
    defect.assert_small(run, 1e-8)


@pytest.mark.parametrize(("n", "seed"), [(40, 0), (60, 1), (60, 2), (110, 0), (110, 3)])
def test_a_neuron_at_zero_leaves_where_there_are_too_many_boundaries_to_list_every_way(n: int, seed: int) -> None:
    """w = 0 and a > 0 lie on every boundary: a way out is a direction of its own pull, Σ λ_i x_i over what it sees."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((n, 3)), rng.choice([-1.0, 1.0], n)
    tried = rng.standard_normal((20_000, 3))
    assert (np.maximum(tried @ X.T, 0) @ y).max() > 0  # there is one
    sol = rf.integrate(rf.Dataset(X, y), rf.Network([[0.0, 0.0, 0.0]], [1e-6]), until=1e-6)
    assert sol.status == "reached_time"
    w, row = sol.final.W[0], sol.final.pattern[0]
    slides = X[row == 0].T
    pull = X.T @ (y * (row > 0))
    parts = -np.linalg.lstsq(slides, pull, rcond=None)[0] * y[row == 0]  # of the slopes where it slides
    assert ((parts >= 0) & (parts <= 1)).all()
    pull = pull + slides @ (parts * y[row == 0])
    assert w == pytest.approx(1e-12 * pull / 2, rel=1e-3, abs=1e-16)
    assert (np.sign(X @ w)[row != 0] == row[row != 0]).all()


@pytest.mark.parametrize("first", [True, False])
def test_a_neuron_at_zero_says_nothing_of_those_that_share_its_pattern(first):
    """It stands on no boundary, whatever its pattern says: the other one slides all the same."""
    data = rf.Dataset([[1.65, 0.47], [0.47, 1.35]], [1, -1])
    start = rf.integrate(data, rf.Network.init(3, 2, scale=0.3, seed=12), until=6.0).final
    w, a, pattern = start.W[:1], start.a[:1], start.pattern[:1]
    assert pattern.tolist() == [[1, 0]]
    alone = rf.integrate(data, rf.Network(w, a, pattern=pattern), until=3.0)
    order = [1, 0] if first else [0, 1]
    W, outputs = np.vstack([w, 0.0 * w])[order], np.append(a, 0.0)[order]
    both = rf.integrate(data, rf.Network(W, outputs, pattern=np.vstack([pattern, pattern])), until=3.0)
    moved = order.index(0)
    assert np.abs(alone.final.W[0] - w[0]).max() > 0.1
    assert np.array_equal(both.final.W[moved], alone.final.W[0])
    assert not both.final.W[1 - moved].any()


def test_a_sample_on_which_all_neurons_have_died_leaves_the_loss_its_rounding() -> None:
    """Its norm of 5e5 times what is left of w·x is 1e-9 of the loss, which falls by less: the run went no further."""
    data = rf.Dataset([[338539.1892, 422891.3816], [6.068e-6, -7.402e-6]], [-1.0, -1.0])
    W = [[0.4279, -0.9856], [0.1309, -1.5943], [0.4524, 1.6075], [0.385, 0.8103], [0.4235, -1.3647]]
    for shift in range(20):
        net = rf.Network(np.array(W) + 1e-4 * shift, [1.246, -5.9089, 70.1986, 28.0568, -36.9492])
        sol = rf.integrate(data, net, until=1.0)
        assert sol.status == "reached_time", sol.message
        assert sol.events.kind.tolist() == ["die", "die"]
        assert sol.log_loss_end == pytest.approx(np.log(2 * np.log(2)), abs=1e-3)


@pytest.mark.parametrize("policy", ["inactive", "active", "stay"])
def test_neurons_at_the_origin_decide_as_each_of_them_alone(policy: str) -> None:
    """They share decisions, in which nothing of a neuron of the other sign, or of another policy, may be left."""
    rng = np.random.default_rng(3)
    data = rf.Dataset(rng.standard_normal((30, 3)), rng.choice([-1.0, 1.0], 30))
    a = np.array([0.1, -0.1, 0.2, -0.3, 0.1])
    sol = rf.integrate(data, rf.Network(np.zeros((5, 3)), a, leak=0.1), until=1e-4, on_branch=policy)
    assert [branch.neuron for branch in sol.branchings] == [0, 1, 2, 3, 4]
    for together in sol.branchings:
        net = rf.Network(np.zeros((1, 3)), a[[together.neuron]], leak=0.1)
        alone = rf.integrate(data, net, until=1e-4, on_branch=policy).branchings[0]
        assert (together.options, together.chosen) == (alone.options, alone.chosen)
    assert sol.branchings[0].options != sol.branchings[1].options
