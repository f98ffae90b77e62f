"""Polish and certify the limit of a layered run, see `LayeredLimit`."""

from __future__ import annotations

import numpy as np
from scipy.optimize import nnls

from .._linear_algebra import least_squares
from .._validation import FloatArray
from ..kinks._boundaries import names
from ..limits._checks import UNKNOWN, Residuals
from ..limits._growing import doubts_of_rest
from ._balanced import balanced_at, growing_samples
from ._boxes import RANK_TOL, multipliers_in_boxes
from ._decayed import falls_to_zero
from ._frozen import Frozen
from ._gradient import Numbers, complex_duals, duals
from ._graph import degree_of, norm_of
from ._kkt import AFAR, NEAR, kkt_point_near
from ._leaving import doubts_of_leaving
from ._limit import LayeredLimit
from ._margins import margins_at, margins_of
from ._model import Problem
from ._network import DeepNetwork
from ._newton import derivative, dimensions, zero_near
from ._on_the_way import doubts_on_the_way, way_to
from ._vanishing import doubts_of_vanishing, ends_of, vanishing_units

# Samples whose weight is below this part of the largest are far from the margin; they come back if they are violated.
_WEIGHT_PART = 1e-6
# Residuals up to this are rounding of a polished point.
_CERTIFIED_TOL = 1e-9
# No such point is looked for where more than this part of θ is no pull of the samples; at most 0.17 were, near one.
_MOST_LEFT = 0.3
# How far the weight of a sample at f = 0 exceeds all others, at least: those of a growing network fall without end.
_OUTWEIGHS = 1e12
# The same beside units that vanish, whose numbers keep digits.
_IS_WALL = 1e3
# A dual of the squared loss below this part of its terms is rounding.
_ROUNDING = 1e-12
# Roundings of multipliers that cancel, by which a gradient may be off; what is more of it is no rounding to rely on.
_ROUNDINGS, _MOST_ROUNDING = 8.0, 1e-7
# The equations of more unknowns are not set up: a dense matrix and its eigenvalues, some seconds.
MOST_UNKNOWNS = 1500


def limit_of_layers(
    net: DeepNetwork, frozen: Frozen, problem: Problem, weights: FloatArray | None = None
) -> LayeredLimit:
    """Find the limit of a flow that stands at `net` in the pattern of `frozen`, with given -∂L/∂q or those of `net`."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):  # tries of Newton's method that go too far
        return _Search(net, frozen, problem, weights).run()


class _Search:
    """What is known of the state, and the two kinds of limits."""

    def __init__(self, net: DeepNetwork, frozen: Frozen, problem: Problem, weights: FloatArray | None) -> None:
        self.net, self.frozen, self.weights = net, frozen, weights
        self.targets, self.loss, self.counts = problem.targets, problem.loss, problem.counts
        decay = problem.decay
        self.decay = None if decay is None or not decay.any() else decay / problem.factor  # beside the sum of losses
        n = len(self.targets)
        self.counted = np.ones(n, dtype=bool) if self.counts is None else self.counts > 0
        self.used = self.counted
        self.resting = np.zeros(n, dtype=bool)
        if self.loss in ("logistic", "exponential") and self.decay is None:
            # A sample that moves no parameter stays at f = 0, whatever the flow does.
            self.resting = self.used & ~frozen.gradients(net.theta, np.arange(n)).any(axis=1)
            self.used = self.used & ~self.resting
        self.degree, self.inhomogeneous = degree_of(net.nodes)
        self.f = np.asarray(frozen.outputs(net.theta))
        self.balanced = np.empty(0, dtype=np.int64)  # samples whose margins stay finite while others grow

    def run(self) -> LayeredLimit:
        of_margins = self.loss in ("logistic", "exponential")
        if self._falls_to_zero():
            return self._zero()
        unknowns = len(self.net.theta) + len(self.frozen.held)
        # With given weights margins at rest may be positive, too.
        grows = self.decay is None and (self.weights is None or not self._find_balanced()) and self._fits()
        if grows and not self.degree:
            return self._unclaimed(self.inhomogeneous)
        if grows and not of_margins:
            return self._unclaimed("directions of cross-entropy are certified for two layers (rf.Network) alone")
        if unknowns > MOST_UNKNOWNS:
            return self._unclaimed(f"its equations have {unknowns:,} unknowns, {MOST_UNKNOWNS:,} can be solved")
        if grows or len(self.balanced) or self._find_balanced():
            return self._direction()
        return self._finite() if self.weights is None else self._unclaimed("margins that stayed finite do not stay")

    def _fits(self) -> bool:
        """Whether all samples are on their right side, so that θ grows; not if none moves it."""
        if self.loss == "squared" or not self.used.any():
            return False
        return bool((margins_of(self.f, self.targets)[self.used] > 0).all())

    def _find_balanced(self) -> bool:
        """Find the samples whose margins stay finite while all others grow, and take them for those."""
        if self.decay is not None or not self.degree or self.loss not in ("logistic", "exponential"):
            return False
        lam = self._duals(self.f) if self.weights is None else self.targets * self.weights[:, None]
        grows = growing_samples(self.frozen, self.net.theta, self.targets, lam, self.used)
        if not len(grows):
            return False
        self.balanced = np.setdiff1d(np.flatnonzero(self.used), grows)
        self.used = np.isin(np.arange(len(self.used)), grows)
        return True

    # --- decay to zero ---

    def _falls_to_zero(self) -> bool:
        if self.decay is None:
            return False
        how = (self.loss, self.counts, self.decay, self.degree, self.net.norm)
        return falls_to_zero(self.net.nodes, self.frozen.X, self.targets, *how)

    def _zero(self) -> LayeredLimit:
        zero = np.zeros_like(self.net.theta)
        lam = self._duals(np.zeros_like(self.f))
        nothing = Residuals(0.0, 0.0, 0.0, 0.0)
        return self._limit("finite", zero, lam, nothing, [], 0, 0.0)

    # --- directions ---

    def _direction(self) -> LayeredLimit:
        y, L = self.targets[:, 0], self.degree
        q = y * self.f[:, 0]
        scale = float(q[self.used].min() ** (1.0 / L))
        state = np.asarray(self.net.theta / scale)
        fit, left = self._fit(q)
        theta, full, freedom, turn = state, fit * scale ** (L - 2), 0, np.nan
        support = np.union1d(np.flatnonzero(fit), self.balanced)
        how = (support, (self.used, self.balanced), self._turn_to)
        if left <= _MOST_LEFT and (point := kkt_point_near(self.frozen, y, state, *how)) is not None:
            theta, full, freedom = point
            turn = self._turn_to(theta)
        unit = theta / float(np.linalg.norm(theta))
        felt, reasons = full, list[str]()
        if len(self.balanced):
            at = (q[self.balanced], self.balanced, self.loss, self.weights)
            found = balanced_at(self.frozen, unit, y, self.counts, *at)
            felt, reasons = (full, [found]) if isinstance(found, str) else (found.outweighing(full), [])
        levels = np.where(np.isin(np.arange(len(y)), self.balanced), 0.0, 1.0)
        above = y * np.asarray(self.frozen.outputs(theta))[:, 0] - levels
        residuals = self._checked(theta, felt * y, above)
        reasons = reasons or self._doubts(residuals, turn) or self._leaving(theta, felt * y, state)
        full = np.where(self.used, full, 0.0)
        return self._limit("direction", unit, full * y, residuals, reasons, freedom, turn)

    def _turn_to(self, theta: FloatArray) -> float:
        """Return the angle between the state and θ."""
        unit, state = theta / np.linalg.norm(theta), self.net.theta / self.net.norm
        return 2.0 * float(np.arctan2(np.linalg.norm(unit - state), np.linalg.norm(unit + state)))

    def _fit(self, q: FloatArray) -> tuple[FloatArray, float]:
        """Return the λ >= 0 of samples of some weight for which Σ λ ∇q + Σ μ ∇z is nearest to θ; how far, of |θ|."""
        falls = np.exp(-(q - q[self.used].min())) if self.weights is None else self.weights
        near = np.flatnonzero(self.used & (falls >= _WEIGHT_PART * falls[self.used].max()))
        J = self.targets[near] * self.frozen.gradients(self.net.theta, near)
        N = np.vstack((self.frozen.gradients(self.net.theta, self.balanced), self.frozen.normals(self.net.theta)))
        scale = float(np.linalg.norm(J)) or 1.0
        found, left = nnls(np.vstack((J, N, -N)).T / scale, self.net.theta)
        fit = np.zeros(len(q))
        fit[near] = found[: len(near)] / scale
        return fit, float(left) / self.net.norm

    # --- critical points ---

    def _finite(self) -> LayeredLimit:
        """Newton on the gradient of the objective, with z = 0 on what slides."""
        P = self.frozen.count
        x = np.concatenate((self.net.theta, self._multipliers(self.net.theta)))
        size = float(np.linalg.norm(self.net.theta)) or 1.0

        def distance(theta: FloatArray) -> float:
            return float(np.linalg.norm(theta - self.net.theta)) / size

        x, null = zero_near(
            self._gradient, lambda x: derivative(self._gradient, x), x, P, lambda theta: distance(theta) > AFAR
        )
        theta, freedom = x[:P], dimensions(null[:, :P])
        turn = distance(theta)
        lam = self._duals(np.asarray(self.frozen.outputs(theta)))
        residuals = self._checked(theta, lam, None)
        reasons = self._doubts(residuals, turn)
        if not reasons and self.decay is None and self.loss != "squared":
            margins = margins_at(self.frozen, theta, self.targets, lam, self.used)
            reasons = doubts_of_rest(*margins, self._size(theta, lam, False))
        reasons = reasons or self._leaving(theta, lam, None)
        return self._limit("finite", theta, lam, residuals, reasons, freedom, turn)

    def _gradient(self, x: Numbers) -> Numbers:
        P = self.frozen.count
        theta = x[..., :P]
        pull = self.frozen.pull(theta, self._duals(self.frozen.outputs(theta)), x[..., P:]).theta
        kept = pull if self.decay is None else pull - self.decay * theta
        return np.concatenate((-kept, self.frozen.held_values(theta)), axis=-1)

    def _duals(self, f: Numbers) -> Numbers:
        """-∂L/∂f, of complex outputs too."""
        of_real = not np.iscomplexobj(f)
        return (duals if of_real else complex_duals)(f, self.targets, self.loss, self.counts)

    def _multipliers(self, theta: FloatArray) -> FloatArray:
        """Return the multipliers that leave least of the gradient at a state."""
        N, none = self.frozen.normals(theta), np.zeros(len(self.frozen.held))
        rest = self.frozen.pull(theta, self._duals(self.f), none).theta
        rest = rest if self.decay is None else rest - self.decay * theta
        return least_squares(N.T, -rest, RANK_TOL) if len(N) else none

    # --- the certificate ---

    def _checked(self, theta: FloatArray, lam: FloatArray, above: FloatArray | None) -> Residuals:
        """Check each line from θ and λ alone; `above` is q - 1 of a direction."""
        lam2 = lam.reshape(len(self.targets), -1)
        aim = theta if above is not None else (0.0 if self.decay is None else self.decay) * theta
        felt = lam2 if above is None else self._with_resting(lam2)
        mu = multipliers_in_boxes(self.frozen, theta, felt, np.asarray(aim))
        rest = self.frozen.pull(theta, lam2, mu).theta - aim
        size = self._size(theta, lam2, above is not None)
        stationarity = float(np.linalg.norm(rest)) / size
        wrong = self.frozen.contradicted(theta)
        if above is None:
            return Residuals(stationarity, 0.0, 0.0, wrong)
        if len(self.balanced):  # what rounding leaves of multipliers that cancel
            rows = self.frozen.gradients(theta, self.balanced)
            terms = float(np.abs(lam[self.balanced]) @ np.linalg.norm(rows, axis=1))
            rounding = _ROUNDINGS * np.finfo(np.float64).eps * terms / size
            stationarity = max(0.0, stationarity - min(rounding, _MOST_ROUNDING))
        signed = self.targets[:, 0] * lam
        total, used = float(np.abs(lam[self.used]).sum()), self.used
        complementarity = float((np.abs(lam) * np.abs(above))[used].max()) / total if total > 0 else 0.0
        negative = float(np.maximum(-signed, 0.0)[used].max()) / total if total > 0 else 0.0
        apart = float(np.abs(above[self.balanced]).max(initial=0.0))
        return Residuals(
            stationarity, complementarity, max(float(np.maximum(-above[used], 0.0).max()), apart), max(wrong, negative)
        )

    def _leaving(self, theta: FloatArray, lam: FloatArray, scaled: FloatArray | None) -> list[str]:
        """Say whether units leave the point, the vanishing ones first; `scaled` is the state of a direction."""
        lam2, state = lam.reshape(len(self.targets), -1), self.net.theta if scaled is None else scaled
        kept, least = self.frozen.normals(theta), np.ones(len(theta))
        if scaled is None:
            least = np.zeros(len(theta)) + (0.0 if self.decay is None else self.decay)
            mu = multipliers_in_boxes(self.frozen, theta, lam2, least * theta)
            if self.loss == "squared":  # what is rounding of an output pulls at nothing
                terms = np.abs(self.targets) + self.frozen.output_terms(theta)
                lam2 = np.where(np.abs(lam2) > _ROUNDING * terms, lam2, 0.0)
        else:
            mu = multipliers_in_boxes(self.frozen, theta, self._with_resting(lam2), theta)
            kept = np.vstack((self.frozen.gradients(theta, np.flatnonzero(lam)), kept))
        felt = self._with_resting(lam2, _IS_WALL)
        units = vanishing_units(self.net.nodes, state, theta)
        reasons = doubts_of_vanishing(units, ends_of(units, self.frozen, state, theta, felt, mu), least)
        if reasons:
            return reasons
        if scaled is None:
            hessian = derivative(lambda t: self._gradient(_with_multipliers(t, mu))[..., : len(theta)], theta)
        else:
            hessian = np.eye(len(theta)) - derivative(lambda t: self.frozen.pull(t, lam2, mu).theta, theta)
        others = np.ones(len(theta), dtype=bool)
        others[[p for one in units for p in one.parameters]] = False
        reasons = doubts_of_leaving(self.net.nodes, hessian, kept, state, theta, others)
        if reasons or scaled is not None or not others.any():
            return reasons
        way = way_to(hessian, kept, state, theta, others)
        return doubts_on_the_way(self.frozen, way, theta, self._duals, least)

    def _size(self, theta: FloatArray, lam: FloatArray, is_direction: bool) -> float:
        """Return the unit of what is left of the gradient: |θ|, or what its terms come to."""
        if is_direction:
            return float(np.linalg.norm(theta)) or 1.0
        each = np.ones(len(lam)) if self.counts is None else self.counts
        of_errors = self.loss == "squared"
        terms = each[:, None] * (self.frozen.output_terms(theta) + np.abs(self.targets)) if of_errors else np.abs(lam)
        rows = np.array(
            [
                self.frozen.pull(theta, self._part(i, row), np.zeros(len(self.frozen.held))).theta
                for i, row in enumerate(terms)
            ]
        )
        total = float(np.linalg.norm(rows, axis=1).sum())
        if self.decay is not None:
            total += float(np.linalg.norm(self.decay * theta))
        return total or 1.0

    def _part(self, sample: int, row: FloatArray) -> FloatArray:
        lam = np.zeros_like(self.targets)
        lam[sample] = row
        return lam

    def _with_resting(self, lam: FloatArray, times: float = _OUTWEIGHS) -> FloatArray:
        """Return the weights with those of samples that move no parameter, beside which all others vanish.

        They pull at no parameter, but they may hold units on their boundaries, which bear whatever has their sign.
        """
        lam = lam.copy()
        lam[self.resting] = times * (float(np.abs(lam).max()) or 1.0) * self.targets[self.resting]
        return lam

    def _doubts(self, residuals: Residuals, turn: float) -> list[str]:
        reasons = []
        for name in ("stationarity", "complementarity", "primal", "sign"):
            value = getattr(residuals, name)
            if np.isnan(value):
                reasons.append(f"{name} is not known, as numbers are beyond the largest double")
            elif value > _CERTIFIED_TOL:
                reasons.append(f"{name} does not hold, to {value:.2g}")
        if np.isnan(turn):
            reasons.append(f"no KKT point was found within {NEAR} of the state")
        elif turn > NEAR:
            reasons.append(f"the state is {turn:.2g} away from it")
        return reasons

    # --- results ---

    def _turn_rate(self) -> float:
        """|d(θ/|θ|)/d log |θ|| along the flow."""
        lam = self._weights()
        N = self.frozen.normals(self.net.theta)
        rate = self.frozen.pull(self.net.theta, lam, np.zeros(len(N))).theta
        if len(N):
            rate = rate - N.T @ least_squares(N.T, rate, RANK_TOL)
        unit = self.net.theta / self.net.norm
        along = float(rate @ unit)
        return float(np.linalg.norm(rate - along * unit)) / along if along > 0 else float("nan")

    def _weights(self) -> FloatArray:
        """λ in units of its largest, which may be below the least double."""
        if self.weights is not None:
            return np.asarray(self.targets * self.weights[:, None])
        if self.loss in ("logistic", "exponential"):
            q = self.targets * self.f
            if not self._fits():
                return np.asarray(self.targets * np.abs(self._duals(self.f)))
            each = 1.0 if self.counts is None else self.counts[:, None]
            above = np.where(self.used[:, None], q - q[self.used].min(), np.inf)
            return np.asarray(self.targets * np.exp(-above) * each)
        lam = self._duals(self.f)
        return lam / (float(np.abs(lam).max()) or 1.0)

    def _unclaimed(self, reason: str) -> LayeredLimit:
        lam = np.zeros(len(self.targets))
        return self._limit("none", self.net.theta, lam, UNKNOWN, [reason], 0, np.nan)

    def _limit(
        self,
        kind: str,
        theta: FloatArray,
        lam: FloatArray,
        residuals: Residuals,
        reasons: list[str],
        freedom: int,
        turn: float,
    ) -> LayeredLimit:
        lam = lam[:, 0] if lam.ndim == 2 and lam.shape[1] == 1 else lam
        net = self.net._with(np.array(theta))
        return LayeredLimit(
            kind=kind,
            network=net,
            degree=self.degree,
            margin=self._margin(theta),
            duals=lam,
            support=np.flatnonzero(np.abs(lam.reshape(len(lam), -1)).max(axis=1) > 0),
            held=self.frozen.held - np.array([1, 0, 0]),
            residuals=residuals,
            certified=not reasons,
            reason="; ".join(reasons or self._remarks(freedom)),
            freedom=freedom,
            turn=turn,
            turn_rate=self._turn_rate(),
            layer_norms=np.array([norm_of(node, theta) for node in net.nodes[1:]]),
        )

    def _margin(self, theta: FloatArray) -> float:
        """Return the least margin over |θ|^L, of all samples that count."""
        size = float(np.linalg.norm(theta))
        if self.loss == "squared" or not self.degree:
            return float("nan")
        if len(self.balanced):
            return 0.0
        margins = margins_of(np.asarray(self.frozen.outputs(theta / (size or 1.0))), self.targets)
        return float(margins[self.counted].min()) + 0.0  # of -0.0 as well

    def _remarks(self, freedom: int) -> list[str]:
        """Say what a certificate leaves open."""
        found = [f"one of a continuum of {freedom} dimensions in this pattern"] if freedom else []
        left = int(np.count_nonzero(self.resting))
        if len(self.balanced):
            found.append(f"margins that stay finite in this pattern: samples {names(self.balanced)}")
        return found + ([f"{left} samples are on no active path, and stay at f = 0"] if left else [])


def _with_multipliers(theta: Numbers, mu: FloatArray) -> Numbers:
    return np.concatenate((theta, np.broadcast_to(mu, (*theta.shape[:-1], len(mu)))), axis=-1)
