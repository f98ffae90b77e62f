"""The class Dataset: what it accepts, keeps and says."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

import reluflow as rf


def test_the_sizes_come_from_the_inputs() -> None:
    data = rf.Dataset(np.ones((5, 3)), [1, 1, -1, 1, -1])
    assert (data.n, data.d) == (5, 3)


def test_inputs_are_copied_and_read_only() -> None:
    X, y = np.eye(2), np.array([1.0, -1.0])
    data = rf.Dataset(X, y)
    X[0, 0] = y[0] = 7.0
    assert data.X[0, 0] == 1.0
    assert data.y[0] == 1.0
    for array in (data.X, data.y):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 2.0


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint8, np.float32, np.float64, bool])
def test_every_real_dtype_becomes_float64(dtype: type) -> None:
    data = rf.Dataset(np.eye(2).astype(dtype), [1, -1])
    assert data.X.dtype == np.float64
    np.testing.assert_array_equal(data.X, np.eye(2))


def test_a_transposed_array_becomes_c_contiguous() -> None:
    X = np.arange(1.0, 7.0).reshape(2, 3).T
    data = rf.Dataset(X, [1, 1, -1])
    assert data.X.flags.c_contiguous
    np.testing.assert_array_equal(data.X, X)


def test_a_data_frame_is_accepted() -> None:
    frame = pd.DataFrame({"p": [1.0, 2.0], "q": [0.0, 1.0], "label": [1, -1]})
    data = rf.Dataset(frame[["p", "q"]], frame["label"])
    np.testing.assert_array_equal(data.X, [[1.0, 0.0], [2.0, 1.0]])


@pytest.mark.parametrize("rank", [1, 2, 4])
def test_the_rank_of_a_product_is_that_of_its_factors(rank: int) -> None:
    rng = np.random.default_rng(rank)
    data = rf.Dataset(rng.standard_normal((9, rank)) @ rng.standard_normal((rank, 6)), np.ones(9))
    assert data.rank == rank


def test_the_rank_does_not_depend_on_the_scale() -> None:
    X = np.array([[1.0, 2.0], [2.0, 4.0], [0.0, 1e-12]])
    ranks = [rf.Dataset(scale * X, [1, 1, -1]).rank for scale in (1e-80, 1.0, 1e80)]
    assert ranks == [2, 2, 2]


def test_a_direction_below_the_tolerance_does_not_count_in_the_rank() -> None:
    data = rf.Dataset(np.diag([1.0, 1e-17]), [1, -1])
    assert 1e-17 < data.rank_tol < 1e-15
    assert data.rank == 1


def test_one_class_alone_is_accepted() -> None:
    assert rf.Dataset([[1.65, 0.47], [0.47, 1.35]], [1, 1]).n == 2


def test_the_names_are_kept() -> None:
    data = rf.Dataset([[1.0, 2.0]], [1], name="two numbers", feature_names=["p", "q"])
    assert data.name == "two numbers"
    assert data.feature_names == ("p", "q")
    assert rf.Dataset([[1.0]], [1]).feature_names is None


def test_equality_compares_values_and_names() -> None:
    data = rf.Dataset([[1.0, 2.0]], [1])
    assert data == rf.Dataset([[1.0, 2.0]], [1])
    assert data != rf.Dataset([[1.0, 3.0]], [1])
    assert data != rf.Dataset([[1.0, 2.0]], [-1])
    assert data != rf.Dataset([[1.0, 2.0]], [1], name="named")
    assert data != "data"


def test_the_text_says_sizes_and_classes() -> None:
    data = rf.Dataset([[1.0], [2.0], [3.0]], [1, -1, -1], name="toy")
    assert repr(data) == "Dataset(n=3, d=1, n_positive=1, n_negative=2, name='toy')"


def test_a_copied_or_pickled_dataset_is_equal_and_read_only() -> None:
    data = rf.Dataset([[1.0, 2.0]], [1], feature_names=["p", "q"])
    for other in (pickle.loads(pickle.dumps(data)), copy.deepcopy(data)):
        assert other == data
        assert not other.X.flags.writeable
        assert not other.y.flags.writeable


def test_a_field_cannot_be_replaced() -> None:
    data = rf.Dataset([[1.0]], [1])
    with pytest.raises(AttributeError):
        data.X = np.ones((2, 2))  # type: ignore[misc]
