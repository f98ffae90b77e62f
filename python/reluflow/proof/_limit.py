"""Proves that a KKT point of the max-margin problem is where `sol.limit` says: Krawczyk's operator on its equations.

On the support samples and the live groups (neurons of one sign and pattern) the equations of
`reluflow.limits._kkt` are quadratic in the multipliers l and the masses A,

    Σ_c A_c D_c u_c = 1,    |u_c|² = 1,    u_c = D_cᵀ l,    D_c = rows y_i s_c b_ci P_c x_i,

so that F(x + h) = F(x) + J h + Q(h) without a remainder. F is computed with rational numbers, all else as upper bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from .._validation import FloatArray, IntArray, ReadOnly, instance, invalid
from ..flow import Solution
from ..layered._refused import refuse_layers
from ..limits import Limit
from ._frozen import why_not_tending
from ._proof import Proof
from ._rational import NotProvedError, by_boundary, dot, projected
from ._repeats import Repeats

# A sum or product of doubles in any order, with n terms: a relative error below n 2^-52. Bounds take it twice.
_UNIT = 2.0**-52
# Rounding of the bounds themselves, which are sums of non-negative numbers.
_UP = 1.0 + 1e-9
# Neurons below this part of the largest one vanish in the limit.
_LIVE = 1e-9
# Margins of samples that stay at f = 0 are rounding.
_NO_MARGIN = 1e-14
# Unknowns of the equations, and numbers of D that are multiplied out as rational numbers.
_MOST_UNKNOWNS = 400
_MOST_PRODUCTS = 200_000


@dataclass(frozen=True, eq=False, repr=False)
class ProvedLimit(ReadOnly):
    """What `reluflow.prove_limit` returns.

    Attributes
    ----------
    status : {"proved", "not_proved"}
        "proved": there is exactly one KKT point of min ½|θ|² s.t. y_i f(x_i) >= 1 with the support, pattern and groups
        of `sol.limit` within the bounds below, up to the split of a group's weights among its neurons.
    reason : str
        Why it is not proved; empty if it is.
    margin_lo, margin_hi : float
        The normalised margin q_min/|θ|² of that point is between them.
    duals : ndarray, shape (n,)
        Middles of the enclosures of its multipliers λ, with the signs of y; zero off the support. Samples that repeat
        one another share theirs as in `sol.limit`.
    dual_radius : float
        The multipliers are within this of `duals`.
    turn : float
        The direction w/|w| of every neuron of the point is within this of the one in `sol.limit.network`.
    tends : bool
        Whether the run is proved to tend to that point (again up to the split of a group); False: not decided.
    why_undecided : str
        Why that is not decided; empty if it is proved.
    """

    status: str
    reason: str
    margin_lo: float
    margin_hi: float
    duals: FloatArray
    dual_radius: float
    turn: float
    tends: bool = False
    why_undecided: str = "no proof of the run was given"

    def __bool__(self) -> bool:
        """Tell whether it is proved."""
        return self.status == "proved"

    def __repr__(self) -> str:
        """One line: the outcome and the bounds, or the reason."""
        if not self:
            return f"ProvedLimit(not proved: {self.reason})"
        run = "the run tends to it" if self.tends else f"that the run tends to it is not decided: {self.why_undecided}"
        bounds = f"margin in [{self.margin_lo!r}, {self.margin_hi!r}], directions within {self.turn:.1e}"
        return f"ProvedLimit({bounds}; {run})"


def prove_limit(sol: Solution, proof: Proof | None = None) -> ProvedLimit:
    """Prove that a KKT point lies where the limit direction of a run says.

    `sol.limit` is polished in doubles. This proves, for the doubles of the data in exact arithmetic, that the equations
    of the KKT point in its pattern have a solution within tiny bounds, that it is the only one there, and that all that
    is an inequality holds strictly: multipliers and masses are positive, all other margins larger, pre-activations on
    their side, and multipliers of boundaries that neurons slide on inside their bounds.

    That the run tends to it is proved where `proof` reaches a time at which every neuron is active on samples of its
    own sign alone and none that it feels can push it over a boundary (orthogonally separable data, for one): from then
    on its pattern is frozen, and its direction converges [1]_ [2]_. Elsewhere it is not decided.

    Parameters
    ----------
    sol : Solution
        A run whose `limit` is a direction.
    proof : Proof, optional
        A proof of this run, or of another run from the same start. Its last state is the one from which on the pattern
        is shown to be frozen. What it says is believed, also of one that was read from a file.

    Returns
    -------
    ProvedLimit
        Not proved, with the reason, where the multipliers are a continuum: the equations then have no single solution.

    Raises
    ------
    ValueError
        The limit is not a direction, or is one of a continuum of networks (`sol.limit.freedom` is above 0); or `proof`
        is of another problem.

    References
    ----------
    .. [1] K. Lyu and J. Li, "Gradient descent maximizes the margin of homogeneous neural networks", 2020.
    .. [2] Z. Ji and M. Telgarsky, "Directional convergence and alignment in deep learning", 2020.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.65, -0.47], [-0.47, 1.35]], [1, -1])
    >>> sol = rf.integrate(data, rf.Network.init(4, 2, scale=1e-2, seed=1), until=rf.Stop(limit=True))
    >>> proved = rf.prove_limit(sol)
    >>> bool(proved), proved.margin_hi - proved.margin_lo < 1e-12
    (True, True)
    >>> rf.prove_limit(sol, rf.prove(sol, until=100.0)).tends
    True
    """
    refuse_layers(sol, "sol", "the proofs are of such runs, with one output")
    instance(sol, "sol", Solution, "a reluflow.Solution")
    limit = sol.limit
    if limit.kind != "direction":
        raise invalid("sol", "have a limit direction", f"a limit of kind {limit.kind!r}")
    if limit.freedom:
        raise invalid("sol", "have an isolated limit", f"a continuum of dimension {limit.freedom}")
    if proof is not None:
        instance(proof, "proof", Proof, "a reluflow.Proof")
        _check_proof(proof, sol)
    try:
        with np.errstate(all="ignore"):
            X, y = np.asarray(sol.data.X), np.asarray(sol.data.y, float)
            repeats = Repeats.of(X, y)
            system = _System(X[repeats.first], y[repeats.first], float(sol.leak), repeats.merged(limit))
            proved = system.proved()
            proved = replace(proved, duals=repeats.shared(proved.duals, limit))
            if proof is None:
                return proved
            patterns = [(group.sign, group.sides[repeats.place].astype(np.int8)) for group in system.groups]
            why = why_not_tending(proof, patterns)
            return replace(proved, tends=not why, why_undecided=why)
    except NotProvedError as what:
        nothing = np.full(sol.data.n, np.nan)
        return ProvedLimit("not_proved", str(what), -math.inf, math.inf, nothing, math.inf, math.inf)


def _check_proof(proof: Proof, sol: Solution) -> None:
    """Ask that a proof is about the problem of a run."""
    problem = proof.problem
    same = [
        np.array_equal(problem["X"], sol.data.X) and np.array_equal(problem["y"], sol.data.y),
        np.array_equal(problem["W"], sol.initial.W) and np.array_equal(problem["a"], sol.initial.a),
        (problem["leak"], problem["loss"], problem["mean"], problem["t"])
        == (sol.leak, sol.loss, sol.reduction == "mean", sol.t_start),
    ]
    if not all(same):
        what = ("data", "start", "leak, loss, reduction or time")[same.index(False)]
        raise invalid("proof", "be about the problem of sol", f"other {what}")


@dataclass(frozen=True)
class _Group:
    """Neurons of one sign and pattern: slopes before the projection, and what they slide on."""

    sign: float
    sides: IntArray
    held: tuple[int, ...]
    w: FloatArray  # their direction, of norm 1
    mass: float


class _System:
    """The equations at `sol.limit`."""

    def __init__(self, X: FloatArray, y: FloatArray, leak: float, limit: Limit) -> None:
        net = limit.network
        self.X, self.y, self.leak = X, y, leak
        if not limit.margin > _NO_MARGIN:
            raise NotProvedError(f"the margin {limit.margin:.1e} of the limit is not positive")
        self.support = np.flatnonzero(limit.duals)
        self.l = np.abs(limit.duals[self.support])
        self.groups = _groups(self.X, net.W, net.a, limit.held, limit.margin)
        unknowns = len(self.l) + len(self.groups)
        if unknowns > _MOST_UNKNOWNS or len(self.groups) * len(self.l) * self.X.shape[1] > _MOST_PRODUCTS:
            raise NotProvedError(f"{unknowns} unknowns are too many to multiply out")
        self.exact = [self._rows(group) for group in self.groups]
        self.D = np.array([[[float(entry) for entry in row] for row in rows] for rows in self.exact])
        self.mass = np.array([group.mass for group in self.groups])

    def proved(self) -> ProvedLimit:
        """Enclose the solution, then check every inequality."""
        k = len(self.l)
        try:
            radius, scale = self._enclose()
        except NotProvedError as what:
            raise NotProvedError(self._continuum() or str(what)) from None
        of_l, of_mass = radius * scale[:k], radius * scale[k:]
        if not ((self.l > of_l).all() and (self.mass > of_mass).all()):
            raise NotProvedError("a multiplier or a mass is not certainly positive")
        turn = self._check(of_l, of_mass)
        total, off = math.fsum(self.mass), float(of_mass.sum()) * _UP
        duals = np.zeros(len(self.y))
        duals[self.support] = self.y[self.support] * self.l
        low, high = 0.5 / (total + off) * (1 - 4 * _UNIT), 0.5 / (total - off) * (1 + 4 * _UNIT)
        return ProvedLimit("proved", "", low, high, duals, float(of_l.max()), turn)

    def _continuum(self) -> str:
        """Say what of the solutions is not unique, as far as doubles tell: what makes the Jacobian singular."""
        k = len(self.l)
        # J (h, h') = 0 says Σ A |D_cᵀ h|² = 0, and then Σ h'_c D_c u_c = 0.
        n_duals = k - int(np.linalg.matrix_rank(self.D.transpose(0, 2, 1).reshape(-1, k)))
        if n_duals:
            many = f"the multipliers are not unique as far as doubles tell ({n_duals} free dimensions)"
            return f"{many}: a continuum of them solves the equations, and only a single solution can be enclosed"
        effect = np.einsum("ckd,cd->ck", self.D, np.einsum("ckd,k->cd", self.D, self.l))
        n_masses = len(self.mass) - int(np.linalg.matrix_rank(effect))
        if n_masses:
            many = f"the masses of groups are not unique as far as doubles tell ({n_masses} free dimensions)"
            return f"{many}: a continuum of networks solves the equations, and only a single solution can be enclosed"
        return ""

    def _slopes(self, group: _Group) -> FloatArray:
        return np.where(group.sides > 0, 1.0, np.where(group.sides < 0, self.leak, 0.0))

    def _rows(self, group: _Group) -> list[list[Fraction]]:
        """Return y_i s b_i P x_i of the support samples, as rational numbers."""
        firsts = [members[0][0] for members in by_boundary(self.X, group.held)]
        held = [[Fraction(value) for value in self.X[h].tolist()] for h in firsts]
        slopes = self._slopes(group)
        rows = []
        for i in self.support:
            factor = Fraction(float(self.y[i] * group.sign * slopes[i]))
            x = [factor * Fraction(value) for value in self.X[i].tolist()]
            rows.append(projected(x, held))
        return rows

    def _residual(self) -> FloatArray:
        """Return upper bounds of |F|, from rational numbers."""
        duals, masses = [Fraction(v) for v in self.l.tolist()], [Fraction(v) for v in self.mass.tolist()]
        first = [Fraction(-1)] * len(duals)
        second = []
        for rows, mass in zip(self.exact, masses, strict=True):
            columns = zip(*rows, strict=True)
            u = [dot(column, duals) for column in columns]
            second.append((1 - dot(u, u)) / 2)
            for i, row in enumerate(rows):
                first[i] += mass * dot(row, u)
        return np.abs([float(value) for value in (*first, *second)]) * (1 + 2 * _UNIT) + 1e-300

    def _enclose(self) -> tuple[float, FloatArray]:
        """Return r and the scale s: the solution is within r s, and the only one within the r that contracts."""
        k, d = len(self.l), self.X.shape[1]
        u = np.einsum("ckd,k->cd", self.D, self.l)
        effect = np.einsum("ckd,cd->ck", self.D, u)
        flat = np.sqrt(self.mass)[:, None, None] * self.D
        gram = np.einsum("cid,cjd->ij", flat, flat)
        # Of the second equations the halves of the norms, with the other sign, so that J is symmetric.
        J = np.block([[gram, effect.T], [effect, np.zeros((len(self.mass),) * 2)]])
        size_u = np.einsum("ckd,k->cd", np.abs(self.D), self.l)
        size_effect = np.einsum("ckd,cd->ck", np.abs(self.D), size_u)
        size_gram = np.einsum("cid,cjd->ij", np.abs(flat), np.abs(flat))
        roundings = 2.0 * (k + d + len(self.mass) + 8) * _UNIT
        of_J = roundings * np.block([[size_gram, size_effect.T], [size_effect, np.zeros_like(J[k:, k:])]])
        try:
            A = np.linalg.inv(J)
        except np.linalg.LinAlgError:
            raise NotProvedError("the equations are singular") from None
        size_A = np.abs(A)
        scale = np.concatenate((np.full(k, self.l.max()), np.full(len(self.mass), self.mass.max())))
        missed = np.abs(np.eye(len(J)) - A @ J) + size_A @ of_J + 2.0 * (len(J) + 2) * _UNIT * (size_A @ np.abs(J))
        along = np.einsum("ckd,k->cd", np.abs(self.D), scale[:k])
        bend = np.concatenate(
            (np.einsum("ckd,cd,c->k", np.abs(self.D), along, scale[k:]), 0.5 * (along**2).sum(axis=1))
        )
        start = float(((size_A @ self._residual()) / scale).max()) * _UP
        linear = float(((missed @ scale) / scale).max()) * _UP
        square = float(((size_A @ bend) / scale).max()) * _UP * (1 + 1e-6)
        if not linear < 0.5:
            raise NotProvedError("the equations are singular as far as doubles tell")
        # start + linear r + square r² <= r, and a contraction: linear + 2 square r < 1.
        radius = 2.0 * start / (1.0 - linear) * _UP
        if not (start + linear * radius + square * radius**2 < radius and linear + 2.0 * square * radius < 1.0):
            raise NotProvedError(
                f"the computed point is too far from a solution: residual {start:.1e}, bend of equations {square:.1e}"
            )
        return radius, scale

    def _check(self, of_l: FloatArray, of_mass: FloatArray) -> float:
        """Check sides, other margins, and multipliers of what slides; return the largest error of a direction."""
        margins = np.zeros(len(self.y))
        off_margins = np.zeros(len(self.y))
        turn = 0.0
        sizes = np.linalg.norm(self.X, axis=1) * _UP
        for c, group in enumerate(self.groups):
            u = self.l @ self.D[c]
            rounding = 2.0 * (len(self.l) + 4) * _UNIT * (self.l @ np.abs(self.D[c]))
            error = float(np.linalg.norm(of_l @ np.abs(self.D[c]) + rounding)) * _UP
            turn = max(turn, error + float(np.linalg.norm(u - group.w)) * _UP)
            z = self.X @ u  # w points along u = s g
            off = sizes * (error + 2.0 * (self.X.shape[1] + 4) * _UNIT * float(np.linalg.norm(u))) * _UP
            free = np.setdiff1d(np.arange(len(self.y)), group.held)
            if not (group.sides[free] * z[free] > off[free]).all():
                raise NotProvedError("a pre-activation is not certainly on its side")
            self._check_multipliers(group, of_l)
            part = group.sign * self._slopes(group) * z * self.y
            margins += self.mass[c] * part
            off_margins += (self.mass[c] * off + of_mass[c] * (np.abs(part) + off)) * _UP
            off_margins += 8.0 * _UNIT * self.mass[c] * np.abs(part)
        others = np.setdiff1d(np.arange(len(self.y)), self.support)
        if not (margins[others] - off_margins[others] > 1.0).all():
            raise NotProvedError("a margin off the support is not certainly above those on it")
        return turn

    def _check_multipliers(self, group: _Group, of_l: FloatArray) -> None:
        """Check that σ = μ/λ of each boundary that the group slides on is strictly between the leak and 1."""
        if not group.held:
            return
        boundaries = by_boundary(self.X, group.held)
        rows = self.X[[members[0][0] for members in boundaries]]
        slopes = self._slopes(group)[self.support]
        signed = self.y[self.support] * slopes
        raw = (signed * self.l) @ self.X[self.support]
        inverse = np.linalg.inv(rows @ rows.T)
        solve = inverse @ rows
        # |K⁻¹ - M| from the residual of M; K in doubles is known to a few units.
        gram_error = 2.0 * (rows.shape[1] + 4) * _UNIT * (np.abs(rows) @ np.abs(rows).T)
        residual = np.abs(np.eye(len(rows)) - inverse @ (rows @ rows.T)) + np.abs(inverse) @ gram_error
        worst = float(residual.sum(axis=1).max()) * _UP + 16 * len(rows) * _UNIT
        if not worst < 0.5:
            raise NotProvedError("boundaries on which a neuron slides are not certainly independent")
        multipliers = -solve @ raw
        roundings = 4.0 * (rows.shape[1] + 2 * len(rows) + 8) * _UNIT
        size = np.abs(inverse) @ np.abs(rows)
        of_raw = (np.abs(signed) * of_l) @ np.abs(self.X[self.support])
        of_raw = of_raw + 2.0 * (len(self.l) + 4) * _UNIT * (np.abs(signed) * self.l) @ np.abs(self.X[self.support])
        spread = size @ (of_raw + np.abs(raw) * (2.0 * worst + roundings)) * 2.0
        off = np.full(len(rows), float(spread.max())) * _UP
        for members, multiplier, error in zip(boundaries, multipliers, off, strict=True):
            low, high, rounding = self._edges(members, of_l)
            if not (low + rounding + error < multiplier < high - rounding - error):
                raise NotProvedError(
                    "a multiplier of a boundary on which a neuron slides is not certainly inside its bounds"
                )

    def _edges(self, members: list[tuple[int, float]], of_l: FloatArray) -> tuple[float, float, float]:
        """Return the bounds of a boundary's multiplier, the sum of its samples' on either side, and their error."""
        ends, error = np.zeros(2), 0.0
        for h, ratio in members:
            for place in np.flatnonzero(self.support == h):
                pull = float(self.y[h] * ratio * self.l[place])
                ends += pull * np.array([self.leak, 1.0] if ratio > 0 else [1.0, self.leak])
                error += abs(ratio) * float(of_l[place]) + 4.0 * (len(members) + 2) * _UNIT * abs(pull)
        return float(ends.min()), float(ends.max()), error * _UP


def _groups(X: FloatArray, W: FloatArray, a: FloatArray, held: IntArray, margin: float) -> list[_Group]:
    """Return the live neurons of a limit of norm 1 by sign and pattern; masses are for margins of 1."""
    norms = np.linalg.norm(W, axis=1)
    found: dict[tuple[object, ...], _Group] = {}
    for j in np.flatnonzero(np.hypot(norms, a) > _LIVE):
        slides = tuple(sorted(int(i) for neuron, i in held if neuron == j))
        sides = np.sign(X @ W[j]).astype(int)
        sides[list(slides)] = 0
        sign, mass = float(np.sign(a[j])), float(norms[j] * abs(a[j]) / margin)
        key = (sign, slides, sides.tobytes())
        known = found.get(key)
        found[key] = _Group(sign, sides, slides, W[j] / norms[j], mass + (known.mass if known else 0.0))
    return list(found.values())
