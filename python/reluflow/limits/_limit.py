"""The limit of a run: the direction that the flow tends to, or the critical point, polished and certified."""

from __future__ import annotations

import math
from dataclasses import dataclass

from .._validation import FloatArray, IntArray, ReadOnly
from ..networks import Network
from ._checks import Residuals
from ._point import Escape


@dataclass(frozen=True, eq=False, repr=False)
class Limit(ReadOnly):
    """Where a flow ends, from its last state: Newton on the equations of the limit in the last sign pattern.

    Of kind ``direction``, θ/|θ| tends to the KKT point of min ½|θ|² s.t. q_i >= 1 given here ([VSS, Problem (2)]). Of
    kind ``finite``, θ itself tends to the critical point given here, as it does where data cannot be separated.

    Attributes
    ----------
    kind : {"direction", "finite"}
    network : Network
        The limit: of norm |θ| = 1 as a direction, at its own norm as a critical point.
    margin : float
        Normalised margin q_min/|θ|² of all samples that count, with classes that of the least f_y - f_k; nan for the
        squared loss, which has none. Of a direction it is 0 where margins of samples stay finite (`reason` names them).
    duals : ndarray, shape (n,), or (n, K) with K outputs
        λ_i with the sign of y_i. Of a direction, the multipliers for margins of at least 1, so that Σ|λ_i| = ½|θ̃|² =
        1/(2 margin), over the samples whose margins grow where others rest; of a critical point, -∂L/∂f(x_i), of either
        sign for the squared loss. Of a direction with classes λ_ik = -μ_ik with the multiplier of f_y - f_k,
        λ_iy = Σ_k μ_ik, and Σ μ = 1/(2 margin).
    support : ndarray, shape (k,)
        Samples with a multiplier; of a direction, those on the margin.
    held : ndarray, shape (h, 2)
        Pairs (neuron, sample) held on their boundaries, of the neurons that do not vanish.
    residuals : Residuals
        How well each line of the certificate holds.
    certified : bool
        Whether all residuals are rounding and the state is on its way to the limit. Where the network is not unique
        (`freedom` above 0), what is: the margin, the multipliers, and mostly the function at the samples.
    reason : str
        Why it is not certified. Of a certified limit, what else has to be said: a network or multipliers that are not
        unique, samples that stay unfitted.
    freedom : int
        Dimension of the continuum of networks in the last pattern that have this margin and these multipliers; 0 for
        an isolated one. Of a critical point, of those with these outputs; how a group's weights are split among its
        neurons counts with K outputs alone. `network` is the one nearest to the state, and its place on the continuum
        is uncertain by about `turn`.
    turn : float
        Distance of the state from the limit: the angle in radians, or |θ - limit|/|θ| of a critical point (over the
        size of a neuron with margin 1, where θ is smaller).
    split_error : float
        Estimated error of the split of a group's weights among its neurons, as a part of |θ|. It comes from the state,
        which no polish improves, and falls as the run goes on; nan where neurons are still to join a group. The
        function of the limit does not depend on it.
    gradient_norm : float
        Norm of the least subgradient of L at a critical point, with the loss as a sum; nan for a direction.
    curvature : float
        Smallest eigenvalue of the Hessian of L, as a sum, on the moving directions that change the outputs: the rate
        at which the flow approaches a critical point. nan for a direction and where no output can change.
    point : {"global", "local minimum", "saddle", "not decided"}
        What is proved of a certified critical point. "global": no network of any width has a smaller loss, because the
        samples are interpolated or λ annihilates every neuron. "local minimum": no network near it has a smaller loss.
        "saddle": the neuron of `escape` leaves it and the loss falls. Of a direction, and where the limit is not
        certified, nothing is decided.
    escape : Escape or None
        How a neuron leaves a saddle.
    """

    kind: str
    network: Network
    margin: float
    duals: FloatArray
    support: IntArray
    held: IntArray
    residuals: Residuals
    certified: bool
    reason: str
    freedom: int
    turn: float
    split_error: float
    gradient_norm: float
    curvature: float = float("nan")
    point: str = "not decided"
    escape: Escape | None = None

    def __repr__(self) -> str:
        """One line: the kind, the margin or the kind of point, the largest residual and the verdict."""
        verdict = "certified" if self.certified else "not certified"
        said = f": {self.reason}" if self.reason else ""
        what = self.point if math.isnan(self.margin) else f"margin={self.margin:.10g}"
        return f"Limit({self.kind}, {what}, residual={self.residuals.largest:.1e}, {verdict}{said})"
