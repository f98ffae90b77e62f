"""What is kept of a claim that was run: a value that goes to JSON and comes back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from ._claim import Number, Value

OPEN, FAILED = "open", "failed"
VERDICTS = ("holds", "misprint", "differs", OPEN, FAILED)
# Digits of a computed number that two machines share: the last few of a double depend on the library of linear algebra.
DIGITS = 10
_WORDS = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}


@dataclass(frozen=True)
class Key:
    """What a result depends on; a stored one with another key is not used again."""

    version: str
    seed: int
    quick: bool
    digest: str
    mnist: str = ""

    @property
    def folder(self) -> Path | None:
        """Where the files of MNIST are, if they are to be used."""
        return Path(self.mnist) if self.mnist else None


@dataclass(frozen=True)
class Picture:
    """A figure as a file beside the result."""

    name: str
    file: str
    caption: str


@dataclass(frozen=True)
class Sheet:
    """A table as text, ready to be shown."""

    name: str
    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Result:
    """What a run of a claim gave.

    Attributes
    ----------
    id : str
    verdict : {"holds", "misprint", "differs", "open", "failed"}
    message : str
        What failed; empty unless failed.
    ran, note : str
    numbers : tuple of Number
    figures : tuple of Picture
    tables : tuple of Sheet
    warnings : tuple of str
        Warnings that came up on the way.
    seconds : float
    key : Key
    """

    id: str
    verdict: str
    key: Key
    message: str = ""
    ran: str = ""
    note: str = ""
    numbers: tuple[Number, ...] = ()
    figures: tuple[Picture, ...] = ()
    tables: tuple[Sheet, ...] = ()
    warnings: tuple[str, ...] = ()
    seconds: float = 0.0

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; numbers carry whether they are as expected."""
        record = {field.name: getattr(self, field.name) for field in fields(self)}
        record["key"] = asdict(self.key)
        record["numbers"] = [_number_to_dict(number) for number in self.numbers]
        record["figures"] = [asdict(picture) for picture in self.figures]
        record["tables"] = [asdict(sheet) for sheet in self.tables]
        record["warnings"] = list(self.warnings)
        return record


def from_dict(record: Mapping[str, Any]) -> Result:
    """Return the result that `Result.to_dict` wrote.

    Raises
    ------
    KeyError, TypeError, ValueError
        The record is of another make.
    """
    plain = dict(record)
    plain["key"] = Key(**plain["key"])
    plain["numbers"] = tuple(_number_from_dict(number) for number in plain["numbers"])
    plain["figures"] = tuple(Picture(**picture) for picture in plain["figures"])
    plain["tables"] = tuple(
        Sheet(
            sheet["name"],
            sheet["caption"],
            tuple(sheet["columns"]),
            tuple(tuple(row) for row in sheet["rows"]),
        )
        for sheet in plain["tables"]
    )
    plain["warnings"] = tuple(plain["warnings"])
    return Result(**plain)


def _number_to_dict(number: Number) -> dict[str, Any]:
    record = asdict(number)
    for name in ("value", "expected", "control", "wrong"):
        record[name] = _written(record[name])
    record["ok"] = number.ok
    return record


def _number_from_dict(record: Mapping[str, Any]) -> Number:
    plain = {name: value for name, value in record.items() if name != "ok"}
    for name in ("value", "expected", "control", "wrong"):
        plain[name] = _WORDS.get(plain[name], plain[name]) if isinstance(plain[name], str) else plain[name]
    return Number(**plain)


def _written(value: Value | None) -> Value | None:
    """Return a float with the digits that machines share; infinities and NaN as words."""
    if not isinstance(value, float):
        return value
    return float(f"{value:.{DIGITS}g}") if math.isfinite(value) else str(value)
