"""One change of the core that a test of cpp/tests must notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """One change of one file of cpp/src; `units` are the sources to compile, the file itself when there are none."""

    test: str
    file: str
    what: str
    old: str
    new: str
    units: tuple[str, ...] = ()
