"""Labels in the user's form become +1 and -1 in one place, and say so when they cannot."""

import numpy as np
import pandas as pd
import pytest

import reluflow as rf

binary_labels = rf.datasets.binary_labels


@pytest.mark.parametrize(
    "values",
    [[0, 1, 1], [False, True, True], [-1, 1, 1], [0.0, 1.0, 1.0], np.array([0, 1, 1], dtype=np.uint8)],
)
def test_pairs_that_everybody_reads_alike_need_no_positive_class(values):
    assert binary_labels(values).tolist() == [-1, 1, 1]


def test_strings_say_which_class_is_positive():
    assert binary_labels(["spam", "ham", " spam"], positive="spam").tolist() == [1, -1, 1]
    assert binary_labels(pd.Series(["a", "b"], dtype="category"), positive="a").tolist() == [1, -1]
    assert binary_labels([1, 2], positive=1).tolist() == [1, -1]


def test_several_classes_can_be_positive_against_the_rest():
    assert binary_labels([0, 1, 2, 3], positive=[0, 2]).tolist() == [1, -1, 1, -1]
    assert binary_labels(["u", "v", "w"], positive="v").tolist() == [-1, 1, -1]


def test_labels_are_read_only_float64():
    y = binary_labels([0, 1])
    assert y.dtype == np.float64
    with pytest.raises(ValueError, match="read-only"):
        y[0] = 1


@pytest.mark.parametrize(
    ("values", "options", "message"),
    [
        (["a", "b"], {}, "positive must name the class that gets [+]1, found none for the classes 'a', 'b'"),
        ([1, 2], {}, "positive must name the class"),
        ([0, 1, 2], {}, "positive must name the class that gets [+]1, found none for the classes 0, 1, 2"),
        ([1, 1, 1], {}, "values must hold at least two classes, found 1 in all 3 rows"),
        ([0, 1], {"positive": 2}, r"positive must be a class that occurs \(0, 1\), found 2"),
        ([0, 1], {"positive": [0, 1]}, "positive must leave at least one class for -1, found all 2 classes"),
        ([0, 1], {"positive": [[1]]}, r"positive must be a class that occurs \(0, 1\), found \[1\]"),
        ([0, 1], {"positive": []}, "positive must name at least one class, found none"),
        ([0.0, float("nan")], {}, "values must have a label in each row, found nan at row 1"),
        (["a", None], {"positive": "a"}, "values must have a label in each row, found None at row 1"),
        (pd.Series([1, None, -1], dtype="Int64"), {}, "values must have a label in each row, found <NA> at row 1"),
        (pd.Series(["a", None], dtype="string"), {"positive": "a"}, "values must have a label in each row, found"),
        (pd.to_datetime(["2020-01-01", None]), {}, "values must have a label in each row, found NaT at row 1"),
        (["a", "  "], {"positive": "a"}, "values must have a label in each row, found '' at row 1"),
        (np.array(["a", 1], dtype=object), {"positive": 1}, "values must hold labels of one type, found int and str"),
        (np.array([[0, 1]]), {}, r"values must have the shape \(n,\), found the shape \(1, 2\)"),
        ([[0, 1]], {}, r"values must have the shape \(n,\), found a list at row 0"),
        (1, {}, r"values must have the shape \(n,\), found 1"),
        ("spam", {}, r"values must have the shape \(n,\), found 'spam'"),
        (["a", 1], {"positive": 1}, "values must hold labels of one type, found int and str"),
        ([], {}, "values must hold at least two classes, found no label"),
    ],
)
def test_labels_that_do_not_say_what_they_mean_are_refused(values, options, message):
    with pytest.raises(ValueError, match=message):
        binary_labels(values, **options)


def test_long_lists_of_classes_are_cut_in_messages():
    with pytest.raises(ValueError, match=r"0, 1, 2, 3, 4, 5, \.\.\."):
        binary_labels(range(50))
