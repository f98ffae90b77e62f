"""Temporary files and folders beside what they are to become, and what killed processes leave of them."""

from __future__ import annotations

import os
import platform
import re
import shutil
import time
from pathlib import Path

# Another machine may be writing into the same folder, and its processes cannot be asked for: what it has not touched
# for a day is left over.
_FORGOTTEN = 24 * 3600.0


def _machine() -> str:
    """Name of this machine, of letters that any file may have."""
    return re.sub(r"[^A-Za-z0-9.]", "_", platform.node()) or "here"


def temporary_prefix(target: Path) -> str:
    """First part of the name of a temporary file for `target`: it says which process of which machine writes."""
    return f".{target.name}.reluflow-{_machine()}-{os.getpid()}-"


def sweep(target: Path) -> None:
    """Remove temporary files and folders for `target` whose process has ended."""
    ours = re.compile(re.escape(f".{target.name}.reluflow-") + r"([A-Za-z0-9._]+)-(\d+)-\w+")
    for path in target.parent.iterdir():
        found = ours.fullmatch(path.name)
        if found is not None and _is_left_over(path, found[1], int(found[2])):
            _remove(path)


def _is_left_over(path: Path, machine: str, process: int) -> bool:
    try:
        age = time.time() - path.stat().st_mtime
    except FileNotFoundError:  # its process has just ended well
        return False
    return age > _FORGOTTEN or (machine == _machine() and not _is_alive(process))


def _is_alive(process: int) -> bool:
    """Tell whether a process of this machine is there; where asking would end it, it counts as there."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def _remove(path: Path) -> None:
    """Remove what may be gone already, or may not be removed by us: the write goes on in either case."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
        return
    try:
        path.unlink()
    except OSError:
        return
