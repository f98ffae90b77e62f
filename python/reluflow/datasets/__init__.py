"""Data: the class `Dataset`."""

from __future__ import annotations

from ._dataset import Dataset

__all__ = ["Dataset"]
