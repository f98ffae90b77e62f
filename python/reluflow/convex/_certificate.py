"""What is proven about a network: `Certificate`, and one for each of K classes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._html import card
from .._validation import invalid, optional_module
from ..datasets import MultiClassDataset
from ..flow import MultiClassSolution
from ..networks import MultiClassNetwork, Network
from ._kkt import KKT
from ._local import Improvement
from ._solution import MaxMarginSolution

if TYPE_CHECKING:
    import pandas as pd

MIXED = "mixed"  # the verdict of classes that differ


@dataclass(frozen=True, eq=False)
class Certificate:
    """What is proven about a network, with the numbers.

    Attributes
    ----------
    verdict : {"global", "kkt_not_global", "not_kkt", "undecided"}
        "global": ½|θ|² is within `gap_tol` of a proven lower bound for networks of any width. "kkt_not_global": the
        KKT residual is within `kkt_tol`, and the convex program has a network of smaller norm. "not_kkt": the
        residual exceeds `kkt_tol` (or no margin is positive). "undecided": a KKT point, but the bounds leave both
        open.
    message : str
    value : float
        P = ½|θ|² of the network scaled to least margin 1; the normalised margin q_min/|θ|² is 1/(2P).
    lower : float
        Proven lower bound of P*.
    upper : float
        Value of the best network known: an upper bound of P*.
    gap : float
        (value - lower) / value.
    kkt : KKT or None
        Multipliers and residuals, of the samples that count; None if no margin is positive.
    dual_norm_lower, dual_norm_upper : float
        Bounds of v = max over unit u of |λᵀφ(Xu)| for the multipliers λ: P/v <= P* <= P, and v <= 1 proves the global
        optimum [WP Thm 3].
    local_optimum : bool or None
        Whether it is a local optimum of the non-convex problem; None if not decided.
    local_reason : str
    improvement : Improvement or None
        A path of networks with margins >= 1 and falling norm that starts at the network.
    convex : MaxMarginSolution or None
        The convex program, where it had to be solved.
    network : Network
        The network scaled to least margin 1, or as given if no margin is positive.
    """

    verdict: str
    message: str
    value: float
    lower: float
    upper: float
    kkt: KKT | None
    dual_norm_lower: float
    dual_norm_upper: float
    local_optimum: bool | None
    local_reason: str
    improvement: Improvement | None
    convex: MaxMarginSolution | None
    network: Network

    def __repr__(self) -> str:
        """One line: the verdict and its numbers."""
        return f"Certificate({self.verdict}: {self.message})"

    def _repr_html_(self) -> str:
        """Show the verdict and its numbers as a table in a notebook."""
        rows = [
            ("verdict", f"{self.verdict}: {self.message}"),
            ("½|θ|² at margin 1", f"{self.value:.10g}; no network has less than {self.lower:.10g}"),
            ("margin / |θ|²", f"{self.margin:.10g}"),
        ]
        if self.kkt is not None:
            rows.append(("KKT residual", f"{self.kkt.residual:.3g}"))
        rows.append(("local optimum", {True: "yes", False: "no", None: "not decided"}[self.local_optimum]))
        return card("Certificate", rows)

    @property
    def gap(self) -> float:
        """(value - lower) / value: at most this share of the norm can be saved."""
        return (self.value - self.lower) / self.value if np.isfinite(self.value) else float("inf")

    @property
    def margin(self) -> float:
        """The normalised margin q_min/|θ|²."""
        return 0.5 / self.value


@dataclass(frozen=True, eq=False)
class MultiClassCertificate:
    """Certificates of K classes, each against the rest: the programs (7) of [WP] are independent.

    Attributes
    ----------
    certificates : tuple of Certificate
        In the order of ``data.classes``.
    data : MultiClassDataset
    """

    certificates: tuple[Certificate, ...]
    data: MultiClassDataset

    def __len__(self) -> int:
        """Return K."""
        return len(self.certificates)

    def __iter__(self) -> Iterator[Certificate]:
        """Go through the certificates in the order of the classes."""
        return iter(self.certificates)

    def __getitem__(self, k: int) -> Certificate:
        """Return the certificate of class index k."""
        return self.certificates[k]

    def __repr__(self) -> str:
        """One line for each class: its label, verdict and numbers."""
        lines = [
            f"\n  {label}: {one.verdict}: {one.message}"
            for label, one in zip(self.data.classes, self.certificates, strict=True)
        ]
        return f"MultiClassCertificate(K={len(self)})" + "".join(lines)

    @property
    def verdicts(self) -> tuple[str, ...]:
        """The verdict of each class."""
        return tuple(one.verdict for one in self.certificates)

    @property
    def verdict(self) -> str:
        """The verdict that all classes share, or else "mixed"."""
        found = set(self.verdicts)
        return found.pop() if len(found) == 1 else MIXED

    @property
    def message(self) -> str:
        """One sentence a class."""
        named = zip(self.data.classes, self.certificates, strict=True)
        return "; ".join(f"class {label!r}: {one.message}" for label, one in named)

    @property
    def value(self) -> float:
        """Sum of the classes' values: the value of (7) at these networks; inf if one does not separate its class."""
        return float(sum(one.value for one in self.certificates))

    @property
    def lower(self) -> float:
        """Sum of the proven lower bounds."""
        return float(sum(one.lower for one in self.certificates))

    @property
    def upper(self) -> float:
        """Sum of the values of the best networks known."""
        return float(sum(one.upper for one in self.certificates))

    @property
    def gap(self) -> float:
        """(value - lower) / value: at most this share of the sum can be saved."""
        return (self.value - self.lower) / self.value if np.isfinite(self.value) else float("inf")

    def to_pandas(self) -> pd.DataFrame:
        """Return one row a class: class, verdict, value, lower, upper, gap, margin, kkt_residual, local_optimum.

        Raises
        ------
        ImportError
            pandas is not installed (extra ``analysis``).
        """
        pandas = optional_module("pandas", "analysis")
        names = ("verdict", "value", "lower", "upper", "gap", "margin")
        columns: dict[str, list[Any]] = {"class": list(self.data.classes)}
        columns |= {name: [getattr(one, name) for one in self.certificates] for name in names}
        columns["kkt_residual"] = [np.nan if one.kkt is None else one.kkt.residual for one in self.certificates]
        columns["local_optimum"] = [one.local_optimum for one in self.certificates]
        table: pd.DataFrame = pandas.DataFrame(columns)
        return table


def class_parts(solution: Any, data: MultiClassDataset) -> Sequence[Any]:
    """Return the K networks or solutions that stand for the classes of `data`.

    Raises
    ------
    ValueError
        `solution` is nothing of the kind, or has another number of classes.
    """
    if isinstance(solution, MultiClassSolution):
        parts: Sequence[Any] = solution.solutions
    elif isinstance(solution, MultiClassNetwork):
        parts = solution.networks
    else:
        expected = "be a MultiClassSolution or a MultiClassNetwork for data with classes"
        raise invalid("solution", expected, f"a {type(solution).__name__}")
    if len(parts) != data.K:
        raise invalid("solution", f"have one network for each of the {data.K} classes", f"{len(parts)}")
    return parts
