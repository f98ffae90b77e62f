"""Digests of what a result depends on: data, functions, the build. The same in every process, on every machine."""

from __future__ import annotations

import functools
import hashlib
import pickle
import sys
import types
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from . import _core

_PACKAGE = Path(__file__).resolve().parent
# What only shows results, or is how they are asked for, changes none; the claims of papers have a digest of their own.
_SHOWN = ("cli/", "figures/", "papers/")
_PLAIN = (str, bytes, bool, int, float, complex, type(None))


def content_digest(*parts: Any) -> str:
    """Return 32 hexadecimal digits of values: numbers, texts, arrays, sequences, mappings, functions, other objects.

    Two values that are equal, such as 0.0 and -0.0 in an array, have one digest. Of a function its code counts, its
    defaults and what it has taken from around it, not the functions that it calls by name.

    Raises
    ------
    TypeError
        An object that cannot be pickled, such as an open file.
    """
    digest = hashlib.sha256()
    for piece in _pieces(parts):
        digest.update(len(piece).to_bytes(8, "little") + piece)
    return digest.hexdigest()[:32]


def _pieces(value: Any) -> Iterator[bytes]:
    """Cut a value into bytes that tell it from every other one."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, _PLAIN):
        yield f"{type(value).__name__} {value + 0.0 if isinstance(value, float) else value!r}".encode()
    elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        yield f"array {value.dtype.str} {value.shape}".encode()
        yield (value + value.dtype.type(0) if value.dtype.kind == "f" else value).tobytes()
    elif isinstance(value, (tuple, list)):
        yield f"sequence {len(value)}".encode()
        for item in value:
            yield from _pieces(item)
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}".encode()
        for key in sorted(value, key=repr):
            yield from _pieces((key, value[key]))
    else:
        yield from _pieces_of_object(value)


def _pieces_of_object(value: Any) -> Iterator[bytes]:
    if hasattr(value, "fingerprint"):
        yield from _pieces((type(value).__name__, value.fingerprint))
    elif isinstance(value, functools.partial):
        yield from _pieces(("partial", value.func, value.args, value.keywords))
    elif isinstance(value, types.FunctionType):
        cells = [cell.cell_contents for cell in value.__closure__ or ()]
        cells = [None if content is value else content for content in cells]  # a function that calls itself
        yield from _pieces(("function", value.__code__, value.__defaults__, value.__kwdefaults__, cells))
    elif isinstance(value, types.CodeType):
        yield from _pieces(("code", sys.version_info[:2], value.co_code, value.co_names, value.co_consts))
    elif isinstance(value, types.ModuleType):
        yield from _pieces(("module", value.__name__))
    elif isinstance(value, frozenset):
        yield from _pieces(("set", sorted(value, key=repr)))
    else:
        try:
            yield b"object " + pickle.dumps(value, protocol=4)
        except (TypeError, AttributeError, pickle.PicklingError) as error:
            raise TypeError(f"a value of type {type(value).__name__} cannot be pickled") from error


@cache
def build_digest() -> str:
    """Return the digest of what computes: the compiled core and the Python files that are no display."""
    files = {path.relative_to(_PACKAGE).as_posix(): path for path in _PACKAGE.rglob("*.py")}
    sources = [(name, files[name].read_bytes()) for name in sorted(files) if not name.startswith(_SHOWN)]
    return content_digest(sources, Path(_core.__file__).read_bytes())


def hash_of(fingerprint: str) -> int:
    """Return a hash for `__hash__` that is the same in every process."""
    return int(fingerprint[:15], 16)
