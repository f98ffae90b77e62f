"""The equations of the slow drift: the velocity of masses and directions of groups, and its derivative.

With the support samples at one margin, D_c = diag(y) S_c X P_c on them, and y = (v_c, log A_c),

    v_c' = g_c - v_c (g_c·v_c),    (log A_c)' = 2 (g_c·v_c - 1),    g_c = D_cᵀ λ,    K λ = c 1,    λ·q = Σ A_c,

where K = J Jᵀ with J = (√A_c D_c, √A_c D_c v_c)_c is the kernel of the margins. What moves the groups is had without λ:
with J = S (Q R)ᵀ, S the norms of its rows, Jᵀ λ is c Q R⁻ᵀ S⁻¹ 1, known to as many digits as J. From λ, which has half
of them where samples almost depend on each other, the rates 10⁻⁷ of raw units would be noise.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import solve_triangular

from .._linear_algebra import svd
from .._validation import FloatArray

# Diagonal entries of R below this: the samples of the support depend on each other, and λ is not unique.
_DEPENDENT = 1e-12


def packed(v: FloatArray, log_mass: FloatArray) -> FloatArray:
    """Return y of directions (H, d) and masses (H,)."""
    return np.concatenate((v.ravel(), log_mass))


def unpacked(y: FloatArray, n_groups: int) -> tuple[FloatArray, FloatArray]:
    """Return directions (H, d) and log masses (H,) of y."""
    n = len(y) - n_groups
    return y[:n].reshape(n_groups, -1), y[n:]


@dataclass(frozen=True, eq=False)
class Factors:
    """What a point y says of its support.

    Attributes
    ----------
    v : ndarray, shape (H, d)
    root : ndarray, shape (H,)
        √A_c.
    along : ndarray, shape (H, k)
        D_c v_c.
    size : ndarray, shape (k,)
        S.
    Q, R : ndarray, shapes (H (d + 1), k), (k, k)
    low : ndarray, shape (k,)
        R⁻ᵀ S⁻¹ 1.
    margin, factor : float
        The mean of the margins, and c.
    """

    v: FloatArray
    root: FloatArray
    along: FloatArray
    size: FloatArray
    Q: FloatArray
    R: FloatArray
    low: FloatArray
    margin: float
    factor: float

    @classmethod
    def of(cls, D: FloatArray, y: FloatArray) -> Factors:
        """Factor J at y, for D of shape (H, k, d)."""
        v, log_mass = unpacked(y, len(D))
        root, along = np.exp(0.5 * log_mass), np.einsum("ckd,cd->ck", D, v)
        wide = root[:, None, None] * np.concatenate((D, along[:, :, None]), axis=2)
        J = wide.transpose(1, 0, 2).reshape(D.shape[1], -1)
        size = np.linalg.norm(J, axis=1)
        Q, R = np.linalg.qr((J / size[:, None]).T)
        low = solve_triangular(R, 1 / size, trans="T")
        margin = float(root**2 @ along.mean(axis=1))
        return cls(v, root, along, size, Q, R, low, margin, float(root @ root) / (margin * float(low @ low)))

    @property
    def is_unique(self) -> bool:
        """Whether λ is."""
        return bool(np.abs(np.diagonal(self.R)).min() > _DEPENDENT)

    def pulls(self) -> FloatArray:
        """Return g, shape (H, d)."""
        return self.factor * (self.Q @ self.low).reshape(len(self.v), -1)[:, :-1] / self.root[:, None]

    def duals(self) -> FloatArray:
        """Return λ with the signs that it has beside y, shape (k,)."""
        return np.asarray(self.factor * solve_triangular(self.R, self.low) / self.size)

    def levelled(self) -> FloatArray:
        """Return the y nearest to this one whose margins are the same, to first order."""
        lack = self.margin - self.root**2 @ self.along
        by = self.Q @ solve_triangular(self.R, lack / self.size, trans="T")
        by = by.reshape(len(self.v), -1) / self.root[:, None]
        return packed(self.v + by[:, :-1], 2 * np.log(self.root) + by[:, -1])

    def velocity(self) -> FloatArray:
        """Return y'."""
        g = self.pulls()
        along = (g * self.v).sum(axis=1)
        return packed(g - self.v * along[:, None], 2 * (along - 1))

    def derivative(self, D: FloatArray) -> FloatArray:
        """Return ∂y'/∂y: of K λ = c 1 follows Jᵀ δλ = Q (R⁻ᵀ S⁻¹ δc 1 - Qᵀ T) with δK λ = J T."""
        (H, d), g, A = self.v.shape, self.pulls(), self.root**2
        N = H * (d + 1)
        grows = (g * self.v).sum(axis=1)
        T, of_c = np.zeros((H, d + 1, N)), np.zeros(N)
        for c in range(H):
            dirs, mass, root = slice(c * d, (c + 1) * d), H * d + c, self.root[c]
            T[c, :d, dirs], T[c, d, dirs] = root * grows[c] * np.eye(d), root * g[c]
            T[c, :d, mass], T[c, d, mass] = root * g[c], root * grows[c]
            # c = Σ A_c / (q̄ 1ᵀ K⁻¹ 1), and the last falls by λᵀ δK λ / c².
            by_kernel = 1 / (self.factor**2 * float(self.low @ self.low))
            of_c[dirs] = 2 * A[c] * grows[c] * g[c] * by_kernel - A[c] * D[c].mean(axis=0) / self.margin
            of_c[mass] = A[c] * (g[c] @ g[c] + grows[c] ** 2) * by_kernel
            of_c[mass] += A[c] / A.sum() - A[c] * self.along[c].mean() / self.margin
        turned = self.Q @ (self.factor * np.outer(self.low, of_c) - self.Q.T @ T.reshape(N, N))
        of_g = turned.reshape(H, d + 1, N)[:, :d] / self.root[:, None, None]
        found = np.zeros((N, N))
        for c in range(H):
            dirs = slice(c * d, (c + 1) * d)
            of_growth = self.v[c] @ of_g[c]
            of_growth[dirs] += g[c]
            found[dirs] = of_g[c] - np.outer(self.v[c], of_growth)
            found[dirs, dirs] -= grows[c] * np.eye(d)
            found[H * d + c] = 2 * of_growth
        return found


@dataclass(frozen=True, eq=False)
class Frame:
    """Coordinates of the directions in which pulls are: what of v is across them has no pull, and only fades.

    Attributes
    ----------
    basis : ndarray, shape (H, d, r)
        Orthonormal columns that span the rows of D_c; zero beyond their rank.
    D : ndarray, shape (H, k, r)
        In these coordinates.
    across : ndarray, shape (H, d)
        Of v, at the time s and with the log masses of the frame.
    s : float
    log_mass : ndarray, shape (H,)
    """

    basis: FloatArray
    D: FloatArray
    across: FloatArray
    s: float
    log_mass: FloatArray

    @classmethod
    def of(cls, D: FloatArray, s: float, y: FloatArray) -> Frame:
        """Lay coordinates for D of shape (H, k, d) through the state y at the time s."""
        v, log_mass = unpacked(y, len(D))
        basis = bases(D)
        along = np.einsum("cdr,cd->cr", basis, v)
        across = v - np.einsum("cdr,cr->cd", basis, along)
        return cls(basis, D @ basis, across, s, log_mass)

    def reduced(self, y: FloatArray) -> FloatArray:
        """Return the y of these coordinates."""
        v, log_mass = unpacked(y, len(self.D))
        return packed(np.einsum("cdr,cd->cr", self.basis, v), log_mass)

    def whole(self, s: float, reduced: FloatArray) -> FloatArray:
        """Return the y of a state in these coordinates at the time s; what is across falls by v' = -v (g·v)."""
        along, log_mass = unpacked(reduced, len(self.D))
        left = np.exp(self.s - s + 0.5 * (self.log_mass - log_mass))
        return packed(np.einsum("cdr,cr->cd", self.basis, along) + left[:, None] * self.across, log_mass)


def bases(D: FloatArray) -> FloatArray:
    """Return orthonormal bases of the rows of each D_c, shape (H, d, r), filled up with zeros to the largest rank r."""
    _, sizes, rows = svd(D, full_matrices=False)
    is_counted = sizes > _DEPENDENT * sizes[:, :1]
    rank = int(is_counted.sum(axis=1).max())
    return np.asarray((rows * is_counted[:, :, None])[:, :rank].transpose(0, 2, 1))
