"""Bias columns, centring and standardising keep labels and names and refuse what they cannot do."""

import pickle
import re
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf

BINARY = rf.Dataset(
    [[1.0, 5.0, 2.0], [3.0, 5.0, 0.0], [8.0, 5.0, 1.0]], [1, -1, 1], name="b", feature_names=["u", "v", "w"]
)
SEVERAL = rf.datasets.MultiClassDataset(BINARY.X, ["x", "y", "z"], name="m", feature_names=BINARY.feature_names)
BOTH = pytest.mark.parametrize("data", [BINARY, SEVERAL], ids=["binary", "several classes"])


@BOTH
def test_a_bias_is_one_more_column(data):
    made = data.with_bias(0.1)
    assert np.array_equal(made.X[:, :3], data.X)
    assert (made.X[:, 3] == 0.1).all()
    assert made.feature_names == ("u", "v", "w", "bias")
    assert type(made) is type(data)
    assert made.name == data.name
    assert made.bias_input == 0.1
    assert made != data
    assert made.fingerprint == data.with_bias(0.1).fingerprint != data.with_bias(0.2).fingerprint
    assert pickle.loads(pickle.dumps(made)) == made
    with pytest.warns(DeprecationWarning, match=r"add_bias\(data, value\) is now data.with_bias"):
        assert rf.datasets.add_bias(data, 0.1) == made


@BOTH
def test_centring_and_standardising_leave_a_bias_alone(data):
    for change in (rf.datasets.centre, rf.datasets.standardise):
        assert change(data.with_bias(0.1)) == change(data).with_bias(0.1)


def test_a_sample_at_zero_needs_a_bias():
    with pytest.raises(ValueError, match=r"zeros only at row 1 \(a bias appends a constant"):
        rf.Dataset([[1.0], [0.0]], [0.5, -0.5])
    data = rf.Dataset([[1.0], [0.0]], [0.5, -0.5], bias_input=2.0, feature_names=["x"])
    assert data.X.tolist() == [[1.0, 2.0], [0.0, 2.0]]
    assert data.feature_names == ("x", "bias")


def test_problems_of_single_classes_keep_the_bias():
    data = SEVERAL.with_bias(0.1)
    assert data.binary(1) == SEVERAL.binary(1).with_bias(0.1)
    assert data.pair(0, 2) == SEVERAL.pair(0, 2).with_bias(0.1)


@BOTH
def test_centring_makes_the_column_means_zero(data):
    made = rf.datasets.centre(data)
    assert np.allclose(made.X.mean(axis=0), 0, atol=1e-15)
    assert np.allclose(made.X - made.X[0], data.X - data.X[0])


@BOTH
def test_standardising_gives_unit_spread_and_zeroes_constant_columns(data):
    made = rf.datasets.standardise(data)
    assert np.allclose(made.X.std(axis=0), [1, 0, 1])
    assert np.allclose(made.X.mean(axis=0), 0, atol=1e-15)
    assert (made.X[:, 1] == 0).all()


def test_labels_survive():
    assert np.array_equal(rf.datasets.standardise(BINARY).y, BINARY.y)
    assert rf.datasets.standardise(SEVERAL).classes == SEVERAL.classes
    assert np.array_equal(rf.datasets.centre(SEVERAL).labels, SEVERAL.labels)


def test_a_constant_column_is_exactly_zero_when_centred():
    data = rf.Dataset([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0]], [1, 1, -1])  # the mean of 0.1, 0.1, 0.1 is not 0.1
    assert rf.datasets.centre(data).X[:, 0].tolist() == [0.0, 0.0, 0.0]


def test_standardising_does_not_take_rounding_for_spread():
    data = rf.Dataset([[0.1, 1.0], [0.1, 2.0], [0.1, 4.0]], [1, 1, -1])
    assert (rf.datasets.standardise(data).X[:, 0] == 0).all()


@pytest.mark.parametrize("value", [0, float("nan"), float("inf"), "1"])
def test_a_bias_that_is_no_bias_is_refused(value):
    with pytest.raises(ValueError, match="value must be a finite number other than 0, found"):
        BINARY.with_bias(value)


@pytest.mark.parametrize("change", [rf.datasets.centre, rf.datasets.standardise])
@pytest.mark.parametrize("kind", [rf.Dataset, rf.datasets.MultiClassDataset])
def test_a_sample_at_the_mean_needs_a_bias_and_the_message_says_how(change, kind):
    data = kind([[1.0], [2.0], [3.0]], [1, 1, -1])
    with pytest.raises(
        ValueError, match=r"data must have a bias .* \(data.with_bias\(1.0\) before.*, found one at row 1$"
    ):
        change(data)
    assert change(data.with_bias(1.0)).X[1].tolist() == [0.0, 1.0]


def test_the_way_of_the_tutorial_takes_a_sample_at_the_mean(tmp_path):
    """Row 0 of this table is at zero, and row 1 at the mean."""
    page = Path(__file__).parent.parent / "docs" / "tutorials" / "own_data.md"
    (lines,) = re.findall(r"^raw = .*\n(?:.*\n)*?data = .*\n", page.read_text(encoding="utf-8"), re.MULTILINE)
    (tmp_path / "flowers.csv").write_text("u,v,kind\n0,0,long\n1,1,short\n2,2,long\n", encoding="utf-8")
    scope = {"rf": rf}
    exec(lines.replace('"flowers.csv"', repr(str(tmp_path / "flowers.csv"))), scope)
    assert scope["data"].X[1].tolist() == [0.0, 0.0, 1.0]


def test_arrays_are_not_taken_for_data():
    with pytest.raises(
        ValueError, match="data must be a Dataset or a MultiClassDataset, found a value of type ndarray"
    ):
        rf.datasets.centre(np.ones((2, 2)))
