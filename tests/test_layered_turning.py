"""Layered runs in which boundaries turn from attracting to repelling, or are reached once the loss is next to zero."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

INTEGERS = np.array([[-1, 1, -1, -1, 2], [1, 0, 0, -1, -1], [0, 1, 1, -1, -1], [0, -1, 0, 2, -2], [-1, 1, -2, 1, -2]])
TARGETS = np.array(
    [
        [-0.11343378, -1.3963899],
        [-0.27073539, -1.10583965],
        [-0.75281484, 0.16015061],
        [1.4272092, 0.64952038],
        [-0.76392998, 1.13139198],
    ]
)


def turning(rtol: float) -> rf.layered.DeepSolution:
    """Unit 3 of layer 1 slides on samples 0 and 1; at t = 16.53 what sample 0 pulls turns round."""
    layers = [rf.Dense(4), rf.Dense(4), rf.Dense(2)]
    net = rf.DeepNetwork.init(layers, dim=5, scale=1.0, seed=474)
    return rf.integrate((INTEGERS.astype(float), TARGETS), net, loss="squared", until=30.0, rtol=rtol)


@pytest.mark.parametrize("rtol", [1e-7, 1e-10])
def test_what_slides_beside_a_boundary_that_turns_leaves_with_it(rtol: float) -> None:
    """It went to the sides against which both samples pull, as one of three ways, and ended there or was off.

    It may also rest on both, where nothing moves it."""
    sol = turning(rtol)
    assert sol.status == "reached_time", sol.message
    events = [e for e in sol.events if (e.layer, e.unit) == (1, 3) and e.t > 16.0 and e.kind != "branch"]
    assert [(event.sample, event.kind) for event in events] == [(0, "leave_up"), (1, "leave_down")]
    weights = sol(events[0].t + 0.01).layers[0].W[3]
    assert weights @ INTEGERS[0] > 0
    assert weights @ INTEGERS[1] < 0
    theta, exact = sol.final.theta, turning(1e-12).final.theta
    assert np.linalg.norm(theta - exact) < 100 * rtol * np.linalg.norm(exact)


@pytest.mark.parametrize("rtol", [1e-7, 1e-10])
def test_what_comes_to_slide_when_samples_are_fitted(rtol: float) -> None:
    """Put on its boundary a unit raises a loss of 1e-22 more than rounding does; that ended the run."""
    X = [
        [2.0133432, -1.18721094, 0.67903859, 1.09159915, 1],
        [-0.24017387, 0.69650003, 2.51248432, -0.34387917, 1],
        [-0.5895996, 1.02020166, 2.53033028, 1.53872833, 1],
    ]
    y = np.array([-1.41790219, 2.17533711, 0.27068136])
    net = rf.DeepNetwork.init([rf.Dense(6), rf.Dense(1)], dim=5, scale=0.01, seed=108, leak=0.1)
    sol = rf.integrate((np.array(X), y), net, loss="squared", until=30.0, rtol=rtol)
    assert sol.success, sol.message
    assert sol.log_loss_end < -50.0


def regression(seed: int, rtol: float = 1e-9) -> rf.layered.DeepSolution:
    """Three layers on whole numbers with random targets."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-2, 3, (6, 3)).astype(float)
    X[(X == 0).all(axis=1), 0] = 1.0
    y = rng.standard_normal(6)
    net = rf.DeepNetwork.init([rf.Dense(6), rf.Dense(6), rf.Dense(1)], dim=3, scale=1.0, seed=seed, leak=0.1)
    return rf.integrate((X, y), net, loss="squared", until=30.0, rtol=rtol)


@pytest.mark.parametrize("seed", [14, 15, 18, 39, 55])
def test_whole_numbers_are_fitted_beyond_the_tolerance(seed: int) -> None:
    """What has just left its boundary counts as zero, off by the tolerance: the loss seemed to rise in every step.

    Fifteen of sixty such runs ended there.
    """
    sol = regression(seed)
    assert sol.success, sol.message
    assert sol.log_loss_end < -45.0


@pytest.mark.parametrize("seed", [17, 24, 26])
def test_booleans_with_the_squared_loss(seed: int) -> None:
    """Chatter ended the first; the rates of the last near rest are rounding, and so are multipliers of the second."""
    rng = np.random.default_rng(seed)
    X = rng.choice([-1.0, 1.0], (8, 4))
    y = rng.standard_normal(8)
    net = rf.DeepNetwork.init([rf.Dense(8), rf.Dense(8), rf.Dense(1)], dim=4, scale=1.0, seed=seed)
    sol = rf.integrate((X, y), net, loss="squared", until=100.0)
    assert sol.success, sol.message
    fine = rf.integrate((X, y), net, loss="squared", until=100.0, rtol=1e-12)
    assert abs(sol.log_loss_end - fine.log_loss_end) < 1e-8


@pytest.mark.parametrize("seed", [3, 29])
def test_units_do_not_come_and_go_by_what_explicit_steps_leave(seed: int) -> None:
    """The runs ended `undecided_event` after 64 and 226 events; 26 are those of the flow."""
    fine, coarse = regression(seed, 1e-13), regression(seed)
    for sol in (fine, coarse):
        assert sol.status == "reached_time", sol.message
    assert len(fine.events) < 30
    assert len(coarse.events) < len(fine.events) + 12
    theta, exact = coarse.final.theta, fine.final.theta
    assert np.linalg.norm(theta - exact) < 1e-10 * np.linalg.norm(exact)


def test_one_hot_samples_leave_where_their_boundary_turns_at_every_tolerance() -> None:
    """One parameter is all that a unit reads of such a sample: its rate there is rounding, and says no side."""
    X = np.eye(4)[[0, 1, 2, 3, 0, 0, 0, 0]]
    classes = np.array([0, 1, 1, 0, 0, 0, 1, 1])
    net = rf.DeepNetwork.init([rf.Dense(6), rf.Dense(6), rf.Dense(6), rf.Dense(2)], dim=4, scale=1.0, seed=755)
    runs = [rf.integrate((X, classes), net, loss="cross_entropy", until=4.05, rtol=10.0**-e) for e in range(7, 13)]
    for sol in runs:
        last = list(sol.events)[-1]
        assert (last.layer, last.unit, last.sample, last.kind) == (1, 3, 1, "leave_up")
        assert len(sol.events) == len(runs[0].events)


@pytest.mark.parametrize("rtol", [1e-6, 1e-7, 1e-8, 1e-9, 1e-10])
def test_what_nothing_moves_on_one_side_has_no_side_there(rtol: float) -> None:
    """Rows are orthogonal, so that samples move their own z alone. Where a boundary comes to repel its unit goes up or
    stands: at rtol 1e-8 the rounding of an acceleration was taken for a third way, which it took."""
    rows = np.array([[1, 1, 1, 1], [1, -1, -1, 1], [1, 1, 1, 1], [-1, -1, 1, 1], [-1, 1, -1, 1], [1, -1, -1, 1.0]])
    rng = np.random.default_rng(1)
    data = rf.Dataset(rows, rng.standard_normal(6))
    net = rf.Network(0.3 * rng.standard_normal((3, 4)), 0.3 * rng.standard_normal(3))
    options = {"until": 10.0, "loss": "squared", "reduction": "mean", "weight_decay": 0.01, "rtol": rtol}
    own = rf.integrate(data, net, **options)
    layered = rf.integrate(data, net, rates=(1.0, 1.0), **options)
    np.testing.assert_allclose(layered.final.W, own.final.W, atol=20 * rtol)


@pytest.mark.parametrize("rtol", [1e-7, 1e-8, 1e-9, 1e-10, 1e-12])
@pytest.mark.parametrize("policy", ["inactive", "active"])
def test_a_boundary_that_turns_is_a_branch_at_every_tolerance(rtol: float, policy: str) -> None:
    """Unit 2 slides beside a sample whose dual passes zero. At 1e-9 its bounds were told apart, and it went up."""
    X = [[0.6129377902261952, -1.174199762220853, 1.0], [-0.6129377902261952, 1.174199762220853, 1.0]]
    W = [[-0.2, -0.1, -0.2], [0.1, 0.2, -0.2], [0.2, 0.2, 0.1], [0.1, 0.1, 0.2], [0.2, -0.1, 0.2]]
    net = rf.Network(W, [-0.2, 0.1, 0.1, -0.2, -0.2])
    data = rf.Dataset(X, [-0.27081477, -0.26976147])
    options = {"loss": "squared", "reduction": "mean", "weight_decay": 0.01, "on_branch": policy, "rtol": rtol}
    layers = rf.DeepNetwork([rf.Dense(5), rf.Dense(1)], np.concatenate((net.W.ravel(), net.a)), dim=3)
    deep = rf.integrate(data, layers, until=1000.0, **options)
    two = rf.integrate(data, net, until=1000.0, **options)
    assert len(deep.branchings) == len(two.branchings) == 1
    assert deep.events[-1].kind == {"inactive": "leave_down", "active": "leave_up"}[policy]
    expected = np.concatenate((two.final.W.ravel(), two.final.a))
    np.testing.assert_allclose(deep.final.theta, expected, atol=max(100.0 * rtol, 1e-9))


HELD = [
    [-1.11, -1.03, 0.25, 0.75, 0.0],
    [0.57, -2.0, 0.36, -0.01, 0.0],
    [2.54, 0.94, 2.24, 1.59, 1.0],
    [-3.81, 0.18, 1.52, 0.82, 1.0],
    [4.26, -0.33, -0.91, 0.03, -1.0],
    [-0.09, 1.26, -0.82, -1.89, -1.0],
    [1.19, -1.12, 2.08, 2.61, 0.0],
    [-3.52, -0.42, 0.84, 1.86, -1.0],
]


def test_what_turns_beside_what_is_held_jointly() -> None:
    """The pull of two samples on one entry, which is zero, passes zero while unit 0 of the first layer slides on
    sample 3 below boundaries that units above it share. No bounds of its own hold it there, and the run ended
    `undecided_event` as none of these had held it all the time."""
    rows = np.array(HELD)
    X, y = rows[:, :4], rows[:, 4:]
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(4), rf.Dense(1)], dim=4, scale=0.5, seed=2382)
    options = {"loss": "squared", "until": 3.0, "save_at": [1.5, 1.53, 3.0]}
    runs = [rf.integrate((X, y), net, rtol=rtol, **options) for rtol in (1e-8, 1e-12)]
    for sol in runs:
        assert sol.status == "reached_time", sol.message
        (point,) = sol.branchings
        assert set(point.options) == {(1,), (0,)}
        turned = [(e.layer, e.unit, e.sample, e.kind) for e in sol.events if 1.5 < e.t < 1.55 and e.kind != "branch"]
        assert turned == [(2, 3, 1, "leave_up"), (2, 3, 4, "leave_up")]
    np.testing.assert_allclose(runs[0].final.theta, runs[1].final.theta, rtol=0, atol=1e-7)
    weights = [layer.W.copy() for layer in runs[1](1.53).layers]
    step = 5e-5
    for _ in range(round((3.0 - 1.53) / step)):
        first = X @ weights[0].T
        second = np.maximum(first, 0.0) @ weights[1].T
        pull = y - np.maximum(second, 0.0) @ weights[2].T
        upper = pull @ weights[2] * (second > 0.0)
        lower = upper @ weights[1] * (first > 0.0)
        moves = lower.T @ X, upper.T @ np.maximum(first, 0.0), pull.T @ np.maximum(second, 0.0)
        weights = [W + step * move for W, move in zip(weights, moves, strict=True)]
    descended = np.concatenate([W.ravel() for W in weights])
    np.testing.assert_allclose(runs[1].final.theta, descended, rtol=0, atol=5e-4)


# Samples and labels, the start of one unit that slides on dependent boundaries, and in how many ways it can go on.
DEPENDENT = {
    "opposite": ([[-1, 2, 0], [-1, 0, 0], [1, 0, 0], [-2, -1, 0], [-2, 0, 1]], [-1, -1, -1, -1, 1], [0.5, -0.5, -1], 4),
    "plane": ([[-1, 2, 0], [-2, 0, 0], [2, -2, 0], [0, 0, -1], [1, 2, -2]], [-1, -1, -1, -1, 1], [-0.5, 0.5, 1], 6),
    "mirror": ([[2, 2, 0], [-2, -1, 0], [2, -1, 0], [-1, 1, 1], [-1, 1, -1]], [1, 1, 1, -1, 1], [0, 0.5, -1], 6),
    "mixed": ([[0, -2, 0], [0, -1, 1], [0, 0, 1], [-2, 1, 0], [0, -1, 0]], [-1, 1, -1, -1, -1], [-1, 0, 0], 4),
}


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-12])
@pytest.mark.parametrize("name", DEPENDENT)
@pytest.mark.parametrize("policy", ["inactive", "active"])
def test_dependent_boundaries_turn_together(name: str, policy: str, rtol: float) -> None:
    """The output weight passes zero. One way was taken without a branch, or none: both of opposite ways were sides of
    the same boundaries. Of the mixed labels one boundary that repelled comes to attract, and the unit slides on it."""
    X, y, w, ways = DEPENDENT[name]
    a, leak, loss = (
        (0.5, 0.3, "logistic") if name == "mixed" else (-1.0 if name == "mirror" else 1.0, 0.1, "exponential")
    )
    options = {"until": 20.0, "loss": loss, "weight_decay": 0.1, "on_branch": policy}
    two = rf.integrate(rf.Dataset(X, y), rf.Network([w], [a], leak=leak), rtol=1e-12, **options)
    net = rf.DeepNetwork([rf.Dense(1), rf.Dense(1)], np.array([*w, a]), dim=3, leak=leak)
    deep = rf.integrate((np.array(X, dtype=float), np.array(y)), net, rtol=rtol, **options)
    assert deep.status == two.status == "reached_time", deep.message
    assert len(two.branchings) == len(deep.branchings) == 1
    branching = deep.branchings[0]
    assert len(branching.options) == ways
    samples = [sample for _, _, sample in branching.places]
    known = [tuple(option[sample] for sample in samples) for option in two.branchings[0].options]
    assert set(branching.options) <= set(known)
    assert abs(branching.t - two.branchings[0].t) < 1e3 * rtol
    expected = np.concatenate((two.final.W.ravel(), two.final.a))
    np.testing.assert_allclose(deep.final.theta, expected, atol=max(100.0 * rtol, 1e-9))


def orthogonal(seed: int, policy: str, turned: bool) -> tuple[rf.layered.DeepSolution, np.ndarray]:
    """Four orthogonal samples along the axes or turned, and the end of the run in the coordinates of the axes."""
    rng = np.random.default_rng(seed)
    y = rng.choice([-1.0, 1.0], 4)
    Q = np.linalg.qr(rng.standard_normal((4, 4)))[0] if turned else np.eye(4)
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=4, scale=1.0, seed=seed)
    start = np.concatenate(((net.theta[:16].reshape(4, 4) @ Q).ravel(), net.theta[16:]))
    sol = rf.integrate((Q, y), net._with(start), until=20.0, loss="exponential", on_branch=policy)
    end = sol.final.theta
    return sol, np.concatenate(((end[:16].reshape(4, 4) @ Q.T).ravel(), end[16:]))


@pytest.mark.parametrize("seed", [193, 317, 331, 345, 348, 495])
def test_what_rests_where_a_crossing_makes_its_boundary_repel_leaves_or_stays(seed: int) -> None:
    """A unit above crosses, and what rests on its boundary could leave. It stayed, or left where rounding said so.

    The ends of these runs along the axes and turned were 0.03 to 0.5 apart, and no branch was seen."""
    ends = {}
    for policy, sides in (("inactive", 0), ("active", 1)):
        (along, end), (turned, other) = (orthogonal(seed, policy, turned) for turned in (False, True))
        assert along.status == turned.status == "reached_time"
        assert len(along.branchings) == len(turned.branchings) == 1
        for sol in (along, turned):
            branching = sol.branchings[0]
            (unit,) = (k for k, place in enumerate(branching.places) if place[0] == 1)  # the one above goes with it
            assert branching.options[branching.chosen][unit] == sides
            kind = [event.kind for event in sol.events if event.t == branching.t]
            assert ("leave_up" in kind) == (policy == "active")
        np.testing.assert_allclose(other, end, atol=1e-8)
        ends[policy] = end
    assert np.abs(ends["active"] - ends["inactive"]).max() > 1e-2


@pytest.mark.parametrize("policy", ["inactive", "active"])
def test_what_rests_leaves_though_it_shared_its_boundary_before(policy: str) -> None:
    """A unit slides on two samples that read its bias alone. On one of them a unit below wakes, and takes it away.

    The boundary of the other repels from then on. It was not known by its members, so that the unit stood there without
    a choice, also when both sides took it away."""
    X = [[1, 0, 2, 2], [1, 1, 1, 2], [2, 0, 1, -2], [1, -1, 0, 0]]
    first = [-0.260135, 0.05407, -0.054792, -0.26219, -0.110918, 0.001854, 0.167632, -0.021601, 0.0, 0.0]
    second = [0.176654, -0.016872, -0.015318, -0.213811, 0.115315, 0.060089, 0.0, 0.0, 0.0]
    layers = [rf.Dense(2, bias=True), rf.Dense(3, bias=True), rf.Dense(1)]
    net = rf.DeepNetwork(layers, np.array([*first, *second, 0.06019, -0.04125, -0.157156]), dim=4)
    data = np.array(X, dtype=float), np.array([-1.0, -1.0, -2.0, 1.0])
    sol = rf.integrate(data, net, loss="squared", weight_decay=0.05, until=20.0, on_branch=policy)
    assert sol.status == "reached_time", sol.message
    start, first, *later = sol.branchings
    assert start.t == 0.0
    assert first.places == ((2, 0, 2), (2, 0, 3))
    assert set(first.options) == {(0, 1), (-1, 0)}
    # Where it rests it does so until a unit below wakes there, too. That takes it away, and it may rest again when that
    # unit dies, as its bias is zero.
    assert [(point.places, set(point.options)) for point in later] == (
        [(((2, 0, 3),), {(1,), (-1,)}), (((2, 0, 3),), {(1,), (0,)})] if policy == "inactive" else []
    )


def passing(rtol: float) -> rf.Solution:
    """Neuron 2 rests on samples 0 and 1, and leaves as the error of sample 1 passes what it pulls by."""
    X = [[-2, 0, -1, 1, 2, -2, 2, -2, -1, 2, -1, -2], [-1, 0, -2, -1, 1, 0, -2, -2, 1, -2, 2, 2],
         [-2, 0, 1, 2, -2, -2, -1, -2, -2, 1, -2, -2]]  # fmt: skip
    W = [[-0.2, 0.8, 0.7, 1.6, 0.3, 0.3, -0.4, -1.0, -0.1, 0.1, 0.3, 2.8],
         [-1.7, 0.5, 0.7, -2.8, 1.9, -1.1, -0.4, 1.6, 0.9, -0.2, -1.0, 0.5],
         [-0.1, -0.7, 0.0, 0.9, 1.9, -0.3, 0.6, 0.5, -1.4, -1.2, 0.3, -0.1]]  # fmt: skip
    net = rf.Network(W, [[-5, -5], [19, -19], [0, -19]])
    data = rf.Dataset(np.array(X, dtype=float), [[1, 0], [0, -1], [1, 1]])
    return rf.integrate(data, net, loss="squared", weight_decay=0.01, until=0.05, rtol=rtol)


@pytest.mark.parametrize("rtol", [1e-7, 1e-9, 1e-10, 1e-11])
def test_what_turns_does_so_at_the_instant_to_which_a_step_knows_it(rtol: float) -> None:
    """Implicit steps end 1e-4 of a step before that instant, where the boundary still attracts.

    The neuron was found to stay, and then to stand there for ever; or it left without a branch."""
    sol = passing(rtol)
    (point,) = sol.branchings
    assert point.t == pytest.approx(passing(1e-12).branchings[0].t, abs=1e-5)
    assert {(neuron, sample) for _, neuron, sample in point.places} == {(2, 0), (2, 1)}
    left = (sol.events.neuron == 2) & (sol.events.t == point.t)
    kinds = set(zip(sol.events.sample[left].tolist(), map(str, sol.events.kind[left]), strict=True))
    assert {(1, "leave_up"), (0, "leave_down")} <= kinds


def test_bounds_that_pass_each_other_unseen_have_not_turned() -> None:
    """They did by less than the step knew; in the next one the neuron seemed to stand on a boundary that repels it."""
    sol = passing(3e-8)
    np.testing.assert_allclose(sol.final.W, passing(1e-12).final.W, atol=1e-7)
    assert sol.final.pattern[2].tolist() == [-1, 1, -1]
