"""Files that were damaged, disks that are full, saves that were killed: nothing wrong is read, nothing is lost."""

from __future__ import annotations

import io
import json
import os
import re
import signal
import struct
import subprocess
import sys
import time
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from damage import flipped, read_or_refused
from reluflow._files import _leftovers
from toys import digits_like

FIELDS = ("t", "log_t", "W", "a", "log_loss", "pattern0", "status", "message", "success")


def small_run(**options: Any) -> rf.Solution:
    return rf.integrate(*digits_like(n=6, d=3, width=3), **{"until": 2.0, **options})


@pytest.fixture(scope="module", params=["plain", "saved"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[rf.Solution, bytes]:
    """A run and its file; one file has arrays that another run may do without."""
    solution = small_run() if request.param == "plain" else small_run(save_at=[0.5, 1.0])
    path = tmp_path_factory.mktemp("saved") / "run.npz"
    solution.save(path)
    return solution, path.read_bytes()


def is_same(one: rf.Solution, two: rf.Solution) -> bool:
    values = all(np.array_equal(getattr(one, name), getattr(two, name)) for name in FIELDS)
    used, there = one.settings.as_dict(), two.settings.as_dict()
    options = all(np.array_equal(used[name], there[name]) for name in used)  # type: ignore[arg-type]
    same = one.data == two.data and one.initial == two.initial and one.final == two.final and one.events == two.events
    return values and options and same and one.branchings == two.branchings and one.t_end == two.t_end


def is_refused_or_same(path: Path, content: bytes, solution: rf.Solution) -> bool:
    """True when it was refused; what is read must be what was written."""
    path.write_bytes(content)
    back = read_or_refused(rf.load, path)
    assert back is None or (isinstance(back, rf.Solution) and is_same(solution, back))
    return back is None


def flipped_in_a_header(content: bytes, rng: np.random.Generator) -> bytes:
    """In the local headers, or in the directory at the end, of which there are few bytes."""
    starts = [at.start() for at in re.finditer(rb"PK\x01\x02|PK\x03\x04|PK\x05\x06", content)]
    place = min(starts[rng.integers(len(starts))] + int(rng.integers(48)), len(content) - 1)
    damaged = bytearray(content)
    damaged[place] ^= 1 << rng.integers(8)
    return bytes(damaged)


def truncated(content: bytes, rng: np.random.Generator) -> bytes:
    return content[: rng.integers(len(content))]


def inserted(content: bytes, rng: np.random.Generator) -> bytes:
    place = rng.integers(len(content))
    return content[:place] + rng.bytes(rng.integers(1, 9)) + content[place:]


def left_out(content: bytes, rng: np.random.Generator) -> bytes:
    place = rng.integers(len(content) - 8)
    return content[:place] + content[place + rng.integers(1, 9) :]


@pytest.mark.parametrize("damage", [flipped, flipped_in_a_header, truncated, inserted, left_out])
def test_a_damaged_file_is_refused_with_its_path_or_read_as_it_was(
    damage: Callable[[bytes, np.random.Generator], bytes], saved: tuple[rf.Solution, bytes], tmp_path: Path
) -> None:
    solution, content = saved
    rng = np.random.default_rng(12)
    path = tmp_path / "run.npz"
    refusals = sum(is_refused_or_same(path, damage(content, rng), solution) for _ in range(400))
    assert refusals > 100


# --- damage that checksums do not show -------------------------------------------------------------------------------


def stored_again(content: bytes, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> bytes:
    """The file with other arrays or another record."""
    with np.load(io.BytesIO(content)) as archive:
        arrays = {name: archive[name] for name in archive.files}
    meta = json.loads(str(arrays.pop("meta")))
    change(arrays, meta)
    stream = io.BytesIO()
    np.savez(stream, meta=np.array(json.dumps(meta)), **arrays)
    return stream.getvalue()


def put(name: str, make: Callable[[Any], Any]) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(arrays: dict[str, Any], meta: dict[str, Any]) -> None:
        home = arrays if name in arrays else meta
        home[name] = make(home[name])

    return change


def with_entry(value: float) -> Callable[[Any], Any]:
    def change(array: Any) -> Any:
        array = array.copy()
        array.flat[-1] = value
        return array

    return change


CHANGES = {
    "W": with_entry(np.nan),
    "a": with_entry(np.inf),
    "final_W": with_entry(np.nan),
    "final_a": with_entry(-np.inf),
    "t": with_entry(np.nan),
    "log_t": with_entry(-np.inf),
    "log_loss": with_entry(np.nan),
    "pattern0": with_entry(-128),
    "final_pattern": with_entry(2),
    "event_neuron": with_entry(3),
    "event_sample": with_entry(-1),
    "event_kind": with_entry(200),
    "event_t": lambda array: array[:-1],
    "event_tie": lambda array: array.astype(float),
    "W0": lambda array: array[:, :-1],
    "X": lambda array: array[0],
    "y": lambda array: array.astype(str),
    "final_t": lambda value: float("nan"),
    "status": lambda value: 7,
    "success": lambda value: "yes",
    "stats": lambda value: [],
    "branchings": lambda value: None,
    "settings": lambda value: [1, 2],
    "feature_names": lambda value: {"a": 1},
    "leak": lambda value: "none",
}


@pytest.mark.parametrize("name", CHANGES)
def test_a_file_with_a_wrong_value_is_refused(name: str, saved: tuple[rf.Solution, bytes], tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    path.write_bytes(stored_again(saved[1], put(name, CHANGES[name])))
    with pytest.raises(ValueError, match="path must hold") as caught:
        rf.load(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("name", ["save_at", "checkpoint_W", "event_t", "W0"])
def test_a_file_that_lost_one_array_is_refused(name: str, saved: tuple[rf.Solution, bytes], tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    lost = stored_again(saved[1], lambda arrays, meta: arrays.pop(name, None))
    if stored_again(saved[1], lambda arrays, meta: None) == lost:  # this run did without
        return
    path.write_bytes(lost)
    with pytest.raises(ValueError, match="the arrays that were written"):
        rf.load(path)


def npz_of(header: bytes, data: bytes) -> bytes:
    """An archive whose record is an array with that header."""
    length = struct.pack("<H", len(header))
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("meta.npy", b"\x93NUMPY\x01\x00" + length + header + data)
    return stream.getvalue()


STRANGE = {
    "an array of 8 GB": npz_of(b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000,), }\n", b"12345678"),
    "an array of more than there is": npz_of(b"{'descr': '<f8', 'fortran_order': False, 'shape': (10**30,), }\n", b""),
    "a negative shape": npz_of(b"{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }\n", b"12345678"),
    "a pickle": npz_of(b"{'descr': '|O', 'fortran_order': False, 'shape': (), }\n", b"cos\nsystem\n(S'true'\ntR."),
    "deep brackets": npz_of(b"{'descr': " + b"[" * 9000 + b"}\n", b""),
    "deep JSON": b"",
    "a list": b"",
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_file_is_refused(name: str, tmp_path: Path) -> None:
    content = STRANGE[name]
    if not content:
        text = {"deep JSON": "[" * 100_000 + "]" * 100_000, "a list": "[1, 2]"}[name]
        stream = io.BytesIO()
        np.savez(stream, meta=np.array(text))
        content = stream.getvalue()
    path = tmp_path / "run.npz"
    path.write_bytes(content)
    with pytest.raises(ValueError, match="path must hold a reluflow solution, found") as caught:
        rf.load(path)
    assert str(path) in str(caught.value)


def test_a_file_of_several_classes_is_as_safe(tmp_path: Path) -> None:
    data = rf.datasets.MultiClassDataset(np.random.default_rng(0).standard_normal((9, 2)), [0, 1, 2] * 3)
    path = tmp_path / "run.npz"
    solution = rf.integrate(data, rf.Network.init(2, 2, classes=3), until=1.0)
    solution.save(path)
    content = path.read_bytes()
    rng = np.random.default_rng(3)
    for _ in range(200):
        path.write_bytes(flipped_in_a_header(flipped(content, rng), rng))
        back = read_or_refused(rf.load, path)
        if back is not None:
            assert isinstance(back, rf.flow.MultiClassSolution)
            assert all(is_same(one, two) for one, two in zip(solution, back, strict=True))
    path.write_bytes(stored_again(content, put("labels", with_entry(-1))))
    with pytest.raises(ValueError, match="labels"):
        rf.load(path)


# --- a full disk, a killed save --------------------------------------------------------------------------------------

LIMITED = """
import resource, sys
import reluflow as rf
sol = rf.load(sys.argv[1])
resource.setrlimit(resource.RLIMIT_FSIZE, (2000, 2000))
try:
    sol.save(sys.argv[1])
except OSError as error:
    print(error.filename, error.strerror)
"""


def test_a_save_on_a_full_disk_keeps_the_old_file_and_names_it(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    small_run().save(path)
    before = path.read_bytes()
    assert len(before) > 2000
    done = subprocess.run([sys.executable, "-c", LIMITED, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.startswith(str(path))
    assert "what was there is still there" in done.stdout
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def leftover(path: Path, process: int) -> Path:
    made = path.parent / f".{path.name}.reluflow-{_leftovers._machine()}-{process}-abc_123"
    made.write_bytes(b"half a run")
    return made


def dead_process() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    dead, alive, other = leftover(path, dead_process()), leftover(path, os.getppid()), tmp_path / ".run.npz.mine"
    elsewhere = leftover(tmp_path / "other.npz", dead_process())
    other.write_bytes(b"of somebody else")
    small_run().save(path)
    assert not dead.exists()
    assert alive.exists()
    assert other.exists()
    assert elsewhere.exists()


def test_what_another_machine_left_is_removed_after_a_day(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    young, old = (tmp_path / f".run.npz.reluflow-elsewhere-1-{name}" for name in ("young", "old"))
    for made in (young, old):
        made.write_bytes(b"half a run")
    long_ago = time.time() - 100_000
    os.utime(old, (long_ago, long_ago))
    small_run().save(path)
    assert young.exists()
    assert not old.exists()


KILLED = """
import os, signal, sys
import numpy as np
import reluflow as rf
sol = rf.load(sys.argv[1])
np.savez = lambda file, **_: (file.write(b"half"), file.flush(), os.kill(os.getpid(), signal.SIGKILL))
sol.save(sys.argv[1])
"""


def test_a_save_that_is_killed_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    sol = small_run()
    sol.save(path)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert len(list(tmp_path.iterdir())) == 2
    assert is_same(rf.load(path), sol)  # type: ignore[arg-type]
    sol.save(path)
    assert list(tmp_path.iterdir()) == [path]
