"""From a solver's eight digits to sixteen: Newton's method on the optimality conditions of the active set.

The unknowns are λ on the support samples, p_ji = λ_i s_ji for the samples i on the boundaries of neuron j, and the
sizes ρ_j = |u_j|. The unit direction of neuron j is linear in them, û_j = s_j(Σ_i λ_i s_ji x_i + Σ_boundaries p_ji
x_i), and the equations are

    |û_j|² = 1,        x_i·û_j = 0 on the boundaries,        Σ_j ρ_j s_j y_i φ(x_i·û_j) = 1 on the support.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._least_distance import nonnegative
from .._linear_algebra import least_squares
from .._validation import FloatArray
from ._inputs import rectify

BoolArray = np.ndarray[tuple[int, ...], np.dtype[np.bool_]]

MAX_NEWTON = 12  # steps; from 1e-6 three are enough
RESIDUAL_TOL = 1e-15  # of the equations, all of size 1; no step helps below
CONVERGED = 1e-6  # a residual above this says that the active set is not that of a solution
WALL_TOL = 1e-6  # |x_i·û| / |x_i| below this is a boundary; a Clarabel solution has about 1e-8 there
SIZE_RTOL = 1e-9  # neurons smaller than this beside the sum are nothing


@dataclass(frozen=True, eq=False)
class Directions:
    """Unit directions where ±λᵀφ(Xu) is 1 nearly: those that can carry neurons.

    With ``has_cone`` they are confined to closed cells, and then boundaries count on all samples, else on the support
    only.
    """

    units: FloatArray  # (k, r)
    signs: FloatArray  # (k,)
    slopes: FloatArray  # (k, n)
    has_cone: bool


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """Neurons (unit directions, sizes, signs), duals, and which samples lie on whose boundary."""

    units: FloatArray  # (k, r)
    sizes: FloatArray  # (k,)
    signs: FloatArray  # (k,)
    duals: FloatArray  # (n,)
    support: BoolArray  # (n,)
    boundaries: BoolArray  # (k, n)
    slopes: FloatArray  # (k, n), of no account on boundaries

    @property
    def neurons(self) -> FloatArray:
        """The neurons u_j = ρ_j û_j."""
        neurons: FloatArray = self.sizes[:, None] * self.units
        return neurons


def sizes_for(outputs: FloatArray) -> FloatArray:
    """Return ρ >= 0 with ``outputs`` @ ρ nearest to 1, few of them above 0."""
    if outputs.size == 0:
        return np.zeros(outputs.shape[1])
    return nonnegative(outputs, np.ones(len(outputs)))


def active_set(R: FloatArray, y: FloatArray, duals: FloatArray, directions: Directions, leak: float) -> ActiveSet:
    """Read the active set off duals that are good to some digits and directions that could carry neurons."""
    units, signs = directions.units, directions.signs
    support = y * duals > 0
    outputs = (y[:, None] * rectify(R @ units.T, leak)) * signs
    rho = sizes_for(outputs[support])
    used = rho > SIZE_RTOL * rho.sum()
    near = np.abs(units[used] @ R.T) <= WALL_TOL * np.linalg.norm(R, axis=1)
    boundaries = near & (support | directions.has_cone)
    return ActiveSet(units[used], rho[used], signs[used], duals, support, boundaries, directions.slopes[used])


def polish(R: FloatArray, y: FloatArray, start: ActiveSet) -> ActiveSet | None:
    """Solve the equations of the active set; None if Newton's method leaves it or does not converge."""
    newton = _Newton(R, y, start)
    x = newton.start()
    best = np.inf
    for _ in range(MAX_NEWTON):
        residual, jacobian = newton.equations(x)
        size = float(np.abs(residual).max(initial=0.0))
        if not size < best:
            break
        best, kept = size, x
        if size <= RESIDUAL_TOL:
            break
        scales = newton.scales()
        x = x - scales * least_squares(jacobian * scales, residual)
    return newton.result(kept) if best < CONVERGED else None


class _Newton:
    """The equations of an active set in the unknowns (λ on the support, p on the boundaries, ρ)."""

    def __init__(self, R: FloatArray, y: FloatArray, start: ActiveSet) -> None:
        self.R, self.y, self.initial = R, y, start
        self.support = np.flatnonzero(start.support)
        self.at_neuron, self.at_sample = np.nonzero(start.boundaries)
        self.n_support, self.n_boundaries, self.k = len(self.support), len(self.at_neuron), len(start.sizes)
        self.slopes = np.where(start.boundaries, 0.0, start.slopes)  # a boundary's share is p, not λ times a slope
        self.vectors = self._vectors()

    def _vectors(self) -> FloatArray:
        """Return d û_j / d(λ, p), shape (k, n_support + n_boundaries, r)."""
        signs = self.initial.signs
        vectors = np.zeros((self.k, self.n_support + self.n_boundaries, self.R.shape[1]))
        vectors[:, : self.n_support] = (signs[:, None] * self.slopes[:, self.support])[:, :, None] * self.R[
            self.support
        ]
        place = self.n_support + np.arange(self.n_boundaries)
        vectors[self.at_neuron, place] = signs[self.at_neuron, None] * self.R[self.at_sample]
        return vectors

    def start(self) -> FloatArray:
        """Return the unknowns of the solution to be polished."""
        first = self.initial
        p = np.zeros(self.n_boundaries)
        for j in range(self.k):  # the shares that explain û_j best
            own = np.flatnonzero(self.at_neuron == j)
            if len(own):
                rest = first.units[j] - first.duals[self.support] @ self.vectors[j, : self.n_support]
                p[own] = least_squares(self.vectors[j, self.n_support + own].T, rest)
        return np.concatenate((first.duals[self.support], p, first.sizes))

    def scales(self) -> FloatArray:
        """Return the sizes of the unknowns, which differ by orders of magnitude where the margin is small."""
        dual = float(np.abs(self.initial.duals).max())
        size = float(self.initial.sizes.max())
        return np.concatenate((np.full(self.n_support + self.n_boundaries, dual), np.full(self.k, size)))

    def equations(self, x: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return residual and Jacobian."""
        head, rho = x[: self.n_support + self.n_boundaries], x[self.n_support + self.n_boundaries :]
        units = np.einsum("q,jqr->jr", head, self.vectors)
        heights = units @ self.R.T
        gains = self.slopes * self.initial.signs[:, None] * self.y  # d margin_i / d(ρ_j x_i·û_j)
        margins = (gains * heights)[:, self.support]
        residual = np.concatenate(
            (0.5 * (np.sum(units**2, axis=1) - 1), heights[self.at_neuron, self.at_sample], rho @ margins - 1)
        )
        jacobian = np.zeros((len(residual), len(x)))
        jacobian[: self.k, : len(head)] = np.einsum("jqr,jr->jq", self.vectors, units)
        boundaries = np.einsum("kqr,kr->kq", self.vectors[self.at_neuron], self.R[self.at_sample])
        jacobian[self.k : self.k + self.n_boundaries, : len(head)] = boundaries
        pull = np.einsum("j,ji,jqr->iqr", rho, gains[:, self.support], self.vectors, optimize=True)
        jacobian[self.k + self.n_boundaries :, : len(head)] = np.einsum("iqr,ir->iq", pull, self.R[self.support])
        jacobian[self.k + self.n_boundaries :, len(head) :] = margins.T
        return residual, jacobian

    def _refit(self, units: FloatArray, rho: FloatArray) -> FloatArray:
        """Return the sizes that suit the rounded directions best: with large sizes, their last digits matter."""
        gains = (self.slopes * self.initial.signs[:, None] * self.y * (units @ self.R.T))[:, self.support]
        error = 1 - rho @ gains
        fitted = rho + least_squares(gains.T, error)
        better = (fitted >= 0).all() and np.abs(1 - fitted @ gains).max(initial=0.0) < np.abs(error).max(initial=0.0)
        return np.asarray(fitted if better else rho, dtype=np.float64)

    def result(self, x: FloatArray) -> ActiveSet | None:
        """Return the active set of the unknowns if their signs are right."""
        head, rho = x[: self.n_support + self.n_boundaries], x[self.n_support + self.n_boundaries :]
        duals = np.zeros(len(self.y))
        duals[self.support] = head[: self.n_support]
        if (self.y * duals < 0).any() or (rho < 0).any():
            return None
        units = np.einsum("q,jqr->jr", head, self.vectors)
        units /= np.linalg.norm(units, axis=1)[:, None]
        first = self.initial
        rho = self._refit(units, rho)
        return ActiveSet(units, rho, first.signs, duals, first.support, first.boundaries, first.slopes)
