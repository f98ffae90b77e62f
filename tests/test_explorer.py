"""The page of a run: its numbers are those of the run, and everything it needs is inside."""

from __future__ import annotations

import dataclasses
import functools
import re

import numpy as np
import pytest

import pictures
import reluflow as rf
import runs
from reluflow import analysis
from reluflow._palette import LINES
from reluflow.explorer._panels import layout, moving, still
from reluflow.flow._explore import film
from reluflow.layered._explore import film_of_layers

RUNS = {"circle": runs.holding, "sphere": pictures.sphere_run, "singular plane": runs.iris, "endless": runs.endless}


def trace(shown, frame, name):
    (found,) = (part for part in moving(shown, frame) if part.get("name") == name)
    return found


@pytest.mark.parametrize("name", RUNS)
def test_neurons_are_drawn_where_the_run_has_them(name):
    sol = RUNS[name]()
    shown = film(sol, 9)
    for frame in range(0, len(shown), 3):
        log_t = shown.log_t[frame]
        net = sol.initial if log_t == -np.inf else sol.at(log_t=log_t) if name == "endless" else sol(shown.t[frame])
        unit = net.W / np.linalg.norm(net.W, axis=1, keepdims=True)
        drawn = trace(shown, frame, "neurons")
        places = np.column_stack([drawn[axis] for axis in "xyz" if axis in drawn])
        np.testing.assert_allclose(places, unit @ shown.axes.T, atol=1e-6 if name == "endless" else 1e-12)
    assert places.shape[1] == (3 if name == "sphere" else 2)


def test_the_singular_plane_is_that_of_the_analysis():
    shown = film(runs.iris(), 9)
    np.testing.assert_allclose(shown.axes, analysis.directions(analysis.ends(runs.iris())).basis, atol=1e-12)


def test_outputs_are_those_of_the_network_on_the_plane_of_the_inputs():
    sol = runs.holding()
    shown = film(sol, 9)
    drawn = trace(shown, 4, "outputs")
    u, v = np.meshgrid(drawn["x"], drawn["y"])
    values = sol(shown.t[4])(np.column_stack((u.ravel(), v.ravel()))).reshape(u.shape)
    np.testing.assert_allclose(drawn["z"], values / np.abs(values).max(), atol=1e-6)


@pytest.mark.parametrize(("X", "shape"), [([[0.5], [-1.0]], 1), ([[1.0, 2.0], [1.0, -1.0]], 1), (None, 2)])
def test_one_input_beside_a_bias_gives_a_curve_and_two_give_a_plane(X, shape):
    inputs = np.array([[0.3, 2.0, 1.0], [0.1, -1.0, 1.0]]) if X is None else np.array(X)
    data = rf.Dataset(inputs, [1, -1])
    sol = rf.integrate(data, rf.Network.init(4, data.d, scale=0.1, seed=0), until=3.0)
    shown = film(sol, 5)
    assert shown.outputs(2).shape[1:] == (len(shown.ticks),) * shape
    basis, origin, places = shown.window
    np.testing.assert_allclose(origin + places @ basis, data.X, atol=1e-15)


def test_loss_and_margins_are_those_of_the_analysis():
    sol = runs.iris()
    shown = film(sol, 9)
    seen = analysis.states(sol, shown.t)
    np.testing.assert_allclose(shown.log10_loss * np.log(10.0), seen.log_loss, atol=1e-12)
    np.testing.assert_allclose(shown.margins, seen.margins, atol=1e-12)


def test_each_event_is_new_at_one_time_of_the_slider():
    sol = runs.iris()
    shown = film(sol, 9)
    texts = [trace(shown, frame, "events now")["text"] for frame in range(len(shown))]
    assert sum(map(len, texts)) == len(sol.events)
    for frame, log_t in zip(shown.last_frame, sol.events.log_t, strict=True):
        assert log_t <= shown.log_t[frame] or frame == len(shown) - 1
        assert frame == 0 or log_t > shown.log_t[frame - 1]


def test_the_page_is_one_file_that_fetches_nothing(tmp_path):
    page = runs.holding().explore(tmp_path / "run.html", n_times=5)
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert text == page.html
    assert not re.search(r"<(?:script|link|img|iframe)[^>]+(?:src|href)=", text)
    assert list(tmp_path.iterdir()) == [tmp_path / "run.html"]


def test_a_notebook_shows_the_page_and_none_writes_no_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    page = runs.holding().explore(None, n_times=2)
    assert list(tmp_path.iterdir()) == []
    assert page._repr_html_().startswith('<iframe srcdoc="&lt;!doctype html&gt;')
    assert repr(page) == "Explorer(Wang-Pilanci, acute, 12 neurons, 14 events, 3 times)"


def test_bad_arguments_are_named(tmp_path):
    with pytest.raises(ValueError, match="n_times must be an integer of at least 2, found 1"):
        runs.holding().explore(None, n_times=1)
    with pytest.raises((ValueError, OSError), match="no-folder"):
        runs.holding().explore(tmp_path / "no-folder" / "x.html", n_times=2)


# --- several outputs, and errors -------------------------------------------------------------------------------------


RNG = np.random.default_rng(5)
PLANE = RNG.standard_normal((12, 2))
CLASSES = (PLANE @ RNG.standard_normal((2, 3))).argmax(axis=1)  # a linear network is right on them
LINE = np.linspace(-1.0, 1.0, 8)[:, None]
TARGETS = {1: np.sin(3 * LINE[:, 0]), 2: np.column_stack((np.sin(3 * LINE[:, 0]), np.abs(LINE[:, 0])))}


@functools.cache
def of_classes():
    net = rf.Network.init(8, 2, outputs=3, scale=0.3, seed=1)
    return rf.integrate((PLANE, CLASSES), net, until=20.0, loss="cross_entropy")


@functools.cache
def of_targets(outputs):
    data = rf.Dataset(LINE, TARGETS[outputs]).with_bias(1.0)
    net = rf.Network.init(8, 2, outputs=outputs, scale=0.3, seed=1)
    return rf.integrate(data, net, until=20.0, loss="squared")


def test_margins_of_classes_are_those_to_the_next_class():
    sol = of_classes()
    shown = film(sol, 5)
    f = sol(shown.t[3])(PLANE)
    rest = [max(np.delete(row, c)) for row, c in zip(f, CLASSES, strict=True)]
    q = f[np.arange(12), CLASSES] - rest
    square = sol(shown.t[3]).norm ** 2
    np.testing.assert_allclose(shown.shown[3], q / square, atol=1e-13)


@pytest.mark.parametrize("run", [of_classes, lambda: of_targets(1), lambda: of_targets(2)])
def test_the_loss_is_the_sum_over_samples_as_in_the_run(run):
    sol = run()
    shown = film(sol, 5)
    means = rf.analysis.losses(sol, shown.t)["loss"]
    np.testing.assert_allclose(10.0**shown.log10_loss, len(shown.X) * means, rtol=1e-10)


def test_a_small_loss_of_classes_keeps_its_digits():
    """One minus a rounded softmax would be zero there."""
    shown = film(of_classes(), 5)
    big = dataclasses.replace(shown, networks=[rf.Network(1e3 * net.W, 1e3 * net.a) for net in shown.networks])
    f = big.values(len(shown) - 1, PLANE)
    beyond = f - f[np.arange(12), CLASSES][:, None]
    expected = max(np.delete(row, c).max() for row, c in zip(beyond, CLASSES, strict=True)) / np.log(10.0)
    assert expected < -1000
    assert big.log10_loss[-1] == pytest.approx(expected, rel=1e-9)


def test_a_plane_shows_the_class_of_the_largest_output():
    sol = of_classes()
    shown = film(sol, 5)
    drawn = trace(shown, 4, "outputs")
    u, v = np.meshgrid(drawn["x"], drawn["y"])
    largest = sol(shown.t[4])(np.column_stack((u.ravel(), v.ravel()))).argmax(axis=1)
    assert np.array_equal(drawn["z"], largest.reshape(u.shape))
    assert len(set(largest.tolist())) == 3
    colours = [mark["marker"]["color"] for mark in still(shown) if mark.get("name") == "samples"]
    assert all(one == [LINES[c] for c in CLASSES] for one in colours)


def test_each_output_of_one_input_is_a_curve_beside_its_targets():
    sol = of_targets(2)
    shown = film(sol, 5)
    curves = [part for part in moving(shown, 4) if part.get("name") == "outputs"]
    f = sol(shown.t[4])(shown.ticks[:, None])
    np.testing.assert_allclose([curve["y"] for curve in curves], f.T, atol=1e-13)
    marks = [part for part in still(shown) if part.get("xaxis") == "x2" and part["name"] == "samples"]
    assert [mark["y"].tolist() for mark in marks] == TARGETS[2].T.tolist()
    assert [curve["line"]["color"] for curve in curves] == [mark["marker"]["color"] for mark in marks]


@pytest.mark.parametrize("outputs", [1, 2])
def test_errors_take_the_place_of_margins(outputs):
    sol = of_targets(outputs)
    shown = film(sol, 5)
    error = (sol(shown.t[3])(LINE) - TARGETS[outputs]).reshape(8, -1)
    np.testing.assert_allclose(shown.shown[3], np.linalg.norm(error, axis=1), atol=1e-13)
    assert layout(shown)["yaxis4"]["title"]["text"] == "|error|"


def test_two_outputs_on_a_plane_are_drawn_where_they_are_zero(tmp_path):
    targets = RNG.standard_normal((12, 2))
    net = rf.Network.init(8, 2, outputs=2, scale=0.3, seed=1)
    sol = rf.integrate(rf.Dataset(PLANE, targets), net, until=2.0, loss="squared")
    parts = [part for part in moving(film(sol, 5), 3) if part.get("name") == "outputs"]
    assert [part["contours"]["coloring"] for part in parts] == ["none", "none"]
    page = sol.explore(tmp_path / "run.html", n_times=5)
    assert (
        repr(page)
        == f"Explorer(12 samples in 2 dimensions, 8 neurons, {len(sol.events)} events, {page.n_frames} times)"
    )


# --- layers ----------------------------------------------------------------------------------------------------------


@functools.cache
def of_layers():
    """A run in which units slide and run out of live inputs, in two hidden layers."""
    rng = np.random.default_rng(2)
    X, labels = rng.integers(-2, 3, (8, 3)).astype(float), np.sign(rng.standard_normal(8))
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=3, scale=1.0, seed=2)
    return rf.integrate((X, labels, [1.0, 2.0] * 4), net, until=8.0, reduction="mean")


def test_rows_of_the_first_layer_and_the_outputs_of_all_are_drawn():
    sol = of_layers()
    shown = film_of_layers(sol, 9)
    for frame in (0, 3, len(shown) - 1):
        net = sol(shown.t[frame])
        W = net.layers[0].W
        drawn = trace(shown, frame, "neurons")
        places = np.column_stack([drawn[axis] for axis in "xyz"])
        np.testing.assert_allclose(places, W / np.linalg.norm(W, axis=1, keepdims=True), atol=1e-12)
        assert drawn["text"][2] == f"layer 1, unit 2, |w| = {np.linalg.norm(W[2]):.4g}"
        basis, origin, _ = shown.window
        u, v = np.meshgrid(shown.ticks, shown.ticks)
        values = net(origin + np.column_stack((u.ravel(), v.ravel())) @ basis).reshape(u.shape)
        np.testing.assert_allclose(trace(shown, frame, "outputs")["z"], values / np.abs(values).max(), atol=1e-6)


def test_loss_and_margins_of_layers_are_those_of_the_run():
    sol = of_layers()
    shown = film_of_layers(sol, 9)
    np.testing.assert_allclose(10.0**shown.log10_loss, rf.analysis.losses(sol, shown.t)["loss"], rtol=1e-10)
    net, (X, labels, _) = sol(shown.t[4]), sol.data
    np.testing.assert_allclose(shown.shown[4], np.asarray(labels) * net(X) / net.norm**3, atol=1e-13)
    assert layout(shown)["yaxis4"]["title"]["text"] == "margin / |θ|³"


def test_events_of_every_layer_are_in_the_raster_and_those_of_the_first_are_ringed():
    sol = of_layers()
    shown = film_of_layers(sol, 9)
    marks = [part for part in still(shown) if part.get("yaxis") == "y5" and part.get("showlegend")]
    assert {"slide", "void"} <= set(sol.events.kind)
    found = sorted(tuple(place) for part in marks for place in part["customdata"])
    assert found == sorted(zip(sol.events.layer, sol.events.unit, sol.events.sample, strict=True))
    rows = np.concatenate([part["y"] for part in marks])
    layers = np.concatenate([part["customdata"][:, 0] for part in marks])
    assert np.array_equal(rows >= 4, layers == 2)
    assert rows.max() < shown.n_rows == 7
    assert layout(shown)["yaxis5"]["ticktext"] == ["layer 1", "layer 2"]
    texts = [text for frame in range(len(shown)) for text in trace(shown, frame, "events now")["text"]]
    assert len(texts) == (sol.events.layer == 1).sum()
    assert all(text.startswith("layer 1, unit") for text in texts)


def test_layers_without_a_degree_show_margins_as_they_are(tmp_path):
    data = rf.datasets.wang_pilanci("obtuse")
    net = rf.DeepNetwork.init([rf.Dense(4), rf.Residual(rf.Dense(4)), rf.Dense(1, bias=True)], dim=2, seed=1)
    sol = rf.integrate(data, net, until=rf.Stop(log_time=2000.0), loss="exponential")
    shown = film_of_layers(sol, 5)
    assert layout(shown)["yaxis4"]["title"]["text"] == "margin"
    np.testing.assert_allclose(shown.shown[-1], data.y * sol.final(data.X), rtol=1e-12)
    page = sol.explore(tmp_path / "run.html", n_times=5)
    assert (tmp_path / "run.html").read_text(encoding="utf-8") == page.html
    assert "layers 2-4-4-1" in repr(page)


def test_a_linear_network_has_a_page_without_events():
    layers = [rf.Dense(3, "linear"), rf.Dense(1)]
    net = rf.DeepNetwork.init(layers, dim=2, seed=1)
    sol = rf.integrate(rf.datasets.wang_pilanci("obtuse"), net, until=2.0)
    assert "0 events" in sol.explore(None, n_times=3).html


# --- what a notebook shows of the others -----------------------------------------------------------------------------


def certificate():
    data = rf.datasets.wang_pilanci("obtuse")
    return rf.certify(rf.convex.to_network(rf.convex.max_margin(data)), data)


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (lambda: rf.Dataset([[1.0, 2.0]], [1], name="a<b"), ["Dataset a&lt;b", "1 with y = +1", "rank 1"]),
        (lambda: rf.Network([[1.0], [2.0]], [3.0, 0.0]), ["2: 1 with a &gt; 0, 0 with a &lt; 0, 1 with a = 0"]),
        (runs.holding, ["reached_time", "slide 8, leave_up 3, die 3"]),
        (lambda: runs.holding().events, ["EventTable: 14 events", "<td", "..."]),
        (of_layers, ["DeepSolution", "reached_time", "slide"]),
        (lambda: of_layers().final, ["DeepNetwork", "3 units, ReLU"]),
        (of_classes, ["outputs 3", "arrays of 12 samples"]),
        (certificate, ["global", "1.2824322", "yes"]),
    ],
    ids=[
        "Dataset",
        "Network",
        "Solution",
        "EventTable",
        "DeepSolution",
        "DeepNetwork",
        "TwoLayerSolution",
        "Certificate",
    ],
)
def test_a_result_is_a_table_in_a_notebook(result, said):
    html = result()._repr_html_()
    assert html.count("<table>") == html.count("</table>") == 1
    assert [text for text in said if text not in html] == []
