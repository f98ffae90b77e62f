"""What is proven about a network that is trained with the squared loss and no weight decay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._html import card
from .._validation import FloatArray, ReadOnly
from ..networks import Network
from ._regularised_solution import relative_gap


@dataclass(frozen=True, eq=False)
class FitCertificate(ReadOnly):
    """What is proven about the squared loss of a network and, where that is least, about its norm.

    The flow of the squared loss minimises no norm in general; the norm says how far from the simplest fit it ended.

    Attributes
    ----------
    verdict : {"global", "least_loss", "critical_not_global", "not_critical", "undecided"}
        "global": no network of any width has a smaller loss, and none with these outputs on the samples a smaller norm
        (to `gap_tol`). "least_loss": no network has a smaller loss, but one with these outputs has a smaller norm.
        "undecided": no network has a smaller loss, and the bounds leave the norm open. "critical_not_global": a
        critical point of the loss, within `kkt_tol`, and networks of other widths or weights have a smaller loss.
        "not_critical": neither.
    message : str
    loss : float
        L of the network.
    least_loss : float
        The least L of networks of any width: 0 but for samples on one ray, or opposite ones.
    residual : float
        Norm of the least subgradient of L, beside |θ| Σ c_i |f_i - y_i| |x_i|; 0 where one of them is 0.
    value : float
        Σ|a_j||w_j|: ½|θ|² of the network when its neurons are balanced.
    lower, upper : float
        Proven lower bound of Σ|a_j||w_j| for networks of any width with the same outputs on the samples, and the value
        of the best one known; nan where the loss is not the least.
    duals : ndarray, shape (n,)
        λ with |λᵀφ(Xu)| <= 1 for all unit u, which attains `lower` as λᵀf; zeros where the loss is not the least.
    best : Network
        The balanced network of the best value known; `network` itself where no other is better.
    network : Network
    """

    verdict: str
    message: str
    loss: float
    least_loss: float
    residual: float
    value: float
    lower: float
    upper: float
    duals: FloatArray
    best: Network
    network: Network

    def __repr__(self) -> str:
        """One line: the verdict and its numbers."""
        return f"FitCertificate({self.verdict}: {self.message})"

    def _repr_html_(self) -> str:
        """Show the verdict and its numbers as a table in a notebook."""
        rows = [
            ("verdict", f"{self.verdict}: {self.message}"),
            ("loss", f"{self.loss:.10g}; no network has less than {self.least_loss:.10g}"),
            ("residual", f"{self.residual:.3g}"),
        ]
        if not np.isnan(self.lower):
            rows.append(("Σ|a||w|", f"{self.value:.10g}; no network that fits has less than {self.lower:.10g}"))
        return card("Certificate of a fit", rows)

    @property
    def gap(self) -> float:
        """(value - lower) / value: at most this share of the norm can be saved; nan where the loss is not the least."""
        return float("nan") if np.isnan(self.lower) else relative_gap(self.value, self.lower)
