"""The estimators with several hidden layers, and with an output for each class."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reluflow as rf
from reluflow.flow import _progress

CLOUD = np.random.default_rng(0).standard_normal((30, 2))
SIDE = np.where(CLOUD[:, 0] + 0.5 > CLOUD[:, 1], "up", "down")
THIRDS = np.digitize(CLOUD[:, 0], [-0.5, 0.5])
LAYERS: dict[str, Any] = {"width": (5, 4), "until": 3.0, "random_state": 0}
OUTPUTS: dict[str, Any] = {"width": 6, "scale": 0.3, "until": 3.0, "random_state": 0, "loss": "cross_entropy"}
CODES = (SIDE == "up").astype(int)


def test_a_fit_of_layers_is_the_run_of_their_flow() -> None:
    model = rf.ReluFlowClassifier(**LAYERS).fit(CLOUD, SIDE)
    start = model.solution_.initial
    assert isinstance(start, rf.DeepNetwork)
    assert [layer.W.shape for layer in start.layers] == [(5, 2), (4, 5), (1, 4)]
    assert [layer.b is None for layer in start.layers] == [False, False, True]
    sol = rf.integrate((CLOUD, 2.0 * CODES - 1), start, until=3.0, reduction="mean", rtol=1e-6)
    assert model.network_ == sol.final
    np.testing.assert_array_equal(model.decision_function(CLOUD), sol.final(CLOUD))
    np.testing.assert_array_equal(model.predict_proba(CLOUD)[:, 1], expit(sol.final(CLOUD)))


@pytest.mark.parametrize("given", [LAYERS, {**LAYERS, "loss": "cross_entropy"}, OUTPUTS])
def test_classes_are_outputs_of_one_network_with_the_softmax(given: dict[str, Any]) -> None:
    model = rf.ReluFlowClassifier(**given).fit(CLOUD, np.array(["a", "b", "c"])[THIRDS])
    sol = model.solution_
    data: Any = (CLOUD, THIRDS)
    if given is OUTPUTS:
        data = rf.datasets.MultiClassDataset(CLOUD, THIRDS, bias_input=1.0)
    again = rf.integrate(data, sol.initial, until=3.0, loss="cross_entropy", reduction="mean", rtol=1e-6)
    assert again.final == model.network_
    outputs = model.network_(CLOUD)
    assert outputs.shape == (30, 3)
    np.testing.assert_array_equal(model.decision_function(CLOUD), outputs)
    np.testing.assert_allclose(model.predict_proba(CLOUD), softmax(outputs, axis=1), rtol=1e-12)
    np.testing.assert_array_equal(model.predict(CLOUD), np.array(["a", "b", "c"])[outputs.argmax(axis=1)])


@pytest.mark.parametrize("given", [{**LAYERS, "loss": "cross_entropy"}, OUTPUTS])
def test_two_classes_of_cross_entropy_are_told_by_the_difference_of_two_outputs(given: dict[str, Any]) -> None:
    model = rf.ReluFlowClassifier(**given).fit(CLOUD, SIDE)
    outputs = model.network_(CLOUD)
    assert outputs.shape == (30, 2)
    np.testing.assert_array_equal(model.decision_function(CLOUD), outputs[:, 1] - outputs[:, 0])
    np.testing.assert_allclose(model.predict_proba(CLOUD), softmax(outputs, axis=1), rtol=1e-12)
    assert clone(model).set_params(until=100.0).fit(CLOUD, SIDE).score(CLOUD, SIDE) > 0.9


def test_a_regression_with_layers_is_the_run_of_their_flow_on_standardised_targets() -> None:
    y = 40.0 + 3.0 * np.abs(CLOUD[:, 0])
    model = rf.ReluFlowRegressor(**LAYERS).fit(CLOUD, y)
    data = (CLOUD, (y - y.mean()) / y.std())
    sol = rf.integrate(data, model.solution_.initial, until=3.0, loss="squared", reduction="mean", rtol=1e-4)
    assert sol.final == model.network_
    np.testing.assert_array_equal(model.predict(CLOUD), sol.final(CLOUD) * y.std() + y.mean())


def test_one_hidden_layer_in_a_sequence_is_the_layer() -> None:
    for width in ([6], (6,), np.array([6])):
        model = rf.ReluFlowClassifier(**{**LAYERS, "width": width}).fit(CLOUD, SIDE)
        assert model.network_ == rf.ReluFlowClassifier(**{**LAYERS, "width": 6}).fit(CLOUD, SIDE).network_


def test_the_size_of_the_start_has_a_default_for_each_kind() -> None:
    for width, scale in ((6, 0.01), ((6, 4), 1.0)):
        given = {**LAYERS, "width": width, "until": 0.1}
        default = rf.ReluFlowClassifier(**given).fit(CLOUD, SIDE)
        assert default.get_params()["scale"] is None
        assert default.network_ == rf.ReluFlowClassifier(**given, scale=scale).fit(CLOUD, SIDE).network_
        assert default.network_ != rf.ReluFlowClassifier(**given, scale=2 * scale).fit(CLOUD, SIDE).network_


@pytest.mark.parametrize("kind", [rf.ReluFlowClassifier, rf.ReluFlowRegressor])
def test_weights_of_samples_are_copies(kind: Any) -> None:
    weights = np.random.default_rng(1).integers(0, 4, 30)
    y = THIRDS if kind is rf.ReluFlowClassifier else CLOUD[:, 0] ** 2
    weighted = kind(**LAYERS).fit(CLOUD, y, sample_weight=weights).predict(CLOUD)
    copies = kind(**LAYERS).fit(np.repeat(CLOUD, weights, axis=0), np.repeat(y, weights)).predict(CLOUD)
    np.testing.assert_allclose(weighted, copies, rtol=0, atol=1e-3)


def test_widths_are_searched_over_and_models_go_through_pickle() -> None:
    search = GridSearchCV(rf.ReluFlowClassifier(**LAYERS), {"width": [4, (4, 4), (4, 4, 4)]}, cv=2).fit(CLOUD, SIDE)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    model = clone(search.best_estimator_).fit(CLOUD, SIDE)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(CLOUD), model.predict(CLOUD))


def test_layers_work_in_a_pipeline_under_cross_validation() -> None:
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = make_pipeline(StandardScaler(), rf.ReluFlowClassifier(width=(8, 8), until=20.0, random_state=0))
    assert cross_val_score(model, X, y, cv=3).mean() > 0.9


def test_a_row_of_zeros_needs_no_bias_with_layers() -> None:
    inputs = np.vstack([CLOUD, np.zeros(2)])
    for bias in (True, False):
        model = rf.ReluFlowRegressor(**LAYERS, bias=bias).fit(inputs, inputs[:, 0])
        assert np.isfinite(model.predict(inputs)).all()


def test_the_line_of_progress_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(_progress, "QUIET_SECONDS", 0.0)
    many = np.random.default_rng(1).standard_normal((400, 20))
    for width in (100, (20, 20)):
        model = rf.ReluFlowRegressor(width=width, until=rf.Stop(seconds=0.5), progress=True)
        model.fit(many, many[:, 0])
        assert "log loss" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"width": (5, 0)}, "width must be an integer of at least 1, found 0"),
        ({"width": (5, 2.5)}, "width must be an integer of at least 1, found 2.5"),
        ({"width": ()}, "width must hold the width of one hidden layer or of several, found none"),
        ({"width": "ab"}, "width must be an integer of at least 1, found 'ab'"),
        ({"width": None}, "width must be an integer of at least 1, found None"),
        ({"width": [[3, 3], [3, 3]]}, "width must be an integer of at least 1, found [3, 3]"),
        ({"scale": 0.0}, "scale must be"),
        ({"scale": "big"}, "scale must be"),
        ({"bias": 1}, "bias must be True or False"),
        ({"progress": 1}, "progress must be True or False"),
        ({"loss": "exponential"}, "loss must be 'logistic' or 'cross_entropy' for 3 classes and several hidden layers"),
        ({"loss": "hinge"}, "loss must be one of 'logistic', 'exponential', 'cross_entropy', found 'hinge'"),
        ({"loss": None}, "loss must be one of 'logistic', 'exponential', 'cross_entropy', found None"),
    ],
)
def test_a_bad_parameter_is_named_by_fit(given: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        rf.ReluFlowClassifier(**{**LAYERS, **given}).fit(CLOUD, THIRDS)
    assert message in str(caught.value)
