"""A whole-number weight is as many repeats of a sample, in a mean too: it divides by the sum of the weights."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

import reluflow as rf
from reluflow import analysis
from reluflow.flow._beside_rest import BesideRest
from reluflow.flow._explore import film
from runs import with_legs
from test_beside_rest import crowd

COUNTS = np.array([3, 1, 0, 2, 1, 5])
ROWS = np.repeat(np.arange(6), COUNTS)
_DRAWS = np.random.default_rng(4)
X = _DRAWS.standard_normal((6, 3))
LABELS = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0])
TARGETS = _DRAWS.standard_normal((6, 3))
CLASSES = np.array([0, 1, 2, 2, 0, 1])

FLOWS: dict[str, dict[str, Any]] = {
    "logistic": {"loss": "logistic"},
    "exponential": {"loss": "exponential"},
    "squared": {"loss": "squared"},
    "weight decay": {"loss": "logistic", "weight_decay": 0.02},
    "first layer": {"loss": "logistic", "train": "first"},
    "several targets": {"loss": "squared"},
    "cross-entropy": {"loss": "cross_entropy"},
    "layers": {"loss": "logistic"},
    "layers and classes": {"loss": "cross_entropy"},
}
DESCENTS = [name for name in FLOWS if name != "first layer"]
ACCURATE = {"rtol": 1e-11}


def problem(name: str, rows: npt.NDArray[np.int_], weights: Any = None) -> tuple[Any, Any]:
    """Data of some rows, and a start."""
    targets = {"several targets": TARGETS, "cross-entropy": CLASSES, "layers and classes": CLASSES}.get(name, LABELS)
    parts = (X[rows], targets[rows]) if weights is None else (X[rows], targets[rows], np.asarray(weights, dtype=float))
    if name.startswith("layers"):
        last = 3 if "classes" in name else 1
        return parts, rf.DeepNetwork.init([rf.Dense(5), rf.Dense(4), rf.Dense(last)], dim=3, scale=0.5, seed=3)
    several = {"outputs": 3} if targets.ndim == 2 or name == "cross-entropy" else {}
    net = rf.Network.init(8, 3, scale=0.5, seed=1, **several)  # type: ignore[call-overload]
    return (parts if several else rf.Dataset(*parts[:2], weights=weights)), net


def pair(name: str) -> tuple[Any, Any, Any]:
    """Data with weights, the same with repeated rows, and a start."""
    weighted, net = problem(name, np.arange(6), COUNTS)
    return weighted, problem(name, ROWS)[0], net


def numbers(net: Any) -> npt.NDArray[np.float64]:
    return np.asarray(net.theta).ravel()


def mean_loss(name: str, net: Any) -> float:
    """The mean over the repeated rows, by its formula."""
    f, loss = net(X[ROWS]), FLOWS[name]["loss"]
    if loss == "cross_entropy":
        return float(np.mean(np.log(np.exp(f).sum(axis=1)) - f[np.arange(len(ROWS)), CLASSES[ROWS]]))
    if f.ndim == 2 and f.shape[1] == 3:
        return float(np.mean(0.5 * ((f - TARGETS[ROWS]) ** 2).sum(axis=1)))
    f, y = f.ravel(), LABELS[ROWS]
    of = {"logistic": np.log1p(np.exp(-y * f)), "exponential": np.exp(-y * f), "squared": 0.5 * (f - y) ** 2}
    return float(np.mean(of[loss]))


@pytest.mark.parametrize("name", FLOWS)
def test_the_mean_makes_a_flow_of_repeats(name: str) -> None:
    weighted, repeated, net = pair(name)
    options = {**FLOWS[name], **ACCURATE, "reduction": "mean", "until": 4.0}
    sols = [rf.integrate(data, net, **options) for data in (weighted, repeated)]
    for time in (1.3, 4.0):  # the first by dense output
        np.testing.assert_allclose(*(numbers(sol(time)) for sol in sols), rtol=1e-7, atol=1e-9)
    assert np.exp(sols[0].log_loss_end) == pytest.approx(mean_loss(name, sols[0].final), rel=1e-12)


@pytest.mark.parametrize("name", FLOWS)
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_a_run_stops_at_the_mean_of_repeats(name: str, reduction: str) -> None:
    weighted, repeated, net = pair(name)
    aim = 0.8 * mean_loss(name, net)
    until = rf.Stop(mean_loss=aim, time=1e3)
    options = {**FLOWS[name], **ACCURATE, "reduction": reduction, "until": until}
    sols = [rf.integrate(data, net, **options) for data in (weighted, repeated)]
    assert {sol.status for sol in sols} == {"reached_mean_loss"}
    assert mean_loss(name, sols[0].final) == pytest.approx(aim, rel=1e-9)
    assert sols[0].t_end == pytest.approx(sols[1].t_end, rel=1e-8)


@pytest.mark.parametrize("name", DESCENTS)
def test_the_mean_makes_a_descent_of_repeats(name: str) -> None:
    weighted, repeated, net = pair(name)
    options = {**FLOWS[name], "step": 0.05, "n_steps": 40, "reduction": "mean"}
    runs = [rf.descend(data, net, **options) for data in (weighted, repeated)]
    np.testing.assert_allclose(*(numbers(run.final) for run in runs), rtol=1e-10, atol=1e-13)
    assert np.exp(runs[0].log_loss[-1]) == pytest.approx(mean_loss(name, runs[0].final), rel=1e-12)


def test_minibatches_of_one_epoch_add_up_to_the_whole() -> None:
    """Of tiny steps: a batch of b samples counts n/b times, and an epoch has n/b batches."""
    weighted, _, net = pair("logistic")
    whole = rf.descend(weighted, net, step=3e-7, n_steps=1, reduction="mean").final
    parts = rf.descend(weighted, net, step=1e-7, n_steps=3, batch_size=2, seed=0, reduction="mean").final
    np.testing.assert_allclose(parts.theta - net.theta, whole.theta - net.theta, rtol=1e-5, atol=1e-12)


@pytest.mark.parametrize("name", FLOWS)
def test_the_unit_of_weights_does_not_matter_to_a_mean(name: str) -> None:
    options = {**FLOWS[name], **ACCURATE, "reduction": "mean", "until": rf.Stop(mean_loss=1e-9, time=3.0)}
    weights = np.array([0.3, 1.0, 0.0, 2.0, 0.7, 0.4])
    sols = []
    for unit in (1.0, 1e-7, 1e9):
        data, net = problem(name, np.arange(6), unit * weights)
        sols.append(rf.integrate(data, net, **options))
    for sol in sols[1:]:
        np.testing.assert_allclose(numbers(sol.final), numbers(sols[0].final), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "squared"])
@pytest.mark.parametrize("reduction", ["sum", "mean"])
def test_results_of_a_run_have_one_mean(loss: str, reduction: str) -> None:
    weighted, repeated, net = pair(loss)
    options: dict[str, Any] = {"loss": loss, "reduction": reduction, "until": 2.0, "weight_decay": 0.01, **ACCURATE}
    sols = [rf.integrate(data, net, **options) for data in (weighted, repeated)]
    found = [analysis.summarise(sol) for sol in sols]
    for name in ("loss", "mean_loss", "log_loss", "objective", "rmse"):
        values = [getattr(one, name) for one in found]
        assert values[0] == pytest.approx(values[1], rel=1e-8, nan_ok=True)
    expected = mean_loss(loss, sols[0].final)
    assert found[0].mean_loss == pytest.approx(expected, rel=1e-12)
    assert analysis.losses(sols[0])["loss"].iloc[-1] == pytest.approx(expected, rel=1e-12)
    total = 1.0 if reduction == "mean" else 12.0  # the counts add up to 12
    assert analysis.series(sols[0])["loss"].iloc[-1] == pytest.approx(total * expected, rel=1e-12)
    assert analysis.series(sols[0])["log_loss"].iloc[-1] == pytest.approx(sols[0].log_loss[-1], rel=1e-10)
    tables = [analysis.compare_with_descent(sol, steps=[0.01])[["error", "loss", "mean_loss"]] for sol in sols]
    np.testing.assert_allclose(*tables, rtol=1e-6)
    assert tables[0]["loss"].iloc[0] == pytest.approx(12.0 * tables[0]["mean_loss"].iloc[0], rel=1e-12)
    assert 10 ** film(sols[0], 5).log10_loss[-1] == pytest.approx(total * expected, rel=1e-10)


def test_many_runs_and_classes_have_the_mean_of_one() -> None:
    weighted, _, net = pair("logistic")
    options: dict[str, Any] = {"reduction": "mean", "until": 2.0}
    alone = rf.integrate(weighted, net, **options)
    (run,) = rf.integrate_many(weighted, [net], **options)
    assert run.result.final == alone.final
    nets = rf.Network.init(6, 3, classes=3, scale=0.5, seed=2)
    sols = [
        rf.integrate(data, nets, **options, **ACCURATE)
        for data in (
            rf.datasets.MultiClassDataset(X, CLASSES, weights=COUNTS),
            rf.datasets.MultiClassDataset(X[ROWS], CLASSES[ROWS]),
        )
    ]
    for one, other in zip(*sols, strict=True):
        np.testing.assert_allclose(numbers(one.final), numbers(other.final), rtol=1e-7, atol=1e-9)
    weighted, _, net = pair("cross-entropy")
    data = rf.datasets.MultiClassDataset(*weighted[:2], weights=COUNTS)
    found = rf.sweep(data, grid={"seed": [1]}, measure="mean_loss", until=1.0, width=8, scale=0.5, loss="cross_entropy")
    sol = rf.integrate(data, net, until=1.0, loss="cross_entropy", rtol=1e-9)
    assert float(found["mean_loss"][0]) == pytest.approx(mean_loss("cross-entropy", sol.final), rel=1e-10)


def test_a_run_goes_on_and_comes_back_from_a_file(tmp_path: Any) -> None:
    for name in ("logistic", "several targets", "layers"):
        weighted, _, net = pair(name)
        options = {**FLOWS[name], "reduction": "mean"}
        whole = rf.integrate(weighted, net, until=3.0, **options, **ACCURATE)
        half = rf.integrate(weighted, net, until=1.5, **options, **ACCURATE)
        half.save(tmp_path / "half.npz")
        again = rf.load(tmp_path / "half.npz")
        np.testing.assert_allclose(numbers(again(0.7)), numbers(half(0.7)), rtol=1e-12)
        later = rf.integrate(weighted, again, until=3.0, **ACCURATE)
        np.testing.assert_allclose(numbers(later.final), numbers(whole.final), rtol=1e-7, atol=1e-9)


# --- what is said of a flow ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["logistic", "squared", "several targets", "cross-entropy"])
def test_certificates_of_the_mean_are_those_of_repeats(name: str) -> None:
    """With the decay γ of the mean the objective is 1/12 of that of the sum with 12 γ."""
    weighted, repeated, net = pair(name)
    options = {**FLOWS[name], "weight_decay": 0.02, "reduction": "mean"}
    sol = rf.integrate(weighted, net, until=30.0, **options)
    value = mean_loss(name, sol.final) + 0.01 * sol.final.norm**2
    found = [rf.certify(sol, weighted), rf.certify(sol.final._with(sol.final.W, sol.final.a), repeated, **options)]
    for one in found:
        assert one.value == pytest.approx(value, rel=1e-10)
    assert found[0].lower == pytest.approx(found[1].lower, rel=1e-5)


def test_a_fit_of_the_mean_is_that_of_repeats() -> None:
    weighted, repeated, net = pair("squared")
    found = [rf.certify(net, data, loss="squared", reduction="mean") for data in (weighted, repeated)]
    assert found[0].loss == pytest.approx(mean_loss("squared", net), rel=1e-12)
    assert found[0].loss == pytest.approx(found[1].loss, rel=1e-12)
    assert found[0].least_loss == pytest.approx(found[1].least_loss, rel=1e-9, abs=1e-20)


@pytest.mark.parametrize("loss", ["squared", "cross_entropy"])
def test_the_early_phase_is_that_of_repeats(loss: Any) -> None:
    w = np.random.default_rng(0).standard_normal((4, 3))
    values = [
        analysis.early_objective(rf.Dataset(X[rows], LABELS[rows], weights=counts), w, reduction="mean")
        for rows, counts in ((np.arange(6), COUNTS), (ROWS, None))
    ]
    np.testing.assert_allclose(*values, rtol=1e-12)
    targets, heads = (TARGETS if loss == "squared" else CLASSES), np.eye(3)[[0, 1, 2, 0]]
    ends = [
        rf.early_alignment(data, w, heads, loss=loss, reduction="mean")
        for data in ((X, targets, COUNTS), (X[ROWS], targets[ROWS]))
    ]
    np.testing.assert_allclose(*(end.rate for end in ends), rtol=1e-6)


@pytest.mark.parametrize("outputs", [1, 2])
def test_saddles_of_the_mean_are_those_of_repeats(outputs: int) -> None:
    """The escape from a saddle takes a time in units of 1/λ, and λ is divided as the mean is."""
    y = np.array([2.0, -1.0]) if outputs == 1 else np.array([[2.0, 0.0], [0.0, -1.0]])
    signs = np.array([1, -1]) if outputs == 1 else np.array([[1.0, 0.1], [0.1, -1.0]])
    counts, rows = np.array([1.0, 3.0]), np.array([0, 1, 1, 1])
    inputs, directions = np.eye(2), [[1.0, 0.5], [0.5, 1.0]]
    data = [(inputs, y, counts), (inputs[rows], y[rows])]
    paths = [rf.saddle_to_saddle(one, directions, signs, loss="squared", reduction="mean") for one in data]
    assert len(paths[0].times) > 1
    np.testing.assert_allclose(*(path.times for path in paths), rtol=1e-6)


def test_legs_beside_samples_at_rest_are_those_of_the_sum() -> None:
    """The mean's clock is slower by the sum of the weights. What the samples at rest are held at is counted as well."""
    data, net = crowd(14)
    data = rf.Dataset(data.X, data.y, weights=np.random.default_rng(14).integers(20, 60, data.n))
    ends = {}

    def follow(run: Any, reduction: str) -> rf.Solution:
        later = np.log(data.total) if reduction == "mean" else 0.0
        early = run(None, rf.Stop(log_time=9.0 + later))
        beside = BesideRest.of(early)
        assert beside is not None
        beside._share = 1e-3
        ends[reduction] = run(beside.start(), rf.Stop(log_time=14.0 + later)).final.theta
        return early

    for reduction in ("sum", "mean"):
        with_legs(data, net, "logistic", lambda run, how=reduction: follow(run, how), reduction)
    np.testing.assert_allclose(ends["mean"], ends["sum"], rtol=1e-6, atol=1e-9)


def test_a_limit_beside_samples_at_rest_is_that_of_the_sum() -> None:
    """Mean and sum differ in their clocks alone; those at rest are told, and held, by what each sample counts."""
    data, net = crowd(14)
    weights = np.random.default_rng(14).integers(20, 60, data.n)
    data = rf.Dataset(data.X, data.y, weights=weights)
    sols = [rf.integrate(data, net, until=rf.Stop(limit=True), reduction=how) for how in ("sum", "mean")]
    for sol in sols:
        assert "the limit is certified" in sol.message
        assert "beside 6 samples at rest" in sol.message
    np.testing.assert_allclose(*(sol.limit.network(data.X) for sol in sols), atol=1e-10)


@pytest.mark.parametrize("of", [rf.Dataset, rf.datasets.MultiClassDataset])
def test_weights_whose_sum_is_beyond_doubles_are_refused(of):
    """The mean divided by infinity, and spoke of zeros only."""
    says = r"weights must have a largest entry between 1e-100 and 1e\+100, found 1e\+308"
    with pytest.raises(ValueError, match=says):
        of([[1.0, 0.0], [0.0, 1.0]], [1, -1], weights=[1e308, 1e308])
