"""The two-dimensional examples of [WP], with the numbers worked out for them."""

import math

import numpy as np
import pytest

import reluflow as rf

wang_pilanci = rf.datasets.wang_pilanci


def test_the_obtuse_example_has_the_printed_inputs_and_angle():
    data = wang_pilanci("obtuse")
    x, z = data.X
    norms = np.linalg.norm(data.X, axis=1)
    assert norms == pytest.approx([1.715634, 1.429475], abs=1e-6)
    assert math.degrees(math.acos(x @ z / norms.prod())) == pytest.approx(125.095, abs=1e-3)
    assert (1 / norms).sum() == pytest.approx(1.282432, abs=1e-6)


def test_the_spike_free_example_has_one_optimal_neuron():
    data = wang_pilanci("spike_free")
    w = rf.conditions.linear_margin(data).w
    assert w == pytest.approx([0.438553, 0.588059], abs=1e-6)
    assert np.linalg.norm(w) == pytest.approx(0.733582, abs=1e-6)


def test_the_acute_example_shares_the_inputs_of_the_spike_free_one():
    assert np.array_equal(wang_pilanci("acute").X, wang_pilanci("spike_free").X)
    assert wang_pilanci("acute").y.tolist() == [1, -1]


def test_the_first_neuron_grows_fastest_over_the_active_sets():
    """Norms of ½ Σ y_i x_i over the active sets {1}, {2}, {1, 2} of [WP, (24)], with the factor 1/2."""
    data = wang_pilanci("obtuse")
    sizes = [np.linalg.norm(data.y[s] @ data.X[s]) / 2 for s in ([0], [1], [0, 1])]
    assert sizes == pytest.approx([0.857817, 0.714738, 1.397033], abs=1e-6)


def test_no_neuron_of_the_sliding_example_aligns_with_its_own_direction():
    data = rf.datasets.counterexample("sliding")
    t = np.linspace(0, 2 * np.pi, 100_001)
    u = np.column_stack((np.cos(t), np.sin(t)))
    g = ((u @ data.X.T > 0) * data.y) @ data.X
    norms = np.linalg.norm(g, axis=1)
    cosines = np.sum(u * g, axis=1)[norms > 0] / norms[norms > 0]
    assert cosines.max() <= math.sqrt(0.5) + 1e-9


def test_the_other_counterexamples_are_the_data_they_say():
    assert rf.datasets.counterexample("opposite").X.tolist() == [[1], [-1]]
    assert rf.datasets.counterexample("corner").X.tolist() == [[1, 0], [0, 1]]


def test_unknown_examples_are_refused():
    with pytest.raises(ValueError, match="example must be one of 'obtuse', 'acute', 'spike_free', found 'F1'"):
        wang_pilanci("F1")
    with pytest.raises(ValueError, match="example must be one of 'sliding', 'opposite', 'corner', found 3"):
        rf.datasets.counterexample(3)
