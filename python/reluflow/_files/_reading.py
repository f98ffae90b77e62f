"""Reading the arrays of a solution file: every size is compared with the file before memory is asked for."""

from __future__ import annotations

import json
import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt
from numpy.lib import format as npy

from .._validation import invalid

ENDING = ".npy"
Arrays = dict[str, npt.NDArray[Any]]


class DamagedError(Exception):
    """A file does not hold what it says; the message goes into a ValueError with the path."""


def read(file: Path, what: str) -> tuple[Arrays, dict[str, Any]]:
    """Return the arrays of a file and its record, the JSON in the array `meta`; messages call it `what`.

    Raises
    ------
    ValueError
        The file is no archive of arrays, or a damaged one; the message names the path.
    OSError
        The system cannot read the file.
    """
    with file.open("rb") as stream:
        # A damaged archive makes zipfile, zlib and numpy raise nearly anything, MemoryError and RecursionError too.
        try:
            arrays = _arrays(stream)
            meta = json.loads(_text(arrays.pop("meta")))
        except Exception as error:
            reason = str(error) or type(error).__name__
            raise invalid("path", f"hold a {what}", f"{str(file)!r}: {reason}") from error
    if not isinstance(meta, dict):
        raise invalid("path", f"hold a {what}", f"{str(file)!r}")
    return arrays, meta


def _arrays(stream: IO[bytes]) -> Arrays:
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        names = [member.filename.removesuffix(ENDING) for member in members]
        if len(set(names)) < len(names) or "meta" not in names:
            raise DamagedError("the archive has no record, or has one name twice")
        return {name: _array(archive, member) for name, member in zip(names, members, strict=True)}


def _array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> npt.NDArray[Any]:
    if member.compress_type != zipfile.ZIP_STORED or member.flag_bits & 1:
        raise DamagedError(f"{member.filename} is compressed or encrypted")
    with archive.open(member) as file:
        dtype, shape, is_fortran = _header(file)
        wanted = dtype.itemsize * math.prod(shape)
        there = file.read()  # to the end, where the checksum is compared
    if dtype.hasobject:
        raise DamagedError(f"{member.filename} holds Python objects")
    if wanted != len(there):
        raise DamagedError(f"{member.filename} should have {wanted} bytes and has {len(there)}")
    flat = np.frombuffer(there, dtype) if wanted else np.empty(0, dtype)
    return flat.reshape(shape, order="F" if is_fortran else "C").copy(order="C")


def _header(file: IO[bytes]) -> tuple[np.dtype[Any], tuple[int, ...], bool]:
    version = npy.read_magic(file)
    readers = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}
    if version not in readers:
        raise DamagedError(f"an array of version {version}")
    shape, is_fortran, dtype = readers[version](file)
    return dtype, shape, is_fortran


def _text(array: npt.NDArray[Any]) -> str:
    if array.dtype.kind != "U" or array.shape != ():
        raise DamagedError("the record is no text")
    return str(array)
