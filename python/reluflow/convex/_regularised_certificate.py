"""What is proven about a network that is trained with weight decay."""

from __future__ import annotations

from dataclasses import dataclass

from .._html import card
from ..networks import Network
from ._regularised_solution import RegularisedSolution, relative_gap


@dataclass(frozen=True, eq=False)
class RegularisedCertificate:
    """What is proven about a network beside the least of L + γ/2 |θ|² over networks of any width, with the numbers.

    Attributes
    ----------
    verdict : {"global", "critical_not_global", "not_critical", "undecided"}
        "global": the objective is within `gap_tol` of a proven lower bound for networks of any width.
        "critical_not_global": the residual is within `kkt_tol`, or what rounding leaves of it, and the convex program
        has a network of a smaller objective. "not_critical": the residual exceeds that, and the gap `gap_tol`.
        "undecided": a critical point, but the bounds leave both open.
    message : str
    value : float
        L + γ/2 |θ|² of the network.
    lower : float
        Proven lower bound of the objective.
    upper : float
        Objective of the best network known: an upper bound of the least one.
    gap : float
        (value - lower) / value.
    residual : float
        Norm of the least subgradient of the objective, beside γ|θ|; 0 at θ = 0.
    dual_norm_lower, dual_norm_upper : float
        Bounds of max over unit u of |λᵀφ(Xu)| for λ = -∂L/∂f of the network. At a critical point, at most γ proves the
        global optimum.
    weight_decay : float
        γ.
    loss, reduction : str
    convex : RegularisedSolution or None
        The convex program, where it had to be solved.
    network : Network
    """

    verdict: str
    message: str
    value: float
    lower: float
    upper: float
    residual: float
    dual_norm_lower: float
    dual_norm_upper: float
    weight_decay: float
    loss: str
    reduction: str
    convex: RegularisedSolution | None
    network: Network

    def __repr__(self) -> str:
        """One line: the verdict and its numbers."""
        return f"RegularisedCertificate({self.verdict}: {self.message})"

    def _repr_html_(self) -> str:
        """Show the verdict and its numbers as a table in a notebook."""
        rows = [
            ("verdict", f"{self.verdict}: {self.message}"),
            ("L + γ/2 |θ|²", f"{self.value:.10g}; no network has less than {self.lower:.10g}"),
            ("loss", f"{self.loss}, {self.reduction}, weight decay {self.weight_decay:g}"),
            ("residual", f"{self.residual:.3g}"),
            ("max |λᵀφ(Xu)| / γ", f"{self.dual_norm_upper / self.weight_decay:.10g}"),
        ]
        return card("Certificate with weight decay", rows)

    @property
    def gap(self) -> float:
        """(value - lower) / value: at most this share of the objective can be saved."""
        return relative_gap(self.value, self.lower)
