"""Digests of what a result depends on: data, functions, the build. The same in every process, on every machine."""

from __future__ import annotations

from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any

from . import _core
from ._pieces import digest_of

_PACKAGE = Path(__file__).resolve().parent
# What only shows results, or is how they are asked for, changes none; the claims of papers have a digest of their own.
_SHOWN = ("cli/", "figures/", "papers/")


def content_digest(*parts: Any) -> str:
    """Return 32 hexadecimal digits of values: numbers, texts, arrays, collections, functions, other objects.

    Two values that are equal, such as 0.0 and -0.0 in an array, have one digest. Of a function its code counts, its
    defaults, what it has taken from around it, and what it reads by name from its module: values, and functions and
    classes of the same module, also behind `functools.cache` or another decorator. Of a callable object and of a method
    the class counts like that. Of all else that is named, such as modules, classes and functions of other modules, the
    name counts. Of other objects what pickle would write counts, without values of a `cached_property`; of one with an
    attribute `fingerprint`, a text, that alone; of a lock or an open file, that it is one.

    Raises
    ------
    TypeError
        An object whose content cannot be read, such as a generator; the message says where it stands.
    """
    return digest_of(parts)


def fingerprint_of(result: Any) -> str:
    """Return the digest of the fields of a result, a dataclass, without the time that it took."""
    return content_digest(untimed({field.name: getattr(result, field.name) for field in fields(result)}))


def untimed(record: dict[str, Any]) -> dict[str, Any]:
    """Leave out of what is known of a run what is another each time: how long it took, and on how many threads."""
    kept = {name: value for name, value in record.items() if name not in ("seconds", "threads")}
    return {name: untimed(value) if type(value) is dict else value for name, value in kept.items()}


@cache
def build_digest() -> str:
    """Return the digest of what computes: the compiled core and the Python files that are no display."""
    files = {path.relative_to(_PACKAGE).as_posix(): path for path in _PACKAGE.rglob("*.py")}
    sources = [(name, files[name].read_bytes()) for name in sorted(files) if not name.startswith(_SHOWN)]
    return content_digest(sources, Path(_core.__file__).read_bytes())


def hash_of(fingerprint: str) -> int:
    """Return a hash for `__hash__` that is the same in every process."""
    return int(fingerprint[:15], 16)
