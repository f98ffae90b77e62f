"""K classes as K programs, one network a class with the labels +1 for it and -1 for the rest [WP (7), (8)]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..datasets import MultiClassDataset
from ._max_margin import GAP_TOL, max_margin
from ._solution import MaxMarginSolution


@dataclass(frozen=True, eq=False)
class MultiClassMaxMarginSolution:
    """The programs of all classes.

    Attributes
    ----------
    programs : tuple of MaxMarginSolution
        One a class, in the order of ``data.classes``.
    data : MultiClassDataset
    """

    programs: tuple[MaxMarginSolution, ...]
    data: MultiClassDataset

    @property
    def value(self) -> float:
        """The value of (7), the sum over the classes."""
        return float(sum(program.value for program in self.programs))

    @property
    def lower(self) -> float:
        """The value of feasible duals of (8)."""
        return float(sum(program.lower for program in self.programs))

    @property
    def duals(self) -> npt.NDArray[np.float64]:
        """Λ of (8), shape (n, K)."""
        return np.column_stack([program.duals for program in self.programs])

    @property
    def success(self) -> bool:
        """Whether every program is solved."""
        return all(program.success for program in self.programs)

    @property
    def status(self) -> str:
        """The first status that is not "optimal", else "optimal"."""
        return next((program.status for program in self.programs if not program.success), "optimal")

    @property
    def message(self) -> str:
        """The messages of the classes that were not solved."""
        failed = [
            f"class {name}: {program.message}"
            for name, program in zip(self.data.classes, self.programs, strict=True)
            if not program.success
        ]
        return "; ".join(failed) if failed else f"all {self.data.K} programs are solved"


def max_margin_multiclass(
    X: npt.ArrayLike | MultiClassDataset,
    labels: npt.ArrayLike | None = None,
    *,
    leak: float = 0.0,
    gap_tol: float = GAP_TOL,
    max_seconds: float | None = None,
) -> MultiClassMaxMarginSolution:
    """Solve the multi-class convex max-margin program (7) and its dual (8): K binary programs.

    Parameters
    ----------
    X : array_like, shape (n, d), or MultiClassDataset
    labels : array_like, shape (n,)
        Class of each sample; left out if ``X`` is a MultiClassDataset.
    leak, gap_tol, max_seconds
        As in `max_margin`; the time limit is for each class.

    Returns
    -------
    MultiClassMaxMarginSolution

    Raises
    ------
    ValueError
        Bad data, or one class only.

    Notes
    -----
    [WP, Theorem 2] claims that the flow on data that are orthogonally separable among K classes ends at this optimum.
    For K >= 3 it need not: two samples of the rest with different classes have a non-positive product and one label,
    so the binary problems are not orthogonally separable. `docs/convex.md` has the example.

    Examples
    --------
    >>> import numpy as np, reluflow as rf
    >>> solution = rf.convex.max_margin_multiclass(np.eye(3), [0, 1, 2])
    >>> round(solution.value / 3, 6)  # 1 + √2
    2.414214
    """
    data = X if isinstance(X, MultiClassDataset) else MultiClassDataset(X, _given(labels))
    programs = tuple(
        max_margin(data.binary(k), leak=leak, gap_tol=gap_tol, max_seconds=max_seconds) for k in range(data.K)
    )
    return MultiClassMaxMarginSolution(programs, data)


def _given(labels: npt.ArrayLike | None) -> npt.ArrayLike:
    if labels is None:
        raise ValueError("labels must be given unless X is a MultiClassDataset, found None")
    return labels
