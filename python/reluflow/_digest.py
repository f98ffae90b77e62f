"""Digests of what a result depends on: data, functions, the build. The same in every process, on every machine."""

from __future__ import annotations

import dis
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
    defaults, what it has taken from around it, and what it reads by name from its module: values, and functions of the
    same module. Of all else that it names, such as modules, classes and functions of other modules, the name counts.

    Raises
    ------
    TypeError
        An object that cannot be pickled, such as an open file.
    """
    digest = hashlib.sha256()
    for piece in _pieces(parts, []):
        digest.update(len(piece).to_bytes(8, "little") + piece)
    return digest.hexdigest()[:32]


def _pieces(value: Any, met: list[types.FunctionType]) -> Iterator[bytes]:
    """Cut a value into bytes that tell it from every other one; `met` are the functions on the way."""
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
            yield from _pieces(item, met)
    elif isinstance(value, Mapping):
        yield f"mapping {len(value)}".encode()
        for key in sorted(value, key=repr):
            yield from _pieces((key, value[key]), met)
    else:
        yield from _pieces_of_object(value, met)


def _pieces_of_object(value: Any, met: list[types.FunctionType]) -> Iterator[bytes]:
    if hasattr(value, "fingerprint") and not isinstance(value, type):
        yield from _pieces((type(value).__name__, value.fingerprint), met)
    elif isinstance(value, functools.partial):
        yield from _pieces(("partial", value.func, value.args, value.keywords), met)
    elif isinstance(value, types.FunctionType):
        yield from _pieces_of_function(value, met)
    elif isinstance(value, types.CodeType):
        yield from _pieces(("code", sys.version_info[:2], value.co_code, value.co_names, value.co_consts), met)
    elif isinstance(value, types.ModuleType):
        yield from _pieces(("module", value.__name__), met)
    elif isinstance(value, (set, frozenset)):
        yield from _pieces(("set", sorted(value, key=repr)), met)
    else:
        try:
            yield b"object " + pickle.dumps(value, protocol=4)
        except Exception as error:  # pickle calls code of the value's own
            raise TypeError(f"a value of type {type(value).__name__} cannot be pickled") from error


def _pieces_of_function(function: types.FunctionType, met: list[types.FunctionType]) -> Iterator[bytes]:
    if function in met:  # it calls itself, or another one that calls it
        yield f"function {met.index(function)} again".encode()
        return
    met.append(function)
    cells = [cell.cell_contents for cell in function.__closure__ or ()]
    yield from _pieces(("function", function.__code__, function.__defaults__, function.__kwdefaults__, cells), met)
    for name in sorted(_global_names(function.__code__) & function.__globals__.keys()):
        yield from _pieces_of_global(name, function.__globals__, met)


def _pieces_of_global(name: str, module: dict[str, Any], met: list[types.FunctionType]) -> Iterator[bytes]:
    """Cut what a function reads from its module; of what cannot be cut there, such as a lock, only the type counts."""
    value = module[name]
    if isinstance(value, types.FunctionType) and value.__globals__ is not module:
        yield f"{name} is {value.__module__}.{value.__qualname__}".encode()
        return
    n_met = len(met)
    try:
        pieces = list(_pieces((name, value), met))
    except (TypeError, RecursionError):
        del met[n_met:]
        pieces = [f"{name} is a {type(value).__name__}".encode()]
    yield from pieces


def _global_names(code: types.CodeType) -> set[str]:
    """Return the names that code, and code inside it, looks up in its module; names of attributes are others."""
    names = {one.argval for one in dis.get_instructions(code) if one.opname in ("LOAD_GLOBAL", "LOAD_NAME")}
    return names.union(*(_global_names(part) for part in code.co_consts if isinstance(part, types.CodeType)))


@cache
def build_digest() -> str:
    """Return the digest of what computes: the compiled core and the Python files that are no display."""
    files = {path.relative_to(_PACKAGE).as_posix(): path for path in _PACKAGE.rglob("*.py")}
    sources = [(name, files[name].read_bytes()) for name in sorted(files) if not name.startswith(_SHOWN)]
    return content_digest(sources, Path(_core.__file__).read_bytes())


def hash_of(fingerprint: str) -> int:
    """Return a hash for `__hash__` that is the same in every process."""
    return int(fingerprint[:15], 16)
