"""Files that are there whole or not at all, and archives of arrays that are checked when they are read."""

from __future__ import annotations

from ._archive import check_format, read_archive, write_archive
from ._atomic import atomic_write, checked_path, json_bytes
from ._leftovers import sweep, temporary_prefix
from ._reading import DamagedError, read

__all__ = [
    "DamagedError",
    "atomic_write",
    "check_format",
    "checked_path",
    "json_bytes",
    "read",
    "read_archive",
    "sweep",
    "temporary_prefix",
    "write_archive",
]
