"""The limit of a layered run: the direction or the critical point that it tends to, polished and certified."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._validation import FloatArray, IntArray, ReadOnly
from ..limits._checks import Residuals
from ._network import DeepNetwork


@dataclass(frozen=True, eq=False, repr=False)
class LayeredLimit(ReadOnly):
    """Where the flow of a layered network ends, from its last state: Newton on the equations in the last pattern.

    Of kind ``direction``, a network that is homogeneous of degree L tends in direction to a KKT point of
    min ½|θ|² s.t. y_i f(x_i) >= 1 ([VSS, Problem (2)]): θ̃ = Σ λ_i ∇q_i + Σ μ_a ∇z_a with the multipliers of units that
    slide, with q_i = 0 where margins stay finite. Of kind ``finite``, θ itself tends to the critical point given here.
    Of kind ``none`` no limit is claimed: with biases or skips there is no such theorem in the norm of θ.

    Attributes
    ----------
    kind : {"direction", "finite", "none"}
    network : DeepNetwork
        The limit: of norm 1 as a direction, at its own norm as a critical point; the last state of kind ``none``, and
        where no KKT point was found near it, with the duals that fit it best.
    degree : int
        L of f(c θ) = c^L f(θ); 0 where the network is not homogeneous.
    margin : float
        Normalised margin q_min/|θ|^L, of all samples that count, with classes that of the least f_y - f_k; as in
        `Limit`, with L = 2 there. It is 0 where samples stay at f = 0 (`reason` says how many) or at finite margins
        while others grow (`reason` names them), and nan for the squared loss and where L is 0.
    duals : ndarray, shape (n,) or (n, K)
        λ_i of a direction, for margins of at least 1, with the sign of y_i: Σ |λ_i| = |θ̃|²/L, so that the least margin
        of the samples that grow is (L Σ |λ_i|)^(-L/2); 0 of the others. Of a critical point -∂L/∂f.
    support : ndarray, shape (k,)
        Samples with a multiplier.
    held : ndarray, shape (h, 3)
        Layer (0 is the first), unit and sample of what slides.
    residuals : Residuals
        How well each line of the certificate holds, with the slopes of what slides put into [leak, 1].
    certified : bool
        Whether all residuals are rounding and the state is near, in the same pattern, and does not leave the point as
        one leaves a saddle, nor the pattern on the straight way of second derivatives to a critical point. The
        certificate is that of the KKT point, or of the critical point: that the flow stays in the pattern is not
        proved.
    reason : str
        Why it is not certified, or what else has to be said.
    freedom : int
        Dimension of the continuum of such points in the last pattern, rotations between linear layers among them;
        `network` is the one nearest to the state.
    turn : float
        Angle between the state and the limit, nan if no KKT point was found near; of a critical point |θ - limit|/|θ|,
        and 0 of zero, to which decay leads.
    turn_rate : float
        How fast θ/|θ| turns, in radians for each unit of log |θ|, at the last state; nan where |θ| does not grow.
    layer_norms : ndarray, shape (number of layers,)
        Norms of the parameters of each layer of `network`, which are equal in a KKT point of layers in a row.
    """

    kind: str
    network: DeepNetwork
    degree: int
    margin: float
    duals: FloatArray
    support: IntArray
    held: IntArray
    residuals: Residuals
    certified: bool
    reason: str
    freedom: int
    turn: float
    turn_rate: float
    layer_norms: FloatArray

    def __repr__(self) -> str:
        """One line: the kind, the margin, the largest residual and the verdict."""
        said = f": {self.reason}" if self.reason else ""
        if self.kind == "none":
            return f"LayeredLimit(none, turn_rate={self.turn_rate:.3g}{said})"
        what = f"{self.kind}, " if math.isnan(self.margin) else f"{self.kind}, margin={self.margin:.10g}, "
        verdict = "certified" if self.certified else "not certified"
        return f"LayeredLimit({what}residual={self.residuals.largest:.1e}, {verdict}{said})"
