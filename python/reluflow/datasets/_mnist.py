"""MNIST from the IDX files of its authors, where a user has them: nothing is fetched from the network."""

from __future__ import annotations

import gzip
import os
import struct
import zlib
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from .._validation import instance, invalid, one_of
from ._dataset import Dataset
from ._multiclass import MultiClassDataset
from ._real import chosen_classes
from ._transforms import centre

PIXEL_MAX = 255.0
_PREFIX = {"train": "train", "test": "t10k"}
_BYTES = 0x08  # IDX's code of unsigned bytes
Part = Literal["train", "test"]
PathLike = str | os.PathLike[str]


@overload
def mnist(folder: PathLike, *, part: Part = "train") -> MultiClassDataset: ...
@overload
def mnist(folder: PathLike, a: int, b: int, *, part: Part = "train") -> Dataset: ...
def mnist(
    folder: PathLike, a: int | None = None, b: int | None = None, *, part: Part = "train"
) -> Dataset | MultiClassDataset:
    """Return handwritten digits of MNIST, 28 x 28 pixels: two of them against each other, or all ten.

    All samples of the chosen digits in their stored order, pixels divided by 255, minus the mean over the samples used.

    Parameters
    ----------
    folder : path
        Where the IDX files are, as published or gzipped: ``train-images-idx3-ubyte`` and ``train-labels-idx1-ubyte``,
        or those of ``t10k``.
    a, b : int, optional
        The digits: `a` gets the label +1, `b` gets -1. Without them all ten classes.
    part : {"train", "test"}, optional
        60,000 or 10,000 images.

    Returns
    -------
    Dataset or MultiClassDataset
        d = 784.

    Raises
    ------
    FileNotFoundError
        A file is not in the folder.
    ValueError
        A file is broken or not in the format IDX; images and labels do not fit; only one digit given, both the same,
        or no digit that is there.

    References
    ----------
    Y. LeCun, C. Cortes & C. J. C. Burges, The MNIST database of handwritten digits.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.mnist("no/such/folder", 0, 1)
    Traceback (most recent call last):
    ...
    FileNotFoundError: folder must hold train-images-idx3-ubyte or the same with .gz, found neither in 'no/such/folder'
    """
    images, labels = mnist_images(folder, part)
    X = images.reshape(len(images), -1) / PIXEL_MAX
    return centre(chosen_classes(MultiClassDataset(X, labels, name="mnist"), a, b))


def mnist_images(folder: PathLike, part: Part) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Return the images (n, rows, columns) and the digits (n,) as they are stored.

    Raises
    ------
    FileNotFoundError, ValueError
        As `mnist`.
    """
    one_of(part, "part", tuple(_PREFIX))
    instance(folder, "folder", (str, os.PathLike), "a path")
    prefix = _PREFIX[part]
    images = _read(Path(folder), f"{prefix}-images-idx3-ubyte", dims=3)
    labels = _read(Path(folder), f"{prefix}-labels-idx1-ubyte", dims=1)
    if len(images) != len(labels):
        raise invalid("folder", "hold as many labels as images", f"{len(labels)} and {len(images)} in {str(folder)!r}")
    return images, labels.astype(np.int64)


def _read(folder: Path, name: str, dims: int) -> Any:
    """Read one IDX file of unsigned bytes."""
    path = folder / name
    if not path.is_file():
        path = folder / f"{name}.gz"
    if not path.is_file():
        raise FileNotFoundError(f"folder must hold {name} or the same with .gz, found neither in {str(folder)!r}")
    try:
        raw = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise _broken(path, f"{type(error).__name__}: {error}") from None
    start = 4 + 4 * dims
    if raw[:4] != bytes((0, 0, _BYTES, dims)) or len(raw) < start:
        raise _broken(path, f"the first bytes {raw[:4].hex(' ')}")
    shape = struct.unpack(f">{dims}I", raw[4:start])
    if len(raw) - start != int(np.prod(shape, dtype=object)):
        raise _broken(path, f"{len(raw) - start} bytes for the shape {shape}")
    return np.frombuffer(raw, np.uint8, offset=start).reshape(shape)


def _broken(path: Path, found: str) -> ValueError:
    return invalid(str(path), "be a whole IDX file of unsigned bytes", found)
