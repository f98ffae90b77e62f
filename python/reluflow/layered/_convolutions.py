"""Convolutions as index matrices: entry (output, input) has the number of the kernel's weight that joins them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._validation import integer, invalid
from ._graph import IndexArray
from ._layers import Builder, Layer, _checked_activation


@dataclass(frozen=True)
class Conv1d(Layer):
    """A convolution along one axis without padding. Units are ordered by channel, then by position.

    Parameters
    ----------
    channels : int
        Number of kernels.
    width : int
        Length of a kernel.
    stride : int, optional
        Distance between two positions.
    activation : {"relu", "linear"}, optional
        As in `Dense`.
    """

    channels: int
    width: int
    stride: int = 1
    activation: str | None = None

    def __post_init__(self) -> None:
        for name in ("channels", "width", "stride"):
            integer(getattr(self, name), name)
        _checked_activation(self.activation)

    def _matrix(self, builder: Builder, name: str) -> tuple[IndexArray, Any, tuple[int, ...]]:
        shape = builder.shapes[-1]
        if len(shape) > 2:
            raise invalid(name, "read inputs of the shape (channels, length)", f"the shape {shape}")
        inputs, length = shape if len(shape) == 2 else (1, shape[0])
        (outputs,) = _positions(name, (length,), (self.width,), self.stride)
        kernels = _kernels(builder, self.channels, inputs, (self.width,))
        idx = np.full((self.channels, outputs, inputs, length), -1, dtype=np.int64)
        for p in range(outputs):
            idx[:, p, :, p * self.stride : p * self.stride + self.width] = kernels
        return idx.reshape(self.channels * outputs, inputs * length), None, (self.channels, outputs)


@dataclass(frozen=True)
class Conv2d(Layer):
    """A convolution over images without padding. Units are ordered by channel, row and column.

    Parameters
    ----------
    channels : int
        Number of kernels.
    size : int or tuple of int
        Height and width of a kernel.
    stride : int, optional
        Distance between two positions, along both axes.
    activation : {"relu", "linear"}, optional
        As in `Dense`.
    """

    channels: int
    size: int | tuple[int, int]
    stride: int = 1
    activation: str | None = None

    def __post_init__(self) -> None:
        integer(self.channels, "channels")
        integer(self.stride, "stride")
        for side in self._size:
            integer(side, "size")
        _checked_activation(self.activation)

    @property
    def _size(self) -> tuple[int, int]:
        return self.size if isinstance(self.size, tuple) else (self.size, self.size)

    def _matrix(self, builder: Builder, name: str) -> tuple[IndexArray, Any, tuple[int, ...]]:
        shape = builder.shapes[-1]
        if len(shape) not in (2, 3):
            raise invalid(name, "read inputs of the shape (channels, height, width)", f"the shape {shape}")
        inputs, height, width = shape if len(shape) == 3 else (1, *shape)
        rows, columns = _positions(name, (height, width), self._size, self.stride)
        kernels = _kernels(builder, self.channels, inputs, self._size)
        idx = np.full((self.channels, rows, columns, inputs, height, width), -1, dtype=np.int64)
        tall, wide = self._size
        for p in range(rows):
            for q in range(columns):
                top, left = p * self.stride, q * self.stride
                idx[:, p, q, :, top : top + tall, left : left + wide] = kernels
        sizes = (self.channels, rows, columns)
        return idx.reshape(self.channels * rows * columns, inputs * height * width), None, sizes


def _positions(name: str, lengths: tuple[int, ...], widths: tuple[int, ...], stride: int) -> tuple[int, ...]:
    for length, width in zip(lengths, widths, strict=True):
        if width > length:
            raise invalid(name, f"have a kernel of at most {length}, the size of its input", f"a kernel of {width}")
    return tuple((length - width) // stride + 1 for length, width in zip(lengths, widths, strict=True))


def _kernels(builder: Builder, channels: int, inputs: int, size: tuple[int, ...]) -> IndexArray:
    fan_in = inputs * int(np.prod(size))
    kernels: IndexArray = builder.new(channels * fan_in, fan_in).reshape(channels, inputs, *size)
    return kernels
