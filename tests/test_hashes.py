"""Values that are equal have one hash and one fingerprint, the same in every process."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import reluflow as rf
from reluflow._digest import build_digest, content_digest

MAKE = """
import reluflow as rf
from reluflow._digest import content_digest
data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1], name="two", feature_names=["a", "b"])
many = rf.datasets.MultiClassDataset([[1.0, 0.0], [0.0, 1.0]], ["u", "v"])
net = rf.Network([[1.0, 0.5]], [1.0], leak=0.1)
nets = rf.networks.MultiClassNetwork([net, net])
values = [data, many, net, nets, rf.Stop(time=1.0, events=3)]
names = {"n_events", "norm", "log_t", "log_loss"}
def measure(sol):
    return {name: getattr(sol, name) for name in names}
hashes = [*(hash(value) for value in values), int(content_digest(measure), 16)]
"""
DATA = rf.Dataset([[1.0, 0.5]], [1])
SCOPE: dict[str, Any] = {}
exec(MAKE, SCOPE)


def test_another_process_has_the_same_hashes() -> None:
    code = MAKE + "print(*hashes)"
    command = [sys.executable, "-c", code]
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        printed = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
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
    assert other.fingerprint != DATA.fingerprint


def test_a_fingerprint_does_not_depend_on_what_was_asked_before() -> None:
    asked, fresh = (rf.Dataset([[1.0, 0.5], [0.0, 1.0]], [1, -1]) for _ in range(2))
    assert asked.rank == 2
    assert asked.fingerprint == fresh.fingerprint


def test_the_code_of_a_function_counts_and_what_it_took_from_around_it() -> None:
    def power(exponent: float):
        return lambda x: x**exponent

    assert content_digest(power(2)) == content_digest(power(2)) != content_digest(power(3))
    assert content_digest(lambda x: x + 1) != content_digest(lambda x: x + 2)


def defined(source: str, **module: Any) -> Any:
    """A function `f` of a module that holds some names."""
    exec(source, module)
    return module["f"]


OF_NAMES = """
class Scale:
    double = 2 * number
def halved(x):
    return helped(x) / 2
def helped(x):
    return [x * one for one in (lambda: values)()] if x else halved(x)
def f(x):
    class Local:
        offset = number
    return halved(x.attribute) + Local.offset + len(table)
"""


def test_what_a_function_reads_by_name_counts_and_in_functions_of_its_module_too() -> None:
    def digest(**other: Any) -> str:
        values: dict[str, Any] = {"number": 1.0, "values": np.ones(3), "table": {"a": {"x", "y"}}, "attribute": 1}
        return content_digest(defined(other.pop("source", OF_NAMES), **{**values, **other}))

    others = [{"number": 2.0}, {"values": np.zeros(3)}, {"table": {"a": {"x", "z"}}}, {"table": DATA}]
    others.append({"source": OF_NAMES.replace("/ 2", "/ 3")})
    assert len({digest(), *(digest(**other) for other in others)}) == 1 + len(others)
    assert digest(attribute=2, unused=3) == digest()


def test_what_cannot_be_told_apart_does_not_count_and_hides_nothing_else() -> None:
    def digest(number: float) -> str:
        source = "def g(): return number\ndef f(): return a, b()\na, b = {'g': g, 'lock': lock}, g"
        return content_digest(defined(source, number=number, lock=threading.Lock()))

    assert digest(1.0) == digest(1.0) != digest(2.0)


def test_functions_of_other_modules_count_by_name() -> None:
    def digest(**module: Any) -> str:
        other = defined("def f(): return number", __name__="elsewhere", **module)
        return content_digest(defined("def f(): return other()", other=other))

    assert digest(number=1) == digest(number=2)


def test_values_of_other_kinds_or_nestings_differ() -> None:
    values = [1, 1.0, True, "1", b"1", None, [1], [[1]], [1, [1]], {"1": 1}, np.ones(1), np.ones(1, dtype=int)]
    assert len({content_digest(value) for value in values}) == len(values)
    assert content_digest("ab", "c") != content_digest("a", "bc")
    assert len(build_digest()) == 32
