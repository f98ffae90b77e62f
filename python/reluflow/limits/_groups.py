"""Groups of neurons with one pattern row and one sign of a: in the limit each group is one direction."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._validation import FloatArray, IntArray, PatternArray
from ..datasets import Dataset
from ..kinks._boundaries import Boundaries, boundaries, exact_signs, off, slopes, span
from ..networks import Network


@dataclass(frozen=True, eq=False)
class Groups:
    """The C groups of neurons that can move, with what they share.

    Attributes
    ----------
    X : ndarray, shape (n, d)
    of : ndarray, shape (m,)
        Group of each neuron; -1 for those at rest for ever: zero ones, and ones without active samples.
    pattern : ndarray, shape (C, n), int8
    sign : ndarray, shape (C,)
        Sign of the output weights.
    slope : ndarray, shape (C, n)
        1 where active, the leak where inactive, 0 where held.
    bases : tuple of ndarray, shapes (rank, d)
        Orthonormal bases of the span of the held samples.
    boundaries : Boundaries
    """

    X: FloatArray
    of: IntArray
    pattern: PatternArray
    sign: FloatArray
    slope: FloatArray
    bases: tuple[FloatArray, ...]
    boundaries: Boundaries

    def __len__(self) -> int:
        return len(self.sign)

    def pulls(self, lam: FloatArray) -> FloatArray:
        """u_c = P_c Σ λ_i s_ci x_i, shape (C, d)."""
        return self.on_boundaries((self.slope * lam) @ self.X)

    def on_boundaries(self, vectors: FloatArray) -> FloatArray:
        """Project a vector of each group, shape (C, d), onto the boundaries that the group holds."""
        own = [off(vector, basis) for vector, basis in zip(vectors, self.bases, strict=True)]
        return np.array(own).reshape(vectors.shape)

    def map(self, group: int, samples: IntArray | slice = slice(None)) -> FloatArray:
        """B_c = S_c X P_c on some samples, shape (k, d): u_c = B_cᵀ λ, and group c adds A_c B_c u_c to the values f."""
        return off(self.slope[group, samples, None] * self.X[samples], self.bases[group])

    def members(self, group: int) -> IntArray:
        """Neurons of a group."""
        return np.flatnonzero(self.of == group)

    def held_boundaries(self, group: int) -> IntArray:
        """Boundaries that the neurons of a group hold."""
        return np.unique(self.boundaries.boundary[self.pattern[group] == 0])

    def values(self, z: FloatArray) -> FloatArray:
        """Values f(x_i) of groups with vectors z_c = A_c u_c, shape (n,)."""
        return np.asarray(np.einsum("cn,cn->n", self.slope, z @ self.X.T))

    def placed(self, group: int, boundary: int, side: int, leak: float) -> Groups:
        """Put a group on a side of a boundary, 1 or -1 as its normal points, or onto it (0)."""
        rows = self.boundaries.members(boundary)
        pattern, bases = self.pattern.copy(), list(self.bases)
        pattern[group, rows] = side * np.sign(self.boundaries.reach[rows])
        held = np.unique(self.boundaries.boundary[pattern[group] == 0])
        bases[group] = span(self.boundaries.normal[held])
        return replace(self, pattern=pattern, slope=slopes(pattern, leak), bases=tuple(bases))

    def without(self, dropped: Sequence[int] | IntArray) -> Groups:
        """Leave out some groups; their neurons count as vanishing."""
        kept = np.setdiff1d(np.arange(len(self)), dropped)
        number = np.full(len(self) + 1, -1)  # the last place is for neurons of no group
        number[kept] = np.arange(len(kept))
        return replace(
            self,
            of=number[self.of],
            pattern=self.pattern[kept],
            sign=self.sign[kept],
            slope=self.slope[kept],
            bases=tuple(self.bases[c] for c in kept),
        )


def groups(data: Dataset, net: Network) -> Groups:
    """Sort the neurons of a network into groups, by its carried pattern or else by the signs of W Xᵀ."""
    pattern = exact_signs(net.W, data.X) if net.pattern is None else net.pattern
    sign = np.where(net.a < 0, -1, 1).astype(np.int8)
    moving = slopes(pattern, net.leak).any(axis=1) & net.theta.any(axis=1)
    keys, numbers = np.unique(np.column_stack((sign, pattern))[moving], axis=0, return_inverse=True)
    of = np.full(net.width, -1, dtype=np.int64)
    of[moving] = numbers.ravel()
    rows = np.asarray(keys[:, 1:])
    found = boundaries(data.X)
    bases = tuple(span(found.normal[np.unique(found.boundary[row == 0])]) for row in rows)
    return Groups(data.X, of, rows, keys[:, 0].astype(np.float64), slopes(rows, net.leak), bases, found)


def spread(groups: Groups, net: Network, z: FloatArray) -> tuple[Network, float]:
    """Build the network of groups with vectors z_c = A_c u_c of length A_c, split among the neurons as in `net`.

    Inside a sector all neurons share one linear map of (w, a), which tends to one of rank one, (±u, 1) times a vector
    near it, as they grow; so their shares of the mass tend to those of (|a_j| + s w_j·û)². How near is not known from
    the state: the shares of neurons that are spread by an angle, in a group that turns by another, are uncertain by
    the product of both. The norm of this error, as a part of |θ|, is returned with the network.
    """
    W, a, error = np.zeros_like(net.W), np.zeros_like(net.a), np.zeros_like(net.a)
    for c in np.flatnonzero(z.any(axis=1)):
        rows = groups.members(int(c))
        mass = np.linalg.norm(z[c])
        unit = groups.sign[c] * z[c] / mass
        share = np.maximum(np.abs(net.a[rows]) + net.W[rows] @ unit, 0.0)
        share = share / share.max() if share.any() else np.ones(len(rows))  # so that no square underflows
        share /= np.linalg.norm(share)
        a[rows] = groups.sign[c] * np.sqrt(mass) * share
        W[rows] = np.abs(a[rows, None]) * unit
        output = np.abs(net.a[rows])
        least = np.finfo(np.float64).eps * np.maximum(output, np.abs(net.W[rows]).max(axis=1))  # no overflow below
        own = net.W[rows] / np.maximum(np.maximum(output, least), np.finfo(np.float64).tiny)[:, None]
        middle = share**2 @ own
        error[rows] = a[rows] * np.linalg.norm(own - middle, axis=1) * np.linalg.norm(middle - unit)
    size = float(np.linalg.norm(a))
    return net._with(W, a), float(np.linalg.norm(error)) / size if size > 0 else 0.0
