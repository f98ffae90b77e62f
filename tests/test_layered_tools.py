"""What works on layered networks beside the flow: descent, ensembles, analysis, figures, the command line."""

from __future__ import annotations

import itertools
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf
from layered_cases import load
from layered_reference import duals, gradient
from pictures import drawn, tick_labels
from reluflow.cli import main

matplotlib = pytest.importorskip("matplotlib")
matplotlib.use("Agg")


def run_of(name: str = "narrow_void", end: float = 2.0) -> rf.layered.DeepSolution:
    case = load(name)
    return rf.integrate(case.data, case.net, until=end, loss=case.loss)


# --- gradient descent ---


@pytest.mark.parametrize("name", ["bias_squared", "conv_relu", "residual", "two_k2"])
def test_a_step_of_descent_goes_against_the_gradient(name: str) -> None:
    case = load(name)
    X, targets = case.data
    run = rf.descend(case.data, case.net, step=1e-2, n_steps=1, loss=case.loss, reduction=case.reduction)
    outputs = case.net(X).reshape(len(X), -1)
    lam = duals(outputs, np.asarray(targets).reshape(outputs.shape), case.loss)
    lam = lam / len(X) if case.reduction == "mean" else lam
    wanted = case.net.theta + 1e-2 * gradient(case.net, case.net.theta, X, lam)
    assert run.final.theta == pytest.approx(wanted, abs=1e-14)


def test_small_steps_of_descent_come_near_the_flow() -> None:
    case = load("deep3_relu")
    wanted = case.theta[np.flatnonzero(case.times <= 1.0)[-1]]
    end = float(case.times[case.times <= 1.0][-1])
    errors = []
    for n_steps in (500, 1000):
        run = rf.descend(case.data, case.net, step=end / n_steps, n_steps=n_steps, loss=case.loss)
        errors.append(np.abs(run.final.theta - wanted).max())
    assert errors[1] < 0.7 * errors[0] < 0.05
    assert (np.diff(rf.descend(case.data, case.net, n_steps=20, save_every=5, loss=case.loss).log_loss) < 0).all()


def test_minibatches_follow_their_seed_and_see_every_sample() -> None:
    case = load("bias_squared")
    runs = [
        rf.descend(case.data, case.net, n_steps=9, batch_size=3, seed=seed, save_every=4, loss="squared")
        for seed in (1, 1, 2)
    ]
    assert runs[0].step_index.tolist() == [0, 4, 8, 9]
    assert np.array_equal(runs[0].theta, runs[1].theta)
    assert not np.array_equal(runs[0].theta[-1], runs[2].theta[-1])
    whole = rf.descend(case.data, case.net, n_steps=1, step=1e-3, batch_size=len(case.data[0]), loss="squared")
    once = rf.descend(case.data, case.net, n_steps=1, step=1e-3, loss="squared")
    assert whole.final.theta == pytest.approx(once.final.theta, abs=1e-15)


@pytest.mark.parametrize("reduction", ["sum", "mean"])
@pytest.mark.parametrize("kind", ["core", "rates", "outputs", "deep"])
def test_a_minibatch_stands_for_all_samples(kind: str, reduction: rf.ReductionName) -> None:
    """Of samples that are all alike, any minibatch makes the step of all of them: also the last one, of one sample."""
    x, y = [1.0, 0.5], [1.0, -2.0] if kind == "outputs" else 1.0
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(1)], dim=2, seed=0) if kind == "deep" else None
    net = net or rf.Network.init(3, 2, scale=1.0, seed=0)
    if kind == "outputs":
        net = rf.Network(net.W, np.column_stack((net.a, net.a)))
    options = {"step": 0.01, "n_steps": 6, "loss": "squared", "reduction": reduction, "save_every": 1}
    options |= {"rates": (1.0, 2.0)} if kind == "rates" else {}
    data = [x] * 5, [y] * 5
    parts, whole = rf.descend(data, net, batch_size=2, **options), rf.descend(data, net, **options)
    moved = np.abs(whole.final.theta - net.theta).max()
    assert moved > 1e-3
    assert np.abs(parts.final.theta - whole.final.theta).max() < 1e-12 * moved


def test_a_descent_that_overflows_says_so_and_one_that_is_saved_comes_back(tmp_path: Path) -> None:
    case = load("bias_squared")
    wild = rf.descend(case.data, case.net, n_steps=100, step=1e6, loss="squared")
    assert (wild.status, wild.success) == ("non_finite", False)
    assert np.isfinite(wild.final.theta).all()
    run = rf.descend(case.data, case.net, n_steps=3, loss="squared")
    run.save(tmp_path / "run.npz")
    back = rf.layered.DeepDescentResult.load(tmp_path / "run.npz")
    assert (back.final, back.message, back.settings) == (run.final, run.message, run.settings)
    with pytest.raises(ValueError, match=r"DeepDescentResult\.load reads"):
        rf.load(tmp_path / "run.npz")


def test_cross_entropy_descends_on_classes() -> None:
    rng = np.random.default_rng(1)
    X, labels = rng.standard_normal((9, 2)), np.arange(9) % 3
    net = rf.DeepNetwork.init([rf.Dense(4, bias=True), rf.Dense(3)], dim=2, seed=1)
    run = rf.descend((X, labels), net, n_steps=50, step=0.05, loss="cross_entropy", reduction="mean", save_every=10)
    assert (np.diff(run.log_loss) < 0).all()
    shifted = net(X) - net(X).max(axis=1, keepdims=True)
    losses = np.log(np.exp(shifted).sum(axis=1)) - shifted[np.arange(9), labels]
    assert run.log_loss[0] == pytest.approx(np.log(losses.mean()))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_steps": 0}, "n_steps must be an integer of at least 1"),
        ({"n_steps": 3, "step": -1.0}, "step must"),
        ({"n_steps": 3, "batch_size": 99}, "batch_size must be at most n = 8"),
        ({"n_steps": 3, "loss": "hinge"}, "loss must be one of"),
        ({"n_steps": 3, "reduction": "max"}, "reduction must be one of"),
    ],
)
def test_bad_arguments_of_a_descent_are_named(arguments: dict[str, object], message: str) -> None:
    case = load("deep3_relu")
    with pytest.raises(ValueError, match=message):
        rf.descend(case.data, case.net, **arguments)  # type: ignore[call-overload]


# --- ensembles ---


def test_many_runs_are_those_of_one_at_a_time() -> None:
    case = load("narrow_void")
    nets = [case.net, case.net._with(1.1 * case.net.theta), case.net._with(0.9 * case.net.theta)]
    options = {"until": 2.0, "loss": case.loss, "rtol": 1e-10}
    wanted = [rf.integrate(case.data, net, **options) for net in nets]
    found = rf.integrate_many(case.data, nets, n_threads=2, **options).collect()
    assert [run.index for run in found] == [0, 1, 2]
    assert [run.result.final for run in found] == [sol.final for sol in wanted]
    ends = rf.integrate_many(case.data, nets, keep="final", reduce=lambda sol: (len(sol.t), sol(1.0).norm), **options)
    for run, sol in zip(ends.collect(), wanted, strict=True):
        assert run.result == (2, pytest.approx(sol(1.0).norm, rel=1e-9))
    with ThreadPoolExecutor(1) as pool:
        there = rf.integrate_many([case.data] * 3, nets, executor=pool, reduce=_count, **options).collect()
    assert [run.result for run in there] == [len(sol.events) for sol in wanted]
    later = rf.integrate_many(case.data, wanted, until=3.0, loss=case.loss).collect()
    assert [run.result.t_start for run in later] == [2.0] * 3


def _count(sol: rf.layered.DeepSolution) -> int:
    return len(sol.events)


def test_what_goes_wrong_in_one_run_is_its_error_alone() -> None:
    case = load("narrow_void")

    def fail(sol: rf.layered.DeepSolution) -> int:
        if sol.initial == case.net:
            raise RuntimeError("of the first")
        return len(sol.events)

    nets = [case.net, case.net._with(1.1 * case.net.theta)]
    first, second = rf.integrate_many(case.data, nets, until=1.0, reduce=fail).collect()
    assert isinstance(first.error, RuntimeError)
    assert second.error is None


def test_an_ensemble_ends_when_its_callback_asks_for_it() -> None:
    case = load("deep3_relu")
    nets = [case.net] * 40
    runs = rf.integrate_many(case.data, nets, until=1e9, n_threads=1, callback=lambda p: p.seconds > 0.2)
    assert len(runs.collect()) < 40


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"nets": "mixed"}, r"nets\[1\] must be a DeepNetwork or a DeepSolution"),
        ({"data": [1, 2, 3]}, "data must be one for all nets, or a list with one for each of the 2"),
        ({"atol": 1e-3}, "atol must be left out for a layered network"),
        ({"until": rf.Stop(direction=0.1)}, "until must name criteria of layered networks"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"executor": 3}, "executor must have a method submit"),
    ],
)
def test_bad_arguments_of_an_ensemble_are_named_before_it_begins(change: dict[str, object], message: str) -> None:
    case = load("deep3_relu")
    options: dict[str, object] = {"data": case.data, "nets": [case.net, case.net], "until": 1.0, **change}
    if options["nets"] == "mixed":
        options["nets"] = [case.net, rf.Network([[1.0]], [1.0])]
    data, nets = options.pop("data"), options.pop("nets")
    with pytest.raises(ValueError, match=message):
        rf.integrate_many(data, nets, **options)  # type: ignore[arg-type]


# --- analysis and figures ---


def test_singular_values_and_rows_are_those_of_the_matrices() -> None:
    sol = run_of()
    spectra = rf.analysis.layer_singular_values(sol)
    for layer, values in enumerate(spectra.values):
        W = sol.final.layers[layer].W
        assert np.linalg.norm(values[-1]) == pytest.approx(np.linalg.norm(W))
        assert (np.diff(values, axis=1) <= 0).all()
    plane = rf.analysis.row_plane(sol, 1)
    W = sol.final.layers[0].W
    two = np.linalg.svd(W, compute_uv=False)[:2]
    assert plane.share[-1] == pytest.approx((two**2).sum() / (W**2).sum())
    assert plane.rows[-1] @ plane.basis == pytest.approx(W @ plane.basis.T @ plane.basis)


def test_the_raster_has_a_row_for_every_unit() -> None:
    sol = run_of()
    raster = rf.analysis.layer_raster(sol)
    sizes = np.cumsum([0, *raster.sizes])
    for number, event in enumerate(sol.events):
        assert raster.row[number] == sizes[event.layer - 1] + event.unit
        assert raster.kinds[raster.kind[number]] == event.kind


def test_pictures_of_layers_show_what_they_are_given() -> None:
    sol = run_of()
    lines = rf.figures.layer_singular_values(rf.analysis.layer_singular_values(sol), n_values=1).get_lines()
    assert len(lines) == len(sol.initial.nodes) - 1
    assert lines[0].get_ydata()[-1] == pytest.approx(np.linalg.norm(sol.final.layers[0].W, 2))
    axes = rf.figures.layer_raster(rf.analysis.layer_raster(sol))
    shown = sum(len(points.get_offsets()) for points in axes.collections)
    assert shown == len(sol.events)
    plane = rf.analysis.row_plane(sol)
    assert rf.figures.row_plane(plane, at=0).get_lines()[-1].get_xydata() == pytest.approx(plane.rows[0])


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("loss", ["logistic", "exponential", "squared", "cross_entropy"])
def test_a_descent_by_huge_steps_ends_without_a_warning(loss: str) -> None:
    several = loss == "cross_entropy"
    targets = np.array([0, 1, 1]) if several else np.array([1.0, -1.0, 1.0])
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(2), rf.Dense(2 if several else 1)], dim=2, seed=0)
    X = np.random.default_rng(0).standard_normal((3, 2))
    for step in (1e3, 1e100, 1e200, 1e308):
        found = rf.descend((X, targets), net, step=step, n_steps=5, loss=loss)  # type: ignore[arg-type]
        assert found.status in ("reached_steps", "non_finite")
        assert np.isfinite(found.theta).all()
    assert found.status == "non_finite"
    first = rf.descend((X, [1, -1, 1]), rf.Network.init(3, 2, seed=0), step=1e308, n_steps=5, train="first")
    assert (first.status, first.t[-1]) == ("reached_steps", np.inf)


@pytest.mark.parametrize("scale", [1e-3, 1e-2, 1e4])
def test_the_numbers_beside_rows_of_any_size_do_not_lie_over_each_other(scale):
    net = rf.DeepNetwork.init([rf.Dense(30), rf.Dense(1)], dim=8, scale=scale, seed=0)
    plane = rf.analysis.row_plane(rf.integrate(([np.eye(8)[0]], [1.0]), net, until=1e-9))
    with rf.figures.style():
        figure, (_, ax) = rf.figures.panels(2, width=5.0, height=2.8)
        rf.figures.row_plane(plane, ax)
        _, renderer = drawn(figure)
    boxes = [label.get_window_extent(renderer) for label in tick_labels(ax.xaxis)]
    assert len(boxes) > 2
    assert not any(left.overlaps(right) for left, right in itertools.pairwise(boxes))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda sol: rf.analysis.raster(sol), "solution must be a run of two layers"),
        (lambda sol: rf.analysis.states(sol), "source must be a run of two layers"),
        (lambda sol: rf.analysis.summarise(sol), "must be a run of two layers"),
        (lambda sol: rf.analysis.state_of(rf.Dataset([[1.0]], [1]), sol.final), "net must be a Network of two layers"),
        (lambda sol: rf.analysis.layer_raster(sol.final), "solution must be a DeepSolution"),
        (lambda sol: rf.analysis.row_plane(sol, 9), "layer must be a layer of the network, 1 to 4"),
        (lambda sol: rf.figures.layer_raster(sol), "raster must be what analysis.layer_raster returns"),
        (lambda sol: rf.figures.row_plane(rf.analysis.row_plane(sol), at=10**6), "at must number a kept state"),
        (lambda sol: rf.certify(sol, sol.data), r"solution must be of two layers \(sol.limit of layers certifies"),
        (lambda sol: rf.certify(sol.final, sol.data), r"solution must be of two layers .*found a DeepNetwork"),
        (lambda sol: rf.prove(sol), r"sol must be of two layers \(the proofs .*found a DeepSolution"),
        (lambda sol: rf.prove_limit(sol), "sol must be of two layers"),
        (lambda sol: rf.convex.from_network(sol.final, rf.Dataset([[1.0]], [1])), "net must be of two layers"),
        (lambda sol: rf.conditions.balance(sol.final), r"net must be of two layers \(net.balance has what layers keep"),
        (lambda sol: rf.conditions.report(rf.Dataset([[1.0]], [1]), sol.final), "net must be of two layers"),
        (lambda sol: sol.save("/no/such/folder/run.npz"), "no/such/folder"),
    ],
)
def test_what_has_no_meaning_for_layers_says_so(call: object, message: str) -> None:
    with pytest.raises((ValueError, FileNotFoundError), match=message):
        call(run_of(end=0.1))  # type: ignore[operator]


# --- stop rules ---


def test_two_layers_refuse_the_stops_of_layers() -> None:
    data = rf.Dataset([[1.0]], [1])
    for stop in (rf.Stop(gradient=1e-3, time=1.0), rf.Stop.parse("steps=3")):
        with pytest.raises(ValueError, match=r"Stop.(gradient|steps) must be left out for two layers"):
            rf.integrate(data, rf.Network([[1.0]], [1.0]), until=stop)


def test_the_gradient_and_the_steps_end_a_run_of_layers() -> None:
    case = load("bias_squared")
    few = rf.integrate(case.data, case.net, until=rf.Stop(steps=3), loss="squared")
    assert (few.status, few.stats["steps"]) == ("reached_steps", 3)
    sol = rf.integrate(case.data, case.net, until=rf.Stop(gradient=0.5, time=100.0), loss="squared")
    assert sol.status == "reached_gradient"
    X, y = case.data
    theta = sol.final.theta
    lam = duals(sol.final(X).reshape(len(X), -1), np.asarray(y).reshape(len(X), -1), "squared")
    if not any(kind == "slide" for kind in sol.events.kind):
        assert np.linalg.norm(gradient(case.net, theta, X, lam)) <= 0.5


# --- the command line ---


def command(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    """Exit code and all that was printed."""
    with pytest.raises(SystemExit) as end:
        main(list(arguments))
    out, err = capsys.readouterr()
    return int(end.value.code or 0), out + err


def test_the_command_runs_layers_and_inspects_them(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out = tmp_path / "deep"
    code, text = command(
        capsys,
        "run",
        "--data",
        "wang-pilanci",
        "--layers",
        "4,3",
        "--until",
        "time=2",
        "--out",
        str(out),
        "--seed",
        "1",
    )
    assert (code, "DeepNetwork(2-4-3-1" in text) == (0, True), text
    assert {path.name for path in out.iterdir()} == {
        "summary.json",
        "events.csv",
        "run.npz",
        "loss_and_norm.png",
        "layers.png",
        "events.png",
        "outputs.png",
    }
    record = json.loads((out / "summary.json").read_text())
    sol = rf.load(out / "run.npz")
    assert record["t"] == sol.t_end == 2.0
    assert len((out / "events.csv").read_text().splitlines()) == len(sol.events) + 1
    code, text = command(capsys, "inspect", str(out / "run.npz"), "--events", "3")
    assert (code, "reached_time" in text, "layer" in text) == (0, True, True), text


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (["--width", "5"], "--width must be left out with --layers"),
        (["--resume", "x"], "--resume must be left out with --layers"),
        (["--layers", "4,x"], "--layers must list widths of hidden layers"),
        (["--layers", "0"], "--layers must list widths of hidden layers"),
    ],
)
def test_options_that_do_not_go_with_layers_are_named(
    capsys: pytest.CaptureFixture[str], more: list[str], message: str
) -> None:
    layers = [] if "--layers" in more else ["--layers", "4"]
    code, text = command(capsys, "run", "--data", "wang-pilanci", "--until", "1", *layers, *more)
    assert code == 2
    assert message in text


def test_a_callback_without_a_period_hears_of_every_step() -> None:
    data = rf.Dataset([[1.0, 0.3], [-0.4, 1.0]], [1, -1])
    net = rf.DeepNetwork.init([rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
    seen: list[int] = []
    sol = rf.integrate(data, net, until=2.0, callback=lambda report: seen.append(report.steps), callback_period=0.0)
    assert sol.stats["steps"] > 3
    assert set(range(1, sol.stats["steps"])) <= set(seen)


def test_the_status_says_which_criterion_ended_a_run_of_layers() -> None:
    data = rf.Dataset([[1.0, 0.3], [-0.4, 1.0], [0.2, -1.0]], [1, -1, 1])
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(1)], dim=2, seed=1)
    by_mean = rf.integrate(data, net, until=rf.Stop(mean_loss=0.3))
    assert (by_mean.status, by_mean.success) == ("reached_mean_loss", True)
    assert by_mean.log_loss_end == pytest.approx(np.log(0.9))
    by_sum = rf.integrate(data, net, until=rf.Stop(mean_loss=0.1, loss=0.9))
    assert (by_sum.status, by_sum.log_loss_end) == ("reached_loss", pytest.approx(np.log(0.9)))
    cut = rf.integrate(data, net, until=50.0, max_events=1)
    assert (cut.status, cut.success, len(cut.events)) == ("max_events", False, 1)
    asked = rf.integrate(data, net, until=rf.Stop(events=1), max_events=5)
    assert (asked.status, asked.success) == ("reached_events", True)
