"""KKT points θ = Σ λ ∇q + Σ μ ∇z of min ½|θ|² in one pattern, with given margins of some samples and z = 0 held."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from .._linear_algebra import least_squares
from .._validation import FloatArray, IntArray
from ._boxes import RANK_TOL
from ._frozen import Frozen
from ._newton import derivative, dimensions, zero_near

# The active set changes a few times at most: the weights of the state choose it.
_SET_CHANGES = 20
# A margin below 1 by more than this, or above it, is none of 1.
_MARGIN_TOL = 1e-9
# A state that is farther from the point than this, in radians, may tend to another one.
NEAR = 0.1
# Newton's method does not come back from farther away; nor from so many sets one after the other.
AFAR = 3 * NEAR
_TRIES_AFAR = 2


def kkt_point_near(
    frozen: Frozen,
    y: FloatArray,
    theta: FloatArray,
    support: IntArray,
    roles: tuple[npt.NDArray[np.bool_], IntArray],
    turn_to: Callable[[FloatArray], float],
) -> tuple[FloatArray, FloatArray, int] | None:
    """Return a KKT point near the state with its λ and freedom, if there is one, by changes of the support.

    `roles` are the samples of margins of at least 1 and those of 0, and `turn_to` is the angle between the state and θ.
    """
    used, balanced = roles
    tries_afar = 0
    for _ in range(_SET_CHANGES):
        levels = np.where(np.isin(support, balanced), 0.0, 1.0)
        theta, lam, freedom = kkt_point(frozen, y, theta, support, levels, lambda theta: turn_to(theta) > AFAR)
        full = np.zeros(len(y))
        full[support] = lam
        margins = y * np.asarray(frozen.outputs(theta))[:, 0]
        wrong = np.setdiff1d(support[lam < 0], balanced)
        wrong = wrong[np.argsort(full[wrong])]
        missing = np.flatnonzero(used & (margins < 1.0 - _MARGIN_TOL))
        tries_afar = tries_afar + 1 if turn_to(theta) > NEAR else 0
        before, support = support, np.union1d(np.setdiff1d(support, wrong[:1]), missing)
        if np.array_equal(support, before):  # margins that cannot all be 1 are so on average
            loose = before[margins[before] > 1.0 + _MARGIN_TOL]
            support = np.setdiff1d(support, loose[np.argsort(-margins[loose])][:1])
        if tries_afar == _TRIES_AFAR or np.array_equal(support, before):
            break
    return (theta, full, freedom) if turn_to(theta) <= NEAR else None


def kkt_point(
    frozen: Frozen,
    y: FloatArray,
    theta: FloatArray,
    support: IntArray,
    levels: FloatArray,
    is_far: Callable[[FloatArray], bool],
) -> tuple[FloatArray, FloatArray, int]:
    """Solve for θ with q = `levels` on the support, by least-norm steps; return θ, λ of the support and the freedom."""
    P, k = len(theta), len(support)

    def kept(theta: FloatArray) -> FloatArray:
        return np.vstack((y[support, None] * frozen.gradients(theta, support), frozen.normals(theta)))

    def signed(x: FloatArray) -> FloatArray:
        lam = np.zeros((len(y), 1))
        lam[support, 0] = y[support] * x[P : P + k]
        return lam

    def equations(x: FloatArray) -> FloatArray:
        pull = frozen.pull(x[:P], signed(x), x[P + k :]).theta
        margins = y * np.asarray(frozen.outputs(x[:P]))[:, 0]
        return np.concatenate((x[:P] - pull, margins[support] - levels, frozen.held_values(x[:P])))

    def jacobian(x: FloatArray) -> FloatArray:
        lam, mu = signed(x), x[P + k :]
        H, B = derivative(lambda t: frozen.pull(t, lam, mu).theta, x[:P]), kept(x[:P])
        return np.block([[np.eye(P) - H, -B.T], [B, np.zeros((len(B), len(B)))]])

    x = np.concatenate((theta, least_squares(kept(theta).T, theta, RANK_TOL)))
    x, null = zero_near(equations, jacobian, x, P, is_far)
    return x[:P], x[P : P + k], dimensions(null[:, :P])
