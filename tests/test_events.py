"""The tables of events and branch points."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf
from toys import digits_like, on_a_ridge


def table(*rows: tuple[float, int, int, str]) -> rf.flow.EventTable:
    """A table from rows (t, neuron, sample, kind), each its own event set."""
    t = np.array([row[0] for row in rows], dtype=np.float64)
    with np.errstate(divide="ignore"):
        log_t = np.log(t)
    return rf.flow.EventTable(
        t,
        log_t,
        np.array([row[1] for row in rows], dtype=np.int32),
        np.array([row[2] for row in rows], dtype=np.int32),
        np.array([rf.flow.EVENT_KINDS.index(row[3]) for row in rows], dtype=np.uint8),
        np.arange(len(rows)),
    )


six = table(
    (0.0, 0, 0, "start_up"),
    (1.0, 0, 1, "cross_down"),
    (2.0, 1, 0, "slide"),
    (2.0, 0, 1, "cross_up"),
    (3.0, 1, 0, "branch"),
    (4.0, 1, 0, "leave_down"),
)


@pytest.fixture(scope="module")
def sol() -> rf.Solution:
    return rf.integrate(*digits_like(), until=30.0)


def test_the_columns_are_read_only(sol: rf.Solution) -> None:
    for name in ("t", "log_t", "neuron", "sample", "code", "kind", "tie"):
        with pytest.raises(ValueError, match="read-only"):
            getattr(sol.events, name)[0] = 0


def test_single_events_come_by_position_and_by_iteration() -> None:
    assert len(six) == 6
    assert six[2] == rf.flow.Event(2.0, np.log(2.0), 1, 0, "slide")
    assert six[-1].kind == "leave_down"
    assert list(six)[2] == six[2]
    assert [event.kind for event in six] == six.kind.tolist()


def test_a_position_beyond_the_table_is_an_index_error() -> None:
    with pytest.raises(IndexError):
        six[6]


def test_slices_and_masks_and_index_arrays_give_tables() -> None:
    assert six[1:3].kind.tolist() == ["cross_down", "slide"]
    assert six[six.t > 2].kind.tolist() == ["branch", "leave_down"]
    assert six[[0, 5]].kind.tolist() == ["start_up", "leave_down"]
    assert len(six[:0]) == 0


def test_the_counts_add_up(sol: rf.Solution) -> None:
    assert six.counts() == {"cross_up": 1, "cross_down": 1, "slide": 1, "leave_down": 1, "branch": 1, "start_up": 1}
    assert sum(sol.events.counts().values()) == len(sol.events) > 0
    assert six[:0].counts() == {}


def test_events_are_selected_by_neuron_sample_and_kind(sol: rf.Solution) -> None:
    assert six.of(neuron=1).t.tolist() == [2.0, 3.0, 4.0]
    assert six.of(sample=[1]).kind.tolist() == ["cross_down", "cross_up"]
    assert six.of(kind=["slide", "branch"], neuron=1).t.tolist() == [2.0, 3.0]
    assert len(six.of(neuron=9)) == 0
    by_neuron = [len(sol.events.of(neuron=j)) for j in range(sol.initial.width)]
    assert sum(by_neuron) == len(sol.events)


def test_an_unknown_kind_is_named() -> None:
    with pytest.raises(ValueError, match=r"kind must be one of cross_up, .*, found 'cross'"):
        six.of(kind="cross")


def test_a_replay_follows_the_meaning_of_the_kinds() -> None:
    start = [[0, 1], [1, -1]]
    np.testing.assert_array_equal(six.replay(start), [[1, 1], [-1, -1]])
    np.testing.assert_array_equal(six.replay(start, until=0.0), [[1, 1], [1, -1]])
    np.testing.assert_array_equal(six.replay(start, until=1.5), [[1, -1], [1, -1]])
    np.testing.assert_array_equal(six.replay(start, until=2.0), [[1, 1], [0, -1]])
    np.testing.assert_array_equal(six.replay(start, until=3.5), [[1, 1], [0, -1]])


def test_a_replay_leaves_the_given_pattern_alone() -> None:
    start = np.zeros((2, 2), dtype=np.int8)
    six.replay(start)
    assert not start.any()


def test_a_replay_equals_the_events_one_by_one(sol: rf.Solution) -> None:
    sign = dict.fromkeys(("cross_up", "leave_up", "start_up"), 1)
    sign |= dict.fromkeys(("cross_down", "leave_down", "start_down"), -1)
    sign |= dict.fromkeys(("slide", "die", "start_slide"), 0)
    slow = np.array(sol.pattern0)
    for event in sol.events:
        slow[event.neuron, event.sample] = sign[event.kind]
    np.testing.assert_array_equal(sol.events.replay(sol.pattern0), slow)


def test_a_replay_of_all_events_gives_the_last_pattern(sol: rf.Solution) -> None:
    assert sol.final.pattern is not None
    np.testing.assert_array_equal(sol.events.replay(sol.pattern0), sol.final.pattern)


def test_a_pattern_too_small_for_the_events_is_refused() -> None:
    with pytest.raises(ValueError, match=r"pattern must have at least the shape \(2, 2\), found the shape \(2, 1\)"):
        six.replay([[1], [1]])


def test_pandas_gets_the_columns_with_the_names_of_the_kinds(sol: rf.Solution) -> None:
    frame = sol.events.to_pandas()
    assert list(frame.columns) == ["t", "log_t", "neuron", "sample", "kind"]
    assert frame["kind"].tolist() == sol.events.kind.tolist()
    np.testing.assert_array_equal(frame["t"].to_numpy(), sol.events.t)


def test_a_csv_file_reads_back_exactly(sol: rf.Solution, tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text("an older file")
    sol.events.to_csv(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert [float(row["t"]) for row in rows] == sol.events.t.tolist()
    assert [float(row["log_t"]) for row in rows] == sol.events.log_t.tolist()
    assert [int(row["neuron"]) for row in rows] == sol.events.neuron.tolist()
    assert [int(row["sample"]) for row in rows] == sol.events.sample.tolist()
    assert [row["kind"] for row in rows] == sol.events.kind.tolist()
    assert list(tmp_path.iterdir()) == [path]


def test_equality_compares_every_column() -> None:
    assert six == six[:]
    assert six != six[1:]
    assert six[:1] != table((0.0, 0, 0, "start_down"))
    assert six != "table"


def test_the_text_shows_counts_and_both_ends(sol: rf.Solution) -> None:
    lines = repr(six).splitlines()
    assert lines[0].startswith("EventTable: 6 events (cross_up 1,")
    assert len(lines) == 8
    assert lines[-1].split() == ["4", "1", "0", "leave_down"]
    long = repr(sol.events).splitlines()
    assert len(long) == 13
    assert "..." in long
    assert repr(six[:0]) == "EventTable: 0 events"


# --- branch points ---------------------------------------------------------------------------------------------------


def test_a_branch_point_tells_its_options_and_the_choice() -> None:
    taken = {}
    for policy in ("active", "stay"):
        sol = rf.integrate(*on_a_ridge(), until=1.0, on_branch=policy)
        assert len(sol.branchings) == 1
        point = sol.branchings[0]
        assert (point.t, point.neuron, point.samples) == (0.0, 0, (0,))
        taken[policy] = point.choice
        assert point.choice in point.options
        assert list(sol.branchings) == [point]
    assert taken == {"active": {0: 1}, "stay": {0: 0}}


def test_a_table_of_branch_points_has_columns_and_slices() -> None:
    branchings = rf.integrate(*on_a_ridge(), until=1.0, on_branch="active").branchings
    assert branchings.t.tolist() == [0.0]
    assert branchings.log_t.tolist() == [-np.inf]
    assert branchings.neuron.tolist() == [0]
    assert branchings.options == [branchings[0].options]
    assert len(branchings[1:]) == 0
    frame = branchings.to_pandas()
    assert list(frame.columns) == ["t", "log_t", "neuron", "samples", "options", "chosen"]
    assert frame.loc[0, "samples"] == (0,)
    assert "neuron 0: *{0: 1} | " in repr(branchings)


def test_many_branch_points_of_many_samples_are_shown_in_short() -> None:
    """Twelve neurons at w = 0 have many ways off the boundaries of all forty samples."""
    X = np.random.default_rng(0).standard_normal((40, 2))
    data, net = rf.Dataset(X, np.ones(40)), rf.Network(np.zeros((12, 2)), np.linspace(1.0, 2.0, 12))
    branchings = rf.integrate(data, net, until=1e-3).branchings
    assert len(branchings) == 12
    lines = repr(branchings).splitlines()
    assert lines[6] == "..."
    assert len(lines) == 12
    assert lines[1].count(" active, ") == len(branchings[0].options)
    assert max(map(len, lines)) < 80 * len(branchings[0].options)


def test_a_run_without_branch_points_has_an_empty_table(sol: rf.Solution) -> None:
    assert len(sol.branchings) == 0
    assert sol.branchings.to_pandas().empty


def test_kinds_of_version_0_1_are_found_under_their_new_names() -> None:
    with pytest.warns(DeprecationWarning, match="events of kind 'hold' are of kind 'slide' now"):
        assert six.of(kind="hold") == six.of(kind="slide")
    with pytest.warns(DeprecationWarning, match="'release_down' are of kind 'leave_down'"):
        assert len(six.of(kind="release_down")) == 1
