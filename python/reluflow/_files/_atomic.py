"""Files that are there whole or not at all."""

from __future__ import annotations

import errno
import json
import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from .._validation import invalid
from ._leftovers import sweep, temporary_prefix


def checked_path(path: str | os.PathLike[str]) -> Path:
    """Return `path` as a Path.

    Raises
    ------
    ValueError
        It is no path at all.
    """
    if not isinstance(path, (str, os.PathLike)) or not os.fspath(path):
        raise invalid("path", "be the path of a file", repr(path))
    return Path(path)


@contextmanager
def atomic_write(path: str | os.PathLike[str]) -> Iterator[IO[bytes]]:
    """Open a new file beside `path` and rename it to `path` when the block ends without an error.

    What a process that was killed has left of an earlier write to the same place is removed.

    Raises
    ------
    FileNotFoundError, IsADirectoryError, PermissionError
        The folder is missing, `path` is a folder, or it may not be written to; the message names the path.
    OSError
        The system cannot write, because the disk is full for example. What was at `path` is still there.
    """
    target = checked_path(path)
    if not target.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "path must lie in a folder that exists", str(target))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "path must be a file", str(target))
    sweep(target)
    try:
        handle, name = tempfile.mkstemp(prefix=temporary_prefix(target), dir=target.parent)
    except PermissionError as error:
        raise PermissionError(error.errno, "path must be writable", str(target)) from error
    except OSError as error:
        raise _failed(error, target) from error
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # or the name could come before the bytes when the power fails
        os.chmod(name, _mode(target))
        os.replace(name, target)
    except OSError as error:
        os.unlink(name)
        raise _failed(error, target) from error
    except BaseException:
        os.unlink(name)
        raise


def _failed(error: OSError, target: Path) -> OSError:
    """Say of a system error which file it kept from being written."""
    reason = error.strerror or str(error)
    return OSError(error.errno, f"{reason}; nothing was written, and what was there is still there", str(target))


def _mode(target: Path) -> int:
    """Permissions of the file to replace, or those that a newly opened file would get."""
    if target.exists():
        return target.stat().st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask


def json_bytes(record: dict[str, Any]) -> bytes:
    """Return strict JSON: nan becomes null, infinities become the strings "inf" and "-inf"."""
    text = json.dumps(_strict(record), indent=2, allow_nan=False, ensure_ascii=False)
    # A path with bytes that are no UTF-8 has lone surrogates, which JSON writes with a backslash, as Python does.
    return f"{text}\n".encode(errors="backslashreplace")


def _strict(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _strict(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(item) for item in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else str(value)
    return value
