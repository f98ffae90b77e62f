"""The max-margin problem of one layer with the other one frozen [VSS Problem (4)]."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np

from .._least_distance import LeastNorm, least_norm
from .._linear_algebra import least_squares
from .._validation import FloatArray, integer, invalid, one_of
from ..datasets import Dataset
from ..networks import Network
from ._arrangements import arrangements
from ._inputs import fixed, rectify
from ._mapping import active_pattern, check_net
from ._solution import BoolArray

# Sizes of the guess of |u| that are tried after 1: from each a layer of up to 1e5 times the size is found.
SIZES = (1e4, 1e8)
FEASIBLE_TOL = 1e-6  # by which a margin may be missed in the end
MAX_CHOICES = 20_000  # patterns to the power of the neurons; one takes a tenth of a millisecond on small data


@dataclass(frozen=True, eq=False)
class LayerMargin:
    """The least norm of one layer with all margins at least 1.

    Attributes
    ----------
    value : float
        ½|u|² of the layer's weights; infinity if no weights reach the margins.
    current : float
        ½|u|² of the network's own weights in that layer.
    network : Network or None
        The network with the layer replaced.
    multipliers : ndarray, shape (n,)
        λ >= 0 of the margins; if infeasible, of the contradiction.
    scope : str
        "global" or "pattern", as asked for; layer 2 is always "global".
    status : str
        "optimal", "infeasible" or "too_many_choices".
    message : str
    """

    value: float
    current: float
    network: Network | None
    multipliers: FloatArray
    scope: str
    status: str
    message: str

    @property
    def success(self) -> bool:
        """Whether the problem was solved."""
        return self.status == "optimal"


def layer_margin(
    data: Dataset, net: Network, layer: int, *, scope: str = "pattern", max_choices: int = MAX_CHOICES
) -> LayerMargin:
    """Solve min ½|u⁽ˡ⁾|² s.t. y_i f(x_i) >= 1 over the weights of one layer, the other as in ``net`` [VSS (4)].

    Parameters
    ----------
    data : Dataset
    net : Network
        To compare with a KKT point, scale it to least margin 1 first (`Certificate.network` is).
    layer : {1, 2}
        2: the output weights, a convex problem. 1: W, not convex for ReLU.
    scope : {"pattern", "global"}, optional
        For layer 1. "pattern": the signs of the pre-activations stay as they are (boundaries count as active), as in
        the program (11) of [VSS]. At a KKT point without zero pre-activations its value is the network's own [VSS Thm
        5.4]. "global": the least over all patterns of all neurons, by trying each choice.
    max_choices : int, optional
        Limit of "global".

    Returns
    -------
    LayerMargin

    Raises
    ------
    ValueError
        A bad argument, or shapes that do not agree.

    Examples
    --------
    The limit in [VSS, Theorem 4.3] is optimal in its pattern and not globally:

    >>> import reluflow as rf
    >>> data = rf.Dataset([[1, 0.25], [-1, 0.25], [0, -1]], [1, 1, 1])
    >>> net = rf.Network([[0, 2], [0, -1]], [2, 1])
    >>> own = rf.convex.layer_margin(data, net, 1)
    >>> best = rf.convex.layer_margin(data, net, 1, scope="global")
    >>> round(own.value, 9), own.current, best.value < own.value
    (2.5, 2.5, True)
    """
    checked = check_net(net, data)
    which = integer(layer, "layer")
    if which > 2:
        raise invalid("layer", "be 1 or 2", repr(which))
    how = one_of(scope, "scope", ("pattern", "global"))
    limit = integer(max_choices, "max_choices")
    if which == 2:
        return _outputs(checked, net)
    own = active_pattern(net.W, checked)
    if how == "pattern":
        found = _least(*_constraints(checked, net, own))
        return _first(checked, net, found, how, "the patterns are the network's own")
    return _everywhere(checked, net, limit)


def _least(G: FloatArray, h: FloatArray) -> LeastNorm:
    """Solve min ½|u|² s.t. G u >= h, also where u is large beside what the rows let guess."""
    first = least_norm(G, h)
    if first.w is not None:
        return first
    for size in SIZES:
        found = least_norm(G, h, size)
        if found.w is None:
            continue
        # A sum of large terms: the equations of the active set themselves give back the digits that it lost.
        active = found.multipliers > 0
        direct = least_squares(G[active], h[active]).astype(np.float64)
        w = max(found.w, direct, key=lambda u: float((G @ u - h).min()))
        if (G @ w >= h - FEASIBLE_TOL).all():
            return LeastNorm(w, found.multipliers)
    return first


def _outputs(data: Dataset, net: Network) -> LayerMargin:
    features = data.y[:, None] * rectify(data.X @ net.W.T, net.leak)
    found = _least(features, np.ones(data.n))
    current = 0.5 * float(net.a @ net.a)
    if found.w is None:
        return _none(current, found, "global", "no output weights reach the margins", data.n)
    better = Network(net.W, found.w, leak=net.leak, bias_input=net.bias_input)
    value = 0.5 * float(found.w @ found.w)
    return LayerMargin(value, current, better, fixed(found.multipliers), "global", "optimal", "a convex problem")


def _constraints(data: Dataset, net: Network, patterns: BoolArray) -> tuple[FloatArray, FloatArray]:
    """Return G, h of: margins >= 1, each neuron in its closed cell; the unknowns are the rows of W in their order.

    A cell asks for no length of its rows: they get the size of those of the margins, which the solver needs.
    """
    n, m, d = data.n, net.width, data.d
    slopes = np.where(patterns, 1.0, net.leak)
    margins = ((data.y[:, None] * slopes.T * net.a)[:, :, None] * data.X[:, None, :]).reshape(n, m * d)
    cones, size = np.zeros((m * n, m * d)), float(np.abs(net.a).max()) or 1.0
    for j in range(m):
        cones[j * n : (j + 1) * n, j * d : (j + 1) * d] = np.where(patterns[j], size, -size)[:, None] * data.X
    return np.vstack((margins, cones)), np.concatenate((np.ones(n), np.zeros(m * n)))


def _everywhere(data: Dataset, net: Network, limit: int) -> LayerMargin:
    current = 0.5 * float(np.sum(net.W**2))
    patterns = arrangements(data.X).patterns
    n_choices = len(patterns) ** net.width
    if n_choices > limit:
        message = (
            f"{len(patterns)} patterns for {net.width} neurons are {n_choices} choices, above max_choices = {limit}"
        )
        return LayerMargin(float("inf"), current, None, fixed(np.zeros(data.n)), "global", "too_many_choices", message)
    best: LeastNorm | None = None
    for choice in product(range(len(patterns)), repeat=net.width):
        found = _least(*_constraints(data, net, patterns[list(choice)]))
        if found.w is not None and (best is None or best.w is None or found.w @ found.w < best.w @ best.w):
            best = found
    nothing = best if best is not None else LeastNorm(None, np.zeros(data.n))
    return _first(data, net, nothing, "global", f"the best of {n_choices} choices of patterns")


def _first(data: Dataset, net: Network, found: LeastNorm, scope: str, message: str) -> LayerMargin:
    current = 0.5 * float(np.sum(net.W**2))
    if found.w is None:
        return _none(current, found, scope, "no first layer reaches the margins with these output weights", data.n)
    W = found.w.reshape(net.width, net.dim)
    better = Network(W, net.a, leak=net.leak, bias_input=net.bias_input)
    value = 0.5 * float(found.w @ found.w)
    return LayerMargin(value, current, better, fixed(found.multipliers[: data.n]), scope, "optimal", message)


def _none(current: float, found: LeastNorm, scope: str, message: str, n: int) -> LayerMargin:
    return LayerMargin(float("inf"), current, None, fixed(found.multipliers[:n]), scope, "infeasible", message)
