"""What users of numpy, scikit-learn and xarray take for granted."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, get_args

import numpy as np
import pandas as pd
import pytest

import reluflow as rf
from reluflow.losses import LOSSES, LossName

DATA = rf.datasets.wang_pilanci("obtuse")
NET = rf.Network.init(6, 2, scale=1e-2, seed=1)
SOL = rf.integrate(DATA, NET, until=1e3)
DEEP_LAYERS = [rf.Dense(3, bias=True), rf.Conv1d(2, 2), rf.Dense(2)]
DEEP = rf.DeepNetwork.init(DEEP_LAYERS, dim=2, leak=0.1, seed=1)
DESCENT = rf.descend(DATA, NET, step=0.1, n_steps=20, save_every=5, batch_size=1)


# --- seeds and threads -----------------------------------------------------------------------------------------------


def test_none_is_another_seed_every_time() -> None:
    assert rf.Network.init(3, 2, seed=None) != rf.Network.init(3, 2, seed=None)
    deep = [rf.DeepNetwork.init([rf.Dense(3), rf.Dense(1)], dim=2, seed=None) for _ in range(2)]
    assert deep[0] != deep[1]
    assert rf.datasets.symmetric(6, 2, seed=None) != rf.datasets.symmetric(6, 2, seed=None)


def test_a_generator_is_drawn_from() -> None:
    source = np.random.default_rng(7)
    first, second = rf.Network.init(3, 2, seed=source), rf.Network.init(3, 2, seed=source)
    assert first == rf.Network.init(3, 2, seed=7)
    assert first != second
    layers = [rf.Dense(3), rf.Dense(1)]
    deep = rf.DeepNetwork.init(layers, dim=2, seed=np.random.default_rng(7))
    assert deep == rf.DeepNetwork.init(layers, dim=2, seed=7)
    nets = [rf.Network.init(3, 2, classes=K, seed=np.random.default_rng(7)) for K in (2, 3)]
    assert nets[0].networks == nets[1].networks[:2]
    assert nets[0][0] != nets[0][1]


def test_the_seed_that_was_drawn_stands_in_the_settings() -> None:
    run = rf.descend(DATA, NET, n_steps=9, batch_size=1, seed=np.random.default_rng(3))
    again = rf.descend(DATA, NET, n_steps=9, batch_size=1, seed=run.settings["seed"])
    assert run.final == again.final
    assert rf.descend(DATA, NET, n_steps=9, seed=5).settings["seed"] == 5


@pytest.mark.parametrize("seed", [-1, 1.5, True, "1", [1]])
def test_other_seeds_are_refused(seed: Any) -> None:
    def deep(width: int, dim: int, seed: Any) -> rf.DeepNetwork:
        return rf.DeepNetwork.init([rf.Dense(width), rf.Dense(1)], dim=dim, seed=seed)

    for call in (rf.Network.init, deep, rf.datasets.phuong_lampert):
        with pytest.raises(ValueError, match="seed must be an integer of at least 0, a numpy Generator or None, found"):
            call(3, 2, seed=seed)


def test_minus_one_is_every_core() -> None:
    all_cores, most = rf.flow._arguments.thread_count(-1), rf.flow._arguments.thread_count(-2)
    assert all_cores == rf.flow._arguments.thread_count(None)
    assert most == max(all_cores - 1, 1)
    assert rf.integrate(DATA, NET, until=1.0, n_threads=-1).final == rf.integrate(DATA, NET, until=1.0).final
    with pytest.raises(ValueError, match="n_threads must be an integer of at least 1, found 0"):
        rf.integrate(DATA, NET, until=1.0, n_threads=0)


# --- files -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "load"), [(NET, rf.Network.load), (SOL.final, rf.Network.load), (DESCENT, rf.descent.DescentResult.load)]
)
def test_what_was_saved_is_loaded_with_every_bit(value: Any, load: Callable[[Path], Any], tmp_path: Path) -> None:
    value.save(tmp_path / "a.npz")
    again = load(tmp_path / "a.npz")
    mine, there = vars(value), vars(again)
    for name in set(mine) - {"fingerprint"}:
        assert np.array_equal(mine[name], there[name]) or mine[name] == there[name], name
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:300])
    with pytest.raises(ValueError, match=r"path must hold .*a\.npz"):
        load(tmp_path / "a.npz")


def test_a_layered_network_is_loaded_with_its_graph(tmp_path: Path) -> None:
    DEEP.save(tmp_path / "a.npz")
    again = rf.DeepNetwork.load(tmp_path / "a.npz")
    assert again == DEEP
    assert (hash(again), again.fingerprint) == (hash(DEEP), DEEP.fingerprint)
    assert rf.DeepNetwork(DEEP_LAYERS, DEEP.theta, dim=2, leak=0.2).fingerprint != DEEP.fingerprint
    (tmp_path / "a.npz").write_bytes((tmp_path / "a.npz").read_bytes()[:300])
    with pytest.raises(ValueError, match=r"path must hold .*a\.npz"):
        rf.DeepNetwork.load(tmp_path / "a.npz")


def test_a_file_of_another_kind_says_what_reads_it(tmp_path: Path) -> None:
    NET.save(tmp_path / "net.npz")
    with pytest.raises(ValueError, match=r"hold a reluflow solution, found .*a reluflow network, which Network\.load"):
        rf.load(tmp_path / "net.npz")
    DEEP.save(tmp_path / "deep.npz")
    with pytest.raises(ValueError, match=r"hold a reluflow network, found .*, which DeepNetwork\.load reads"):
        rf.Network.load(tmp_path / "deep.npz")
    SOL.save(tmp_path / "sol.npz")
    with pytest.raises(ValueError, match=r"a reluflow solution, which reluflow\.load reads"):
        rf.Network.load(tmp_path / "sol.npz")


@pytest.mark.parametrize("value", [NET, DEEP, SOL, DESCENT, SOL.events])
def test_errors_of_the_file_system_come_as_they_are(value: Any, tmp_path: Path) -> None:
    write = value.to_csv if hasattr(value, "to_csv") else value.save
    with pytest.raises(FileNotFoundError) as missing:
        write(tmp_path / "none" / "a.npz")
    assert missing.value.filename == str(tmp_path / "none" / "a.npz")
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    for load in (rf.load, rf.Network.load, rf.DeepNetwork.load, rf.descent.DescentResult.load):
        with pytest.raises(FileNotFoundError):
            load(tmp_path / "a.npz")
        with pytest.raises(IsADirectoryError):
            load(tmp_path)


def test_a_folder_that_may_not_be_written_to_is_a_permission_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.mkstemp", refuse)  # root may write everywhere
    with pytest.raises(PermissionError, match="path must be writable"):
        NET.save(tmp_path / "a.npz")


# --- values ----------------------------------------------------------------------------------------------------------


def arrays(value: Any) -> Iterator[np.ndarray]:
    """Every array in a result, in the fields of its fields too."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from arrays(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from arrays(item)
    elif type(value).__module__.startswith("reluflow") and hasattr(value, "__dataclass_fields__"):
        for name in value.__dataclass_fields__:
            yield from arrays(getattr(value, name))


RESULTS = {
    "dataset": lambda: DATA,
    "classes": lambda: rf.datasets.orthogonally_separable(6, 3, classes=3),
    "network": lambda: NET,
    "solution": lambda: SOL,
    "events": lambda: SOL.events,
    "limit": lambda: SOL.limit,
    "settings": lambda: rf.integrate(DATA, NET, until=1.0, save_at=[0.5]).settings,
    "descent": lambda: DESCENT,
    "max_margin": lambda: rf.convex.max_margin(DATA),
    "arrangements": lambda: rf.convex.arrangements(DATA.X),
    "certificate": lambda: rf.certify(rf.convex.to_network(rf.convex.max_margin(DATA)), DATA),
    "early": lambda: rf.early_alignment(DATA, NET.W, np.sign(NET.a)),
    "states": lambda: rf.analysis.states(SOL),
    "timeline": lambda: rf.analysis.timeline(SOL),
    "report": lambda: rf.conditions.report(DATA),
}


@pytest.mark.parametrize("name", RESULTS)
def test_arrays_stay_read_only_in_copies(name: str) -> None:
    value = RESULTS[name]()
    fixed = [array.flags.writeable for array in arrays(value)].count(False)
    assert fixed > 0
    for copied in (pickle.loads(pickle.dumps(value)), copy.deepcopy(value)):
        assert [array.flags.writeable for array in arrays(copied)].count(False) >= fixed


def test_a_solution_is_asked_for_many_times_at_once() -> None:
    times = [700.0, 0.0, 1.5, 1.5]
    nets = SOL(times)
    assert nets == tuple(SOL(t) for t in times) == SOL(np.array(times))
    assert SOL([]) == ()
    with pytest.raises(ValueError, match="t must lie in the run"):
        SOL([0.0, 2e3])
    with pytest.raises(ValueError, match=r"t must have the shape \(k,\)"):
        SOL([[0.0]])


def test_a_table_names_the_columns() -> None:
    table = pd.DataFrame({"left": [1.0, 0.0], "right": [0.0, 1.0]})
    assert rf.Dataset(table, [1, -1]).feature_names == ("left", "right")
    assert rf.datasets.MultiClassDataset(table, ["u", "v"]).feature_names == ("left", "right")
    assert rf.Dataset(table, [1, -1], feature_names=["a", "b"]).feature_names == ("a", "b")
    assert rf.Dataset(pd.DataFrame(table.to_numpy()), [1, -1]).feature_names is None
    assert rf.Dataset(table.to_numpy(), [1, -1]).feature_names is None


def test_analysis_takes_a_descent() -> None:
    table = rf.analysis.series(DESCENT)
    np.testing.assert_array_equal(table["t"], DESCENT.t)
    np.testing.assert_allclose(table["log_loss"], DESCENT.log_loss, rtol=1e-12)
    pattern = rf.analysis.states(DESCENT).pattern[-1]
    np.testing.assert_array_equal(pattern, np.sign(DESCENT.final.W @ DATA.X.T))
    with pytest.raises(ValueError, match="times must be left out"):
        rf.analysis.series(DESCENT, [0.1])


def test_the_losses_are_a_literal_type() -> None:
    assert get_args(LossName) == LOSSES
    assert rf.descend.__annotations__["loss"].startswith("LossName")  # and cross-entropy, of layers
    assert rf.integrate.__annotations__["loss"].startswith("LossName")


def test_the_package_runs_as_a_command() -> None:
    printed = subprocess.run(
        [sys.executable, "-m", "reluflow", "--version"], capture_output=True, text=True, check=True
    )
    assert printed.stdout == f"reluflow {rf.__version__}\n"
