"""Three hints that lead the flow to a linear classifier of suboptimal margin: [LLWA], Definition 6.1 and App. A.2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, ReadOnly, invalid, positive, real_array
from ._dataset import Dataset, one_target
from ._margin import linear_margin

PERPENDICULAR_TOL = 1e-9  # |cos| up to which a direction counts as perpendicular; computed ones reach 1e-15
N_HINTS = 3


@dataclass(frozen=True)
class HintBounds(ReadOnly):
    """What [LLWA, Appendix A.2] asks of H and eps so that Theorem 6.2 holds, and the values it was asked for.

    Attributes
    ----------
    eps, max_eps : float
        eps of the hints, and leak * min y_i <w*, x_i> over the base: eps must be smaller.
    H : float
        H of the first hint; it must exceed eps and both bounds below.
    principal : float
        H_0: H > H_0 says that w* is a principal direction (Assumption A.1).
    dominance : float
        n |μ⁻| + |Σ_{j>1} y_j x_j⁺|, which gives Assumption A.3. μ⁻ holds the first hint, so this bound grows with H.
    """

    eps: float
    max_eps: float
    H: float
    principal: float
    dominance: float

    @property
    def holds(self) -> bool:
        """Whether eps and H satisfy all conditions."""
        return self.eps < self.max_eps and max(self.eps, self.principal, self.dominance) < self.H


def hinted(base: Dataset, *, H: float, K: float, eps: float, w_perp: npt.ArrayLike | None = None) -> Dataset:
    """Put three hints in front of separable data.

    With w* the max-margin separator of the base, the hints are (H w*, +1), (eps w* + K w_perp, +1) and
    (eps w* - K w_perp, +1). For H and K large and eps small ([LLWA, Thm 6.2], see `hint_bounds`) the flow of a leaky
    ReLU network from small balanced weights ends at f(x)/|θ|² = φ(<w*, x>)/2, with the normalised margin eps/2, with
    probability 1 - 2^-m.

    Parameters
    ----------
    base : Dataset
        Linearly separable, d >= 2.
    H, K, eps : float
        Sizes of the hints, all above 0.
    w_perp : array_like, shape (d,), optional
        Unit vector perpendicular to w*. By default the coordinate axis that is closest to it, made perpendicular.

    Returns
    -------
    Dataset
        n + 3 samples, the hints first. Where the base has weights a hint counts 1.

    Raises
    ------
    ValueError
        The base is not separable or has d = 1, a size is not above 0, ``w_perp`` is no unit vector perpendicular to w*.

    References
    ----------
    [LLWA] Lyu, Li, Wang & Arora, Gradient Descent on Two-layer Nets, NeurIPS 2021, Definition 6.1.

    Examples
    --------
    >>> import reluflow as rf
    >>> base = rf.Dataset([[0.6, 0.3], [0.5, -0.2], [-0.6, 0.2], [-0.5, -0.4]], [1, 1, -1, -1])
    >>> rf.datasets.hinted(base, H=60, K=1, eps=0.125).X[:3, 0].round(12)
    array([60.   ,  0.125,  0.125])
    """
    one_target(base, "base")
    along, across, near = positive(H, "H"), positive(K, "K"), positive(eps, "eps")
    w_star = _separator(base)
    side = _perpendicular(w_star, w_perp)
    hints = np.vstack((along * w_star, near * w_star + across * side, near * w_star - across * side))
    y = np.concatenate((np.ones(N_HINTS), base.y))
    name = f"{base.name}, hinted".removeprefix(", ")
    weights = None if base.weights is None else np.concatenate((np.ones(N_HINTS), base.weights))
    return Dataset(np.vstack((hints, base.X)), y, weights=weights, name=name, feature_names=base.feature_names)


def hint_bounds(
    base: Dataset, *, H: float, K: float, eps: float, leak: float, w_perp: npt.ArrayLike | None = None
) -> HintBounds:
    """Return the bounds that [LLWA, App. A.2] puts on the hints, with a sum of samples for each as often as it counts.

    Parameters
    ----------
    base, H, K, eps, w_perp
        As in `hinted`.
    leak : float
        α in (0, 1].

    Raises
    ------
    ValueError
        As `hinted`; ``leak`` outside (0, 1].

    Examples
    --------
    >>> import reluflow as rf
    >>> base = rf.Dataset([[0.6, 0.3], [0.5, -0.2], [-0.6, 0.2], [-0.5, -0.4]], [1, 1, -1, -1])
    >>> bounds = rf.datasets.hint_bounds(base, H=60, K=1, eps=0.125, leak=0.5)
    >>> round(bounds.principal, 2), round(bounds.dominance, 2), bounds.holds
    (47.15, 33.69, True)
    """
    slope = positive(leak, "leak")
    if slope > 1:
        raise invalid("leak", "lie in (0, 1]", repr(slope))
    data = hinted(base, H=H, K=K, eps=eps, w_perp=w_perp)
    w_star = _separator(base)
    used = data.counts > 0
    y, counts = data.y[used], data.counts[used]
    signed = data.X[used] * y[:, None]
    along = signed @ w_star
    off = np.linalg.norm(signed - np.outer(along, w_star), axis=1)
    shares = counts * np.where(y > 0, 1.0, slope)  # x⁺ = share * x
    opposite = counts * np.where(y > 0, slope, 1.0)  # x⁻ = opposite * x
    dominance = np.linalg.norm(opposite @ signed) + np.linalg.norm(shares[1:] @ signed[1:])
    return HintBounds(
        eps=float(eps),
        max_eps=float(slope * along[N_HINTS:].min()),
        H=float(H),
        principal=float(off.max() * (counts @ off) / (slope * along[1:].min()) - counts[1:] @ along[1:]),
        dominance=float(dominance),
    )


def _separator(base: Dataset) -> FloatArray:
    used = base.counts > 0
    found = linear_margin(base.X[used], base.y[used])
    if not found.separable:
        raise invalid("base", "be linearly separable", f"a convex combination of y_i x_i of size {found.residual:.1e}")
    return found.direction


def _perpendicular(w_star: FloatArray, w_perp: npt.ArrayLike | None) -> FloatArray:
    if len(w_star) < 2:
        raise invalid("base", "have at least 2 inputs, for a direction perpendicular to w*", "1 input")
    if w_perp is None:
        axis = np.eye(len(w_star))[np.argmin(np.abs(w_star))]
        side = axis - (axis @ w_star) * w_star
        unit: FloatArray = side / np.linalg.norm(side)
        return unit
    given = real_array(w_perp, "w_perp", "(d,)")
    if given.shape != w_star.shape:
        raise invalid("w_perp", f"have {len(w_star)} entries", f"{len(given)} entries")
    size, cosine = float(np.linalg.norm(given)), float(given @ w_star)
    if abs(size - 1) > PERPENDICULAR_TOL or abs(cosine) > PERPENDICULAR_TOL:
        expected = "be a unit vector perpendicular to the max-margin separator of base"
        raise invalid("w_perp", expected, f"the norm {size:.6g} and the product {cosine:.3g} with it")
    return given
