"""Data that several claims share."""

from __future__ import annotations

import numpy as np

from ...datasets import MultiClassDataset


def three_classes(cosine: float) -> MultiClassDataset:
    """Return three unit vectors with this cosine between any two, one a class."""
    gram = (1 - cosine) * np.eye(3) + cosine * np.ones((3, 3))
    return MultiClassDataset(np.linalg.cholesky(gram), [0, 1, 2])
