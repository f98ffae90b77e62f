"""The estimators as scikit-learn uses them."""

from __future__ import annotations

import _thread
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import reluflow as rf

QUICK: dict[str, Any] = {"width": 8, "until": 20.0, "random_state": 0}
CLOUD = np.random.default_rng(0).standard_normal((30, 2))
SIDE = np.where(CLOUD[:, 0] + 0.5 > CLOUD[:, 1], "up", "down")


@pytest.mark.slow
@pytest.mark.parametrize(
    "given", [{"width": 10, "scale": 0.1}, {"width": (6, 5)}, {"width": 10, "scale": 0.1, "loss": "cross_entropy"}]
)
def test_every_check_of_scikit_learn_passes(given: dict[str, Any]) -> None:
    # A small width and a larger start make it quick; the default passes too, in a minute.
    model = rf.ReluFlowClassifier(**given, until=rf.Stop(mean_loss=0.05, time=100.0))
    results = check_estimator(model, on_fail=None, on_skip=None)
    assert len(results) > 45
    failed = {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"}
    assert failed == {}
    # The check of array libraries is for estimators that take them; nothing else is left out.
    assert {result["check_name"] for result in results if result["status"] == "skipped"} <= {"check_array_api_input"}


@pytest.mark.slow
@pytest.mark.parametrize("given", [{"width": 10, "scale": 0.1}, {"width": (6, 5)}])
def test_every_check_of_a_regressor_passes(given: dict[str, Any]) -> None:
    # A small width, a larger start and little time make it quick.
    model = rf.ReluFlowRegressor(**given, until=rf.Stop(mean_loss=0.005, time=20.0))
    results = check_estimator(model, on_fail=None, on_skip=None)
    assert len(results) > 45
    assert {result["check_name"]: result["exception"] for result in results if result["status"] == "failed"} == {}
    assert {result["check_name"] for result in results if result["status"] == "skipped"} <= {"check_array_api_input"}


def test_a_regressor_works_in_a_pipeline_under_cross_validation() -> None:
    X, y = make_friedman1(120, n_features=5, random_state=0)
    model = make_pipeline(StandardScaler(), rf.ReluFlowRegressor(width=12, scale=0.1, until=15.0, random_state=0))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.6


def test_a_regression_is_the_run_of_the_flow_on_standardised_targets() -> None:
    y = 40.0 + 3.0 * np.abs(CLOUD[:, 0])
    model = rf.ReluFlowRegressor(**QUICK).fit(CLOUD, y)
    assert (model.target_mean_, model.target_scale_) == (y.mean(), y.std())
    data = rf.Dataset(CLOUD, (y - y.mean()) / y.std()).with_bias()
    options: dict[str, Any] = {"loss": "squared", "reduction": "mean", "rtol": 1e-4}
    sol = rf.integrate(data, model.solution_.initial, until=20.0, **options)
    assert sol.final == model.network_
    np.testing.assert_array_equal(model.predict(CLOUD), sol.final(CLOUD) * y.std() + y.mean())
    raw = clone(model).set_params(standardise=False, until=0.1).fit(CLOUD, y)
    assert np.array_equal(raw.solution_.data.y, y)
    np.testing.assert_array_equal(raw.predict(CLOUD), raw.network_(CLOUD))


def test_one_value_alone_is_learnt_as_it_is() -> None:
    model = rf.ReluFlowRegressor(**QUICK).fit(CLOUD, np.full(30, 7.0))
    np.testing.assert_allclose(model.predict(CLOUD), 7.0, atol=1e-3)


@pytest.mark.parametrize("exponent", [-900, 900])
def test_a_regression_does_not_depend_on_the_unit_of_its_targets(exponent: int) -> None:
    y = 2.0 + np.abs(CLOUD[:, 0])
    model, other = rf.ReluFlowRegressor(**QUICK), rf.ReluFlowRegressor(**QUICK)
    expected = np.ldexp(model.fit(CLOUD, y).predict(CLOUD), exponent)
    assert np.array_equal(other.fit(CLOUD, np.ldexp(y, exponent)).predict(CLOUD), expected)


def test_it_works_in_a_pipeline_under_cross_validation() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), rf.ReluFlowClassifier(**QUICK))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.85


def test_a_table_gives_its_names_and_holds_later_ones_to_them() -> None:
    table = pd.DataFrame(CLOUD, columns=["left", "right"])
    model = rf.ReluFlowClassifier(**QUICK).fit(table, SIDE)
    assert model.feature_names_in_.tolist() == ["left", "right"]
    assert (model.predict(table) == SIDE).mean() > 0.8
    with pytest.raises(ValueError, match="feature names"):
        model.predict(table.rename(columns={"left": "other"}))


def test_a_fit_is_the_run_of_the_flow() -> None:
    model = rf.ReluFlowClassifier(**QUICK).fit(CLOUD, SIDE)
    assert model.classes_.tolist() == ["down", "up"]
    data = rf.Dataset(CLOUD, np.where(SIDE == "up", 1, -1)).with_bias()
    sol = rf.integrate(data, model.solution_.initial, until=20.0, reduction="mean", rtol=1e-6)
    assert sol.final == model.network_
    np.testing.assert_array_equal(model.decision_function(CLOUD), sol.final(data.X))
    np.testing.assert_array_equal(model.predict(CLOUD) == "up", sol.final(data.X) > 0)


def test_the_same_random_state_gives_the_same_bits_and_none_another_start() -> None:
    one, two = (rf.ReluFlowClassifier(**QUICK).fit(CLOUD, SIDE) for _ in range(2))
    assert one.network_ == two.network_
    free = clone(one).set_params(random_state=None, until=0.1)
    assert free.fit(CLOUD, SIDE).solution_.initial != clone(free).fit(CLOUD, SIDE).solution_.initial


@pytest.mark.parametrize(("loss", "factor"), [("logistic", 1.0), ("exponential", 2.0)])
def test_probabilities_are_those_of_the_loss(loss: Any, factor: float) -> None:
    model = rf.ReluFlowClassifier(**QUICK, loss=loss).fit(CLOUD, SIDE)
    odds = np.exp(factor * model.decision_function(CLOUD))
    np.testing.assert_allclose(model.predict_proba(CLOUD), np.column_stack((1 / (1 + odds), odds / (1 + odds))))


def test_three_classes_are_three_networks_and_their_probabilities_add_up_to_one() -> None:
    y = np.digitize(CLOUD[:, 0], [-0.5, 0.5])
    model = rf.ReluFlowClassifier(**QUICK).fit(CLOUD, y)
    outputs, probabilities = model.decision_function(CLOUD), model.predict_proba(CLOUD)
    assert isinstance(model.network_, rf.networks.MultiClassNetwork)
    assert outputs.shape == (30, 3)
    each = 1 / (1 + np.exp(-outputs))
    np.testing.assert_allclose(probabilities, each / each.sum(axis=1, keepdims=True))
    np.testing.assert_array_equal(model.predict(CLOUD), outputs.argmax(axis=1))


def test_without_a_bias_the_network_is_homogeneous() -> None:
    model = rf.ReluFlowClassifier(**QUICK, bias=False).fit(CLOUD, SIDE)
    assert (model.network_.dim, model.network_.bias) == (2, None)
    np.testing.assert_allclose(model.decision_function(2 * CLOUD), 2 * model.decision_function(CLOUD), rtol=1e-12)


def test_a_search_goes_over_the_parameters() -> None:
    search = GridSearchCV(rf.ReluFlowClassifier(**QUICK), {"scale": [1e-3, 1e-1]}, cv=2).fit(CLOUD, SIDE)
    assert search.best_params_["scale"] in (1e-3, 1e-1)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"bias": "yes"}, "bias must be True or False, found a value of type str"),
        ({"until": -1.0}, "until must be a Stop, or a time above 0, found -1.0"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"width": 0}, "width must be an integer of at least 1, found 0"),
    ],
)
def test_a_bad_parameter_is_named_by_fit(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=r"must") as caught:
        rf.ReluFlowClassifier(**{**QUICK, **given}).fit(CLOUD, SIDE)
    assert message in str(caught.value)


def test_a_row_of_zeros_without_a_bias_names_the_parameter() -> None:
    inputs = np.vstack([CLOUD, np.zeros(2)])
    with pytest.raises(ValueError, match=r"X must have no row of zeros, found zeros only at row \d+ \(.*bias=True"):
        rf.ReluFlowClassifier(**QUICK, bias=False).fit(inputs, [*SIDE, SIDE[0]])
    with pytest.raises(ValueError, match=r"X must have no row of zeros, found zeros only at row \d+ \(.*bias=True"):
        rf.ReluFlowRegressor(width=2, bias=False).fit(inputs, inputs[:, 0])


@pytest.mark.parametrize("classes", [2, 3])
def test_ctrl_c_ends_a_cross_validation_and_leaves_what_was_trained(classes: int) -> None:
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((400, 20)), rng.integers(0, classes, 400)
    model = rf.ReluFlowClassifier(width=100, random_state=0, until=rf.Stop(time=1e6, seconds=60.0))
    for run in (lambda: cross_val_score(model, X, y, cv=2), lambda: model.fit(X, y)):
        timer = threading.Timer(0.3, _thread.interrupt_main)
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            run()
    assert model.predict(X).shape == (400,)


def test_without_scikit_learn_the_extra_is_named() -> None:
    code = "import sys; sys.modules['sklearn'] = None; import reluflow as rf; rf.ReluFlowClassifier"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.returncode != 0
    assert "reluflow[data]" in ended.stderr
    assert {"ReluFlowClassifier", "ReluFlowRegressor"} <= set(dir(rf))


def counted(model: Any) -> tuple[Any, Any]:
    """Targets of the cloud for a model: three classes or a real function."""
    return (CLOUD[:, 0] * 2).round().clip(-1, 1) if isinstance(model, rf.ReluFlowClassifier) else np.abs(CLOUD[:, 0])


@pytest.mark.parametrize("kind", [rf.ReluFlowClassifier, rf.ReluFlowRegressor])
def test_a_weight_is_so_many_copies_and_a_common_factor_is_none(kind: Any) -> None:
    model, y = kind(**QUICK), counted(kind())
    weights = np.random.default_rng(1).integers(0, 4, 30)
    copies = clone(model).fit(np.repeat(CLOUD, weights, axis=0), np.repeat(y, weights)).predict(CLOUD)
    weighted = clone(model).fit(CLOUD, y, sample_weight=weights)
    np.testing.assert_allclose(weighted.predict(CLOUD), copies, rtol=0, atol=1e-4)
    scaled = clone(model).fit(CLOUD, y, sample_weight=2.0**-900 * weights)
    assert np.array_equal(scaled.predict(CLOUD), weighted.predict(CLOUD))
    plain = clone(model).fit(CLOUD, y)
    assert np.array_equal(clone(model).fit(CLOUD, y, sample_weight=np.full(30, 3)).predict(CLOUD), plain.predict(CLOUD))
    assert not np.allclose(plain.predict(CLOUD), weighted.predict(CLOUD))


def test_classes_of_no_weight_are_not_learnt() -> None:
    model = rf.ReluFlowClassifier(**QUICK).fit(CLOUD, SIDE, sample_weight=np.ones(30))
    assert list(model.classes_) == ["down", "up"]
    with pytest.raises(ValueError, match="y must hold at least two classes"):
        model.fit(CLOUD, SIDE, sample_weight=(SIDE == "up").astype(float))


@pytest.mark.parametrize(
    ("weights", "told"),
    [([-1.0] * 30, "not be negative"), ([1.0] * 29, "one entry for each"), ([0.0] * 30, "sample_weight")],
)
def test_weights_that_are_none_are_named(weights: Any, told: str) -> None:
    with pytest.raises(ValueError, match=told):
        rf.ReluFlowRegressor(**QUICK).fit(CLOUD, CLOUD[:, 0], sample_weight=weights)


@pytest.mark.parametrize("width", [8, (6, 5)])
def test_several_targets_are_outputs_of_one_network(width: Any) -> None:
    Y = np.column_stack((40.0 + 3.0 * np.abs(CLOUD[:, 0]), 1e-3 * CLOUD[:, 1], np.full(30, 7.0)))
    model = rf.ReluFlowRegressor(width=width, until=3.0, random_state=0).fit(CLOUD, Y)
    mean, scale = Y.mean(axis=0), np.append(Y.std(axis=0)[:2], 1.0)
    np.testing.assert_allclose(model.target_mean_, mean)
    np.testing.assert_allclose(model.target_scale_, scale)
    start = model.solution_.initial
    standardised = (Y - model.target_mean_) / model.target_scale_
    data: Any = rf.Dataset(CLOUD, standardised, bias_input=1.0) if width == 8 else (CLOUD, standardised)
    sol = rf.integrate(data, start, until=3.0, loss="squared", reduction="mean", rtol=1e-4)
    assert model.network_ == sol.final
    np.testing.assert_allclose(model.predict(CLOUD), sol.final(CLOUD) * scale + mean, rtol=1e-12)
    weights = np.r_[np.zeros(5), np.ones(25)]
    few = clone(model).fit(CLOUD, Y, sample_weight=weights)
    np.testing.assert_array_equal(few.predict(CLOUD), clone(model).fit(CLOUD[5:], Y[5:]).predict(CLOUD))


def test_one_column_is_the_same_run_as_none() -> None:
    y = np.abs(CLOUD[:, 0])
    flat, column = (rf.ReluFlowRegressor(**QUICK).fit(CLOUD, given) for given in (y, y[:, None]))
    assert flat.network_ == column.network_
    np.testing.assert_array_equal(column.predict(CLOUD), flat.predict(CLOUD)[:, None])


def test_places_that_come_to_stand_alone_have_no_input() -> None:
    """Where zeros of whole numbers meet, a place that shared a boundary comes to one of its own. Its normal was looked
    for by an input that it does not have, and the process died."""
    rng = np.random.default_rng(4124)
    n, d = int(rng.integers(8, 30)), int(rng.integers(1, 10))
    X, y = rng.integers(0, 4, (n, d)).astype(float), rng.integers(0, 3, n).astype(float)
    coarse, fine = (
        rf.ReluFlowRegressor(width=(6, 5), until=rf.Stop(time=20.0), rtol=rtol, random_state=4124).fit(X, y)
        for rtol in (1e-3, 1e-8)
    )
    np.testing.assert_allclose(coarse.predict(X), fine.predict(X), atol=1e-3)


def test_normals_that_all_but_depend_on_each_other_are_held() -> None:
    """Normals of what slides depend on each other but for what an event is known to. What is held by them jointly was
    let go at each step, by the way in which it is asked whether it is held, and kept by all ways to go on: for ever."""
    rng = np.random.default_rng(11087)
    n, d = int(rng.integers(8, 30)), int(rng.integers(1, 10))
    X, y, weight = (rng.integers(0, high, size).astype(float) for high, size in ((4, (n, d)), (3, n), (5, n)))
    until = rf.Stop(mean_loss=0.005, time=20.0, steps=1000)
    coarse, fine = (
        rf.ReluFlowRegressor(width=(6, 5), until=until, rtol=rtol, random_state=11087).fit(X, y, sample_weight=weight)
        for rtol in (1e-3, 1e-8)
    )
    assert (coarse.solution_.status, fine.solution_.status) == ("reached_time", "reached_time")
    np.testing.assert_allclose(coarse.predict(X), fine.predict(X), atol=1e-2)
