"""How far a network is from a KKT point of min ½|θ|² s.t. y_i f(x_i) >= 1 [VSS Problem 2; LLWA Def. B.8; WP Prop. 3].

At a KKT point there are λ (signed like y, zero where the margin exceeds 1) and slopes s_ji in [α, 1] at the kinks with

    w_j = a_j Σ_i λ_i s_ji x_i,        a_j = Σ_i λ_i φ(w_j·x_i),

hence |w_j| = |a_j|, and Σ_i λ_i s_ji x_i has norm 1 where the neuron is not zero. The multipliers are found by least
squares: with μ_i = y_i λ_i >= 0 and p_ji = μ_i s_ji = α μ_i + (1 - α) t_ji, 0 <= t_ji <= μ_i, everything is linear in
(μ, t).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._least_distance import nonnegative
from .._linear_algebra import least_squares
from .._validation import FloatArray, ReadOnly
from ..datasets import Dataset
from ..networks import Network
from ._inputs import fixed, rectify
from ._solution import BoolArray

IntPairs = np.ndarray[tuple[int, ...], np.dtype[np.int64]]

TIE_WEIGHT = (
    1e5  # of the equations t + r = μ beside the others, which have size 1: they hold to 1e-10 before the last solve
)
SAME_NEURON = 1e-9  # directions closer than this, of one sign and pattern, share their multipliers
DEAD_RTOL = 1e-9  # a neuron below this share of |θ| is zero
MULTIPLIER_TOL = 1e-9  # how far the last solve may leave the bounds of μ and t


@dataclass(frozen=True, eq=False)
class KKT(ReadOnly):
    """Multipliers of a network scaled to q_min = 1, and the residual of each condition.

    Attributes
    ----------
    duals : ndarray, shape (n,)
        λ, signed like y.
    slopes : ndarray, shape (m, n)
        s_ji, multipliers in [α, 1] on the boundaries.
    boundaries : ndarray of bool, shape (m, n)
        The pairs w_j·x_i = 0 of neurons that are not zero.
    live : ndarray of bool, shape (m,)
        The neurons that are not zero.
    support : ndarray of bool, shape (n,)
        Samples of least margin, within the tolerance.
    weights : float
        Σ_j |w_j - a_j Σ λ s x|² to the power ½, over |θ|.
    outputs : float
        Σ_j (a_j - Σ λ φ(z_j))² to the power ½, over |θ|.
    complementarity : float
        max_i |λ_i| (q_i - 1) over Σ|λ_i|.
    balance : float
        max_j | |w_j| - |a_j| | over |θ|.
    unit : float
        max_j | |Σ λ s x| - 1 | over the live neurons.
    """

    duals: FloatArray
    slopes: FloatArray
    boundaries: BoolArray
    live: BoolArray
    support: BoolArray
    weights: float
    outputs: float
    complementarity: float
    balance: float
    unit: float

    @property
    def residual(self) -> float:
        """The largest of the residuals but `unit`, which weighs a small neuron like a large one."""
        return max(self.weights, self.outputs, self.complementarity, self.balance)


def kkt(net: Network, data: Dataset, *, support_tol: float, wall_tol: float) -> KKT:
    """Find the multipliers of a network with least margin 1.

    Parameters
    ----------
    net : Network
    data : Dataset
    support_tol : float
        Margins up to 1 + support_tol can have a multiplier.
    wall_tol : float
        |w·x| <= wall_tol |w||x| is a boundary, beside those of the pattern that the network carries.
    """
    margins = data.y * net(data.X)
    support = margins <= 1 + support_tol
    sizes = np.sqrt(np.sum(net.theta**2, axis=1))
    live = sizes > DEAD_RTOL * net.norm
    boundaries = on_boundary(net, data, wall_tol) & live[:, None]
    groups = _groups(net, data, boundaries, live)
    equations = _Equations(net, data, np.flatnonzero(support), boundaries, groups)
    duals, slopes = equations.solve()
    return _residuals(net, data, margins, KKT(duals, slopes, boundaries, live, support, 0, 0, 0, 0, 0))


def on_boundary(net: Network, data: Dataset, wall_tol: float) -> BoolArray:
    """Return the pairs w_j·x_i = 0, shape (m, n): to ``wall_tol``, or by the pattern that the network carries.

    The pattern alone is not enough: that of a flow is strict where the limit reaches the boundary.
    """
    limits = wall_tol * np.outer(np.linalg.norm(net.W, axis=1), np.linalg.norm(data.X, axis=1))
    boundaries: BoolArray = np.abs(net.W @ data.X.T) <= limits
    if net.pattern is not None and net.pattern.shape[1] == data.n:
        boundaries |= net.pattern == 0
    return boundaries


def _groups(net: Network, data: Dataset, boundaries: BoolArray, live: BoolArray) -> list[list[int]]:
    """Collect the live neurons with one sign, pattern and direction: they have the same equations up to their size."""
    signs = np.where(boundaries, 0, np.sign(net.W @ data.X.T)).astype(np.int8)
    groups: dict[tuple[float, bytes], list[list[int]]] = {}
    units = net.W / np.maximum(np.linalg.norm(net.W, axis=1), np.finfo(np.float64).tiny)[:, None]
    for j in np.flatnonzero(live):
        alike = groups.setdefault((float(np.sign(net.a[j])), signs[j].tobytes()), [])
        for group in alike:
            if np.linalg.norm(units[j] - units[group[0]]) <= SAME_NEURON:
                group.append(int(j))
                break
        else:
            alike.append([int(j)])
    return [group for alike in groups.values() for group in alike]


class _Equations:
    """The stationarity equations as a least-squares problem in μ (support) and t (boundaries of each group)."""

    def __init__(
        self, net: Network, data: Dataset, support: IntPairs, boundaries: BoolArray, groups: list[list[int]]
    ) -> None:
        self.net, self.data, self.support, self.groups = net, data, support, groups
        self.n_support, self.leak = len(support), net.leak
        self.pairs = [(g, k) for g, group in enumerate(groups) for k in np.flatnonzero(boundaries[group[0], support])]
        self.matrix, self.target = self._assemble(boundaries)

    def _assemble(self, boundaries: BoolArray) -> tuple[FloatArray, FloatArray]:
        """Return A, b: a block of rows a group, weighted by its size."""
        d, width = self.data.d, self.n_support + len(self.pairs)
        yX = self.data.y[self.support, None] * self.data.X[self.support]
        blocks, targets = [], []
        for g, group in enumerate(self.groups):
            w, a = self.net.W[group[0]], self.net.a[group[0]]
            weight = np.sqrt(len(group)) if len(group) == 1 else self._weight(group)
            heights = yX @ w * self.data.y[self.support]
            slopes = np.where(heights > 0, 1.0, self.leak)
            slopes[boundaries[group[0], self.support]] = self.leak
            block = np.zeros((d + 1, width))
            block[:d, : self.n_support] = (a * slopes[:, None] * yX).T
            block[d, : self.n_support] = self.data.y[self.support] * rectify(heights, self.leak)
            for place, (owner, k) in enumerate(self.pairs):
                if owner == g:
                    block[:d, self.n_support + place] = a * (1 - self.leak) * yX[k]
            blocks.append(weight * block)
            targets.append(weight * np.append(w, a))
        return np.vstack([np.empty((0, width)), *blocks]), np.concatenate([np.empty(0), *targets])

    def _weight(self, group: list[int]) -> float:
        """Return the size of a group of parallel neurons beside its first one."""
        return float(np.linalg.norm(self.net.theta[group]) / np.linalg.norm(self.net.theta[group[0]]))

    def solve(self) -> tuple[FloatArray, FloatArray]:
        """Return λ and the slopes of all neurons."""
        mu, t = self._bounded()
        mu, t = self._sharpened(mu, t)
        duals = np.zeros(self.data.n)
        duals[self.support] = self.data.y[self.support] * mu
        slopes = np.where(self.net.W @ self.data.X.T > 0, 1.0, self.leak)
        for (g, k), share in zip(self.pairs, t, strict=True):
            slope = self.leak + (1 - self.leak) * (share / mu[k] if mu[k] > 0 else 0.0)
            slopes[self.groups[g], self.support[k]] = slope
        return duals, slopes

    def _bounded(self) -> tuple[FloatArray, FloatArray]:
        """Solve by non-negative least squares in (μ, t, r), the ties t + r = μ weighted heavily."""
        n_pairs = len(self.pairs)
        ties = np.zeros((n_pairs, self.n_support + 2 * n_pairs))
        rows = np.arange(n_pairs)
        ties[rows, [k for _, k in self.pairs]] = -1.0
        ties[rows, self.n_support + rows] = ties[rows, self.n_support + n_pairs + rows] = 1.0
        scale = float(np.abs(self.matrix).max(initial=0.0)) or 1.0
        stacked = np.vstack(
            (np.hstack((self.matrix, np.zeros((len(self.matrix), n_pairs)))), TIE_WEIGHT * scale * ties)
        )
        found = nonnegative(stacked, np.concatenate((self.target, np.zeros(n_pairs))))
        mu = found[: self.n_support]
        t = np.minimum(found[self.n_support : self.n_support + n_pairs], mu[[k for _, k in self.pairs]])
        return mu, t

    def _sharpened(self, mu: FloatArray, t: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Solve once more with the bounds that hold put in, which leaves a plain least-squares problem."""
        owners = np.array([k for _, k in self.pairs], dtype=np.int64)
        share = t / np.where(mu[owners] > 0, mu[owners], 1.0)
        at_top, at_bottom = share >= 1 - MULTIPLIER_TOL, share <= MULTIPLIER_TOL
        columns = self.matrix[:, : self.n_support].copy()
        for place in np.flatnonzero(at_top):
            columns[:, owners[place]] += self.matrix[:, self.n_support + place]
        inside = np.flatnonzero(~at_top & ~at_bottom)
        used = np.flatnonzero(mu > 0)
        full = np.hstack((columns[:, used], self.matrix[:, self.n_support + inside]))
        found = least_squares(full, self.target)
        new_mu, new_t = np.zeros_like(mu), np.zeros_like(t)
        new_mu[used] = found[: len(used)]
        new_t[at_top] = new_mu[owners[at_top]]
        new_t[inside] = found[len(used) :]
        room = MULTIPLIER_TOL * max(1.0, float(mu.max(initial=0.0)))
        if (new_mu < -room).any() or (new_t < -room).any() or (new_t > new_mu[owners] + room).any():
            return mu, t
        new_mu = np.maximum(new_mu, 0.0)
        return new_mu, np.clip(new_t, 0.0, new_mu[owners])


def _residuals(net: Network, data: Dataset, margins: FloatArray, found: KKT) -> KKT:
    pulls = (found.slopes * found.duals) @ data.X
    heights = net.W @ data.X.T
    norms = np.linalg.norm(net.W, axis=1)
    total = float(np.abs(found.duals).sum())
    lengths = np.linalg.norm(pulls[found.live], axis=1)
    scale = net.norm if net.norm > 0 else 1.0
    return KKT(
        fixed(found.duals),
        fixed(found.slopes),
        found.boundaries,
        found.live,
        found.support,
        weights=float(np.linalg.norm(net.W - net.a[:, None] * pulls)) / scale,
        outputs=float(np.linalg.norm(net.a - rectify(heights, net.leak) @ found.duals)) / scale,
        complementarity=float(np.abs(found.duals * (margins - 1)).max()) / total if total > 0 else 0.0,
        balance=float(np.abs(norms - np.abs(net.a)).max()) / scale,
        unit=float(np.abs(lengths - 1).max(initial=0.0)),
    )
