"""Between networks and the neurons of the convex program.

A neuron (w, a) of a network acts as a φ(w·x) = sign(a) φ(u·x) with u = |a| w, and costs ½(|w|² + a²) >= |u|, with
equality at balance, |w| = |a|. Neurons of one sign in one closed cell can be added without changing the outputs on
the data, which costs |u + u'| <= |u| + |u'|.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._validation import FloatArray, instance, integer, invalid
from ..datasets import Dataset
from ..layered._refused import refuse_layers
from ..networks import Network
from ..networks._parts import one_output
from ._inputs import check_data, fixed, fixed_bool
from ._solution import BoolArray, MaxMarginSolution, SignArray

ON_BOUNDARY = 1e-9  # |x·w| beside |x||w| that counts as lying on the boundary


@dataclass(frozen=True, eq=False)
class ConvexNeurons:
    """The neurons of a network in the coordinates of the convex program.

    Attributes
    ----------
    neurons : ndarray, shape (k, d)
        u_j, merged over the network's neurons with one sign and one pattern.
    signs : ndarray of int8, shape (k,)
        Sign of the output weight.
    patterns : ndarray of bool, shape (k, n)
        1(Xu_j >= 0) with boundaries (to 1e-9) counted as active.
    members : tuple of tuples of int
        The network's neurons in each.
    value : float
        Σ|u_j| after merging, at most Σ|a_j||w_j| <= ½|θ|².
    """

    neurons: FloatArray
    signs: SignArray
    patterns: BoolArray
    members: tuple[tuple[int, ...], ...]
    value: float


def to_network(solution: MaxMarginSolution, *, width: int | None = None) -> Network:
    """Return the balanced network of a solution of the convex program: w = u/√|u|, a = ±√|u|, so that ½|θ|² = Σ|u_j|.

    Parameters
    ----------
    solution : MaxMarginSolution
    width : int, optional
        Number of neurons; zeros fill up. By default as many as the solution has.

    Returns
    -------
    Network

    Raises
    ------
    ValueError
        The solution holds no network, or ``width`` is too small: then (13) of [WP] has another optimum than (14).

    Examples
    --------
    >>> import reluflow as rf
    >>> solution = rf.convex.max_margin(rf.Dataset([[2.0, 0.0], [0.0, -1.0]], [1, -1]))
    >>> net = rf.convex.to_network(solution)
    >>> round(0.5 * net.norm**2, 12), net.balance.round(12).tolist()
    (1.5, [0.0, 0.0])
    """
    instance(solution, "solution", MaxMarginSolution, "a MaxMarginSolution")
    k = len(solution.neurons)
    if k == 0:
        raise invalid("solution", "hold a network", f"none, status {solution.status!r}")
    m = k if width is None else integer(width, "width")
    if m < k:
        raise invalid("width", f"be at least {k}, the number of neurons of the solution", repr(m))
    return network_of(solution.neurons, solution.signs.astype(np.float64), solution.leak, m)


def from_network(net: Network, data: Dataset) -> ConvexNeurons:
    """Return the network's neurons u_j = |a_j| w_j, those of one sign and one pattern added up.

    Parameters
    ----------
    net : Network
    data : Dataset

    Returns
    -------
    ConvexNeurons
        Neurons that are zero are left out.

    Raises
    ------
    ValueError
        The dimensions do not agree.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[2.0, 0.0], [0.0, -1.0]], [1, -1])
    >>> net = rf.Network([[1.0, 0.0], [2.0, 0.0], [0.0, -1.0]], [1.0, 0.5, -1.0])
    >>> found = rf.convex.from_network(net, data)
    >>> found.neurons.tolist(), found.members
    ([[2.0, 0.0], [0.0, -1.0]], ((0, 1), (2,)))
    """
    checked = check_net(net, data)
    sizes = np.linalg.norm(net.W, axis=1) * np.abs(net.a)
    groups: dict[tuple[float, bytes], list[int]] = {}
    pattern = active_pattern(net.W, checked)
    for j in np.flatnonzero(sizes > 0):
        groups.setdefault((float(np.sign(net.a[j])), pattern[j].tobytes()), []).append(int(j))
    members = tuple(tuple(group) for group in groups.values())
    parts = np.abs(net.a)[:, None] * net.W
    neurons = np.array([parts[list(group)].sum(axis=0) for group in members]).reshape(len(members), net.dim)
    signs = np.array([np.sign(net.a[group[0]]) for group in members], dtype=np.int8)
    signs.flags.writeable = False
    patterns = np.array([pattern[group[0]] for group in members]).reshape(len(members), checked.n)
    value = float(np.linalg.norm(neurons, axis=1).sum())
    return ConvexNeurons(fixed(neurons), signs, fixed_bool(patterns), members, value)


def network_of(neurons: FloatArray, signs: FloatArray, leak: float, width: int) -> Network:
    """Return the balanced network of convex neurons, filled up with zeros."""
    roots = np.sqrt(np.linalg.norm(neurons, axis=1))
    W, a = np.zeros((width, neurons.shape[1])), np.zeros(width)
    W[: len(neurons)] = neurons / np.where(roots > 0, roots, 1.0)[:, None]
    a[: len(neurons)] = signs * roots
    return Network(W, a, leak=leak)


def active_pattern(W: FloatArray, data: Dataset) -> BoolArray:
    """Return 1(XW >= 0) with boundaries counted as active, shape (m, n)."""
    limits = -ON_BOUNDARY * np.outer(np.linalg.norm(W, axis=1), np.linalg.norm(data.X, axis=1))
    pattern: BoolArray = limits <= W @ data.X.T
    return pattern


def check_net(net: object, data: object) -> Dataset:
    """Refuse a network and data that do not go together; return the data."""
    checked = check_data(data)
    refuse_layers(net, "net", "the convex programs are of such networks")
    instance(net, "net", Network, "a reluflow.Network")
    assert isinstance(net, Network)
    one_output(net)
    if net.dim != checked.d:
        raise invalid("net", f"have {checked.d} inputs, as the data have", f"{net.dim}")
    return checked
