"""What is made of a data set keeps what its samples count, and so does the flow, however late."""

from __future__ import annotations

import numpy as np
import pytest

import reluflow as rf
from reluflow.conditions._facts import Facts

WEIGHTED = rf.Dataset([[1.0, 2.0], [3.0, -4.0]], [1, -1], weights=[2.0, 0.5], name="two", feature_names=["u", "v"])


def test_a_sample_and_its_negative_count_alike() -> None:
    data = rf.datasets.symmetrise(WEIGHTED)
    assert data.counts.tolist() == [2.0, 0.5, 2.0, 0.5]
    assert data.X.tolist() == [[1, 2], [-3, 4], [-1, -2], [3, -4]]
    assert rf.datasets.symmetrise(rf.Dataset(WEIGHTED.X, WEIGHTED.y)).weights is None


def test_the_flow_on_symmetrised_data_is_that_of_repeated_samples() -> None:
    data = rf.datasets.symmetrise(rf.Dataset([[1.0, 0.5], [0.3, -1.0]], [1, 1], weights=[2.0, 1.0]))
    rows = [0, 0, 1, 2, 2, 3]
    repeated = rf.Dataset(data.X[rows], data.y[rows])
    net = rf.Network.init(5, 2, scale=0.1, seed=1)
    ends = [rf.integrate(each, net, until=3.0).final.W for each in (data, repeated)]
    np.testing.assert_allclose(ends[0], ends[1], rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("bias", [None, 0.5])
def test_data_with_labels_turned_over_are_the_same_in_all_else(bias: float | None) -> None:
    data = WEIGHTED if bias is None else WEIGHTED.with_bias(bias)
    turned = Facts(data, None, 0.0, "logistic").flipped
    assert turned.data.y.tolist() == [-1.0, 1.0]
    assert turned.flipped.data == data


def test_a_small_loss_is_small_beside_the_sample_that_counts_least() -> None:
    net = rf.Network([[1.0]], [1.0])
    X, y, q = [[1.0], [-0.05]], [1, -1], 1.0
    below = rf.conditions.loss_below_threshold
    plain = below(rf.Dataset(X, y), net)
    assert plain.value == pytest.approx(np.log1p(np.exp(-q)) + np.log(2))
    assert not plain.holds
    # The second sample is never active. It counts so little that the sum is below ln 2, and its margin is 0 for ever.
    light = below(rf.Dataset(X, y, weights=[1.0, 0.01]), net)
    assert light.value == pytest.approx(np.log1p(np.exp(-q)) + 0.01 * np.log(2))
    assert light.value < np.log(2)
    assert not light.holds
    assert below(rf.Dataset(X, y, weights=[1.0, 0.0]), net).holds
    many = rf.Dataset([[1.0], [1.0], [1.0]], [1, 1, 1])
    three = rf.Dataset([[1.0]], [1], weights=[3.0])
    assert below(three, net).value == pytest.approx(below(many, net).value)
    assert below(three, net).holds


@pytest.mark.parametrize("count", [2.0, 10.0])
def test_far_beyond_the_digits_a_sample_that_counts_more_is_ahead_by_the_logarithm(count: float) -> None:
    """Weights c exp(-q) have a fixed ratio in the limit, so that log c is what the margins differ by, at any log t."""
    data = rf.datasets.wang_pilanci("obtuse")
    net = rf.Network.init(4, 2, scale=1e-2, seed=1)

    def gap(each: rf.Dataset) -> float:
        sol = rf.integrate(each, net, until=rf.Stop(log_time=1e10))
        assert sol.status == "reached_log_time"
        assert sol.stats["steps"] < 200
        margins = each.y * sol.final(each.X)
        return float(margins[1] - margins[0])

    weighted = rf.Dataset(data.X, data.y, weights=[1.0, count])
    assert gap(weighted) - gap(data) == pytest.approx(np.log(count), abs=0.02)  # margins of 1e10, to rtol


def test_weights_of_samples_do_not_change_the_function_in_the_limit() -> None:
    data = rf.datasets.wang_pilanci("obtuse")
    net = rf.Network.init(4, 2, scale=1e-2, seed=1)
    each = []
    for weights in (None, [1.0, 3.0]):
        weighted = rf.Dataset(data.X, data.y, weights=weights)
        final = rf.integrate(weighted, net, until=rf.Stop(log_norm=20.0)).final
        each.append(final(data.X) / final.norm**2)
    np.testing.assert_allclose(each[0], each[1], rtol=1e-6)
