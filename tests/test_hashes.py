"""Values that are equal have one hash and one fingerprint, the same in every process."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import reluflow as rf
from reluflow._digest import build_digest, content_digest

MAKE = """
import reluflow as rf
data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1], name="two", feature_names=["a", "b"])
many = rf.datasets.MultiClassDataset([[1.0, 0.0], [0.0, 1.0]], ["u", "v"])
net = rf.Network([[1.0, 0.5]], [1.0], leak=0.1)
nets = rf.networks.MultiClassNetwork([net, net])
values = [data, many, net, nets, rf.Stop(time=1.0, events=3)]
hashes = [hash(value) for value in values]
"""
SCOPE: dict[str, object] = {}
exec(MAKE, SCOPE)


def test_another_process_has_the_same_hashes() -> None:
    code = MAKE + "print(*hashes)"
    command = [sys.executable, "-c", code]
    for seed in ("1", "2"):
        printed = subprocess.run(command, capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed})
        assert [int(word) for word in printed.stdout.split()] == SCOPE["hashes"]


def test_equal_values_have_one_hash() -> None:
    one, two = rf.Dataset([[1.0, -0.0]], [1]), rf.Dataset([[1.0, 0.0]], [1])
    assert one == two
    assert len({one, two}) == 1
    assert one.fingerprint == two.fingerprint
    assert len({rf.Stop(time=1), rf.Stop(time=1.0)}) == 1
    nets = [rf.Network([[0.0, 1.0]], [1.0]), rf.Network([[-0.0, 1.0]], [1.0])]
    assert len(set(nets)) == 1


@pytest.mark.parametrize(
    "other",
    [
        rf.Dataset([[1.0, 0.5]], [-1]),
        rf.Dataset([[1.0, 0.25]], [1]),
        rf.Dataset([[1.0], [0.5]], [1, 1]),
        rf.Dataset([[1.0, 0.5]], [1], name="x"),
        rf.Dataset([[1.0, 0.5]], [1], feature_names=["a", "b"]),
    ],
)
def test_other_data_have_another_fingerprint(other: rf.Dataset) -> None:
    assert other.fingerprint != rf.Dataset([[1.0, 0.5]], [1]).fingerprint


def test_a_fingerprint_does_not_depend_on_what_was_asked_before() -> None:
    asked, fresh = (rf.Dataset([[1.0, 0.5], [0.0, 1.0]], [1, -1]) for _ in range(2))
    assert asked.rank == 2
    assert asked.fingerprint == fresh.fingerprint


def test_the_code_of_a_function_counts_and_what_it_took_from_around_it() -> None:
    def power(exponent: float):
        return lambda x: x**exponent

    assert content_digest(power(2)) == content_digest(power(2)) != content_digest(power(3))
    assert content_digest(lambda x: x + 1) != content_digest(lambda x: x + 2)


def test_values_of_other_kinds_or_nestings_differ() -> None:
    values = [1, 1.0, True, "1", b"1", None, [1], [[1]], [1, [1]], {"1": 1}, np.ones(1), np.ones(1, dtype=int)]
    assert len({content_digest(value) for value in values}) == len(values)
    assert content_digest("ab", "c") != content_digest("a", "bc")
    assert len(build_digest()) == 32
