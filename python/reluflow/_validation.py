"""Checks of arguments, shared by every public entry.

A bad argument raises ``ValueError`` with one sentence: the argument's name, what is expected and what was found.
The helpers here return checked values: plain Python numbers, or read-only C-contiguous float64 copies of arrays.
"""

from __future__ import annotations

import importlib
import math
import numbers
import operator
import re
from collections.abc import Iterable, Sequence
from types import ModuleType
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
IntArray: TypeAlias = npt.NDArray[np.int64]
PatternArray: TypeAlias = npt.NDArray[np.int8]

LARGEST_INTEGER = 2**63 - 1  # what the core can hold
REAL_KINDS = "biuf"  # numpy dtype kinds that convert to float64 without a loss of meaning
INTEGER = re.compile(r"\s*[+-]?\d+\s*")


def invalid(name: str, expected: str, found: object) -> ValueError:
    """Return the error of a bad argument: "``name`` must ``expected``, found ``found``"."""
    return ValueError(f"{name} must {expected}, found {found}")


def shown(value: object) -> str:
    """Return for a message a value that was given; of a numpy scalar its number, as not every numpy names its type."""
    return repr(value.item() if isinstance(value, np.generic) else value)


def freeze(array: npt.NDArray[Any]) -> None:
    """Make an array read-only."""
    array.flags.writeable = False


def freeze_all(value: object) -> None:
    """Make every array read-only that stands in a value: in tuples, lists and dictionaries too."""
    if isinstance(value, np.ndarray):
        freeze(value)
    elif isinstance(value, (tuple, list)):
        for item in value:
            freeze_all(item)
    elif isinstance(value, dict):
        for item in value.values():
            freeze_all(item)


class ReadOnly:
    """A result whose arrays are read-only: after pickle and copy.deepcopy too, which make new ones."""

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied result."""
        self.__dict__.update(state)
        freeze_all(state)


def real_array(value: npt.ArrayLike, name: str, shape: str, *, is_finite: bool = True) -> FloatArray:
    """Return a read-only C-contiguous float64 copy of real numbers.

    Parameters
    ----------
    value
        Anything numpy reads as an array.
    name
        The argument's name, for the message.
    shape
        The expected shape as text, e.g. ``"(n, d)"``; the number of its entries is checked here.
    is_finite
        Whether all have to be finite.

    Raises
    ------
    ValueError
        Ragged rows, another number of dimensions, a dtype that is not real, masked or non-finite entries.
    """
    raw = read_array(value, name, shape)
    ndim = shape.count(",") + (0 if shape.endswith(",)") else 1)
    if raw.ndim != ndim:
        raise invalid(name, f"have the shape {shape}", f"the shape {raw.shape}")
    if raw.dtype.kind not in REAL_KINDS:
        raise invalid(name, "hold real numbers", f"the dtype {raw.dtype}{_first_other(raw)}")
    array = np.array(raw, dtype=np.float64, order="C", copy=True, subok=False)
    bad = ~np.isfinite(array)
    if is_finite and bad.any():
        raise invalid(name, "hold finite numbers only", place(array, bad))
    freeze(array)
    return array


def is_table(value: npt.ArrayLike) -> bool:
    """Tell whether numbers come in rows of several; a single column is left to the check of the shape."""
    try:
        shape = np.shape(value)
    except ValueError:  # ragged rows, which the check of the shape names
        return False
    return len(shape) == 2 and shape[1] != 1


def _first_other(raw: npt.NDArray[Any]) -> str:
    """Say where the first string or object is that no number can be read from; nothing if there is none."""
    for index, value in np.ndenumerate(raw) if raw.dtype.kind in "OSU" else ():
        if not is_number(value):
            where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), index, strict=False))
            return f", with {no_number(value)} at {where}"
    return ""


def is_number(value: object) -> bool:
    """Tell whether a float can be read from a value, or from its text."""
    try:
        float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError):
        return False
    return not _is_long(value)


def _is_long(value: object) -> bool:
    """Tell whether a value is the text of an integer that no float can hold: it is read as infinite."""
    return isinstance(value, str) and INTEGER.fullmatch(value) is not None and math.isinf(float(value))


def no_number(value: object) -> str:
    """Return for a message a value from which no float can be read."""
    plain = value.item() if isinstance(value, np.generic) else value
    return "an integer that no float can hold" if isinstance(plain, int) or _is_long(plain) else repr(plain)


def read_array(value: npt.ArrayLike, name: str, shape: str) -> npt.NDArray[Any]:
    """Return what numpy reads as an array; ragged rows and masked entries are refused, all else is to be checked.

    Of a data frame with columns of numbers that numpy has no common type for, an array of floats, nan where it has
    nothing.
    """
    if isinstance(value, np.ma.MaskedArray) and np.ma.getmaskarray(value).any():
        raise invalid(name, "have no masked entries", f"{int(np.ma.getmaskarray(value).sum())} masked")
    try:
        raw = np.asarray(value)
    except (ValueError, TypeError) as error:
        raise invalid(name, f"be an array of shape {shape}", _ragged(value) or str(error)) from None
    if raw.dtype == object and _is_frame_of_numbers(value):
        return np.asarray(value.to_numpy(dtype=np.float64, na_value=np.nan))  # type: ignore[union-attr]
    return raw


def _is_frame_of_numbers(value: object) -> bool:
    """Tell data of pandas with columns of numbers: of its own types, as Int64 and boolean, or of bool beside float."""
    dtypes = getattr(value, "dtypes", None)
    listed = list(dtypes) if isinstance(dtypes, Iterable) else [dtypes]
    return hasattr(value, "to_numpy") and all(getattr(dtype, "kind", None) in tuple(REAL_KINDS) for dtype in listed)


def _ragged(value: object) -> str:
    """Say which row differs in length from the first, or nothing if no row does."""
    if not isinstance(value, Sequence):
        return ""
    lengths = [len(row) if hasattr(row, "__len__") else None for row in value]
    for row, length in enumerate(lengths):
        if length != lengths[0]:
            return f"{_entries(length)} at row {row} after {_entries(lengths[0])} at row 0"
    return ""


def _entries(length: int | None) -> str:
    return "a single number" if length is None else f"{length} entries"


def place(array: npt.NDArray[Any], bad: npt.NDArray[np.bool_]) -> str:
    """Describe the first entry of ``array`` that is ``bad``: its value and its row (and column)."""
    index = np.argwhere(bad)[0]
    value = array[tuple(index)]
    where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), index, strict=False))
    return f"{value:g} at {where}"


Seed: TypeAlias = "int | np.random.Generator | None"


def generator(seed: Seed, *key: int) -> np.random.Generator:
    """Return the generator that a seed means: of an integer a new one, of None one that is new every time.

    A Generator is returned as it is and goes on. `key` tells apart the streams of one integer.

    Raises
    ------
    ValueError
        Something else, or a negative integer.
    """
    if isinstance(seed, np.random.Generator):
        return seed
    if seed is None:
        return np.random.default_rng()
    expected = "be an integer of at least 0, a numpy Generator or None"
    if isinstance(seed, (bool, np.bool_)) or not isinstance(seed, (int, np.integer)) or seed < 0:
        raise invalid("seed", expected, shown(seed))
    return np.random.default_rng([int(seed), *key] if key else int(seed))


def seed_number(seed: Seed) -> int:
    """Return an integer seed as it is, or draw one: from a Generator, anew for None, or for what the core cannot hold.

    Raises
    ------
    ValueError
        As for `generator`.
    """
    source = generator(seed)
    if seed is None or isinstance(seed, np.random.Generator) or seed > LARGEST_INTEGER:
        return int(source.integers(2**63))
    return int(seed)


def real(value: object, name: str, expected: str = "be a finite number") -> float:
    """Return a finite float; booleans, strings, NaN and infinities are refused."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, numbers.Real):
        raise invalid(name, expected, shown(value))
    try:
        number = float(value)
    except OverflowError:
        raise invalid(name, expected, "a number that no float can hold") from None
    if not math.isfinite(number):
        raise invalid(name, expected, repr(number))
    return number


def positive(value: object, name: str, expected: str = "be a finite number above 0") -> float:
    """Return a finite float above zero."""
    number = real(value, name, expected)
    if number <= 0:
        raise invalid(name, expected, repr(number))
    return number


def not_negative(value: object, name: str, expected: str = "be a finite number of at least 0") -> float:
    """Return a finite float that is not negative."""
    number = real(value, name, expected)
    if number < 0:
        raise invalid(name, expected, repr(number))
    return number


def integer(value: object, name: str, least: int = 1, most: int = LARGEST_INTEGER) -> int:
    """Return an int from ``least`` to ``most``; booleans and floats are refused."""
    expected = f"be an integer of at least {least}"
    if isinstance(value, (bool, np.bool_)):
        raise invalid(name, expected, shown(value))
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise invalid(name, expected, shown(value)) from None
    if number < least:
        raise invalid(name, expected, repr(number))
    if number > most:
        found = repr(number) if number <= LARGEST_INTEGER else "a larger one"
        raise invalid(name, f"be an integer of at most {most}", found)
    return number


def one_of(value: object, name: str, choices: Sequence[str]) -> str:
    """Return ``value`` if it is one of the strings ``choices``."""
    if isinstance(value, str) and value in choices:
        return value
    raise invalid(name, "be one of " + ", ".join(repr(choice) for choice in choices), shown(value))


def instance(value: object, name: str, kind: type | tuple[type, ...], expected: str) -> None:
    """Refuse a value of another class."""
    if not isinstance(value, kind):
        raise invalid(name, f"be {expected}", f"a value of type {type(value).__name__}")


def truth(value: object, name: str) -> bool:
    """Return a bool; numbers, which could mean anything, are refused."""
    instance(value, name, (bool, np.bool_), "True or False")
    return bool(value)


def optional_callable(value: object, name: str = "callback") -> None:
    """Refuse a value that is neither None nor callable."""
    if value is not None and not callable(value):
        raise invalid(name, "be None or callable", f"a value of type {type(value).__name__}")


def leak_value(value: object) -> float:
    """Return the leak of the activation, a float in [0, 1)."""
    expected = "lie in [0, 1)"
    number = real(value, "leak", expected)
    if not 0 <= number < 1:
        raise invalid("leak", expected, repr(number))
    return number


def optional_module(name: str, extra: str) -> ModuleType:
    """Import an optional library, or say which extra of reluflow brings it.

    Raises
    ------
    ImportError
        The library is not installed; the message names the extra.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        hint = f'pip install "reluflow[{extra}]"'
        raise ImportError(f"{name.partition('.')[0]} is needed here and is not installed: {hint}") from error
