"""[CEL] Section 5: the bundle of aligned neurons grows and turns into the teacher."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...flow import Solution
from ...networks import Network
from .._claim import Claim, Context, Number, Outcome
from ._data import EPSILON, correlated, draw_start, pull, run, teacher, widest

_SCALE = 1e-40  # λ, or less: with it λ^(ε/3) is below the least angle of most drawn teachers to an axis
_BELOW_AXES = 0.5  # and in every draw λ^(ε/3) is at most this part of the least coordinate of the teacher
_WIDTH, _D, _N = 30, 3, 6
_N_TIMES = 400
_BELOW_ONE = 1 - 1e-16
_SEEN = 1e-12  # loss down to which the constraints are looked at: beyond it they are equalities to rounding


class _Frame(NamedTuple):
    """Eigenvalues of (1/n) Σ x_i x_iᵀ from the largest on, their vectors as rows, and the teacher in them, all > 0."""

    eta: FloatArray
    u: FloatArray
    target: FloatArray

    @property
    def scale(self) -> float:
        """λ, so small that the teacher is farther than λ^(ε/3) from every axis."""
        return float(min(_SCALE, (_BELOW_AXES * self.target.min()) ** (3 / EPSILON)))


def _frame(data: Dataset, v: FloatArray) -> _Frame:
    eta, vectors = np.linalg.eigh(data.X.T @ data.X / data.n)
    u = vectors.T[::-1]
    u = u * np.sign(u @ v)[:, None]
    return _Frame(eta[::-1], u, u @ v)


def _bundle(context: Context) -> Outcome:
    """Follow the bundle through the set S, and compare the gradient with the loss after it has left zero."""
    rng = np.random.default_rng(context.seed)
    n_draws = context.pick(3, 30)
    outside = looked = reversed_outside = 0
    opened, first, least, early_ratio, off = 0.0, 0.0, np.inf, np.inf, 0.0
    for _ in range(n_draws):
        v = teacher(rng, _D)
        data, start = correlated(rng, v, _N), draw_start(rng, _WIDTH, _D)
        frame, gamma = _frame(data, v), pull(data)
        sol = run(data, start.network(frame.scale))
        t1 = EPSILON * np.log(1 / frame.scale) / gamma
        constant = 2 * frame.eta[-1] * gamma / (5 * frame.eta[0])
        plus = (start.signs > 0) & (start.z @ data.X.T > 0).any(axis=1)
        left, losses = False, []
        for t, net, loss in _states(sol, t1):
            nu = frame.u @ (net.a[plus] @ net.W[plus])
            outside += not _inside(nu, frame)
            reversed_outside += not _inside(nu[::-1] / frame.target[::-1] * frame.target, frame)
            looked += 1
            opened = max(opened, _opening(net.W[plus], frame.scale))
            left = left or nu[0] / frame.target[0] >= 0.5
            ratio = _slope(data, net) ** 2 / (constant * loss)
            least, early_ratio = (min(least, ratio), early_ratio) if left else (least, min(early_ratio, ratio))
            if left:
                losses.append((t, np.log(loss)))
        first = max(first, _opening(start.z[plus], frame.scale))
        off = max(off, _leaves(np.array(losses), data, v))
    numbers = (
        Number("states after T₁ outside the set S; control: of the path with its coordinates in reverse order",
               outside, 0, control=reversed_outside),
        Number("largest (1 - cos)/(4 λ^ε) between two neurons after T₁; control: at the start", opened, 1.0,
               relation="at_most", control=first),
        Number("least |∂L|²/L over 2 η_d |γ|/(5 η₁) after T₂; control: before", least, 1.0, relation="at_least",
               control=early_ratio),
        Number("how far -d log L/dt leaves [2 κ₁, 2 κ_d] over the second half of the time after T₂, relative", off, 0.0,
               0.01, "at_most", source="exact"),
    )  # fmt: skip
    ran = (
        f"{n_draws} draws of {_N} inputs in {_D} dimensions within 45° of the teacher, {_WIDTH} neurons, λ at most"
        f" {_SCALE:g}, ε = {EPSILON}; {looked} states from T₁ to a loss of {_SEEN:g}; seed {context.seed}."
    )
    note = (
        "T₂ is when the first coordinate of the bundle Σ a_j w_j reaches half of the teacher's. The bounds on T₂ and on"
        " the rate of the loss that hold powers of δ are so loose that no run could miss them; they are not checked."
        " Near the teacher the error e of the bundle has e' = -(I + v* v*ᵀ) H e, with H = (1/n) Σ x_i x_iᵀ, and L ="
        " ½ eᵀHe falls at a rate between twice the least and the largest eigenvalue of that matrix, κ₁ and κ_d."
    )
    return Outcome(ran, numbers, note=note)


def _states(sol: Solution, t1: float) -> Iterator[tuple[float, Network, float]]:
    """Yield times from T₁ on with the network and its loss, until that is below what is looked at."""
    data = sol.data
    for t in np.linspace(t1, sol.t_end, _N_TIMES):
        net = sol(float(t))
        loss = float(0.5 * ((net(data.X) - data.y) ** 2).mean())
        if loss < _SEEN:
            return
        yield float(t), net, loss


def _opening(W: FloatArray, scale: float) -> float:
    """Return the largest 1 - cos between two rows over 4 λ^ε, as half of the square of a small angle."""
    return float(np.radians(widest(W)) ** 2 / 2 / (4 * scale**EPSILON))


def _inside(nu: FloatArray, frame: _Frame) -> bool:
    """Whether a vector is in S = S_1 ∪ ... ∪ S_d, by its coordinates in the eigenvectors."""
    share, eta = nu / frame.target, frame.eta
    v, toward = nu, eta * (frame.target - nu)
    if v @ toward <= frame.scale ** (EPSILON / 3) * np.linalg.norm(v) * np.linalg.norm(toward):  # Ξ
        return False
    for stage in range(len(share)):
        before, own, rest = share[:stage], share[stage], share[stage:]
        floor = 0.0 if stage == 0 else eta[stage] / (2 * eta[stage - 1])
        if not (np.all(before > 1) and floor < own <= 1):  # Ω, Φ
            continue
        pairs = [(k, m) for k in range(len(rest)) for m in range(k + 1, len(rest))]
        if all(_ordered(rest, eta[stage:], k, m) for k, m in pairs):
            return True
    return False


def _ordered(share: FloatArray, eta: FloatArray, k: int, m: int) -> bool:
    """Whether coordinate m is behind k as Ψ↓ and Ψ↑ ask."""
    low = eta[m] / (2 * eta[k]) * share[k] < share[m]
    power = 0.5 + eta[m] / (2 * eta[k])
    return bool(low and share[m] < -np.expm1(power * np.log1p(-min(share[k], _BELOW_ONE))))


def _slope(data: Dataset, net: Network) -> float:
    """Return |∂L| of a network of the run."""
    assert net.pattern is not None
    pulls = ((net.pattern > 0) * (net(data.X) - data.y) / data.n) @ data.X
    return float(np.hypot(np.linalg.norm(net.a[:, None] * pulls), np.linalg.norm((net.W * pulls).sum(axis=1))))


def _leaves(losses: FloatArray, data: Dataset, v: FloatArray) -> float:
    """Return how far the rates of log L over the second half leave those of the linear flow near the teacher."""
    late = losses[len(losses) // 2 :]
    rates = -np.diff(late[:, 1]) / np.diff(late[:, 0])
    kappa = np.sort(np.linalg.eigvals((np.eye(len(v)) + np.outer(v, v)) @ data.X.T @ data.X / data.n).real)
    return float(max(1 - rates.min() / (2 * kappa[0]), rates.max() / (2 * kappa[-1]) - 1, 0.0))


CLAIMS = (
    Claim(
        "CEL-T6",
        "CEL",
        "Section 5, Theorem 6",
        "The bundle grows, turns and stays together",
        "After T₁ the sum of the neurons with a > 0, each times a_j, stays in the set S, through the parts S_1, ...,"
        " S_d; cosines within the bundle stay above 1 - 4 λ^ε. After T₂ the gradient satisfies |∂L|² > 2 η_d |γ| L/(5"
        " η₁), so that the loss falls exponentially.",
        ("CEL T6", "CEL S"),
        _bundle,
    ),
)
