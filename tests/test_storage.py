"""Solutions on disk: the same bits back, whole or not at all, and clear words about files that are none."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow.flow import _schema
from toys import digits_like, on_a_ridge


def named_run(**options: Any) -> rf.Solution:
    plain, net = digits_like()
    data = rf.Dataset(plain.X, plain.y, name="toy", feature_names=[f"x{k}" for k in range(plain.d)])
    return rf.integrate(data, net, **{"until": 10.0, **options})


def branching_run() -> rf.Solution:
    return rf.integrate(*on_a_ridge(), until=rf.Stop(time=1.0, mean_loss=1e-6), on_branch="stay")


def overflowing_run() -> rf.Solution:
    return rf.integrate(*digits_like(n=6, d=8, width=4), until=rf.Stop(log_time=2000.0), save_at_log=[-1.0, 1500.0])


def same(first: Any, second: Any) -> bool:
    """Equality that looks into arrays."""
    if isinstance(first, np.ndarray):
        return first.dtype == second.dtype and np.array_equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(same(first[name], second[name]) for name in first)
    return type(first) is type(second) and bool(first == second)


RUNS = {
    "plain": named_run,
    "saved": lambda: named_run(save_at=[0.1, 7.0], rtol=1e-8, atol=0.0, loss="exponential", reduction="mean"),
    "branching": branching_run,
    "overflowing": overflowing_run,
    "continued": lambda: rf.integrate(named_run().data, named_run(), until=11.0),
}


@pytest.mark.parametrize("name", RUNS)
def test_every_field_comes_back_with_the_same_bits(name: str, tmp_path: Path) -> None:
    sol = RUNS[name]()
    sol.save(tmp_path / "run.npz")
    back = rf.load(tmp_path / "run.npz")
    for field in ("t", "log_t", "W", "a", "log_loss", "pattern0", "status", "message", "success", "stats"):
        assert same(getattr(sol, field), getattr(back, field)), field
    for field in ("data", "initial", "final", "events", "branchings", "t_start", "t_end", "log_t_end", "log_loss_end"):
        assert getattr(sol, field) == getattr(back, field), field
    assert same(sol.settings.as_dict(), back.settings.as_dict())
    assert back.data.feature_names == sol.data.feature_names
    assert back.summary() == sol.summary()


@pytest.mark.parametrize("name", RUNS)
def test_a_loaded_solution_has_dense_output_and_continues(name: str, tmp_path: Path) -> None:
    sol = RUNS[name]()
    sol.save(tmp_path / "run.npz")
    back = rf.load(tmp_path / "run.npz")
    log_t = sol.log_t_end - 0.0625
    assert back.at(log_t=log_t) == sol.at(log_t=log_t)
    stop = rf.Stop(log_time=sol.log_t_end + 0.125)
    assert rf.integrate(back.data, back, until=stop).final == rf.integrate(sol.data, sol, until=stop).final


def test_a_file_without_the_events_of_its_checkpoints_counts_them_by_time(tmp_path: Path) -> None:
    sol = named_run()
    whole, older = tmp_path / "run.npz", tmp_path / "older.npz"
    sol.save(whole)
    with np.load(whole) as content:
        arrays = {name: content[name] for name in content.files if name not in ("meta", "checkpoint_events")}
        meta = json.loads(str(content["meta"]))
    meta["arrays"].remove("checkpoint_events")
    np.savez(older, meta=np.array(json.dumps(meta)), **arrays)
    for t in (0.5, 3.0, 9.0):
        assert rf.load(older)(t) == rf.load(whole)(t) == sol(t)


def test_loaded_arrays_are_read_only(tmp_path: Path) -> None:
    named_run().save(tmp_path / "run.npz")
    back = rf.load(tmp_path / "run.npz")
    for array in (back.t, back.W, back.events.t, back.final.W, back.data.X, back.initial.a):
        assert not array.flags.writeable


def test_a_loaded_solution_can_be_saved_again(tmp_path: Path) -> None:
    sol = named_run()
    sol.save(tmp_path / "first.npz")
    rf.load(tmp_path / "first.npz").save(tmp_path / "second.npz")
    assert (tmp_path / "first.npz").stat().st_size == (tmp_path / "second.npz").stat().st_size
    assert rf.load(tmp_path / "second.npz").final == sol.final


def test_the_states_are_stored_once(tmp_path: Path) -> None:
    sol = named_run()
    sol.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as content:
        assert "W" in content
        assert "checkpoint_W" not in content


def test_nothing_in_the_file_is_pickled(tmp_path: Path) -> None:
    branching_run().save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz", allow_pickle=False) as content:
        assert all(content[name].dtype != object for name in content.files)


def test_saving_replaces_an_older_file_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    path.write_text("older")
    path.chmod(0o640)
    named_run().save(str(path))
    assert rf.load(str(path)).data.name == "toy"
    assert path.stat().st_mode & 0o777 == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_permissions_of_any_new_file(tmp_path: Path) -> None:
    named_run().save(tmp_path / "run.npz")
    (tmp_path / "other").write_text("")
    assert (tmp_path / "run.npz").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_failed_save_leaves_the_older_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "run.npz"
    path.write_text("older")

    def full_disk(*_: object, **__: object) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(np, "savez", full_disk)
    with pytest.raises(OSError, match="no space"):
        named_run().save(path)
    assert path.read_text() == "older"
    assert os.listdir(tmp_path) == ["run.npz"]


# --- files that are no solutions -------------------------------------------------------------------------------------


def refused(path: Path, message: str) -> None:
    with pytest.raises(ValueError, match=message) as caught:
        rf.load(path)
    assert str(path) in str(caught.value)


def test_a_missing_file_is_missing_and_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="must be a file that exists") as caught:
        rf.load(tmp_path / "none.npz")
    assert caught.value.filename == str(tmp_path / "none.npz")


def test_a_folder_is_no_solution(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="path must be a file"):
        rf.load(tmp_path)


@pytest.mark.parametrize("content", [b"", b"plain text", b"PK\x03\x04 broken"])
def test_a_file_of_another_kind_is_named(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "run.npz").write_bytes(content)
    refused(tmp_path / "run.npz", "path must hold a reluflow solution, found")


def test_an_array_file_of_something_else_is_named(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", X=np.eye(2))
    refused(tmp_path / "other.npz", "path must hold a reluflow solution, found")
    np.save(tmp_path / "one.npy", np.eye(2))
    refused(tmp_path / "one.npy", "path must hold a reluflow solution, found")
    np.savez(tmp_path / "meta.npz", meta=np.array('{"format": "another"}'))
    refused(tmp_path / "meta.npz", "path must hold a reluflow solution, found")


def test_a_pickle_is_not_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "pickled.npz", meta=np.array([{"format": "reluflow solution"}], dtype=object))
    refused(tmp_path / "pickled.npz", "path must hold a reluflow solution, found")


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    named_run().save(path)
    path.write_bytes(path.read_bytes()[:-200])
    refused(path, "path must hold a reluflow solution, found")


def changed(path: Path, **meta: object) -> None:
    """Store the file again with other meta data."""
    with np.load(path) as content:
        arrays = {name: content[name] for name in content.files}
    arrays["meta"] = np.array(json.dumps({**json.loads(str(arrays["meta"])), **meta}))
    np.savez(path, **arrays)


def test_a_file_of_another_schema_is_refused_with_both_numbers(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    named_run().save(path)
    changed(path, schema=_schema.SCHEMA + 1)
    refused(path, r"path must hold a solution of schema 1, found schema 2 in")


@pytest.mark.parametrize("missing", ["W", "event_t", "pattern0", "X"])
def test_a_file_with_a_missing_array_is_damaged(missing: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    named_run().save(path)
    with np.load(path) as content:
        arrays = {name: content[name] for name in content.files if name != missing}
    np.savez(path, **arrays)
    refused(path, "path must hold a whole reluflow solution, found .* damaged")


def test_a_file_with_wrong_settings_is_damaged(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    named_run().save(path)
    changed(path, settings={"until": {"time": 1.0}})
    refused(path, "path must hold a whole reluflow solution, found .* damaged")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("", "path must be the path of a file, found ''"),
        (7, "path must be the path of a file, found 7"),
    ],
)
def test_a_path_that_cannot_be_written_is_named(path: Any, message: str, tmp_path: Path) -> None:
    sol = named_run()
    target = path
    with pytest.raises(ValueError, match=message):
        sol.save(target)
