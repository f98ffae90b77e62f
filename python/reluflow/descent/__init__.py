"""Gradient descent and minibatch SGD: the naive Euler steps of the flow, to compare with."""

from __future__ import annotations

from ._descend import descend
from ._progress import DescentProgress
from ._result import DescentResult

__all__ = ["DescentProgress", "DescentResult", "descend"]
