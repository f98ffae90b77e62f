"""Digests of classes, methods, decorated functions and objects: what they do and hold counts, not where it lies."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import threading
import types
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from reluflow._digest import content_digest

SOURCE = """
import abc, enum, functools
from dataclasses import dataclass, field
from typing import NamedTuple
class Base(abc.ABC):
    factor = NUMBER
class Measure(Base):
    table = {'a': [1, 2]}
    def __init__(self): self.kept = 3
    def __call__(self, sol): return self.helped() * self.factor
    def helped(self): return 1
    def run(self, sol): return NUMBER
    @classmethod
    def of_class(cls, sol): return cls.factor
    @staticmethod
    def static(sol): return NUMBER
    @property
    def value(self): return NUMBER
    @functools.cached_property
    def cached(self): return NUMBER
class Other:
    def __call__(self, sol): return NUMBER
@dataclass
class Point:
    x: float = NUMBER
class Pair(NamedTuple):
    x: float = NUMBER
class Slotted:
    __slots__ = ('x',)
    def read(self): return NUMBER
class Mode(enum.Enum):
    one = NUMBER
class Words(set):
    def count(self): return NUMBER
@functools.cache
def cached(): return NUMBER
def decorated_by_own(function):
    @functools.wraps(function)
    def wrapper(*args): return function(*args)
    return wrapper
@decorated_by_own
def decorated(): return NUMBER
@elsewhere.decorate
def foreign(): return NUMBER
@elsewhere.without_wraps
def bare(): return NUMBER
made = elsewhere.scaled(NUMBER)
@functools.singledispatch
def several(x): return 1
@several.register
def _(x: int): return NUMBER
slotted = Slotted()
slotted.x = 1
def with_attribute(): return with_attribute.scale
with_attribute.scale = NUMBER
"""
ELSEWHERE = """
import functools
def decorate(function):
    @functools.wraps(function)
    def wrapper(*args): return function(*args)
    return wrapper
def without_wraps(function):
    return lambda *args: function(*args)
def scaled(number):
    return lambda: number
"""


def module_of(source: str, name: str, **known: Any) -> Any:
    """A module with a source, in the place of any other one with its name."""
    module = types.ModuleType(name)
    vars(module).update(known)
    sys.modules[name] = module
    exec(source, vars(module))
    return module


def script(number: float, source: str = SOURCE) -> Any:
    elsewhere = module_of(ELSEWHERE, "elsewhere")
    return module_of(source.replace("NUMBER", repr(number)), "script", elsewhere=elsewhere)


def reading(expression: str) -> Callable[[Any], Any]:
    """A measure of the script that reads something there by name."""

    def measure(module: Any) -> Any:
        exec(f"def measure(sol): return {expression}", vars(module))
        return module.measure

    return measure


KINDS: dict[str, Callable[[Any], Any]] = {
    "object": lambda module: module.Other(),
    "inherited": lambda module: module.Measure(),
    "bound method": lambda module: module.Measure().run,
    "class method": lambda module: module.Measure.of_class,
    "static method": lambda module: module.Measure.static,
    "cached": lambda module: module.cached,
    "part of a partial": lambda module: functools.partial(module.Other(), 1),
    "decorated elsewhere": lambda module: module.foreign,
    **{
        f"function that reads {what}": reading(what)
        for what in (
            "cached()",
            "decorated()",
            "foreign()",
            "bare()",
            "made()",
            "several(1)",
            "with_attribute()",
            "Measure()(sol)",
            "Measure.value",
            "Measure().cached",
            "Point()",
            "Pair()",
            "slotted.read()",
            "Mode.one",
            "Words().count()",
        )
    },
}


@pytest.mark.parametrize("kind", KINDS)
def test_what_classes_and_decorated_functions_do_counts(kind: str) -> None:
    one, same, other = (content_digest(KINDS[kind](script(number))) for number in (1.0, 1.0, 2.0))
    assert one == same != other


def test_an_object_counts_by_what_it_holds_as_well() -> None:
    def digest(**attributes: Any) -> str:
        measure = script(1.0).Measure()
        vars(measure).update(attributes)
        return content_digest(measure)

    assert len({digest(), digest(kept=4), digest(more=1), digest(kept=np.ones(2))}) == 4
    assert digest(kept={"a", "b"}) == digest(kept={"b", "a"}) != digest(kept={"a", "c"})


def test_what_is_asked_of_an_object_does_not_change_it() -> None:
    measure = script(1.0).Measure()
    before = content_digest(measure)
    assert measure.cached == 1.0
    assert content_digest(measure) == before


def test_objects_that_hold_themselves_and_each_other_have_a_digest() -> None:
    def digest(number: float) -> str:
        module = script(number)
        one, two = module.Measure(), module.Other()
        one.other, two.other, one.itself = two, one, one
        return content_digest(one)

    assert digest(1.0) == digest(1.0) != digest(2.0)


def test_names_of_arguments_count_where_callers_use_them() -> None:
    def difference(source: str) -> Any:
        return module_of(f"difference = {source}", "script").difference

    one, other = difference("lambda n, m: (n, m)"), difference("lambda m, n: (m, n)")
    assert one(n=1, m=2) != other(n=1, m=2)
    assert content_digest(one) != content_digest(other)


def test_what_an_exception_is_caught_around_counts() -> None:
    source = "def f():\n try:\n  a()\n  {0}\n except ValueError:\n  {1}\n"
    ones = [module_of(source.format(*lines), "script").f for lines in (("b()", "pass"), ("pass", "b()"))]
    assert len({content_digest(one) for one in ones}) == 2


def test_classes_of_other_modules_count_by_name() -> None:
    def digest(number: float) -> str:
        other = script(number)
        return content_digest(module_of("def f(): return other(), thing", "mine", other=other.Other, thing=1).f)

    assert digest(1.0) == digest(2.0)


def test_an_attribute_called_fingerprint_counts_instead_of_the_rest_but_a_column_does_not() -> None:
    pandas = pytest.importorskip("pandas")

    def digest(**columns: Any) -> str:
        return content_digest(pandas.DataFrame({"fingerprint": ["a", "b"], **columns}))

    assert digest(x=[1, 2]) != digest(x=[1, 3])
    one, two = (types.SimpleNamespace(fingerprint="v1", stream=(i for i in ()), n=n) for n in (1, 2))
    assert content_digest(one) == content_digest(two)
    source = "class A:\n def fingerprint(self): return {}\na = A()\ndef f(): return a"
    assert content_digest(module_of(source.format(1), "script").f) != content_digest(
        module_of(source.format(2), "script").f
    )


def test_a_lock_and_an_open_file_count_as_such_and_what_has_no_content_is_refused_by_name() -> None:
    def digest(**module: Any) -> str:
        source = "def f(): return first, helper()\ndef helper(): return second"
        return content_digest(module_of(source, "script", **{"first": 1, "second": 1, **module}).f)

    with open(os.devnull) as file:
        held = {"lock": threading.Lock(), "again": threading.RLock(), "condition": threading.Condition(), "file": file}
        assert digest(first=held | {"n": 1}) == digest(first=held | {"n": 1}) != digest(first=held | {"n": 2})
    assert digest(first={"a": 1}.keys()) == digest(first={"a": 2}.keys()) != digest(first={"b": 1}.keys())
    with pytest.raises(TypeError, match="a value of type generator in 'second' in 'helper'"):
        digest(second=[(i for i in ())])


SETS = """
import functools
import reluflow as rf
from dataclasses import dataclass
from reluflow._digest import content_digest
@dataclass
class Named:
    names: set
class Words(set):
    pass
class Key:
    def __init__(self, name): self.name = name
named, words, keys = Named({"a", "b", "foo", "bar"}), Words({"u", "v", "w", "zz"}), {Key("a"), Key("b"), Key("c")}
pairs = {("a", frozenset({"b", "c", "d"})): 1, ("e", frozenset()): 2}
def of_named(sol): return len(named.names)
def of_words(sol): return len(words)
def of_keys(sol): return len(keys) + len(pairs)
def of_constants(sol): return sol in {"a", "b", "c"}
print(*(content_digest(one) for one in (of_named, of_words, of_keys, of_constants)))
"""


def test_sets_anywhere_have_the_same_digest_in_every_process() -> None:
    def printed(seed: str) -> list[str]:
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        found = subprocess.run(
            [sys.executable, "-c", SETS], capture_output=True, text=True, check=True, env=environment
        )
        return found.stdout.split()

    assert len(set(printed("1"))) == 4
    assert printed("1") == printed("2") == printed("3")
