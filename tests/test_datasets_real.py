"""Real data that ship with scikit-learn, by their documented recipes."""

import numpy as np
import pytest
from sklearn import datasets as sk

import reluflow as rf


@pytest.mark.parametrize(("a", "b"), [(3, 8), (8, 3), (0, 1)])
def test_two_digits_are_centred_pixels_in_stored_order(a, b):
    data = rf.datasets.digits(a, b)
    raw = sk.load_digits()
    kept = [i for i, t in enumerate(raw.target) if t in (a, b)]
    pixels = raw.data[kept] / 16
    assert np.array_equal(data.X, pixels - pixels.mean(axis=0))
    assert data.y.tolist() == [1 if raw.target[i] == a else -1 for i in kept]


def test_three_against_eight_has_357_samples_and_is_separable():
    data = rf.datasets.digits(3, 8)
    assert (data.n, data.d, data.rank, int((data.y > 0).sum())) == (357, 64, 54, 183)
    assert rf.conditions.linear_margin(data).margin == pytest.approx(0.18073324378, rel=1e-9)
    assert data.feature_names[9] == "pixel_1_1"


def test_all_ten_digits_are_one_data_set_of_ten_classes():
    data = rf.datasets.digits()
    assert (data.n, data.K, data.classes) == (1797, 10, tuple(range(10)))
    assert np.allclose(data.X.mean(axis=0), 0, atol=1e-14)


def test_flowers_and_wines_are_standardised_over_the_samples_used():
    for data in (rf.datasets.iris(), rf.datasets.iris("setosa", "virginica"), rf.datasets.wine("class_0", "class_2")):
        assert np.allclose(data.X.mean(axis=0), 0, atol=1e-12)
        assert np.allclose(data.X.std(axis=0), 1)


def test_classes_are_named_and_counted_as_in_the_source():
    assert np.bincount(rf.datasets.wine().labels).tolist() == [59, 71, 48]
    assert rf.datasets.iris().classes == ("setosa", "versicolor", "virginica")
    assert rf.datasets.iris("virginica", "setosa").y[[0, -1]].tolist() == [-1, 1]
    assert rf.datasets.wine("class_2", "class_0").name == "wine: class_2 against class_0"


def test_setosa_is_separable_and_versicolor_from_virginica_is_not():
    assert rf.conditions.linear_separability(rf.datasets.iris("setosa", "virginica")).holds
    assert not rf.conditions.linear_separability(rf.datasets.iris("versicolor", "virginica")).holds


def test_malignant_is_the_positive_class_of_breast_cancer():
    data = rf.datasets.breast_cancer()
    raw = sk.load_breast_cancer()
    malignant = list(raw.target_names).index("malignant")
    assert data.y.tolist() == np.where(raw.target == malignant, 1, -1).tolist()
    assert not rf.conditions.linear_separability(data).holds


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rf.datasets.digits(3, 10), r"b must be a class of digits \(0, 1, 2, 3, 4, 5, \.\.\.\), found 10"),
        (lambda: rf.datasets.digits([3], 8), r"a must be a class of digits .*, found \[3\]"),
        (lambda: rf.datasets.digits(3, 3), "b must be another class than a, found 3"),
        (lambda: rf.datasets.digits(3), "b must be a class of digits .*, found None"),
        (lambda: rf.datasets.iris("rosa", "setosa"), "a must be a class of iris .*, found 'rosa'"),
        (lambda: rf.datasets.wine("class_0", "class_9"), "b must be a class of wine .*, found 'class_9'"),
    ],
)
def test_classes_that_do_not_exist_are_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_without_scikit_learn_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sklearn.datasets", None)
    with pytest.raises(ImportError, match=r'pip install "reluflow\[data\]"'):
        rf.datasets.digits(3, 8)
