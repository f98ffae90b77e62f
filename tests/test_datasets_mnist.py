"""MNIST from files in the format IDX: pixels, digits, and what is said of files that are broken."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

import reluflow as rf

DIGITS = [5, 0, 1, 0, 1, 1]


def write(folder: Path, zipped: bool = False, prefix: str = "train") -> np.ndarray:
    """Six images of 2 x 3 pixels, written by hand."""
    images = np.random.default_rng(0).integers(0, 256, (6, 2, 3), dtype=np.uint8)
    for name, head, body in (
        ("images-idx3-ubyte", struct.pack(">IIII", 0x803, 6, 2, 3), images.tobytes()),
        ("labels-idx1-ubyte", struct.pack(">II", 0x801, 6), bytes(DIGITS)),
    ):
        raw = head + body
        path = folder / f"{prefix}-{name}{'.gz' if zipped else ''}"
        path.write_bytes(gzip.compress(raw) if zipped else raw)
    return images


@pytest.mark.parametrize("zipped", [False, True])
def test_two_digits_are_centred_pixels_in_stored_order(tmp_path, zipped):
    images = write(tmp_path, zipped)
    data = rf.datasets.mnist(tmp_path, 0, 1)
    pixels = images[1:].reshape(5, 6) / 255
    np.testing.assert_allclose(data.X, pixels - pixels.mean(axis=0), atol=1e-15)
    assert data.y.tolist() == [1, -1, 1, -1, -1]
    assert data.name == "mnist: 0 against 1"


def test_all_digits_are_classes_and_the_test_part_has_files_of_its_own(tmp_path):
    write(tmp_path, prefix="t10k")
    data = rf.datasets.mnist(tmp_path, part="test")
    assert data.classes == (0, 1, 5)
    assert data.X.shape == (6, 6)
    with pytest.raises(FileNotFoundError, match=r"folder must hold train-images-idx3-ubyte or the same with \.gz"):
        rf.datasets.mnist(tmp_path)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda raw: raw[:-1], r"be a whole IDX file of unsigned bytes, found 35 bytes for the shape \(6, 2, 3\)"),
        (lambda raw: b"\x00\x00\x0d\x03" + raw[4:], "found the first bytes 00 00 0d 03"),
        (lambda raw: raw[:7], "found the first bytes 00 00 08 03"),
    ],
)
def test_a_broken_file_is_named(tmp_path, damage, message):
    write(tmp_path)
    path = tmp_path / "train-images-idx3-ubyte"
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(ValueError, match=message) as found:
        rf.datasets.mnist(tmp_path)
    assert str(path) in str(found.value)


def test_a_zipped_file_that_is_cut_is_named(tmp_path):
    write(tmp_path, zipped=True)
    path = tmp_path / "train-labels-idx1-ubyte.gz"
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ValueError, match=r"labels-idx1-ubyte\.gz must be a whole IDX file .* found EOFError"):
        rf.datasets.mnist(tmp_path)


def test_what_does_not_fit_is_said(tmp_path):
    write(tmp_path)
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(struct.pack(">II", 0x801, 5) + bytes(5))
    with pytest.raises(ValueError, match="folder must hold as many labels as images, found 5 and 6"):
        rf.datasets.mnist(tmp_path)
    with pytest.raises(ValueError, match="part must be"):
        rf.datasets.mnist(tmp_path, part="all")  # type: ignore[call-overload]
    write(tmp_path)
    with pytest.raises(ValueError, match="folder must be a path, found a value of type NoneType"):
        rf.datasets.mnist(None)
    with pytest.raises(ValueError, match="b must be a class of mnist"):
        rf.datasets.mnist(tmp_path, 0, 7)
