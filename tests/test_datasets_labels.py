"""Labels in the user's form become +1 and -1 in one place, and say so when they cannot."""

import datetime
import decimal
import fractions

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
        ([0, pd.NaT], {}, "values must have a label in each row, found NaT at row 1"),
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


@pytest.mark.parametrize(
    "labels",
    [
        [(1,), (2,)],
        [b"a", b"b"],
        [datetime.date(2020, 1, 1), datetime.date(2020, 1, 2)],
        pd.Series(pd.to_datetime(["2020-01-01", "2020-01-02"])),
        np.array(["2020-01-01", "2020-01-02"], dtype="datetime64[ns]"),
        list(np.array([1, 2], dtype="timedelta64[ns]")),
        [decimal.Decimal(1), decimal.Decimal(2)],
        [fractions.Fraction(1, 2), fractions.Fraction(1, 3)],
        [1j, 2j],
    ],
)
def test_labels_that_no_file_can_hold_are_refused(labels):
    message = "must hold numbers, booleans or strings, found .* at row 0"
    with pytest.raises(ValueError, match=f"labels {message}"):
        rf.datasets.MultiClassDataset(np.eye(2), labels)
    with pytest.raises(ValueError, match=f"values {message}"):
        binary_labels(labels, positive=labels[0])


@pytest.mark.parametrize("kind", [np.str_, np.bool_, np.int8, np.uint64, np.float16, np.float64, np.longdouble])
def test_scalars_of_numpy_are_labels_and_become_plain_values(kind):
    _, classes = rf.datasets.class_labels([kind(0), kind(1)])
    assert classes == ((False, True) if kind is np.bool_ else ("0", "1") if kind is np.str_ else (0, 1))
    assert {type(value) for value in classes} < {str, bool, int, float}


def test_long_lists_of_classes_are_cut_in_messages():
    with pytest.raises(ValueError, match=r"0, 1, 2, 3, 4, 5, \.\.\."):
        binary_labels(range(50))
