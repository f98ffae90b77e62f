"""Names of version 0.1 that stand elsewhere now: they still work, with a DeprecationWarning that says where."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from importlib import import_module


def renamed(module: str, homes: Mapping[str, str]) -> Callable[[str], object]:
    """Return the ``__getattr__`` of `module`: `homes` gives the new name of each old one, after "reluflow."."""

    def find(name: str) -> object:
        if name not in homes:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        full = f"reluflow.{homes[name]}"
        home, _, new = full.rpartition(".")
        warnings.warn(f"{module}.{name} is now {full}", DeprecationWarning, stacklevel=2)
        return getattr(import_module(home), new)

    return find
