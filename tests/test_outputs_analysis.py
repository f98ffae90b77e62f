"""What is measured along runs of K outputs, of one part and of two rates; the figures that draw it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

import reluflow as rf
from reluflow import analysis

K = 3
GRID = np.linspace(-1, 1, 12)
WEIGHTS = np.linspace(0.5, 1.5, 12)
X = np.column_stack((GRID, np.ones(12)))
TARGETS = np.column_stack((np.abs(GRID), np.sin(3 * GRID), GRID**2))
CLASSES = np.arange(12) // 4
HELD_OUT = X[1:] + np.array([0.1, 0.0])
LOSSES = ("squared", "cross_entropy")


def run_of(loss: str, **options: Any) -> rf.flow.TwoLayerSolution:
    net = rf.Network.init(10, 2, outputs=K, scale=0.3, seed=1)
    net = rf.Network(net.W, net.a, bias_input=1.0)
    data: Any = (X, TARGETS if loss == "squared" else CLASSES, WEIGHTS)
    found: rf.flow.TwoLayerSolution = rf.integrate(
        data, net, until=20.0, loss=loss, rtol=1e-11, reduction="mean", **options
    )
    return found


RUNS = {loss: run_of(loss) for loss in LOSSES}
OTHERS = [{}, {"train": "first"}, {"rates": (0.5, 3.0)}]


def test_losses_are_weighted_means_on_both_sets() -> None:
    sol = RUNS["squared"]
    table = analysis.losses(sol, [0.5, 20.0], test=(HELD_OUT, TARGETS[1:], WEIGHTS[1:]))
    for row, t in enumerate((0.5, 20.0)):
        for inputs, targets, counts, prefix in (
            (X, TARGETS, WEIGHTS, ""),
            (HELD_OUT, TARGETS[1:], WEIGHTS[1:], "test_"),
        ):
            mean = np.average(((sol(t)(inputs) - targets) ** 2).sum(axis=1), weights=counts)
            assert table[f"{prefix}loss"][row] == pytest.approx(mean / 2, rel=1e-12)
            assert table[f"{prefix}rmse"][row] == pytest.approx(np.sqrt(mean), rel=1e-12)


def test_losses_of_classes_count_those_that_are_not_the_largest_output() -> None:
    sol = RUNS["cross_entropy"]
    table = analysis.losses(sol, test=(X[:3], CLASSES[:3]))
    assert table.loss.iloc[-1] == pytest.approx(np.exp(sol.log_loss_end) * 12 / WEIGHTS.sum())
    f = sol.final(X)
    assert table.wrong.iloc[-1] == pytest.approx(np.average(f.argmax(axis=1) != CLASSES, weights=WEIGHTS))
    assert table.test_loss.iloc[-1] == pytest.approx(-log_softmax(f[:3], axis=1)[:, 0].mean())
    zero = rf.Network(np.ones((1, 2)), np.zeros((1, K)))
    start = rf.integrate((X, CLASSES), zero, until=1e-9, loss="cross_entropy")
    assert analysis.losses(start, [0.0]).wrong[0] == 1.0


def test_held_out_classes_are_found_by_name() -> None:
    names = np.array(["b", "a", "c"])
    data = rf.datasets.MultiClassDataset(GRID[:, None], names[CLASSES], bias_input=1.0)
    net = rf.Network.init(8, 2, outputs=K, scale=0.5, seed=2)
    sol = rf.integrate(data, net, until=30.0, loss="cross_entropy")
    few = rf.datasets.MultiClassDataset(GRID[4:, None], names[CLASSES[4:]])
    table = analysis.losses(sol, [30.0], test=few)
    codes = data.labels[4:]
    assert table.test_loss[0] == pytest.approx(-log_softmax(sol.final(data.X[4:]), axis=1)[range(8), codes].mean())
    other = rf.datasets.MultiClassDataset(GRID[:, None], np.arange(12) % 2)
    with pytest.raises(ValueError, match="test must have classes of the run, 'a', 'b', 'c', found 0"):
        analysis.losses(sol, test=other)
    with pytest.raises(ValueError, match="test must have the 2 inputs of the run, a bias among them as it is there"):
        analysis.losses(sol, test=rf.datasets.MultiClassDataset(np.ones((3, 3)), ["a", "b", "c"]))


def test_errors_are_outputs_less_targets_or_have_no_meaning() -> None:
    sol = RUNS["squared"]
    found = analysis.errors(sol, [1.0, 20.0])
    assert found.dims == ("time", "sample", "output")
    np.testing.assert_allclose(found[1], sol.final(X) - TARGETS, rtol=1e-12)
    with pytest.raises(ValueError, match="source must be a run on real targets, which have errors"):
        analysis.errors(RUNS["cross_entropy"])


@pytest.mark.parametrize("loss", LOSSES)
def test_patterns_differ_by_the_signs_that_have_changed(loss: str) -> None:
    sol = RUNS[loss]
    times = [0.0, 2.0, 20.0]
    table = analysis.pattern_distance(sol, times)
    assert table.n_pairs.tolist() == [(sol.pattern(t) != sol.pattern(0.0)).sum() for t in times]
    assert table.n_pairs[2] > 0
    both = analysis.pattern_distance(sol, times, other=RUNS[LOSSES[loss == "squared"]])
    assert both.n_pairs[0] == 0


@pytest.mark.parametrize("options", OTHERS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("t", [0.7, 11.0])
def test_the_outputs_follow_the_tangent_kernel_also_where_neurons_slide(loss: str, t: float, options: Any) -> None:
    sol, h = run_of(loss, **options), 1e-4
    rate = (sol(t + h)(X) - sol(t - h)(X)) / (2 * h)
    kernel = analysis.tangent_kernel(sol, [t])[0].to_numpy()
    f = sol(t)(X)
    off = TARGETS - f if loss == "squared" else np.eye(K)[CLASSES] - softmax(f, axis=1)
    duals = WEIGHTS[:, None] * off / 12
    np.testing.assert_allclose(rate, np.einsum("icjd,jd->ic", kernel, duals), atol=1e-6)
    assert t < 1 or options or (sol.pattern(t) == 0).any()


def test_the_kernel_of_one_output_is_that_of_the_other_core() -> None:
    data, net = rf.Dataset(X, TARGETS[:, 1]), rf.Network.init(8, 2, scale=0.5, seed=3)
    one = rf.integrate(data, net, until=2.0, loss="squared", rtol=1e-11)
    other = rf.integrate(data, net, until=2.0, loss="squared", rates=(1.0, 1.0), rtol=1e-11)
    mine, theirs = analysis.tangent_kernel(one, [1.0, 2.0]), analysis.tangent_kernel(other, [1.0, 2.0])
    assert theirs.dims == mine.dims
    np.testing.assert_allclose(mine, theirs, atol=1e-8)
    assert analysis.kernel_distance(one, [0.0, 2.0], other=other).distance.max() < 1e-8
    np.testing.assert_allclose(analysis.errors(one, [2.0]), analysis.errors(other, [2.0]), atol=1e-8)
    for table in (analysis.losses, analysis.kernel_distance, analysis.pattern_distance):
        np.testing.assert_allclose(table(one, [0.5, 2.0]), table(other, [0.5, 2.0]), atol=1e-7)  # type: ignore[operator]


def test_the_kernel_is_compared_as_a_matrix_of_samples_and_outputs() -> None:
    sol = RUNS["cross_entropy"]
    first, last = (k.reshape(12 * K, 12 * K) for k in analysis.tangent_kernel(sol, [0.0, 20.0]).to_numpy())
    assert np.linalg.eigvalsh(last).min() > -1e-12 * np.linalg.norm(last)
    row = analysis.kernel_distance(sol, [0.0, 20.0]).iloc[1]
    assert row.distance == pytest.approx(np.linalg.norm(last - first) / np.linalg.norm(first))
    y = (np.eye(K)[CLASSES] - 1 / K).ravel()
    assert row.target_alignment == pytest.approx(y @ last @ y / (y @ y * np.linalg.norm(last)))
    one = rf.integrate(rf.Dataset(X, GRID), rf.Network.init(10, 2), until=20.0, loss="squared")
    with pytest.raises(ValueError, match="other must have as many outputs as source, 3, found 1"):
        analysis.kernel_distance(sol, [0.0], other=one)


def test_a_fit_in_one_dimension_has_a_curve_for_each_output() -> None:
    sol = RUNS["squared"]
    curves = analysis.fit_curves(sol, [20.0])
    np.testing.assert_allclose(curves.f[0], sol.final(curves.x[:, None]), atol=1e-12)
    inside = np.flatnonzero(np.abs(curves.kinks[0]) < 1.0)
    j = inside[np.argmax(np.abs(curves.jumps[0][inside]).sum(axis=1))]
    where, h = curves.kinks[0, j], 1e-5
    left, at, right = sol.final([[where - h], [where], [where + h]])
    near = np.abs(curves.kinks[0] - where) < h
    np.testing.assert_allclose((right - 2 * at + left) / h, curves.jumps[0][near].sum(axis=0), rtol=1e-2, atol=1e-4)
    np.testing.assert_array_equal(curves.targets, TARGETS)


def test_a_descent_is_seen_like_a_run() -> None:
    data, net = (X, TARGETS, WEIGHTS), RUNS["squared"].initial
    options: dict[str, Any] = {"loss": "squared", "reduction": "mean", "rates": (0.5, 3.0)}
    sol = rf.integrate(data, net, until=2.0, rtol=1e-11, **options)
    down = rf.descend(data, net, step=2e-4, n_steps=10000, save_every=5000, **options)
    for table in (analysis.losses, analysis.kernel_distance):
        np.testing.assert_allclose(table(down).iloc[:, 2:], table(sol, down.t).iloc[:, 2:], atol=5e-3)  # type: ignore[operator]
    with pytest.raises(ValueError, match="source must be a run of one output with both layers trained"):
        analysis.series(down)
    with pytest.raises(ValueError, match="times must be left out"):
        analysis.losses(down, [1.0])


def test_the_few_states_that_show_a_run_are_those_of_its_start_events_and_end() -> None:
    sol = RUNS["squared"]
    few = analysis.snapshots(sol, 4)
    assert (few.t[0], few.t[-1], len(few)) == (0.0, 20.0, 4)
    assert few.log_t[1] == pytest.approx(np.median(sol.events.log_t))
    assert (few.a[-1] == sol.final.a).all()
    assert (few.pattern[-1] == sol.final.pattern).all()
    assert len(analysis.sample(sol, 30)) > 20
    assert analysis.ends(sol).t.tolist() == [0.0, 20.0]


def test_figures_draw_every_output() -> None:
    pyplot = pytest.importorskip("matplotlib.pyplot")
    sol = RUNS["squared"]
    ax = rf.figures.fit(analysis.fit_curves(analysis.snapshots(sol, 3)))
    drawn = [line.get_ydata() for line in ax.lines]
    assert len(drawn) == K * (3 + 1)
    assert any(np.array_equal(y, TARGETS[:, 2]) for y in drawn)
    named = [text.get_text() for text in ax.get_legend().get_texts()]
    assert sorted(named) == [*(f"output {k}, $t = 20$" for k in range(K)), "samples"]
    ax = rf.figures.errors(analysis.errors(sol, [1.0, 20.0]))
    assert len(ax.lines) == 12 * K + 1
    ax = rf.figures.held_out(analysis.losses(RUNS["cross_entropy"], test=(X[:3], CLASSES[:3])))
    assert len(ax.lines) == 2
    pyplot.close("all")


def test_the_raster_of_several_outputs_sorts_by_the_output_that_a_neuron_serves() -> None:
    rng = np.random.default_rng(4)
    X, own = rng.standard_normal((8, 3)), np.arange(8) % 3
    net = rf.Network.init(9, 3, outputs=3, scale=0.2, seed=2)
    sol = rf.integrate((X, own), net, until=rf.Stop(mean_loss=0.2), loss="cross_entropy")
    found = rf.analysis.raster(sol)
    assert found.n_positive is None
    assert sorted(found.order.tolist()) == list(range(9))
    served = sol.final.a[found.order].argmax(axis=1)
    assert (np.diff(served) >= 0).all()
    np.testing.assert_array_equal(found.order[found.row], sol.events.neuron)
    np.testing.assert_array_equal(found.t, sol.events.t)
    assert [found.kinds[code] for code in found.kind] == sol.events.kind.tolist()
    data = rf.Dataset([[1.0, 0.3], [0.2, 1.0], [-0.5, 0.4]], [1.0, -0.5, 0.8])
    start = rf.Network.init(6, 2, scale=0.2, seed=1)
    one = rf.analysis.raster(rf.integrate(data, start, until=5.0, loss="squared"))
    other = rf.analysis.raster(rf.integrate(data, start, until=5.0, loss="squared", rates=(1.0, 1.0)))
    np.testing.assert_array_equal(one.order, other.order)
    assert one.n_positive == other.n_positive


def test_the_picture_of_events_of_several_outputs_names_no_signs() -> None:
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(4)
    net = rf.Network.init(9, 3, outputs=3, scale=0.2, seed=2)
    data = rng.standard_normal((8, 3)), np.arange(8) % 3
    sol = rf.integrate(data, net, until=rf.Stop(mean_loss=0.2), loss="cross_entropy")
    _, ax = rf.figures.panels(1)
    rf.figures.event_raster(rf.analysis.raster(sol), ax)
    counts = sol.events.counts()
    shown = {text.get_text() for text in ax.get_legend().get_texts()}
    assert shown == {f"{kind} ({count:,})" for kind, count in counts.items()}
    assert not [text for text in ax.texts if "a_j" in text.get_text()]
