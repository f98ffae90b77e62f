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


@pytest.mark.parametrize("what", ["targets", "weights", "loss"])
@pytest.mark.parametrize("seed", [1, 2, 3, 10])
def test_layers_let_go_what_other_data_no_longer_hold(what: str, seed: int) -> None:
    """The flow knows no past: to go on in another one is to begin there, also for units that slide at its start."""
    rng = np.random.default_rng(seed)
    X, y = rng.standard_normal((8, 2)), rng.choice([-1.0, 1.0], 8)
    net = rf.DeepNetwork.init([rf.Dense(6), rf.Dense(1)], dim=2, scale=0.5, leak=0.1, seed=seed)
    half = rf.integrate(rf.Dataset(X, y), net, until=3.0)
    assert any((mode != 0).any() for mode in half._end["modes"])  # units slide
    counts = rng.uniform(0.2, 2.0, 8) if what == "weights" else None
    data = rf.Dataset(X, -y if what == "targets" else y, weights=counts)
    loss: Any = "squared" if what == "loss" else "logistic"
    on = rf.integrate(data, half, until=4.0, loss=loss)
    anew = rf.integrate(data, half.final, until=1.0, loss=loss)
    assert (on.t_start, on.t_end) == (3.0, 4.0)
    np.testing.assert_allclose(on.final.theta, anew.final.theta, rtol=0, atol=1e-8)
