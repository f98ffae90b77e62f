"""What is proven about a network of K outputs that was trained without weight decay."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._html import card
from .._validation import FloatArray, ReadOnly
from ..networks import Network
from ._regularised_solution import relative_gap


@dataclass(frozen=True, eq=False)
class OutputCertificate(ReadOnly):
    """What is proven about the norm of a network of K outputs, beside networks of any width.

    Of cross-entropy the others have margins f_y - f_k >= 1 for every other class k on all samples, and the network is
    scaled to a least margin of 1. Of the squared loss the others have the same outputs on the samples.

    Attributes
    ----------
    verdict : str
        "global": no network of any width has a smaller norm (to `gap_tol`), and of the squared loss none a smaller
        loss. "undecided": the bounds leave that open. Of cross-entropy, "kkt_not_global": a KKT point within
        `kkt_tol`, and a network of smaller norm has the same margins; "not_kkt": no KKT point within `kkt_tol`. Of the
        squared loss, "least_loss": no network has a smaller loss, but one with these outputs a smaller norm;
        "critical_not_global": a critical point of the loss, and others have a smaller one; "not_critical": neither.
    message : str
    value : float
        ½|θ|² of cross-entropy, Σ|a_j||w_j| of the squared loss, which is the same of balanced neurons.
    lower, upper : float
        Proven lower bound for networks of any width, and the value of the best one known; nan where the loss is not
        the least.
    residual : float
        |θ - Σ μ ∇(f_y - f_k)| / |θ| with the best multipliers; of the squared loss that of its gradient, beside
        |θ| Σ c_i |f_i - y_i| |x_i|.
    dual_norm_lower, dual_norm_upper : float
        Bounds of max over unit u of |Λᵀφ(Xu)| for the duals that `lower` rests on, before they are scaled to 1.
    duals : ndarray, shape (n, K)
        Λ with |Λᵀφ(Xu)| <= 1 for all unit u, which proves `lower`.
    loss, least_loss : float
        Squared loss of the network, and the least of networks of any width; nan for cross-entropy.
    network : Network
        As it was compared.

    Examples
    --------
    One sample is fitted with the norm |y| by a neuron along y; two neurons, one for each output, need more:

    >>> import reluflow as rf
    >>> pair = ([[1.0]], [[1.2, -0.5]])
    >>> one = rf.certify(rf.Network([[1.0]], [[1.2, -0.5]]), pair, loss="squared")
    >>> one.verdict, round(one.value, 6), round(one.lower, 6)
    ('global', 1.3, 1.3)
    >>> two = rf.certify(rf.Network([[1.0], [1.0]], [[1.2, 0.0], [0.0, -0.5]]), pair, loss="squared")
    >>> two.verdict, round(two.value, 6), round(two.lower, 6)
    ('least_loss', 1.7, 1.3)
    """

    verdict: str
    message: str
    value: float
    lower: float
    upper: float
    residual: float
    dual_norm_lower: float
    dual_norm_upper: float
    duals: FloatArray
    loss: float
    least_loss: float
    network: Network

    def __repr__(self) -> str:
        """One line: the verdict and its numbers."""
        return f"OutputCertificate({self.verdict}: {self.message})"

    def _repr_html_(self) -> str:
        """Show the verdict and its numbers as a table in a notebook."""
        rows = [("verdict", f"{self.verdict}: {self.message}"), ("residual", f"{self.residual:.3g}")]
        if not np.isnan(self.lower):
            rows.append(("norm", f"{self.value:.10g}; no network of this kind has less than {self.lower:.10g}"))
        return card("Certificate of several outputs", rows)

    @property
    def gap(self) -> float:
        """(value - lower) / value: at most this share of the norm can be saved; nan where the loss is not the least."""
        return float("nan") if np.isnan(self.lower) else relative_gap(self.value, self.lower)
