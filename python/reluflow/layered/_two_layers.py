"""A network of two layers as a layered one, and back: K outputs, fixed output weights, rates of the layers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._validation import FloatArray, invalid, one_of, positive
from ..networks import Network
from ._graph import Edge
from ._layers import Builder, Dense, Layer, Shared
from ._network import DeepNetwork

TRAINED = ("both", "first")
# The layers that are integrated differ in size by the root of the ratio of the rates, and errors are parts of the
# larger one. At 1e12 they are 1e-8 of the smaller; at 1e16 1e-6, and from 1e20 on runs with decay end near their start.
_MOST_APART = 1e12
Rates = tuple[float, float]


class _FixedOutputs(Shared):
    """The output layer whose weights stay: those of an output may all be zero, which is then 0 for ever."""

    def _build(self, builder: Builder, name: str, is_last: bool) -> None:
        idx, const, shape = self._matrix(builder, name)
        builder.add((Edge(builder.last, "h", idx, const),), idx.shape[0], self._activation(is_last), False, shape)


@dataclass(frozen=True)
class AsLayers:
    """How a run of a layered network is read as one of a network of two layers.

    With rates (η_w, η_a) the layers follow ŵ = c w and â = a/c with c = (η_a/η_w)^¼, which compute the same function:
    their flow with equal rates, in the time τ = (η_w η_a)^½ t, is w' = η_w ∂L and a' = η_a ∂L in t.

    Attributes
    ----------
    start : Network
    train : {"both", "first"}
        What moves; of "first" the output weights are fixed entries of the last layer.
    rates : tuple of float
        (η_w, η_a).
    """

    start: Network
    train: str = "both"
    rates: Rates = (1.0, 1.0)

    @property
    def speed(self) -> float:
        """Time of the layers in a unit of the user's time."""
        return 1.0 if self.rates == (1.0, 1.0) else math.sqrt(self.rates[0]) * math.sqrt(self.rates[1])

    @property
    def _stretch(self) -> float:
        return 1.0 if self.rates[0] == self.rates[1] else (self.rates[1] / self.rates[0]) ** 0.25

    def times(
        self, t: FloatArray, log_t: FloatArray, asked: FloatArray | None, asked_log: FloatArray | None
    ) -> tuple[FloatArray, FloatArray]:
        """Return times of the layers, and their logarithms, in the user's time.

        Those that were asked for keep their bits: a product with the speed, and back, is rounded.
        """
        if self.speed == 1.0:
            return t, log_t
        own, own_log = t / self.speed, log_t - math.log(self.speed)
        return (
            own if asked is None else np.array(asked[: len(own)]),
            own_log if asked_log is None else np.array(asked_log[: len(own)]),
        )

    def log_norm(self, log_norm: float) -> float:
        """Return the logarithm of the norm of what moves, where that of the whole network is `log_norm`.

        -inf where the output weights that stay are as large as that by themselves.
        """
        if self.train != "first":
            return log_norm
        largest = float(np.abs(self.start.a).max())
        fixed = math.log(largest) + math.log(np.linalg.norm(self.start.a / largest)) if largest > 0.0 else -math.inf
        if fixed >= log_norm:
            return -math.inf
        return log_norm + 0.5 * math.log1p(-math.exp(2.0 * (fixed - log_norm)))

    def layers(self) -> DeepNetwork:
        """Return the layered network at the start."""
        net, c = self.start, self._stretch
        rows = np.ascontiguousarray((net.a if net.n_outputs > 1 else net.a[:, None]).T)
        if self.train == "first":
            last: Layer = _FixedOutputs(index=np.full(rows.shape, -1), fixed=rows)
            theta = np.array(net.W).ravel()
        else:
            last = Dense(net.n_outputs)
            theta = np.concatenate((c * net.W.ravel(), rows.ravel() / c))
        return DeepNetwork([Dense(net.width), last], theta, dim=net.dim, leak=net.leak)

    def weights(self, theta: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return W (..., m, d) and a (..., m) or (..., m, K) of parameters (..., P)."""
        net, c = self.start, self._stretch
        m, d = net.W.shape
        W = theta[..., : m * d].reshape(*theta.shape[:-1], m, d) / c
        if self.train == "first":
            return W, np.broadcast_to(net.a, (*theta.shape[:-1], *net.a.shape)).copy()
        rows = c * theta[..., m * d :].reshape(*theta.shape[:-1], net.n_outputs, m)
        return W, rows[..., 0, :].copy() if net.n_outputs == 1 else np.ascontiguousarray(np.swapaxes(rows, -1, -2))

    def network(self, theta: FloatArray, sides: FloatArray | None = None) -> Network:
        """Return the network of parameters (P,), with the sides (n, m) of its neurons as its pattern."""
        W, a = self.weights(theta)
        pattern = None if sides is None else np.ascontiguousarray(np.asarray(sides).T, dtype=np.int8)
        return self.start._with(W, a, pattern)

    def decay(self, rate: float) -> FloatArray | float:
        """Return γ of each parameter of the layers, in their time: of unequal rates, more for the faster layer."""
        if self.rates == (1.0, 1.0) or rate == 0.0:
            return rate
        first, m, d = math.sqrt(self.rates[0] / self.rates[1]), *self.start.W.shape
        return np.repeat((rate * first, rate / first), (m * d, m * self.start.n_outputs))

    def without_rates(self) -> tuple[AsLayers, FloatArray | float]:
        """Return the same with the weights as they are, and the rate of each parameter, for steps that take them.

        Stretched weights are rounded, and no longer on the boundaries that they were on.
        """
        m, d = self.start.W.shape
        each = np.repeat(self.rates, (m * d, m * self.start.n_outputs)) if self.rates != (1.0, 1.0) else 1.0
        return replace(self, rates=(1.0, 1.0)), each

    def going_on(self, net: Network) -> AsLayers:
        """Return the same for a run that goes on at another network."""
        return replace(self, start=net)


def as_layers(net: Network, train: object, rates: object) -> AsLayers:
    """Check what of a network is trained, and how fast.

    Raises
    ------
    ValueError
        A bad option; the message names it.
    """
    part = one_of(train, "train", TRAINED)
    speeds = _rates(rates)
    if part == "first" and rates is not None:
        raise invalid("rates", "be left out with train='first', where one layer moves", repr(rates))
    return AsLayers(net, part, speeds)


def _rates(rates: Any) -> Rates:
    if rates is None:
        return 1.0, 1.0
    expected = "be two numbers above 0, (η_w, η_a)"
    if not isinstance(rates, (tuple, list, np.ndarray)) or len(rates) != 2:
        raise invalid("rates", expected, repr(rates))
    first, second = (positive(rate, "rates", expected) for rate in rates)
    if not 1 / _MOST_APART <= first / second <= _MOST_APART:
        raise invalid("rates", f"{expected}, at most a factor of {_MOST_APART:g} apart", repr((first, second)))
    return first, second
