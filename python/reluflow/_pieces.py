"""Values cut into bytes that tell one from every other, by their content: what digests are made of."""

from __future__ import annotations

import copyreg
import dis
import functools
import hashlib
import inspect
import io
import pickle
import sys
import threading
import types
import weakref
from collections.abc import ItemsView, Iterable, Iterator, KeysView, ValuesView
from queue import SimpleQueue
from typing import Any, TypeAlias

import numpy as np

_PLAIN = (str, bytes, bool, int, float, complex, type(None))
_HEAP_TYPE = 1 << 9  # a flag of classes that Python code has made
# What Python itself puts into a class. It says where the class stands, or follows from the rest.
_MADE_BY_PYTHON = {
    *("__dict__", "__weakref__", "__module__", "__qualname__", "__doc__", "__firstlineno__", "__static_attributes__"),
    *("__annotations__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__type_params__"),
    *("__parameters__", "__orig_bases__", "__slotnames__", "__abstractmethods__", "_abc_impl"),
}
# What belongs to a process and holds nothing that a result depends on.
_OF_A_PROCESS = (type(threading.Lock()), type(threading.RLock()), threading.local, SimpleQueue, io.IOBase, weakref.ref)
# The id of what is met, and whether by its code: its number, and itself, or its id could become that of another one.
_Met: TypeAlias = dict[tuple[int, bool], tuple[int, Any]]
# Objects that are the sum of their parts.
_PARTS: tuple[tuple[type, Any], ...] = (
    (types.MethodType, lambda value: (value.__func__, value.__self__)),
    (functools.partial, lambda value: (value.func, value.args, value.keywords, vars(value))),
    (property, lambda value: (value.fget, value.fset, value.fdel)),
    (staticmethod, lambda value: value.__func__),
    (classmethod, lambda value: value.__func__),
    (functools.cached_property, lambda value: value.func),
    *((view, list) for view in (KeysView, ValuesView, ItemsView)),
)


def digest_of(values: Iterable[Any]) -> str:
    """Return 32 hexadecimal digits of values; `content_digest` says what counts."""
    cutter, listed = Cutter(), tuple(values)
    for value in listed:
        cutter.add_home(value)
    return _digest(cutter.cut(listed))


def _digest(pieces: Iterable[bytes]) -> str:
    digest = hashlib.sha256()
    for piece in pieces:
        digest.update(len(piece).to_bytes(8, "little") + piece)
    return digest.hexdigest()[:32]


class Cutter:
    """Cuts values one after the other; knows what it has met, and which modules count by their content.

    A module is at home if a function that is given, or the class of a callable that is given, is defined there. Of its
    functions and classes the code counts, of those of other modules the name. `given=False` stands for what is only
    named: a function of another module then counts by its name, and is no reason to be at home there.
    """

    def __init__(self, met: _Met | None = None, homes: list[dict[str, Any]] | None = None) -> None:
        self._met = {} if met is None else met
        self._homes = [] if homes is None else homes

    def add_home(self, value: Any) -> None:
        """Be at home where the class of a callable object is defined, or of the object that a method is bound to."""
        if isinstance(value, (functools.partial, types.MethodType)):
            self.add_home(value.func if isinstance(value, functools.partial) else value.__self__)
        elif callable(value) and not isinstance(value, types.FunctionType):
            cls = value if isinstance(value, type) else type(value)
            is_users = cls.__module__.partition(".")[0] not in {*sys.stdlib_module_names, "reluflow"}
            if is_users and cls.__module__ in sys.modules:
                self._homes.append(vars(sys.modules[cls.__module__]))
            self._homes += [function.__globals__ for function in _functions_of(cls) if is_users]

    def cut(self, value: Any, given: bool = True) -> Iterator[bytes]:
        """Cut a value.

        Raises
        ------
        TypeError
            It holds what has no content to read, such as a generator.
        """
        if isinstance(value, np.generic):
            value = value.item()
        kind = type(value)
        if kind in _PLAIN:
            yield f"{kind.__name__} {value + 0.0 if kind is float else value!r}".encode()
        elif kind is np.ndarray and value.dtype.kind in "biuf":
            yield f"array {value.dtype.str} {value.shape}".encode()
            yield (value + value.dtype.type(0) if value.dtype.kind == "f" else value).tobytes()
        elif kind in (tuple, list):
            yield f"sequence {len(value)}".encode()
            for item in value:
                yield from self.cut(item, given)
        elif kind in (dict, types.MappingProxyType):
            yield f"mapping {len(value)}".encode()
            for key in sorted(value, key=self._order):
                yield from self.cut((key, value[key]), given)
        elif kind in (set, frozenset):
            yield from self.cut(("set", sorted(value, key=self._order)), given)
        else:
            yield from self._object(value, given)

    def _order(self, value: Any) -> str:
        """Return by what an element of a set comes before another one: the same in every process."""
        return repr(value) if type(value) in _PLAIN else _digest(Cutter(dict(self._met), list(self._homes)).cut(value))

    def _object(self, value: Any, given: bool) -> Iterator[bytes]:
        if isinstance(value, types.ModuleType):
            yield f"module {value.__name__}".encode()
            return
        if isinstance(value, types.CodeType):
            yield from self.cut(("code", *_parts_of_code(value)))
            return
        fingerprint = _fingerprint(value)
        if fingerprint is not None:
            yield from self.cut((type(value).__name__, fingerprint))
            return
        by_code = True
        if isinstance(value, type):
            by_code = self._is_own(value)
        elif isinstance(value, types.FunctionType):
            by_code = given or self._is_home(value.__globals__)
        key = id(value), by_code
        if key in self._met:  # it holds or calls itself, or stands in several places
            yield f"{self._met[key][0]} again".encode()
            return
        self._met[key] = len(self._met), value
        yield from self._whole(value, given, by_code)

    def _whole(self, value: Any, given: bool, by_code: bool) -> Iterator[bytes]:
        """Cut an object that is met for the first time."""
        if isinstance(value, type):
            yield f"class {value.__module__}.{value.__qualname__}".encode()
            if by_code:
                members = {name: member for name, member in vars(value).items() if name not in _MADE_BY_PYTHON}
                yield from self.cut((type(value), value.__bases__, members), False)
        elif isinstance(value, types.FunctionType):
            yield from self._own_function(value) if by_code else self._other_function(value)
        else:
            parts = next((parts_of for kind, parts_of in _PARTS if isinstance(value, kind)), None)
            yield type(value).__name__.encode()
            yield from self._reduced(value, given) if parts is None else self.cut(parts(value), given)

    def _own_function(self, function: types.FunctionType) -> Iterator[bytes]:
        home = function.__globals__
        if not self._is_home(home):
            self._homes.append(home)
        parts = (function.__defaults__, function.__kwdefaults__, _cells(function), vars(function))
        yield from self.cut(("function", function.__code__, *parts))
        for name in sorted(_global_names(function.__code__) & home.keys()):
            value = home[name]
            yield name.encode()
            try:
                yield from self.cut(value, not callable(value) or isinstance(value, functools.partial))
            except TypeError as error:
                raise TypeError(f"{error} in {name!r}") from error

    def _other_function(self, function: types.FunctionType) -> Iterator[bytes]:
        """Cut a function of another module: its name, and what it was made with, such as the function it decorates."""
        yield f"function {function.__module__}.{function.__qualname__}".encode()
        wrapped = getattr(function, "__wrapped__", None)
        for part in (function.__defaults__, function.__kwdefaults__, _cells(function), wrapped):
            n_met = len(self._met)
            try:
                pieces = list(self.cut(part, False))
            except (TypeError, RecursionError):  # of what that module does within
                while len(self._met) > n_met:
                    self._met.popitem()
                pieces = []
            yield from pieces

    def _reduced(self, value: Any, given: bool) -> Iterator[bytes]:
        """Cut an object as pickle does: what makes it, of what, and the state it is brought to."""
        found, wrapped = _reduction(value), getattr(value, "__wrapped__", None)
        if isinstance(found, tuple):
            make, args, state, items, pairs, *rest = (*found, None, None, None)[: max(len(found), 5)]
            given = self._is_own(type(value))
            if isinstance(value, (set, frozenset)):
                args = sorted(value, key=self._order)
            yield from self.cut((type(value), make), False)
            state = _without_cached(type(value), state)
            yield from self.cut((args, state, list(items or ()), dict(pairs or ()), rest), given)
        elif wrapped is not None:  # the cache of a function, for one
            yield from self.cut((type(value), wrapped), given)
        elif isinstance(found, str):
            yield _named(value)
        elif not isinstance(value, _OF_A_PROCESS):
            raise TypeError(f"a value of type {type(value).__name__}")

    def _is_home(self, module: dict[str, Any]) -> bool:
        return any(module is home for home in self._homes)

    def _is_own(self, cls: type) -> bool:
        """Tell whether a class is defined where we are at home."""
        if not cls.__flags__ & _HEAP_TYPE:
            return False
        is_named = any(home.get("__name__") == cls.__module__ for home in self._homes)
        return is_named or any(self._is_home(function.__globals__) for function in _functions_of(cls))


def _fingerprint(value: Any) -> str | None:
    """Return a text that an object has to stand for it; a column of a table that is called so is none."""
    if isinstance(value, type):
        return None
    has_one = hasattr(type(value), "fingerprint") or "fingerprint" in getattr(value, "__dict__", ())
    return value.fingerprint if has_one and isinstance(value.fingerprint, str) else None


def _functions_of(cls: type) -> list[types.FunctionType]:
    """Return the methods that are written in a class itself."""
    members = [getattr(member, "__func__", member) for member in vars(cls).values()]
    return [one for one in members if isinstance(one, types.FunctionType) and one.__module__ == cls.__module__]


def _cells(function: types.FunctionType) -> list[tuple[Any, ...]]:
    """Return what a function has taken from around it; a name that has no value yet is an empty cell."""
    found: list[tuple[Any, ...]] = []
    for cell in function.__closure__ or ():
        try:
            found.append((cell.cell_contents,))
        except ValueError:
            found.append(())
    return found


def _parts_of_code(code: types.CodeType) -> tuple[Any, ...]:
    """Return what code does: names of arguments count, for callers use them; places in a file do not."""
    rest = code.co_flags & (inspect.CO_VARARGS | inspect.CO_VARKEYWORDS)
    arguments = code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, rest
    names = code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars
    return (sys.version_info[:2], code.co_code, code.co_exceptiontable, arguments, names, code.co_consts)


def _global_names(code: types.CodeType) -> set[str]:
    """Return the names that code, and code inside it, looks up in its module; names of attributes are others."""
    looks_up = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
    names = {one.argval for one in dis.get_instructions(code) if one.opname in looks_up}
    return names.union(*(_global_names(part) for part in code.co_consts if isinstance(part, types.CodeType)))


def _reduction(value: Any) -> tuple[Any, ...] | str | None:
    """Return how pickle would make an object anew: parts, or a name; None if it cannot be."""
    special = copyreg.dispatch_table.get(type(value))
    try:
        return value.__reduce_ex__(4) if special is None else special(value)
    except Exception:  # code of the value's own
        return None


def _named(value: Any) -> bytes:
    """Return what finds an object by its name; pickle makes sure that it is found there."""
    try:
        return pickle.dumps(value, protocol=4)
    except Exception as error:
        raise TypeError(f"a value of type {type(value).__name__}") from error


def _without_cached(cls: type, state: Any) -> Any:
    """Leave out of a state what follows from the rest and is there only if somebody has asked."""
    if isinstance(state, tuple) and len(state) == 2:  # beside attributes that have slots
        return (_without_cached(cls, state[0]), state[1])
    if type(state) is not dict:
        return state
    cached = {name for kind in cls.__mro__ for name, one in vars(kind).items() if _is_cached(one)}
    return {name: part for name, part in state.items() if name not in cached}


def _is_cached(member: Any) -> bool:
    return isinstance(member, functools.cached_property)
