"""Rows of a cluster carried along an orbit: their linear flow under λ(t), and what events of the cluster do to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import expm

from .._validation import FloatArray, PatternArray
from ..flow import TwoLayerSolution
from ._differences import Row
from ._several_flow import OutputFlow
from ._several_rest import sector_of

# The time of a piece in units of 1/|M|: what the fourth order of Magnus leaves out is some 1e-7 of it where M changes
# by as much as it is. Where it changes by a part δ only, so does what is left out, and the piece is longer by δ^(-1/4),
# but only as far as the series converges.
_PIECE, _LONGEST_PIECE = 0.3, 2.0
# A piece is so short that the second difference of B over it, times its length, is below this; but for very short ones.
_BEND, _SHORTEST = 1e-3, 1e-9
# Kinds of events by the side that they leave, as in the order of `EVENT_KINDS`.
_SIGN_AFTER = (1, -1, 0, 1, -1, 0, 0, 1, -1, 0)
# An event at which the speed across the boundary is below this part of what it could be is no plain one.
_GRAZES = 1e-9


class NotCarriedError(Exception):
    """An event of a cluster that does not say what becomes of its differences."""


def carried(
    flow: OutputFlow, rows: Sequence[Row], leg: TwoLayerSolution, body: int, signs: PatternArray
) -> tuple[Row, ...]:
    """Return the rows of one body at the end of a leg that it begins with the given pattern.

    Raises
    ------
    NotCarriedError
        Several boundaries meet, or one is grazed.
    """
    if not rows:
        return ()
    Y = np.array([row.y for row in rows])
    gain = np.zeros(len(rows))
    signs = np.array(signs)
    table = leg.events.of(neuron=body)
    cuts = np.unique([*table.t.tolist(), leg.t_end]).tolist()
    begin = leg.t_start
    for end in cuts:
        sector = sector_of(flow.problem.X, signs, flow.leak)
        if end > begin:
            Y, gain = _along(flow, leg, sector, (begin, end), Y, gain)
        here = table[table.t == end]
        if len(here):
            Y = _across(flow, leg, signs, end, Y, here.sample.tolist(), here.code.tolist(), body)
        begin = end
    size = np.linalg.norm(Y, axis=1) / np.sqrt(2.0)
    live = size > 0
    return tuple(
        replace(row, y=y / s, log_size=row.log_size + g + float(np.log(s))) if ok else replace(row, log_size=-np.inf)
        for row, y, s, g, ok in zip(rows, Y, size, gain, live, strict=True)
    )


def _generator(flow: OutputFlow, leg: TwoLayerSolution, sector: FloatArray, t: float) -> FloatArray:
    """Return B of y' = B y in a sector at a time of a leg."""
    lam = flow.factor * flow.problem.duals(flow.outputs(leg(min(t, leg.t_end))))
    M = lam.T @ sector
    K, d = M.shape
    B = np.zeros((d + K, d + K))
    B[:d, d:], B[d:, :d] = M.T, M
    return B


def _along(
    flow: OutputFlow,
    leg: TwoLayerSolution,
    sector: FloatArray,
    span: tuple[float, float],
    Y: FloatArray,
    gain: FloatArray,
) -> tuple[FloatArray, FloatArray]:
    """Move rows over a time without events, by pieces of Magnus' series to the fourth order."""
    B = _generator(flow, leg, sector, span[0])
    t, h = span[0], _PIECE / max(float(np.linalg.norm(B, 2)), 1e-300)
    while t < span[1]:
        rate = max(float(np.linalg.norm(B, 2)), 1e-300)
        h = min(h, span[1] - t, _LONGEST_PIECE / rate)
        last = span[1] if h >= span[1] - t else t + h
        middle = _generator(flow, leg, sector, t + 0.5 * h)
        end = _generator(flow, leg, sector, last)
        bend = h * float(np.linalg.norm(B - 2 * middle + end))
        turn = float(np.linalg.norm(end - B)) / rate * (h * rate / _PIECE) ** 4
        if (bend > _BEND or (turn > 1.0 and h * rate > _PIECE)) and h > _SHORTEST * span[1]:
            h *= 0.5
            continue
        Y = Y @ expm(h / 6 * (B + 4 * middle + end) + h * h / 12 * (end @ B - B @ end)).T
        scale = np.linalg.norm(Y, axis=1)
        scale = np.where(scale > 0, scale / np.sqrt(2.0), 1.0)
        Y, gain, B, t = Y / scale[:, None], gain + np.log(scale), end, last
        h *= 2.0 if bend < 0.1 * _BEND and turn < 2.0**-5 else 1.0
    return Y, gain


def _across(
    flow: OutputFlow,
    leg: TwoLayerSolution,
    signs: PatternArray,
    t: float,
    Y: FloatArray,
    samples: list[int],
    codes: list[int],
    body: int,
) -> FloatArray:
    """Take rows over an event of their body, whose signs change: neurons of the cluster meet it a little apart."""
    before = _generator(flow, leg, sector_of(flow.problem.X, signs, flow.leak), t)
    slid = [signs[i] == 0 for i in samples]
    for i, code in zip(samples, codes, strict=True):
        signs[i] = _SIGN_AFTER[code]
    if all(slid):
        return Y  # what leaves its boundary does so with the velocity that it has there
    if len(samples) > 1:
        raise NotCarriedError("several boundaries meet")
    net = leg(t)
    y = np.concatenate((net.W[body], net.a[body]))
    after = _generator(flow, leg, sector_of(flow.problem.X, signs, flow.leak), t)
    normal = np.concatenate((flow.problem.X[samples[0]], np.zeros(len(y) - flow.problem.X.shape[1])))
    speed = float(normal @ (before @ y))
    if abs(speed) <= _GRAZES * float(np.linalg.norm(normal) * np.linalg.norm(before @ y)):
        raise NotCarriedError("a boundary is grazed")
    return Y + np.outer(Y @ normal / speed, (after - before) @ y)
