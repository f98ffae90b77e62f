"""K classes: networks, flows against the rest, what is made of their solutions."""

from __future__ import annotations

import _thread
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf

THREADS = (1, 2, 3)
LABELS = ("red", "green", "blue")


def three_classes(n: int = 45, d: int = 6, seed: int = 2) -> rf.datasets.MultiClassDataset:
    """Overlapping clouds: events of every kind, and classes that are not equally hard."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 3
    X = rng.standard_normal((n, d)) + 0.8 * np.eye(3, d)[labels] * np.array([1.0, 2.0, 3.0])[labels, None]
    return rf.datasets.MultiClassDataset(X, [LABELS[k] for k in labels], name="clouds")


def start(data: rf.datasets.MultiClassDataset, width: int = 9) -> rf.networks.MultiClassNetwork:
    return rf.Network.init(width, data.d, classes=data.K, scale=1e-2, seed=4)


def run(**options: Any) -> rf.flow.MultiClassSolution:
    data = three_classes()
    return rf.integrate(data, start(data), **{"until": 1.0, **options})


def same_run(one: rf.Solution, other: rf.Solution) -> bool:
    arrays = all(np.array_equal(getattr(one, name), getattr(other, name)) for name in ("t", "W", "a", "log_loss"))
    return arrays and one.final == other.final and one.events == other.events and one.status == other.status


# --- networks --------------------------------------------------------------------------------------------------------


def test_networks_of_classes_are_drawn_from_streams_of_their_own() -> None:
    three = rf.Network.init(5, 3, classes=3, seed=7)
    five = rf.Network.init(5, 3, classes=5, seed=7)
    assert three.networks == five.networks[:3]
    assert len({net.W.tobytes() for net in five}) == 5
    assert three != rf.Network.init(5, 3, classes=3, seed=8)
    assert all(np.allclose(net.balance, 0, atol=1e-18) for net in three)


def test_a_network_of_classes_answers_with_one_column_each() -> None:
    nets = [rf.Network([[1.0, 0.0]], [1.0]), rf.Network([[0.0, 1.0], [0.0, 2.0]], [1.0, 1.0])]
    both = rf.networks.MultiClassNetwork(nets)
    assert both([[2.0, 1.0], [0.0, 1.0]]).tolist() == [[2.0, 3.0], [0.0, 3.0]]
    assert both.predict([[4.0, 1.0], [0.0, 1.0]]).tolist() == [0, 1]
    assert both.norm == pytest.approx(np.sqrt(sum(net.norm**2 for net in nets)))
    assert both[1] is nets[1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: rf.Network.init(2, 2, classes=1), "classes must be an integer of at least 2, found 1"),
        (
            lambda: rf.networks.MultiClassNetwork([rf.Network([[1.0]], [1.0])]),
            "networks must hold one network for each of at least two classes, found 1",
        ),
        (
            lambda: rf.networks.MultiClassNetwork([rf.Network([[1.0]], [1.0]), rf.Network([[1.0, 2.0]], [1.0])]),
            "networks must have one dim, found 1, 2",
        ),
        (
            lambda: rf.networks.MultiClassNetwork([rf.Network([[1.0]], [1.0]), rf.Network([[1.0]], [1.0], leak=0.5)]),
            "networks must have one leak, found 0, 0.5",
        ),
        (lambda: rf.Network.init(2, 2, classes=2)[2], "k must be a class index 0 ... 1, found 2"),
        (
            lambda: rf.integrate(three_classes(), rf.Network.init(2, 6, classes=2), until=1.0),
            "net must hold one network for each of the 3 classes, found 2",
        ),
        (
            lambda: rf.integrate(three_classes(), rf.Network.init(2, 6), until=1.0),  # type: ignore[call-overload]
            "net must be a MultiClassNetwork or a MultiClassSolution, found a value of type Network",
        ),
        (lambda: run(n_threads=0), "n_threads must be an integer of at least 1, found 0"),
        (lambda: run()[3], "k must be a class index 0 ... 2 or a label that is a string, found 3"),
        (lambda: run().of(3), "label must be one of 'blue', 'green', 'red', found 3"),
        (
            lambda: rf.analysis.states(run()),  # type: ignore[arg-type]
            "source must be one run: take the solution of one class, sol[k], found those of several classes",
        ),
    ],
)
def test_bad_classes_are_named(make: Any, message: str) -> None:
    with pytest.raises(ValueError, match="must") as caught:
        make()
    assert str(caught.value) == message


# --- the flows -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_threads", THREADS)
def test_each_class_is_the_single_run_bit_for_bit(n_threads: int) -> None:
    data = three_classes()
    nets = start(data)
    sol = rf.integrate(data, nets, until=1.0, n_threads=n_threads)
    assert sum(len(one.events) for one in sol) > 300
    for k in range(data.K):
        assert same_run(sol[k], rf.integrate(data.binary(k), nets[k], until=1.0)), k


def test_a_solution_is_found_by_index_and_by_label() -> None:
    sol = run()
    assert sol.classes == ("blue", "green", "red")
    assert sol["green"] is sol[1] is sol.of("green")
    assert [one.data.name for one in sol] == [f"clouds: {name} against the rest" for name in sol.classes]


def test_the_outcome_is_that_of_all_classes() -> None:
    sol = run(until=rf.Stop(mean_loss=0.4, time=0.5))
    assert set(sol.statuses) == {"reached_mean_loss", "reached_time"}
    assert (sol.status, sol.success) == ("mixed", True)
    for name, one in zip(sol.classes, sol, strict=True):
        assert f"class {name!r}: {one.message}" in sol.message
    assert sol.stats["steps"] == sum(one.stats["steps"] for one in sol)
    assert sol.stats["events"]["cross_up"] == sum(one.stats["events"].get("cross_up", 0) for one in sol)
    assert sol.t_end.tolist() == [one.t_end for one in sol]
    short = run(max_events=100)
    assert (short.status, short.success) == ("max_events", False)


def test_classes_go_on_from_where_they_stopped() -> None:
    data = three_classes()
    first = rf.integrate(data, start(data), until=rf.Stop(events=60))
    rest = rf.integrate(data, first, until=1.0)
    for k in range(data.K):
        assert rest[k].t_start == first[k].t_end > 0
        assert same_run(rest[k], rf.integrate(data.binary(k), first[k], until=1.0))


def test_the_callback_sees_all_classes_and_can_stop_them() -> None:
    data = three_classes(n=300, d=40)
    seen: list[rf.flow.ManyProgress] = []

    def stop_later(progress: rf.flow.ManyProgress) -> bool:
        seen.append(progress)
        return len(seen) == 3

    sol = rf.integrate(data, start(data, width=60), until=1e3, callback=stop_later, n_threads=2)
    assert sol.statuses == ("stopped_by_callback",) * 3
    assert not sol.success
    assert [progress.total for progress in seen] == [3] * 3
    assert seen[-1].steps >= seen[0].steps > 0
    assert all(0 <= index < 3 and part.log_t < np.log(1e3) for index, part in seen[-1].running)
    assert sol[2].t_end == 0.0  # two threads: it had not begun
    assert sol[0].t_end > 0.0


def test_an_exception_of_the_callback_goes_through() -> None:
    data = three_classes(n=300, d=40)

    def complain(progress: rf.flow.ManyProgress) -> None:
        raise RuntimeError("enough")

    for n_threads in (1, 2):
        with pytest.raises(RuntimeError, match="enough"):
            rf.integrate(data, start(data, width=60), until=1e3, callback=complain, n_threads=n_threads)


@pytest.mark.parametrize("n_threads", [1, 2])
def test_ctrl_c_returns_what_all_classes_have(n_threads: int) -> None:
    data = three_classes(n=300, d=40)
    timer = threading.Timer(0.2, _thread.interrupt_main)
    timer.start()
    sol = rf.integrate(data, start(data, width=60), until=1e3, n_threads=n_threads)
    timer.join()
    assert sol.statuses == ("interrupted",) * 3
    assert sol[0].t_end > 0.0


def test_a_branch_point_of_one_class_is_raised_with_all_solutions() -> None:
    data = rf.datasets.MultiClassDataset([[0.0, 1.0], [1.0, 0.0], [-1.0, -0.5]], [0, 0, 1])
    ridge = rf.Network([[1.0, 0.0]], [1.0])
    nets = rf.networks.MultiClassNetwork([ridge, rf.Network([[1.0, 0.3]], [1.0])])
    with pytest.raises(rf.BranchingError) as caught:
        rf.integrate(data, nets, until=1.0, on_branch="raise")
    sol = caught.value.solution
    assert sol.statuses == ("branch", "reached_time")
    assert "class 0: the flow branches" in str(caught.value)


# --- storage ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("labels", [LABELS, (3, 5, 8), (0.5, 1.5, 2.5)])
def test_classes_come_back_from_a_file_with_the_same_bits(labels: tuple[Any, ...], tmp_path: Path) -> None:
    plain = three_classes()
    data = rf.datasets.MultiClassDataset(plain.X, [labels[k] for k in plain.labels], name="stored")
    sol = rf.integrate(data, start(data), until=1.0, save_at=[0.25, 1.0])
    sol.save(tmp_path / "run.npz")
    back = rf.load(tmp_path / "run.npz")
    assert isinstance(back, rf.flow.MultiClassSolution)
    assert back.data == data
    assert back.seconds == sol.seconds
    assert all(same_run(one, other) for one, other in zip(sol, back, strict=True))
    assert back.of(labels[1]).settings.until == rf.Stop(time=1.0)
    assert back(0.5) == sol(0.5)


def test_classes_of_weighted_samples_come_back_with_their_weights(tmp_path: Path) -> None:
    plain = three_classes()
    counts = 1.0 + np.arange(plain.n) % 4
    data = rf.datasets.MultiClassDataset(plain.X, [LABELS[k] for k in plain.labels], weights=counts)
    sol = rf.integrate(data, start(data), until=1.0, save_at=[0.25, 1.0])
    sol.save(tmp_path / "run.npz")
    back = rf.load(tmp_path / "run.npz")
    assert isinstance(back, rf.flow.MultiClassSolution)
    assert all(one.data == data.binary(k) for k, one in enumerate(back))
    assert back(0.5) == sol(0.5)
    assert rf.integrate(back.data, back, until=2.0).final == rf.integrate(data, sol, until=2.0).final


# --- what is made of it ----------------------------------------------------------------------------------------------


def test_tables_gain_the_column_class() -> None:
    sol = run(until=1.0, save_at=[0.0, 0.3, 1.0])
    for make in (
        rf.analysis.series,
        rf.analysis.sectors,
        rf.analysis.groups,
        rf.analysis.kkt_residuals,
        rf.analysis.alignment_times,
    ):
        table = make(sol)
        assert table.columns[0] == "class"
        for label, one in zip(sol.classes, sol, strict=True):
            part = table[table["class"] == label].drop(columns="class").reset_index(drop=True)
            expected = make(one)
            assert part.equals(expected.astype(part.dtypes)), (make.__name__, label)


def test_margins_gain_the_dimension_class() -> None:
    sol = run()
    times = [0.0, 0.5, 1.0]
    found = rf.analysis.margins(sol, times)
    assert found.dims == ("class", "time", "sample")
    for label, one in zip(sol.classes, sol, strict=True):
        expected = rf.analysis.margins(one, times)
        assert np.array_equal(found.sel({"class": label}).to_numpy(), expected.to_numpy())
        assert np.array_equal(found["y"].sel({"class": label}).to_numpy(), one.data.y)
    with pytest.raises(ValueError, match="times must be given where the classes keep states at different times"):
        rf.analysis.margins(sol)


def test_summaries_and_timelines_stand_class_by_class() -> None:
    sol = run()
    assert [part.n_events for part in rf.analysis.summarise(sol)] == [len(one.events) for one in sol]
    found = rf.analysis.timeline(sol, n_times=20)
    assert [part.sector.shape for part in found] == [(20, 9)] * 3


def test_certificates_stand_class_by_class() -> None:
    data = rf.datasets.MultiClassDataset(np.vstack([np.eye(3), 2 * np.eye(3)]), ["a", "b", "c", "a", "b", "c"])
    sol = rf.integrate(data, rf.Network.init(20, 3, classes=3, seed=3), until=rf.Stop(log_time=200.0))
    found = rf.certify(sol, data)
    table = found.to_pandas()
    assert table["class"].tolist() == ["a", "b", "c"]
    for k, one in enumerate(found):
        alone = rf.certify(sol[k], data.binary(k))
        assert (one.verdict, one.value, one.lower) == (alone.verdict, alone.value, alone.lower)
    assert found.value == sum(one.value for one in found)
    program = rf.convex.max_margin_multiclass(data)
    assert found.lower <= program.value * (1 + 1e-9)
    assert found.verdict in {*found.verdicts, "mixed"}
    with pytest.raises(ValueError, match="solution must be a MultiClassSolution or a MultiClassNetwork"):
        rf.certify(sol[0], data)


def test_a_report_stands_class_by_class() -> None:
    data = rf.datasets.orthogonally_separable(9, 4, classes=3, seed=1)
    assert isinstance(data, rf.datasets.MultiClassDataset)
    nets = rf.Network.init(6, data.d, classes=3, seed=1)
    found = rf.conditions.report(data, nets)
    assert found.separability.holds
    assert [str(part) for part in found] == [str(rf.conditions.report(data.binary(k), nets[k])) for k in range(data.K)]
    # Samples of two other classes have one label and an obtuse angle: among the classes is not against the rest.
    assert "[PL] Theorem 1" in found.to_pandas()["source"].tolist()
    assert not any(row.applies for part in found for row in part.theorems if row.source == "[PL] Theorem 1")
    assert str(found).startswith("among the classes: orthogonal separability [PL, Sec. 2]: holds")
    assert found.to_pandas()["class"].unique().tolist() == list(data.classes)
    with pytest.raises(ValueError, match="net must be a MultiClassNetwork"):
        rf.conditions.report(data, nets[0])  # type: ignore[call-overload]


def test_numbers_of_classes_have_a_dimension_for_them(tmp_path: Path) -> None:
    """Classes are runs of their own, one against the rest: a name means the number of each of them."""
    data = rf.datasets.MultiClassDataset(np.eye(3), ["red", "green", "blue"])
    options: dict[str, Any] = {"grid": {"scale": [0.1, 0.5], "seed": [0, 1, 2]}, "until": 5.0, "width": 4}
    names = ["n_events", "mean_loss", "n_wrong"]
    found = rf.sweep(data, measure=names, store=tmp_path, **options)
    assert (found["status"] == "reached_time").all()
    for name in names:
        assert found[name].dims == ("scale", "seed", "class")
    for scale, seed in [(0.1, 2), (0.5, 0)]:
        for label in data.classes:
            net = rf.Network.init(4, 3, classes=3, scale=scale, seed=seed)
            alone = rf.analysis.summarise(rf.integrate(data, net, until=5.0, rtol=1e-9)[label])
            point = found.sel({"scale": scale, "seed": seed, "class": label})
            assert [float(point[name]) for name in names] == [getattr(alone, name) for name in names]
    assert rf.sweep(data, measure=names, store=tmp_path, **options).identical(found)
    made = rf.sweep(lambda: data, measure="n_events", **options)  # of no classes known before the runs
    np.testing.assert_array_equal(made["n_events"], found["n_events"])
