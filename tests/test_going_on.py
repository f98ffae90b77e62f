"""A run that is continued keeps its flow: loss, reduction, weight decay, what is trained and how fast."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import reluflow as rf

DATA = rf.Dataset([[1.0, 0.2], [-0.4, 1.0], [-1.0, -0.5]], [1, -1, 1])
NET = rf.Network.init(5, 2, scale=0.3, seed=0)
FLOWS: list[dict[str, Any]] = [
    {"loss": "exponential", "reduction": "mean"},
    {"loss": "squared", "weight_decay": 0.05},
    {"loss": "squared", "train": "first"},
    {"weight_decay": 0.1, "rates": (2.0, 1.0)},
]


@pytest.mark.parametrize("flow", FLOWS, ids=str)
def test_options_left_out_are_those_of_the_run(flow: dict[str, Any]) -> None:
    half = rf.integrate(DATA, NET, until=1.0, **flow)
    rest = rf.integrate(DATA, half, until=3.0)
    said = rf.integrate(DATA, half, until=3.0, **flow)
    assert np.array_equal(rest.final.theta, said.final.theta)
    whole = rf.integrate(DATA, NET, until=3.0, **flow)
    np.testing.assert_allclose(rest.final.theta, whole.final.theta, rtol=0, atol=1e-7)
    (run,) = rf.integrate_many(DATA, [half], until=3.0).collect()
    assert np.array_equal(run.result.final.theta, rest.final.theta)


def test_classes_and_layers_keep_theirs_too() -> None:
    classes = rf.datasets.MultiClassDataset(DATA.X, [0, 1, 2])
    nets = rf.networks.MultiClassNetwork([NET, NET, NET])
    half = rf.integrate(classes, nets, until=1.0, loss="exponential", weight_decay=0.1)
    rest = rf.integrate(classes, half, until=2.0)
    assert rest.loss == "exponential"
    assert rest.settings.weight_decay == 0.1
    deep = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(3), rf.Dense(1)], dim=2, scale=0.5, seed=1)
    start = rf.integrate(DATA, deep, until=0.5, loss="squared", weight_decay=0.1)
    on = rf.integrate(DATA, start, until=1.0)
    said = rf.integrate(DATA, start, until=1.0, loss="squared", weight_decay=0.1)
    assert np.array_equal(on.final.theta, said.final.theta)


def test_what_is_asked_for_holds() -> None:
    half = rf.integrate(DATA, NET, until=1.0, loss="exponential", weight_decay=0.1)
    other = rf.integrate(DATA, half, until=2.0, loss="logistic", weight_decay=0.0)
    assert (other.loss, other.settings.weight_decay) == ("logistic", 0.0)
    again = rf.integrate(DATA, half.final, until=1.0)
    assert (again.loss, again.settings.weight_decay) == ("logistic", 0.0)


def test_an_ensemble_of_several_flows_has_to_say_which() -> None:
    runs = [rf.integrate(DATA, NET, until=1.0, loss=loss) for loss in ("exponential", "logistic")]
    match = "loss must be given where the runs that go on differ in it, found 'exponential' and 'logistic'"
    with pytest.raises(ValueError, match=match):
        rf.integrate_many(DATA, runs, until=2.0)
