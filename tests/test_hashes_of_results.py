"""Two equal runs have one fingerprint, however long they took: a measure may compare with a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow._digest import content_digest

BINARY = rf.datasets.wang_pilanci("obtuse")
CLASSES = rf.datasets.MultiClassDataset([[2.0, 0.1], [0.1, 2.0], [-1.0, -1.0]], ["a", "b", "c"])
PAIR = rf.Dataset(np.eye(2), np.eye(2))


def two_layers() -> Any:
    return rf.integrate(PAIR, rf.Network.init(4, 2, outputs=2, scale=0.3), until=1.0, loss="squared")


RESULTS: dict[str, Callable[[], Any]] = {
    "Solution": lambda: rf.integrate(BINARY, rf.Network.init(4, 2, scale=0.1), until=5.0),
    "Solution to its limit": lambda: rf.integrate(BINARY, rf.Network.init(4, 2), until=rf.Stop(limit=True)),
    "MultiClassSolution": lambda: rf.integrate(CLASSES, rf.Network.init(4, 2, classes=3, scale=0.1), until=5.0),
    "TwoLayerSolution": two_layers,
    "DeepSolution": lambda: two_layers().layered,
    "DescentResult": lambda: rf.descend(BINARY, rf.Network.init(4, 2), step=0.1, n_steps=5),
    "DeepDescentResult": lambda: rf.descend(PAIR, two_layers().layered.initial, step=0.1, n_steps=5, loss="squared"),
    "MaxMarginSolution": lambda: rf.convex.max_margin(BINARY),
    "Certificate": lambda: rf.certify(RESULTS["Solution to its limit"](), BINARY),
    "SaddlePath": lambda: rf.saddle_to_saddle(rf.Dataset(np.eye(2), [2.0, -1.0]), np.eye(2) + 0.5, [1, -1]),
}


@pytest.mark.parametrize("kind", RESULTS)
def test_a_result_counts_without_the_time_that_it_took(kind: str) -> None:
    one, two = RESULTS[kind](), RESULTS[kind]()
    digest = content_digest(one)
    repr(one), getattr(one, "events", None), getattr(one, "final", None)  # what is kept once it is asked for
    assert content_digest(two) == content_digest(one) == digest
    assert type(one).__name__ == kind.split()[0]


@pytest.mark.parametrize("kind", ["Solution", "MultiClassSolution", "TwoLayerSolution", "DeepSolution"])
def test_other_runs_have_another_fingerprint_and_files_the_same(kind: str, tmp_path: Path) -> None:
    sol = RESULTS[kind]()
    sol.save(tmp_path / "run.npz")
    assert rf.load(tmp_path / "run.npz").fingerprint == sol.fingerprint
    others = [one.fingerprint for one in (RESULTS[other]() for other in list(RESULTS)[:5])]
    assert others.count(sol.fingerprint) == 1


def of_classes() -> Any:
    net = rf.Network.init(4, 2, outputs=3, scale=0.3)
    return rf.integrate(CLASSES, net, until=1.0, loss="cross_entropy")


def with_weights() -> Any:
    data = rf.Dataset(BINARY.X, BINARY.y, weights=[1.0, 3.0])
    return rf.integrate(data, rf.Network.init(4, 2, scale=0.1), until=1.0, rates=(1.0, 2.0))


def at_a_branch(**options: Any) -> Any:
    return rf.integrate(rf.Dataset([[1.0], [-1.0]], [1, 1]), rf.Network([[0.0]], [0.5]), until=1.0, **options)


KEPT: dict[str, Callable[[], Any]] = {
    "classes": of_classes,
    "weights": with_weights,
    "layers with weights": lambda: with_weights().layered,
    "a run that goes on": lambda: rf.integrate(with_weights().data, with_weights(), until=2.0),
    "a branch": at_a_branch,
    "a branch of layers": lambda: at_a_branch(rates=(1.0, 2.0)),
}


@pytest.mark.parametrize("kind", KEPT)
def test_what_a_file_holds_in_another_form_counts_the_same(kind: str, tmp_path: Path) -> None:
    sol = KEPT[kind]()
    assert "branch" not in kind or len(sol.branchings) == 1
    sol.save(tmp_path / "run.npz")
    there = rf.load(tmp_path / "run.npz")
    assert there.fingerprint == sol.fingerprint
    assert list(there.branchings) == list(sol.branchings)


def test_runs_on_more_threads_or_by_other_settings_are_told_apart_as_their_bits_are() -> None:
    def fingerprint(**options: Any) -> str:
        return rf.integrate(BINARY, rf.Network.init(4, 2, scale=0.1), until=5.0, **options).fingerprint

    assert fingerprint(n_threads=1) == fingerprint(n_threads=2) != fingerprint(rtol=1e-7)
