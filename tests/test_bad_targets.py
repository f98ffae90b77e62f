"""Targets that users bring along: what is taken as it is, and what is refused with the way out."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import reluflow as rf

X = [[1.65, -0.47], [-0.47, 1.35], [1.0, 1.0]]
NET = rf.Network.init(4, 2, scale=0.1, seed=1)


@pytest.mark.parametrize("y", [[1, 0, 2], [True, False, True], [1, -1, 1], np.array([1, 0, 2], dtype=np.uint8)])
def test_integers_and_truth_values_are_numbers_to_the_squared_loss(y: Any) -> None:
    exact = rf.integrate(rf.Dataset(X, np.array(y, dtype=float)), NET, until=1.0, loss="squared")
    assert rf.integrate(rf.Dataset(X, y), NET, until=1.0, loss="squared").final == exact.final


def test_class_numbers_with_a_gap_are_classes_of_their_own() -> None:
    data = rf.datasets.MultiClassDataset(X, [3, 7, 3])
    assert (data.K, data.classes) == (2, (3, 7))


LOGISTIC = (
    "data.y must hold +1 and -1 only for the logistic loss (rf.datasets.binary_labels makes labels of two values;"
)
ONE_HOT = "data must have one target a sample (several are for a network of as many outputs, rf.Network.init("

SIZES = "have a largest entry that is 0 or between 1e-100 and 1e+100"
WEIGHTS = "weights must have a largest entry between 1e-100 and 1e+100, found 1e"
LAYERS = rf.DeepNetwork.init([rf.Dense(2), rf.Dense(3)], dim=2, seed=0)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rf.integrate(rf.Dataset(X, [0.5, 1, -1]), NET, until=1.0), LOGISTIC),
        (lambda: rf.descend(rf.Dataset(X, [0, 1, 2]), NET, n_steps=1), LOGISTIC),
        (lambda: rf.integrate_many(rf.Dataset(X, [True, False, True]), [NET], until=1.0), LOGISTIC),
        (lambda: rf.early_alignment(rf.Dataset(X, [0.5, 1, 2]), [[1.0, 0.0]], [1]), LOGISTIC),
        (lambda: rf.integrate(rf.Dataset(X, np.eye(3)), NET, until=1.0, loss="squared"), ONE_HOT),
        (
            lambda: rf.integrate(rf.Dataset(X, [1, -1, 1]), NET, until=1.0, loss="cross_entropy"),  # type: ignore[call-overload]
            "for two layers with one output, found 'cross_entropy': it needs K outputs, rf.Network(W, a) with a of",
        ),
        (lambda: rf.Dataset(X, [1.0, math.nan, 2.0]), "y must hold finite numbers only, found nan at row 1"),
        (lambda: rf.Dataset(X, [1.0, math.inf, 2.0]), "y must hold finite numbers only, found inf at row 1"),
        (lambda: rf.Dataset(X, ["1", "2", "3"]), "y must hold real numbers, found the dtype <U1"),
        (lambda: rf.Dataset(X, [1 + 1j, 2, 3]), "y must hold real numbers, found the dtype complex128"),
        (lambda: rf.Dataset(X, [1, 2]), "y must have one entry for each of the 3 rows of X, found 2 entries"),
        (lambda: rf.Dataset(X, [1.0, -1e160, 2.0]), f"y must {SIZES}, found 1e+160 at row 1"),
        (lambda: rf.integrate((X, [1e-250, 0.0, 0.0]), NET, until=1.0, loss="squared"), f"data[1] must {SIZES}, found"),
        (
            lambda: rf.integrate((X, 1e160 * np.eye(3)), LAYERS, until=1.0, loss="squared"),
            f"data[1] must {SIZES}",
        ),
        (lambda: rf.Dataset(X, [1, 2, 3], weights=[1, 1, 1e160]), WEIGHTS),
        (lambda: rf.Dataset(X, [1, 2, 3], weights=[0, 0, 1e-160]), WEIGHTS),
        (lambda: rf.Dataset(X, [1, 2, 3], weights=[1, 1, -1]), "weights must not be negative, found -1 at row 2"),
        (
            lambda: rf.integrate(rf.datasets.MultiClassDataset(X, [0, 2, 0]), NET, until=1.0),
            "net must be a MultiClassNetwork",
        ),
        (
            lambda: rf.integrate(
                rf.datasets.MultiClassDataset(X, [0, 2, 5]), rf.Network.init(4, 2, classes=2), until=1.0
            ),
            "net must hold one network for each of the 3 classes",
        ),
    ],
)
def test_targets_that_do_not_fit_are_named(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        call()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_the_early_phase_of_the_squared_loss_goes_along_the_targets() -> None:
    data = rf.Dataset(X, [0.5, -1.5, 2.0], weights=[1.0, 2.0, 0.5])
    found = rf.early_alignment(data, NET.W, np.sign(NET.a), loss="squared")
    np.testing.assert_array_equal(found.duals, data.y * [1.0, 2.0, 0.5])
    tiny = rf.Network(1e-30 * NET.W, 1e-30 * NET.a)
    end = rf.integrate(data, tiny, until=12.0, loss="squared").final
    moving = found.status == "extremal"
    assert moving.any()
    cosines = (end.W * found.direction).sum(axis=1) / np.linalg.norm(end.W, axis=1)
    np.testing.assert_allclose(cosines[moving], 1.0, atol=1e-6)
