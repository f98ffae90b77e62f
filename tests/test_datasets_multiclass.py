"""K classes on one input matrix: one-against-rest problems, pairs of classes, and what is refused."""

import copy
import pickle

import numpy as np
import pytest

import reluflow as rf

X = [[1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]]


@pytest.fixture
def data():
    return rf.datasets.MultiClassDataset(X, ["b", "a", "c", "b"], name="letters", feature_names=["u", "v"])


def test_classes_are_numbered_in_increasing_order(data):
    assert data.classes == ("a", "b", "c")
    assert data.labels.tolist() == [1, 0, 2, 1]
    assert (data.n, data.d, data.K, data.rank) == (4, 2, 3, 2)


def test_one_against_rest_labels_have_one_column_a_class(data):
    assert data.Y.tolist() == [[-1, 1, -1], [1, -1, -1], [-1, -1, 1], [-1, 1, -1]]


def test_a_class_against_the_rest_is_an_ordinary_dataset(data):
    one = data.binary(1)
    assert isinstance(one, rf.Dataset)
    assert one.y.tolist() == [1, -1, -1, 1]
    assert (one.name, one.feature_names) == ("letters: b against the rest", ("u", "v"))
    assert np.array_equal(one.X, data.X)


def test_a_pair_of_classes_leaves_the_other_samples_out(data):
    two = data.pair(2, 1)
    assert two.X.tolist() == [X[0], X[2], X[3]]
    assert two.y.tolist() == [-1, 1, -1]
    assert two.name == "letters: c against b"


def test_copies_and_pickles_are_equal_and_read_only(data):
    for twin in (copy.deepcopy(data), pickle.loads(pickle.dumps(data))):
        assert twin == data
        assert twin.rank == 2
        assert not twin.X.flags.writeable
        assert not twin.labels.flags.writeable
    assert data != rf.datasets.MultiClassDataset(X, ["b", "a", "c", "c"], name="letters", feature_names=["u", "v"])
    assert data != rf.datasets.MultiClassDataset(X, [1, 0, 2, 1], name="letters", feature_names=["u", "v"])
    assert data != "letters"


def test_the_representation_is_one_line(data):
    assert repr(data) == "MultiClassDataset(n=4, d=2, K=3, name='letters')"


@pytest.mark.parametrize(
    ("inputs", "labels", "message"),
    [
        (X, [1, 1, 1, 1], "labels must hold at least two classes, found 1 in all 4 rows"),
        (X, [1, 2, 3], "labels must have one label for each of the 4 rows of X, found 3 labels"),
        ([*X[:3], [0, 0]], [1, 2, 3, 1], "X must have no row of zeros, found zeros only at row 3"),
        ([*X[:3], [0, np.nan]], [1, 2, 3, 1], "X must hold finite numbers only, found nan at row 3, column 1"),
        ([[1.0], [1.0, 2.0]], [1, 2], r"X must be an array of shape \(n, d\)"),
        (1.0, [1, 2], r"X must have the shape \(n, d\)"),
    ],
)
def test_bad_data_are_refused_with_the_name_of_the_argument(inputs, labels, message):
    with pytest.raises(ValueError, match=message):
        rf.datasets.MultiClassDataset(inputs, labels)


def test_class_indices_out_of_range_are_refused(data):
    for k in (3, -1, 1.0, True):
        with pytest.raises(ValueError, match=r"k must be a class index 0 \.\.\. 2, found"):
            data.binary(k)
    with pytest.raises(ValueError, match="negative must be another class than positive, found 1"):
        data.pair(1, 1)


def test_two_classes_are_allowed():
    data = rf.datasets.MultiClassDataset(X, [0, 1, 0, 1])
    assert data.K == 2
    assert data.binary(1).y.tolist() == [-1, 1, -1, 1]
