"""The result of every condition: the verdict, the number behind it and a witness that can be checked by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from ..datasets import MultiClassDataset
from ..datasets._dataset import one_target
from ..losses import require_labels

Witness = TypeVar("Witness", covariant=True)

WORDS = {True: "holds", False: "fails", None: "not decided"}


@dataclass(frozen=True, eq=False)
class Verdict(Generic[Witness]):
    """Whether a condition holds, and why.

    Attributes
    ----------
    name : str
        The condition, with its place in the papers.
    holds : bool or None
        None: neither proved nor refuted within the limits of the function.
    value : float
        The number that decides.
    meaning : str
        What the number is and which bound it must obey.
    witness : object
        What proves the verdict either way; its class says how.

    Examples
    --------
    >>> import reluflow as rf
    >>> verdict = rf.conditions.linear_separability(rf.datasets.wang_pilanci("obtuse"))
    >>> print(verdict)
    linear separability [LLWA, Assumption 3.2]: holds, 1.36317 (margin of the best unit vector, above 0)
    >>> verdict.holds, len(verdict.witness.support)
    (True, 2)
    """

    name: str
    holds: bool | None
    value: float
    meaning: str
    witness: Witness

    def __bool__(self) -> bool:
        """Tell whether the condition is proved to hold."""
        return self.holds is True

    def __str__(self) -> str:
        """One line: name, verdict, number and what it means."""
        return f"{self.name}: {WORDS[self.holds]}, {self.value:.6g} ({self.meaning})"


def check_data(data: object) -> None:
    """Refuse anything but a binary dataset."""
    if isinstance(data, MultiClassDataset):
        one_target(data, expected="a binary Dataset (data.binary(k) and data.pair(a, b) give one)")
    require_labels(one_target(data))
