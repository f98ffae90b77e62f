"""The critical point at which the grown network rests: polished, with its duals, loss and freedom."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray
from ..datasets import Dataset
from ..limits import Limit
from ..limits._groups import groups
from ..limits._state import output_terms
from ..losses import duals, is_of_margins, log_losses, loss_arguments, separation_loss
from ..networks import Network

# A dual below this part of the terms that its error is the sum of is rounding: the sample is fitted.
_FIT_TOL = 1e-12
# So is one below this part of the largest such sum: the polish knows all outputs to that.
_ZERO_PART = 1e-14
# Neurons below this part of |θ| shrink to the origin: their outputs are the square of it.
_VANISHING = 1e-9
# Singular values below this part of the largest are zero.
_RANK_TOL = 1e-9


@dataclass(frozen=True, eq=False)
class Saddle:
    """A critical point of the grown network.

    Attributes
    ----------
    network : Network
        All m neurons, infinitesimal ones at zero.
    duals : ndarray, shape (n,)
        λ_i = -∂L/∂f(x_i), of the loss as a sum; exactly 0 where a sample is fitted.
    loss : float
        As a sum.
    limit : Limit or None
        The polished critical point and its certificate; None at zero, which needs none.
    freedom : int
        Dimension of the continuum of networks in this pattern, up to balanced rescaling, with these outputs.
    at_infinity : bool
        Whether some margins have grown for ever: `network` has them at a large log t, and `limit` is the direction.
    """

    network: Network
    duals: FloatArray
    loss: float
    limit: Limit | None
    freedom: int
    at_infinity: bool = False


def saddle_at_zero(data: Dataset, net: Network, loss: str) -> Saddle:
    """Describe the point where every neuron is infinitesimal."""
    f = np.zeros(data.n)
    return Saddle(net, duals(data, f, loss), loss_of(data, f, loss), None, 0)


def saddle_of(data: Dataset, limit: Limit, loss: str) -> Saddle:
    """Describe a polished critical point."""
    net = _balanced(limit.network)
    f = fitted_outputs(data, net, loss)
    return Saddle(net, duals(data, f, loss) + 0.0, loss_of(data, f, loss), limit, _freedom(data, net))


def is_vanishing(net: Network) -> npt.NDArray[np.bool_]:
    """Tell which neurons of a critical point are at the origin, but for what the polish leaves of them, shape (m,)."""
    sizes = np.hypot(np.linalg.norm(net.W, axis=1), net.a)
    return np.asarray(sizes <= _VANISHING * np.linalg.norm(sizes))


def fitted_outputs(data: Dataset, net: Network, loss: str) -> FloatArray:
    """Return the outputs of a network, which are the targets where the difference is rounding, shape (n,)."""
    f = net(data.X)
    return f if is_of_margins(loss) else _fitted(data, f, output_terms(data.X, net))


def fitted_along(data: Dataset, W: FloatArray, a: FloatArray, leak: float, loss: str) -> FloatArray:
    """Return the same for the states of a run, W of shape (k, m, d) and a of shape (k, m); shape (k, n)."""
    X, sizes = data.X.T, np.abs(data.X).T
    found = np.empty((len(W), data.n))
    for k in range(len(W)):
        Z = W[k] @ X
        f = a[k] @ np.maximum(Z, leak * Z)
        if not is_of_margins(loss):
            products = np.abs(W[k]) @ sizes
            f = _fitted(data, f, np.abs(a[k]) @ (np.where(Z + _FIT_TOL * products < 0, leak, 1.0) * products))
        found[k] = f
    return found


def _fitted(data: Dataset, f: FloatArray, terms: FloatArray) -> FloatArray:
    terms = terms + np.abs(data.y)
    return np.where(np.abs(f - data.y) <= _FIT_TOL * terms + _ZERO_PART * terms.max(), data.y, f)


def is_separated(data: Dataset, net: Network, loss: str) -> bool:
    """Tell whether all margins stay positive for ever from this network on."""
    return is_of_margins(loss) and loss_of(data, net(data.X), loss) < separation_loss(loss, data.counts)


def loss_of(data: Dataset, f: FloatArray, loss: str) -> float:
    """Return the loss as a sum at outputs f."""
    q = loss_arguments(data, f, loss)
    return float(data.counts @ np.exp(log_losses(q, loss)))


def _balanced(net: Network) -> Network:
    """Make |w_j| = |a_j| again, which the polish keeps up to the square of its step; the outputs do not change.

    Neurons that shrink to the origin are put there.
    """
    gone = is_vanishing(net)
    size = np.where(gone, 0.0, np.linalg.norm(net.W, axis=1))
    live = (size > 0) & (net.a != 0)
    factor = np.where(gone, 0.0, 1.0)
    factor[live] = np.sqrt(np.abs(net.a[live]) / size[live])
    W = net.W * factor[:, None]
    a = np.where(live, np.sign(net.a) * np.linalg.norm(W, axis=1), factor * net.a)
    return Network(W, a, leak=net.leak, pattern=net.pattern)


def _freedom(data: Dataset, net: Network) -> int:
    """Count the directions of Σ a_j w_j of the sectors in which no output changes."""
    found = groups(data, net)
    if not len(found):
        return 0
    maps = [found.map(c) for c in range(len(found))]
    sizes = np.linalg.svd(np.hstack(maps), compute_uv=False)
    ranks = sum(data.rank - len(basis) for basis in found.bases)
    return max(0, ranks - int((sizes > _RANK_TOL * sizes[0]).sum()))
