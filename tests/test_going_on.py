"""A run that is continued keeps its flow: loss, reduction, weight decay, what is trained and how fast."""

from __future__ import annotations

from pathlib import Path
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


def late_run(kind: str, seed: int) -> tuple[rf.Dataset, rf.Network]:
    """Return a small problem whose neurons slide and leave until late."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(3, 10)), int(rng.integers(2, 5))
    if kind == "integers":
        X = rng.integers(-2, 3, (n, d)).astype(float)
        X[~X.any(axis=1), 0] = 1.0
    else:
        X = np.c_[rng.standard_normal((n, d - 1)), np.ones(n)]
    data = rf.Dataset(X, rng.choice([-1.0, 1.0], n))
    scale, leak = float(rng.choice([1e-3, 0.1, 1.0])), float(rng.choice([0.0, 0.0, 0.1]))
    return data, rf.Network.init(8, d, scale=scale, leak=leak, seed=seed)


def events_of(*runs: rf.Solution) -> list[tuple[int, int, str]]:
    """Return neuron, sample and kind of the events of a run in parts; the starts of later parts are none."""
    found = []
    for part, run in enumerate(runs):
        events = run.events
        rows = zip(events.neuron.tolist(), events.sample.tolist(), events.kind.tolist(), strict=True)
        found += [row for row in rows if part == 0 or not row[2].startswith("start")]
    return sorted(found)


# Each second part had 4 to 15 more events: neurons left boundaries on which the whole run keeps them.
LATE_CUTS = [
    ("integers", 644, 1e4, 201.7),
    ("integers", 1017, 1e4, 173.8),
    ("integers", 1194, 1e4, 2130.0),
]


@pytest.mark.parametrize(("kind", "seed", "end", "cut"), LATE_CUTS)
def test_two_parts_have_the_events_of_the_whole(kind: str, seed: int, end: float, cut: float) -> None:
    data, net = late_run(kind, seed)
    until = rf.Stop(log_time=end)
    whole = rf.integrate(data, net, until=until)
    first = rf.integrate(data, net, until=rf.Stop(log_time=cut))
    second = rf.integrate(data, first, until=until)
    assert events_of(first, second) == events_of(whole)
    assert second.stats["steps"] <= whole.stats["steps"] - first.stats["steps"] + 10
    np.testing.assert_allclose(second.final.theta, whole.final.theta, rtol=0, atol=1e-6 * whole.final.norm)


def test_a_part_that_was_stored_goes_on_as_it_would_have(tmp_path: Path) -> None:
    data, net = late_run("integers", 1017)
    first = rf.integrate(data, net, until=rf.Stop(log_time=173.8))
    first.save(tmp_path / "part.npz")
    until = rf.Stop(log_time=1e4)
    ends = [rf.integrate(data, part, until=until) for part in (first, rf.load(tmp_path / "part.npz"))]
    assert events_of(ends[0]) == events_of(ends[1])
    assert np.array_equal(ends[0].final.theta, ends[1].final.theta)


@pytest.mark.parametrize("seed", [644, 1017, 1194])
def test_a_run_that_was_interrupted_has_the_events_of_the_whole(seed: int) -> None:
    data, net = late_run("integers", seed)
    until = rf.Stop(log_time=1e4)
    whole = rf.integrate(data, net, until=until)
    first = rf.integrate(data, net, until=until, callback=lambda progress: progress.log_t > 150.0, callback_period=0.0)
    assert first.status == "stopped_by_callback"
    second = rf.integrate(data, first, until=until)
    assert events_of(first, second) == events_of(whole)


@pytest.mark.parametrize("changed", ["labels", "rtol", "loss"])
def test_what_changes_the_run_begins_it_anew(changed: str) -> None:
    """The lengths and held boundaries of another flow, or of other steps, say nothing of this one."""
    data, net = late_run("integers", 1017)
    first = rf.integrate(data, net, until=rf.Stop(log_time=173.8))
    data = rf.Dataset(data.X, -data.y) if changed == "labels" else data
    options: dict[str, Any] = {"loss": "exponential" if changed == "loss" else "logistic"}
    options |= {"rtol": 1e-10} if changed == "rtol" else {}
    until = rf.Stop(log_time=200.0)
    on = rf.integrate(data, first, until=until, **options)
    raw = {**first._raw}
    del raw["final_pace"]
    forgotten = rf.Solution(first.data, first.initial, first.settings, raw)
    assert np.array_equal(on.final.theta, rf.integrate(data, forgotten, until=until, **options).final.theta)
