"""The helpers behind the claims of Lyu et al.: starts, linear flow, embeddings, gradients, landscapes."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow.figures import panels
from reluflow.papers.lyu_li import (
    CLAIMS,
    _hinted,
    _landscapes,
    _phase_one,
    _phase_three,
    _phase_two,
    _pictures,
    _smoothed,
    _symmetric,
    _teacher,
    _tools,
)
from reluflow.papers.lyu_li import _preliminaries as bounds

DATA = _tools.symmetric_example()
LEAK = _tools.SYMMETRIC_LEAK


def draw(width: int = 5, seed: int = 0, dim: int = 2) -> rf.Network:
    return _tools.gaussian(width, dim, np.random.default_rng(seed), leak=LEAK)


def loss(W: np.ndarray, a: np.ndarray, data: rf.Dataset) -> float:
    return float(np.mean(np.logaddexp(0, -data.y * rf.Network(W, a, leak=LEAK)(data.X))))


def by_differences(function, rows: np.ndarray, step: float = 1e-6) -> np.ndarray:
    """Central differences of a function of the rows (w, a), the slow twin of every gradient here."""
    out = np.empty_like(rows)
    for place in np.ndindex(rows.shape):
        up, down = rows.copy(), rows.copy()
        up[place] += step
        down[place] -= step
        out[place] = (function(up) - function(down)) / (2 * step)
    return out


def test_every_claim_has_an_id_of_its_own_and_the_papers_name():
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    assert {claim.paper for claim in CLAIMS} == {"LLWA"}


def test_the_starts_have_the_variances_and_the_balance_that_the_paper_asks_for():
    rng = np.random.default_rng(0)
    wide = _tools.gaussian(40_000, 3, rng, leak=LEAK, spread=0.2)
    assert wide.W.std() == pytest.approx(1, abs=0.02)
    assert wide.a.std() == pytest.approx(0.2, abs=0.005)
    even = _tools.balanced(2000, 3, rng, leak=LEAK)
    assert np.abs(even.balance).max() < 1e-12
    assert np.mean(even.a > 0) == pytest.approx(0.5, abs=0.05)
    he = _tools.he(20_000, 5, rng, leak=LEAK)
    assert he.W.std() == pytest.approx(1e-3 * np.sqrt(2 / 5), rel=0.02)
    assert he.a.std() == pytest.approx(1e-3 * np.sqrt(2 / 20_000), rel=0.03)


def test_the_exponent_of_a_power_is_found():
    x = np.array([0.1, 0.5, 2.0, 3.0])
    assert _tools.slope_of(x, 7 * x**-1.5) == pytest.approx(-1.5)


def test_the_one_sided_means_are_those_of_the_conditions():
    data = rf.datasets.lyu_figure1("middle")
    means = rf.conditions.larger_positive_mean(data, leak=LEAK).witness
    positive, negative = _tools.one_sided_means(data, LEAK)
    assert np.allclose(positive, means.positive)
    assert np.allclose(negative, means.negative)


def test_the_m_norm_is_the_largest_neuron_or_weight():
    assert _tools.m_norm(np.array([[3.0, 4.0], [0.0, 1.0]]), np.array([-2.0, 1.0])) == 5.0
    assert _tools.m_norm(np.array([[0.3, 0.4]]), np.array([-2.0])) == 2.0


@pytest.mark.parametrize("seed", range(5))
def test_a_start_is_good_where_the_flow_from_small_weights_keeps_both_signs(seed):
    net = draw(2, seed)
    signs = np.sign(rf.integrate(DATA, _tools.scaled(net, 1e-6), until=60.0, reduction="mean").final.a)
    assert _symmetric.good_start(net, DATA) == (len(set(signs)) == 2)


def test_the_linear_flow_is_the_exponential_of_its_matrix():
    from scipy.linalg import expm

    vector, net = np.array([0.3, -0.2]), draw()
    W, a = _phase_one.linear_flow(net, vector, 1.7)
    wanted = net.theta @ expm(1.7 * _phase_one.growth_matrix(vector))
    assert np.allclose(np.column_stack((W, a)), wanted)


def test_the_flow_near_zero_is_the_linear_one():
    net, vector = _tools.scaled(draw(), 1e-7), _phase_one.early_vector(DATA, LEAK)
    W, _ = _phase_one.linear_flow(net, vector, 8.0)
    run = rf.integrate(DATA, net, until=8.0, reduction="mean")
    assert np.abs(run.final.W - W).max() < 1e-9 * np.abs(W).max()


def test_an_embedding_keeps_the_function_and_shares_the_norm():
    rng = np.random.default_rng(1)
    pair, b = rf.Network(rng.standard_normal((2, 3)), [0.7, -0.4], leak=LEAK), rng.standard_normal(6)
    many = _phase_two.embedded(pair, b)
    x = rng.standard_normal((20, 3))
    assert np.allclose(many(x), pair(x))
    assert many.norm == pytest.approx(pair.norm)
    assert np.array_equal(np.sign(many.a), np.sign(b))


def test_the_two_neurons_of_a_start_spread_over_it_are_its_growing_part():
    net = draw(6)
    pair, b = _phase_two.two_neurons(net, DATA)
    along = _tools.unit(_tools.mean(DATA))
    many = _phase_two.embedded(pair, b)
    assert np.allclose(many.W, np.outer(b, along))
    assert np.allclose(many.a, b)


def test_a_well_aligned_network_is_stationary_in_direction_near_zero():
    data = _tools.unit_ball(rf.datasets.lyu_figure1("right"))
    net, rate = _phase_two.aligned(data, 2, np.random.default_rng(0))
    small = _tools.scaled(net, 1e-8)
    final = rf.integrate(data, small, until=3.0, reduction="mean").final
    assert np.allclose(final.theta, np.exp(3 * rate) * small.theta, rtol=1e-6, atol=0)


def test_the_gradient_of_the_loss_is_its_difference_quotient():
    net = draw()
    value, down = _smoothed.gradient(net, DATA)
    slow = by_differences(lambda rows: loss(rows[:, :-1], rows[:, -1], DATA), net.theta)
    assert value == pytest.approx(loss(net.W, net.a, DATA))
    assert np.allclose(down, -slow, atol=1e-8)


def test_the_first_order_gradient_is_that_of_the_linearised_loss():
    net = draw()

    def linearised(rows: np.ndarray) -> float:
        heights = rf.analysis.early_objective(DATA, rows[:, :-1], leak=LEAK, reduction="mean")
        return float(np.log(2) - rows[:, -1] @ heights)

    slow = by_differences(linearised, net.theta)
    assert np.allclose(bounds.first_order_gradient(net, DATA), -slow, atol=1e-8)


def test_the_smoothed_margin_is_that_of_the_series():
    net = _tools.scaled(draw(8, 3), 2.0)
    table = rf.analysis.series(rf.analysis.state_of(DATA, net, reduction="mean"))
    assert _smoothed.smoothed_margin(net, DATA) == pytest.approx(table["smoothed_margin"][0])


def test_the_three_kkt_directions_are_kkt_points_and_another_is_none():
    w = rf.convex.svm(DATA).direction
    directions = _phase_three.kkt_directions(w)
    for rows in directions:
        assert np.linalg.norm(rows) == pytest.approx(1)
        assert rf.certify(rf.Network(rows[:, :-1], rows[:, -1], leak=LEAK), DATA).kkt.residual < 1e-9
    other = directions[0] + np.array([[0.0, 0.1, 0.0], [0.0, 0.0, 0.0]])
    assert rf.certify(rf.Network(other[:, :-1], other[:, -1], leak=LEAK), DATA).verdict == "not_kkt"


def test_neurons_turn_to_the_separator_no_slower_than_the_bound_and_the_bound_can_be_met():
    best = rf.convex.svm(DATA)
    for seed in range(10):
        assert bounds.descent_bounds(draw(4, seed), DATA, best.direction, best.margin).min() >= -1e-15
    one = rf.Dataset([[1.0]], [1])
    tight = bounds.descent_bounds(rf.Network([[-1.0]], [1.0], leak=LEAK), one, np.ones(1), 1.0)
    assert tight == pytest.approx(0, abs=1e-15)  # n = 1 and the slope α: an equality


def test_the_ratio_of_the_principal_direction_agrees_with_the_condition():
    data = _hinted.hinted(_hinted.BASE, **_hinted.HINTS)
    assert _hinted._least_ratio(data) <= rf.conditions.principal_direction(data, leak=LEAK, w=[1, 0]).value + 1e-12
    assert _hinted._least_ratio(rf.Dataset([[1.0, 0.0], [-1.0, 0.0]], [1, 1])) == np.inf


@pytest.mark.parametrize(
    ("landscape", "signs"), [(_landscapes.RIDGE, (1, -1)), (_landscapes.VALLEY, (-1, 1)), (_landscapes.EDGE, (-1, -1))]
)
def test_the_rates_on_both_sides_of_a_boundary_are_those_of_the_flow(landscape, signs):
    rates = _landscapes.one_sided_rates(landscape, np.array([0.0, 0.5]), 0.5)
    assert tuple(np.sign(rates)) == signs
    for side, rate in zip((1, -1), rates, strict=True):
        start = rf.Network([[side * 1e-7, 0.5]], [0.5], leak=_landscapes._LEAK)
        step = 1e-8
        moved = rf.integrate(landscape.data, start, until=step).final.W[0, 0] - start.W[0, 0]
        assert moved / step == pytest.approx(rate, rel=1e-5)


def test_the_distance_from_the_subgradients_of_the_ridge():
    w = np.array([1.0, 2.0])
    zero = np.zeros(2)
    assert _landscapes._to_subgradients(0.3 * w, zero, w) == 0
    assert _landscapes._to_subgradients(2 * w, zero, w) == pytest.approx(np.linalg.norm(w))
    assert _landscapes._to_subgradients(-w, w, w) == pytest.approx(2 * np.linalg.norm(w))


def test_errors_are_per_cent_of_wrong_signs():
    data = rf.Dataset([[1.0], [2.0], [3.0], [4.0]], [1, 1, -1, -1])
    assert _teacher.error(np.array([1.0, -1.0, -1.0, -2.0]), data) == 25.0


def test_the_plane_of_figure_four_holds_the_bias_and_the_first_two_inputs():
    data = rf.datasets.linear_teacher(5, 4, seed=1)
    net = draw(3, 2, dim=5)
    plane = _teacher.restricted(data, net)
    x = np.array([[plane.u[3], plane.v[7], 0.0, 0.0, _teacher.BIAS]])
    assert plane.values[7, 3] == pytest.approx(net(x)[0])
    assert np.array_equal(plane.points, data.X[:, :2])


def test_the_legend_of_figure_four_has_the_letters_of_its_panels():
    figure, axes = panels(2)
    legend = _teacher._titled(figure).legends[0]
    sizes = {text.get_fontsize() for text in legend.get_texts()}
    assert sizes == {axes[0].xaxis.get_ticklabels()[0].get_fontsize()}


def test_the_plane_of_figure_two_keeps_the_constant_input():
    data, net = rf.datasets.lyu_figure1("middle"), draw(3, 2, dim=3)
    plane = _pictures.on_plane(data, net, 1.0, n_grid=11)
    assert plane.values[2, 9] == pytest.approx(net([[plane.u[9], plane.v[2], 0.05]])[0])


def test_a_network_that_still_turns_when_the_data_are_fitted_is_followed_to_its_limit():
    """One in 1,500 starts does, by 1.2 radians; its end was counted as another one."""
    data, W = _hinted.hinted(_hinted.BASE, **_hinted.HINTS), np.array([[-0.31092224, -0.64495005], [-2.2, -0.018]])
    net = _tools.scaled(rf.Network(W, np.linalg.norm(W, axis=1) * [-1, 1], leak=_hinted.LEAK), _tools.SMALL)
    assert not _tools.fit(data, net).limit.certified
    assert _hinted.end_of(data, net).certified
