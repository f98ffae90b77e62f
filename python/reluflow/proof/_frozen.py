"""Proves that a run tends to a KKT point: from a proved state on its pattern is frozen whatever the duals do.

The theorem and its proof are in docs/proof.md, "That the run tends to it".
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray
from ._proof import Proof, State
from ._start import exact_signs

_UNIT = 2.0**-53
_UP = 1.0 + 1e-9  # the rounding of bounds, which are sums of non-negative numbers
_TINY = 1e-290  # more than what underflow can take


def why_not_tending(proof: Proof, sides: list[tuple[float, PatternArray]]) -> str:
    """Say why the run of a proof is not shown to tend to a KKT point; empty if it is.

    Parameters
    ----------
    proof : Proof
        Of the run, up to a time from which on nothing changes.
    sides : list of (sign, signs)
        The output sign and the signs at all samples of each live group of the KKT point, zero where it slides.
    """
    if not len(proof.states) and not proof.proved_until > proof.problem["t"]:
        return "nothing of the run is proved"
    state = proof.states[-1] if len(proof.states) else proof(proof.proved_until)
    X, y, leak = proof.problem["X"], proof.problem["y"], proof.problem["leak"]
    signs = _certain_signs(state, X)
    resting = _resting(proof, state, signs, leak)
    certain = resting | ((signs != 0).all(axis=1) & (np.abs(state.a) > state.radius * _UP))
    if not certain.all():
        return f"neuron {int(np.argmin(certain))} is not certainly off all boundaries at t = {state.t!r}"
    moving = np.flatnonzero(~resting)
    patterns = {(float(np.sign(state.a[j])), tuple(signs[j].tolist())) for j in moving}
    gram = exact_signs(X, X)
    for sign, pattern in patterns:
        if not _is_frozen(sign, np.array(pattern), gram, y, leak):
            return "a neuron sees samples that may push it over a boundary"
    if not _loss_is_small(state, signs, resting, X, y, leak):
        return f"the loss at t = {state.t!r} is not certainly below that of one sample at margin zero"
    live = {(sign, tuple(pattern.tolist())) for sign, pattern in sides}
    if not live <= patterns:
        return "the limit has patterns that the run has not"
    if not patterns <= live:
        return "the run has neurons of patterns that vanish in the limit"
    if _two_may_vanish(patterns, y, leak):
        return "two patterns could vanish together in the limit of the run"
    return ""


def _certain_signs(state: State, X: FloatArray) -> PatternArray:
    """Signs of all pre-activations, zero where the enclosure does not tell."""
    # The low words of 32 digits are half a unit of W at most: within what is taken for rounding.
    z = state.W @ X.T
    sizes = np.sqrt(np.square(X).sum(axis=1)) * _UP
    slack = 2.0 * (X.shape[1] + 2) * _UNIT * (np.abs(state.W) @ np.abs(X).T) + _TINY
    off = (np.outer(state.radius, sizes) + slack) * _UP
    found: PatternArray = np.where(np.abs(z) > off, np.sign(z), 0.0).astype(np.int8)
    return found


def _resting(proof: Proof, state: State, signs: PatternArray, leak: float) -> npt.NDArray[np.bool_]:
    """Tell which neurons never move again: inactive everywhere, come to rest, or zero from the start."""
    if leak:
        return np.zeros(len(signs), dtype=bool)
    found = np.asarray((signs < 0).all(axis=1))
    died = (proof.events.kind == "die") & (proof.events.t_hi < state.t)
    found[proof.events.neuron[died]] = True
    return found


def _is_frozen(sign: float, pattern: PatternArray, gram: PatternArray, y: FloatArray, leak: float) -> bool:
    """Tell whether no duals can push a neuron over a boundary: they move z_k by s λ_i σ_i y_i x_i·x_k."""
    acting = np.flatnonzero(pattern > 0) if leak == 0.0 else np.arange(len(y))
    pushes = (sign * y[acting])[:, None] * gram[acting] * pattern
    return bool((pushes >= 0).all())


def _loss_is_small(
    state: State, signs: PatternArray, resting: npt.NDArray[np.bool_], X: FloatArray, y: FloatArray, leak: float
) -> bool:
    """Tell whether Σ exp(-q_i) is below log 2: then the sum of either loss is below that of one sample at q = 0."""
    live = ~resting
    slopes = np.where(signs[live] > 0, 1.0, leak)
    W, a, radius = state.W[live], state.a[live], state.radius[live]
    terms = slopes * (W @ X.T)
    sizes = np.sqrt(np.square(X).sum(axis=1)) * _UP
    norm = np.sqrt(np.square(W).sum(axis=1) + a**2)
    off = sizes * float((norm * radius + radius**2).sum()) * _UP
    off = off + 4.0 * (X.shape[1] + len(a) + 4) * _UNIT * (np.abs(a) @ (np.abs(W) @ np.abs(X).T)) + _TINY
    margins = y * (a @ terms) - off * _UP
    return bool(margins.min() > -700.0 and float(np.exp(-margins).sum()) * 1.001 < math.log(2.0))


def _two_may_vanish(patterns: set[tuple[float, tuple[int, ...]]], y: FloatArray, leak: float) -> bool:
    """Tell whether two frozen groups could both vanish: no sample gets its positive margin from them alone."""
    # y s σ z > 0: of frozen groups no margin is negative. With a leak each group gives every sample some.
    gives = np.array([
        (sign * y * np.array(pattern) > 0) & ((np.array(pattern) > 0) | (leak > 0.0))
        for sign, pattern in sorted(patterns)
    ])  # fmt: skip
    givers = gives.sum(axis=0)
    may_vanish = gives[~(gives & (givers == 1)).any(axis=1)].astype(int)
    pairs = may_vanish[:, givers == 2]  # samples that only two groups give a margin
    together = (pairs @ pairs.T) > 0
    np.fill_diagonal(together, True)
    return not together.all()
