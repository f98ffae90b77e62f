"""The limit of vanishing initialisation: closed forms, the flow from tiny scales, and the rules at boundaries."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf

OBTUSE = rf.datasets.wang_pilanci("obtuse")


def circle(degrees) -> np.ndarray:
    angles = np.radians(np.atleast_1d(degrees))
    return np.column_stack((np.cos(angles), np.sin(angles)))


def problem(seed: int, n: int, d: int, m: int) -> tuple[rf.Dataset, np.ndarray, np.ndarray]:
    """Random data with random labels, and random directions with random signs."""
    rng = np.random.default_rng(seed)
    data = rf.Dataset(rng.standard_normal((n, d)), np.where(rng.random(n) < 0.5, 1.0, -1.0))
    D = rng.standard_normal((m, d))
    return data, D / np.linalg.norm(D, axis=1, keepdims=True), np.where(rng.random(m) < 0.5, 1.0, -1.0)


# --- closed forms ---


@pytest.mark.parametrize(("degrees", "printed"), [(-60, {0.1: 0.6627, 0.01: 2.0318}), (-30, {0.01: 0.6488})])
def test_the_alignment_time_in_one_sector_is_the_closed_form(degrees, printed):
    u = circle(degrees)
    g = 0.5 * OBTUSE.X[0]  # the one active sample
    cosine = float(u[0] @ g / np.linalg.norm(g))
    early = rf.early_alignment(OBTUSE, u, [1])
    for gap, rounded in printed.items():
        exact = (np.arctanh(1 - gap) - np.arctanh(cosine)) / np.linalg.norm(g)
        assert early.time_within(gap)[0] == pytest.approx(exact, rel=1e-13)
        assert early.time_within(gap)[0] == pytest.approx(rounded, abs=6e-5)


def test_the_survival_probability_of_the_obtuse_example():
    rng = np.random.default_rng(2022)
    m = 40_000
    early = rf.early_alignment(OBTUSE, rng.standard_normal((m, 2)), rng.choice([-1.0, 1.0], m))
    exact = 90 + np.degrees(
        np.arccos(np.prod([1 / np.linalg.norm(x) for x in OBTUSE.X]) * (OBTUSE.X @ OBTUSE.X.T)[0, 1])
    )
    assert exact / 360 == pytest.approx(0.597486, abs=5e-7)
    alive = np.mean(early.status == "extremal")
    assert alive == pytest.approx(exact / 360, abs=4 * np.sqrt(0.24 / m))
    assert set(early.counts()) == {"extremal", "dead"}


def test_orthogonally_separable_data_have_one_direction_for_each_sign():
    data = rf.datasets.orthogonally_separable(12, 4, seed=3)
    rng = np.random.default_rng(0)
    early = rf.early_alignment(data, rng.standard_normal((300, 4)), rng.choice([-1.0, 1.0], 300))
    for sign in (1.0, -1.0):
        own = (early.signs == sign) & (early.status == "extremal")
        pull = data.X[data.y == sign].sum(axis=0)
        assert own.sum() > 50
        np.testing.assert_allclose(early.direction[own] - pull / np.linalg.norm(pull), 0.0, atol=1e-14)
        np.testing.assert_array_equal(early.sector[own], np.tile(data.y * sign, (own.sum(), 1)))
        np.testing.assert_allclose(early.rate[own], 0.5 * np.linalg.norm(pull), rtol=1e-14)


def test_symmetric_leaky_data_grow_along_their_mean():
    data = rf.datasets.symmetrise(np.array([[0.9, 0.1], [0.5, 0.6], [0.4, -0.3]]))
    rng = np.random.default_rng(5)
    early = rf.early_alignment(
        data, rng.standard_normal((50, 2)), rng.choice([-1.0, 1.0], 50), leak=0.5, reduction="mean"
    )
    mu = (data.y @ data.X) / data.n
    assert early.counts() == {"extremal": 50}
    np.testing.assert_allclose(early.rate, 1.5 / 4 * np.linalg.norm(mu), rtol=1e-13)
    np.testing.assert_allclose(early.direction - early.signs[:, None] * mu / np.linalg.norm(mu), 0.0, atol=1e-13)


def test_neurons_slide_to_the_direction_that_no_alignment_with_the_plain_pull_allows():
    data = rf.datasets.counterexample("sliding")
    early = rf.early_alignment(data, circle([10, 40, 80]), [1, 1, 1])
    np.testing.assert_allclose(early.direction, [[1.0, 0.0]] * 3, atol=1e-15)
    np.testing.assert_array_equal(early.sector, [[1, 0]] * 3)
    plain = 0.5 * data.X[0]  # of the active sample alone
    assert early.direction[0] @ plain / np.linalg.norm(plain) == pytest.approx(1 / np.sqrt(2))


@pytest.mark.parametrize("leak", [0.0, 0.3])
def test_extremal_directions_are_fixed_points_of_their_own_sector(leak):
    data, D, signs = problem(4, 20, 3, 400)
    early = rf.early_alignment(data, D, signs, leak=leak)
    for j in np.flatnonzero(early.status == "extremal"):
        sector, u = early.sector[j], early.direction[j]
        held = data.X[sector == 0]
        slope = np.where(sector > 0, 1.0, np.where(sector < 0, leak, 0.0))
        pull = (slope * early.duals) @ data.X
        if len(held):
            pull = pull - held.T @ np.linalg.lstsq(held.T, pull, rcond=None)[0]
        np.testing.assert_allclose(signs[j] * pull, early.rate[j] * u, atol=1e-12)
        z = data.X @ u
        assert np.abs(z[sector == 0]).max(initial=0.0) <= 1e-12
        assert (sector * z >= -1e-12).all()
    assert (early.sector == 0).any()


def test_the_search_from_cell_to_cell_finds_the_same_directions():
    data, D, signs = problem(6, 9, 3, 60)
    early = rf.early_alignment(data, D, signs)
    known = rf.analysis.extremal_directions(data)
    for j in np.flatnonzero(early.status == "extremal"):
        gaps = [np.linalg.norm(e.direction - early.direction[j]) for e in known if e.sign == signs[j]]
        assert min(gaps) <= 1e-9


# --- against the integrated flow ---


@pytest.mark.parametrize(
    ("seed", "n", "d", "leak"), [(0, 8, 3, 0.0), (1, 6, 2, 0.0), (2, 8, 3, 0.3), (4, 5, 2, 0.1), (5, 20, 3, 0.0)]
)
@pytest.mark.parametrize("scale", [1e-6, 1e-12, 1e-20])
def test_the_flow_from_a_tiny_scale_goes_the_same_way_neuron_by_neuron(seed, n, d, leak, scale):
    data, D, signs = problem(seed, n, d, 30)
    early = rf.early_alignment(data, D, signs, leak=leak)
    end = 0.6 * np.log(1 / scale) / early.rate.max()
    sol = rf.integrate(data, rf.Network(scale * D, scale * signs, leak=leak), until=end, rtol=1e-12)
    # λ is off by the margins, and they are of the size of the square of the weights.
    error = 30 * scale**2 * np.exp(2 * early.rate.max() * end)
    expected = early.events[early.events.t <= end]
    key = [np.lexsort((e.t, e.code, e.sample, e.neuron)) for e in (expected, sol.events)]
    for name in ("neuron", "sample", "code"):
        np.testing.assert_array_equal(getattr(expected, name)[key[0]], getattr(sol.events, name)[key[1]])
    np.testing.assert_allclose(expected.t[key[0]], sol.events.t[key[1]], rtol=0, atol=max(error, 1e-8))
    np.testing.assert_array_equal(early.events.replay(early.pattern0, end), sol.final.pattern)
    settled = (early.status == "extremal") & (early.t_last < end)
    assert settled.sum() > 10
    flow = sol.final.W / np.linalg.norm(sol.final.W, axis=1, keepdims=True)
    reached = np.einsum("jd,jd->j", flow, early.direction)[settled]
    start = np.einsum("jd,jd->j", early.last, early.direction)[settled]
    with np.errstate(divide="ignore"):  # a neuron held on all but one boundary is aligned from then on
        cosine = np.tanh(early.rate[settled] * (end - early.t_last[settled]) + np.arctanh(np.minimum(start, 1.0)))
    np.testing.assert_allclose(reached, cosine, rtol=0, atol=max(error, 1e-8))


@pytest.mark.parametrize("seed", range(12))
def test_repeated_and_mirrored_samples_and_starts_on_boundaries_agree_with_the_flow(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 4))
    X = rng.integers(-2, 3, size=(8, d)).astype(float)
    X = X[X.any(axis=1)]
    data = rf.Dataset(X, np.where(rng.random(len(X)) < 0.5, 1.0, -1.0))
    D = rng.integers(-2, 3, size=(10, d)).astype(float)
    D = D[D.any(axis=1)]
    signs = np.where(rng.random(len(D)) < 0.5, 1.0, -1.0)
    early = rf.early_alignment(data, D, signs)
    for j in np.flatnonzero(early.status != "undecided"):
        net = rf.Network(1e-20 * D[j : j + 1], [1e-20 * signs[j] * np.linalg.norm(D[j])])
        sol = rf.integrate(data, net, until=float(early.t_last[j]) + 1.0, rtol=1e-12)
        own = early.events.of(neuron=int(j))
        assert sorted(zip(own.sample, own.kind, strict=True)) == sorted(
            zip(sol.events.sample, sol.events.kind, strict=True)
        )
        np.testing.assert_allclose(np.sort(own.t), np.sort(sol.events.t), rtol=0, atol=1e-8)


# --- rules at the boundaries ---


def test_a_neuron_that_loses_its_last_sample_stops_there():
    data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [-1, 1])
    early = rf.early_alignment(data, [[1.0, -0.5]], [1])
    assert early.status[0] == "dead"
    assert early.events.kind.tolist() == ["die"]
    np.testing.assert_array_equal(early.sector, [[0, -1]])
    # w_1 falls from 1 to 0 with a = |w| and λ = -1/2: η = -w_1 goes from -1 to 0 while w_2 = -1/2 stands still.
    assert early.t_last[0] == pytest.approx(2 * np.arcsinh(1 / 0.5), rel=1e-14)
    np.testing.assert_allclose(early.direction, [[0.0, -1.0]], atol=1e-15)


def test_a_neuron_held_on_its_way_to_the_origin_decays():
    # The boundary of (0, 10) holds it on the first axis, and the other sample pulls it back along it.
    data = rf.Dataset([[1.0, -4.0], [0.0, 10.0]], [-1, -1])
    early = rf.early_alignment(data, [[1.0, 0.2]], [1])
    assert early.status[0] == "decaying"
    np.testing.assert_allclose(early.direction, [[1.0, 0.0]], atol=1e-15)
    assert early.rate[0] == pytest.approx(0.5)
    assert np.isnan(early.time_within(0.1)[0])


def test_samples_of_both_labels_that_cancel_leave_a_neuron_at_rest():
    data = rf.Dataset([[1.0, 0.0], [1.0, 0.0]], [1, -1])
    early = rf.early_alignment(data, [[1.0, 1.0]], [1])
    assert early.status[0] == "rest"
    assert early.rate[0] == 0.0


def test_with_a_leak_a_neuron_that_slides_on_every_boundary_is_at_rest_and_not_dead():
    data, D = rf.Dataset([[1.0, 0.0], [-1.0, 0.0]], [1.0, 1.0]), np.array([[1.0, 1.0]])
    early = rf.early_alignment(data, D, [-1], leak=0.5)
    assert (early.status[0], early.rate[0]) == ("rest", 0.0)
    assert early.events.kind.tolist() == ["slide", "slide"]
    sol = rf.integrate(data, rf.Network(1e-20 * D, [-1e-20 * 2**0.5], leak=0.5), until=20.0)
    assert sol.events.kind.tolist() == ["slide", "slide"]
    np.testing.assert_allclose(early.events.t, sol.events.t, rtol=1e-10)
    pair = (data.X, np.array([[1.0, 0.0], [1.0, 0.0]]))
    several = rf.early_alignment(pair, D, [[-1.0, 0.0]], loss="squared", leak=0.5)
    assert several.status[0] == "rest"
    assert several.events.kind.tolist() == ["slide", "slide"]


def test_a_start_on_a_ridge_is_undecided_and_names_its_samples():
    data = rf.Dataset([[0.0, 1.0], [1.0, 0.0]], [1, 1])
    early = rf.early_alignment(data, [[1.0, 0.0], [1.0, 1.0]], [1, 1])
    assert early.status.tolist() == ["undecided", "extremal"]
    assert "2 continuations" in early.reasons[0]  # up, or at rest on the boundary
    assert "samples 0" in early.reasons[0]


def test_more_boundaries_through_a_ray_than_dimensions_are_decided():
    X = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [1.0, 1.0, 0.0]]
    held = rf.early_alignment(rf.Dataset(X, [-1, -1, -1]), [[0.0, 0.0, 1.0]], [1])
    assert held.status[0] == "dead"  # every sample would push it back to where it is inactive
    np.testing.assert_array_equal(held.sector, [[0, 0, 0]])
    left = rf.early_alignment(rf.Dataset([*X, [-1.0, -1.0, 1.0]], [-1, -1, -1, 1]), [[0.0, 0.0, 1.0]], [1])
    np.testing.assert_array_equal(left.sector, [[-1, -1, -1, 1]])


def test_parallel_samples_change_together_as_one_set():
    data = rf.Dataset([[1.0, 0.5], [3.0, 1.5], [-2.0, -1.0], [-1.0, 2.0]], [1, 1, -1, 1])
    early = rf.early_alignment(data, [[-1.0, 0.5]], [1])
    crossing = early.events.of(sample=[0, 1, 2])
    assert crossing.kind.tolist() == ["cross_up", "cross_up", "cross_down"]
    assert len(set(crossing.t.tolist())) == len(set(crossing.tie.tolist())) == 1


# --- the result ---


def test_the_itinerary_starts_at_the_start_and_ends_in_the_last_sector():
    data, D, signs = problem(0, 8, 3, 12)
    early = rf.early_alignment(data, D, signs)
    np.testing.assert_array_equal(early.events.replay(early.pattern0), early.sector)
    for j in range(12):
        visits = early.itinerary(j)
        np.testing.assert_array_equal(visits[0].sector, early.pattern0[j])
        np.testing.assert_array_equal(visits[-1].sector, early.sector[j])
        assert visits[-1].t == early.t_last[j]
        assert np.all(np.diff([visit.t for visit in visits]) > 0)
        assert sum(len(visit.kinds) for visit in visits) == len(early.events.of(neuron=j))


def test_order_of_samples_and_neurons_rotation_and_lengths_change_nothing():
    data, D, signs = problem(2, 10, 3, 40)
    early = rf.early_alignment(data, D, signs)
    rng = np.random.default_rng(1)
    rows, samples = rng.permutation(40), rng.permutation(10)
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    lengths = 10.0 ** rng.integers(-200, 200, 40)[:, None]
    other = rf.early_alignment(
        rf.Dataset(data.X[samples] @ turn, data.y[samples]), (lengths * (D @ turn))[rows], signs[rows]
    )
    np.testing.assert_array_equal(other.status, early.status[rows])
    np.testing.assert_array_equal(other.sector, early.sector[rows][:, samples])
    np.testing.assert_allclose(other.t_last, early.t_last[rows], atol=1e-9)
    np.testing.assert_allclose(other.direction @ turn.T, early.direction[rows], atol=1e-9)


def test_loss_and_reduction_set_the_unit_of_time_alone():
    data, D, signs = problem(3, 7, 2, 15)
    early = rf.early_alignment(data, D, signs)
    double = rf.early_alignment(data, D, signs, loss="exponential")
    slow = rf.early_alignment(data, D, signs, reduction="mean")
    np.testing.assert_array_equal(double.sector, early.sector)
    np.testing.assert_allclose(2 * double.t_last, early.t_last, rtol=1e-12)
    np.testing.assert_allclose(slow.t_last, 7 * early.t_last, rtol=1e-12)


def test_the_result_is_frozen_and_says_what_it_is():
    early = rf.early_alignment(OBTUSE, circle([-60, 200]), [1, 1])
    assert repr(early) == "EarlyAlignment(2 neurons: 1 extremal, 1 dead; 0 events)"
    for array in (early.status, early.direction, early.sector, early.rate, early.t_last, early.pattern0, early.last):
        assert not array.flags.writeable
    with pytest.raises(AttributeError):
        early.leak = 0.5
    with pytest.raises(ValueError, match="gap must lie in"):
        early.time_within(1.0)
    with pytest.raises(ValueError, match="neuron must be below 2"):
        early.itinerary(2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"data": [[1.0]]}, "data must be a Dataset"),
        ({"directions": [[1.0, 0.0, 0.0]]}, "directions must have rows of 2 entries"),
        ({"directions": [1.0, 0.0]}, "directions must have the shape"),
        ({"directions": [[0.0, 0.0]]}, "directions must have no row of zeros, found zeros only at row 0"),
        ({"directions": [[np.nan, 0.0]]}, "directions must hold finite numbers only"),
        ({"signs": [1, 1]}, "signs must have one sign for each of the 1 rows"),
        ({"signs": [0.5]}, r"signs must hold \+1 and -1 only, found 0.5 at row 0"),
        ({"leak": 1.0}, "leak must lie in"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"reduction": "max"}, "reduction must be one of"),
    ],
)
def test_a_bad_argument_is_named(change, message):
    arguments = {"data": OBTUSE, "directions": [[1.0, 0.0]], "signs": [1], **change}
    first = [arguments.pop(name) for name in ("data", "directions", "signs")]
    with pytest.raises(ValueError, match=message):
        rf.early_alignment(*first, **arguments)
