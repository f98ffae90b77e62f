"""The computations behind the claims of [WP]: bounds, cells, chances of survival, constructed data."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow.papers.wang_pilanci import CLAIMS
from reluflow.papers.wang_pilanci._sets import three_classes
from reluflow.papers.wang_pilanci._tools import angle, certified_gap, run_to_limit, survivors, svm_value
from reluflow.papers.wang_pilanci._trajectory import LIVING, fitting_start, pair, scaled_value
from reluflow.papers.wang_pilanci.alignment import _solve_92, shift_bound, total_bound
from reluflow.papers.wang_pilanci.certificates import Ended, covers_both, spike_free_set
from reluflow.papers.wang_pilanci.early import duals_of, growth_bound, least_pull, pulls
from reluflow.papers.wang_pilanci.endings import fits, survival
from reluflow.papers.wang_pilanci.lemmas import explicit_multipliers, fixed_directions
from reluflow.papers.wang_pilanci.misprints import rounding_range
from reluflow.papers.wang_pilanci.poster import share_of_condition_9
from reluflow.papers.wang_pilanci.programs import cone_value, cover_bound

OBTUSE = rf.datasets.wang_pilanci("obtuse")
ROWS = {
    *("S000-F1", "S000-F2", "S000-MC", "S000-D", "B-001", "001", "D-23"),
    *(f"B-000-{number}" for number in range(1, 27)),
    *(f"000 Fig {number}" for number in range(1, 11)),
    *(f"D-{number}" for number in range(1, 19)),
}


def test_every_row_of_the_paper_is_accounted_for():
    assert {row for claim in CLAIMS for row in claim.rows} == ROWS


def test_the_growth_bound_starts_where_it_should_and_blows_up():
    r0, rate = -3.0, 2.0
    blow_up = np.log1p(np.exp(6.0)) / 4
    assert growth_bound(np.array([0.0]), r0, rate)[0] == pytest.approx(r0, abs=1e-12)
    late = growth_bound(blow_up - np.array([1e-2, 1e-6]), r0, rate)
    assert late[1] > late[0] > 0


def test_the_pulls_of_the_example_are_half_the_samples():
    sizes = np.sort(pulls(OBTUSE, OBTUSE.y / 2))
    x = np.linalg.norm(OBTUSE.X, axis=1)
    assert sizes == pytest.approx([0, x[1] / 2, x[0] / 2, np.linalg.norm(OBTUSE.X[0] - OBTUSE.X[1]) / 2])
    assert least_pull(OBTUSE, OBTUSE.y / 2) == pytest.approx(0.714738, abs=1e-6)


def test_duals_are_minus_the_slope_of_the_loss():
    run = rf.analysis.state_of(OBTUSE, rf.Network([[1.0, 0.0]], [2.0]))
    q, h = run.margins[0], 1e-6
    slope = (np.log1p(np.exp(-q - h)) - np.log1p(np.exp(-q + h))) / (2 * h)
    assert duals_of(run)[0] == pytest.approx(-OBTUSE.y * slope, abs=1e-9)


def test_t_star_is_the_time_of_the_ode_with_its_own_constant():
    start, size, delta = -0.3, 0.8, 0.05
    time = shift_bound(start, 1 - delta, size, inner=delta / 4)
    assert _solve_92(start, size, delta, time) == pytest.approx(1 - delta, abs=1e-10)
    assert _solve_92(start, size, delta, shift_bound(start, 1 - delta, size, inner=delta / 8)) < 1 - delta - 1e-3


def test_the_bound_of_proposition_6_adds_up_over_distinct_sizes():
    one = rf.Dataset([[2.0]], [1])  # one cell pulls, with |g(y/4)| = 1/2
    assert total_bound(one, np.array([0.0]), 0.1)[0] == pytest.approx(shift_bound(0.0, 0.95, 0.5, inner=0.1 / 8))
    assert total_bound(one, np.array([0.999]), 0.1)[0] == 0


@pytest.mark.parametrize("minus", [False, True])
def test_a_cone_value_is_the_maximum_over_the_cell(minus):
    data, lam, active = OBTUSE, np.array([0.7, 0.4]), np.array([1.0, 1.0])
    u = rf.convex.unit_vectors(2, 20_000)
    inside = (u @ data.X.T >= 0).all(axis=1) if not minus else (u @ data.X.T <= 0).all(axis=1)
    best = max(0.0, float((u[inside] @ data.X.T @ lam).max()))
    assert cone_value(data, lam, active, minus=minus) == pytest.approx(best, abs=1e-3)


def test_explicit_multipliers_act_only_where_the_cells_differ():
    z = explicit_multipliers(np.array([1.0, 0.0, 1.0]), np.array([1.0, 1.0, 0.0]), np.array([2.0, -1.0, -3.0]))
    assert z.tolist() == [0.0, 1.0, 3.0]


def test_fixed_directions_of_orthogonal_samples_are_the_samples():
    up, down = fixed_directions(rf.datasets.counterexample("corner"))
    assert [u.tolist() for u in up] == [[1.0, 0.0]]
    assert [u.tolist() for u in down] == [[0.0, 1.0]]


def test_rounding_moves_the_optimal_neurons_little():
    low, high = rounding_range(OBTUSE)
    exact = OBTUSE.X / (OBTUSE.X**2).sum(axis=1, keepdims=True)
    assert (low < exact).all()
    assert (exact < high).all()
    assert (high - low).max() < 0.01


@pytest.mark.parametrize(
    ("data", "labels", "p", "chance"),
    [
        (OBTUSE, 2, 0.597486, 0.942594),
        (rf.datasets.wang_pilanci("spike_free"), 1, 0.652514, 0.980727),
        (rf.datasets.counterexample("corner"), 2, 0.5, 1 - 2 * 0.75**10 + 2.0**-10),
    ],
)
def test_chances_of_survival(data, labels, p, chance):
    assert survival(data) == pytest.approx(p, abs=1e-6)
    assert fits(survival(data), 10, labels) == pytest.approx(chance, abs=1e-6)


def test_the_share_of_directions_that_survive_is_met_by_drawn_neurons():
    net = rf.Network.init(4000, 2, seed=3)
    plus, minus = survivors(OBTUSE, net)
    assert (plus + minus) / 4000 == pytest.approx(survival(OBTUSE), abs=4 * np.sqrt(0.24 / 4000))


def test_three_classes_have_the_cosine_asked_for():
    classes = three_classes(-0.3)
    assert pytest.approx(1.3 * np.eye(3) - 0.3) == classes.X @ classes.X.T
    assert classes.binary(0).y.tolist() == [1.0, -1.0, -1.0]


def test_spike_free_sets_are_spike_free_and_have_both_labels():
    for seed in range(5):
        data = spike_free_set(seed, 4)
        assert rf.conditions.is_spike_free(data).holds
        assert set(data.y) == {1.0, -1.0}


def test_covering_both_labels_needs_a_neuron_for_each():
    solution = rf.convex.max_margin(OBTUSE)
    net = rf.convex.to_network(solution)
    assert covers_both(Ended(OBTUSE, rf.certify(net, OBTUSE)))
    pairs = rf.datasets.vardi_shamir_srebro("4.2")  # each neuron is active on one sample of four with one label
    assert not covers_both(Ended(pairs.data, rf.certify(rf.Network(*pairs.limit), pairs.data)))


def test_condition_9_asks_for_more_than_survival():
    plus, minus = (share_of_condition_9(OBTUSE, sign) for sign in (1.0, -1.0))
    assert 0 < plus < survival(OBTUSE)
    assert 0 < minus < survival(OBTUSE)
    # Both signs and the directions without any active sample fill the circle; that sector is opposite to {1, 2}.
    dead = float(np.arccos(1.41 / np.prod(np.linalg.norm(OBTUSE.X, axis=1))) / (2 * np.pi))
    assert plus + minus + dead == pytest.approx(1.0, abs=1e-5)


def test_a_drawn_run_keeps_neurons_of_both_signs_and_tells_them_from_the_dead():
    net, seed = fitting_start(OBTUSE, 0)
    assert seed == 1
    assert min(survivors(OBTUSE, net)) >= LIVING
    runs = pair(OBTUSE, net)
    assert int(runs.alive.sum()) == sum(survivors(OBTUSE, net))
    path = runs.descent_path()
    assert path.marks.shape == (6, 10, 2)
    assert np.array_equal(path.marks[-1], path.smooth[-1])
    assert (path.rectified(path.marks)[-1][~runs.alive] == 0).all()
    assert scaled_value(OBTUSE, runs.flow.final) > 1.282432


def test_a_network_that_does_not_separate_has_no_value():
    assert scaled_value(OBTUSE, rf.Network([[1.0, 0.0]], [1.0])) == np.inf
    assert certified_gap(OBTUSE, run_to_limit(OBTUSE, rf.Network([[1e-3, 0.0]], [1e-3]))) == np.inf


def test_small_values():
    assert svm_value(OBTUSE) == pytest.approx(1.282432, abs=1e-6)
    assert angle([1.0, 0.0], [1.0, 1e-9]) == pytest.approx(1e-9, rel=1e-6)
    assert cover_bound(1, 1) == 0
