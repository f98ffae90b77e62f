"""Conditions on the start of a flow: balance, the sign condition of [WP, Thm 1], the loss threshold."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, freeze, instance, invalid
from ..datasets import Dataset
from ..layered._refused import refuse_layers
from ..losses import LossName, log_total, separation_loss
from ..networks import Network
from ..networks._parts import one_output
from ._verdict import Verdict, check_data

BALANCE_RTOL = 1e-12  # |a_j| and |w_j| closer than this are equal; an exactly scaled start has a few roundings
# Total loss below which every sample is classified: one sample at q = 0 alone has the loss ℓ(0). [VSS, Thm 2.1] prints
# 1 for both losses, which is wrong for the logistic one.


@dataclass(frozen=True, eq=False)
class Balance:
    """How far the neurons are from balance.

    Attributes
    ----------
    neuron : int
        The neuron with the largest relative difference.
    difference : ndarray, shape (m,)
        a_j² - |w_j|², constant along the flow.
    sign_constant : bool
        Whether |a_j| >= |w_j| for all neurons: then no a_j ever changes sign.
    """

    neuron: int
    difference: FloatArray
    sign_constant: bool


@dataclass(frozen=True, eq=False)
class Signs:
    """The sign condition of every neuron.

    Attributes
    ----------
    score : ndarray, shape (m,)
        yᵀ φ(X w_j) / |w_j|, each sample as often as it counts; 0 where w_j = 0.
    holds : ndarray of bool, shape (m,)
        Whether the score has the sign of a_j and neither is 0.
    n_positive, n_negative : int
        How many neurons with a_j > 0, and with a_j < 0, satisfy it.
    """

    score: FloatArray
    holds: npt.NDArray[np.bool_]
    n_positive: int
    n_negative: int


def balance(net: Network) -> Verdict[Balance]:
    """Tell whether |a_j| = |w_j| for every neuron.

    Parameters
    ----------
    net : Network

    Returns
    -------
    Verdict
        The number is the largest ||a_j| - |w_j|| / max(|a_j|, |w_j|), at most 1e-12.

    References
    ----------
    [WP] Lemma 1, [PL] Sec. 2, [LLWA] Sec. 6: all start balanced, and the flow stays so.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.conditions.balance(rf.Network.init(5, 3, seed=1)).holds
    True
    """
    _check_net(net)
    norms, sizes = np.linalg.norm(net.W, axis=1), np.abs(net.a)
    larger = np.maximum(norms, sizes)
    relative = np.abs(sizes - norms) / np.where(larger > 0, larger, 1.0)
    neuron = int(relative.argmax())
    difference = net.balance
    freeze(difference)
    return Verdict(
        name="balance [WP, Lemma 1]",
        holds=bool(relative[neuron] <= BALANCE_RTOL),
        value=float(relative[neuron]),
        meaning=f"largest relative difference of |a_j| and |w_j|, at most {BALANCE_RTOL:g}",
        witness=Balance(neuron, difference, bool((sizes >= norms * (1 - BALANCE_RTOL)).all())),
    )


def sign_condition(data: Dataset, net: Network) -> Verdict[Signs]:
    """Tell for every neuron whether sign(yᵀ φ(X w_j)) = sign(a_j).

    Such a neuron cannot die while the weights are small: a_j yᵀ φ(X w_j) never decreases then. It turns to ± Xᵀ D(w_j)
    y, unless it comes to slide on a boundary: then to the projection of that vector.

    Parameters
    ----------
    data : Dataset
    net : Network

    Returns
    -------
    Verdict
        Holds if a positive and a negative neuron satisfy it, which [WP, Thm 4] needs; Theorem 1 speaks of the single
        neurons that the witness lists. The number is how many do.

    Raises
    ------
    ValueError
        The network has another number of inputs than the data.

    References
    ----------
    [WP] (9) and Theorem 1.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> net = rf.Network([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]], [1.0, -1.0, -1.0])
    >>> rf.conditions.sign_condition(data, net).witness.holds
    array([ True, False,  True])
    """
    check_pair(data, net)
    norms = np.linalg.norm(net.W, axis=1)
    Z = net.W @ data.X.T
    score = np.maximum(Z, net.leak * Z) @ (data.counts * data.y) / np.where(norms > 0, norms, 1.0)
    satisfied = score * np.sign(net.a) > 0
    n_positive, n_negative = int((satisfied & (net.a > 0)).sum()), int((satisfied & (net.a < 0)).sum())
    freeze(score)
    freeze(satisfied)
    return Verdict(
        name="sign condition for both signs [WP, (9)]",
        holds=n_positive > 0 and n_negative > 0,
        value=float(n_positive + n_negative),
        meaning=f"neurons that satisfy it: {n_positive} positive, {n_negative} negative, at least one each",
        witness=Signs(score, satisfied, n_positive, n_negative),
    )


def loss_below_threshold(data: Dataset, net: Network, *, loss: LossName = "logistic") -> Verdict[FloatArray]:
    """Tell whether the loss is so small that the flow must converge to a KKT direction.

    Parameters
    ----------
    data : Dataset
    net : Network
    loss : {"logistic", "exponential"}, optional

    Returns
    -------
    Verdict
        The number is the sum of the losses, below ln 2 (logistic) or 1 (exponential); where samples count differently,
        below that times the least count, for then no margin can be negative on a sample that counts. The witness is the
        margins q_i, shape (n,).

    Raises
    ------
    ValueError
        Another loss, or a network with another number of inputs.

    References
    ----------
    [VSS] Theorem 2.1, which prints 1 for the logistic loss as well; [LLWA] Theorem 3.1 (mean loss below ln 2 / n).

    Examples
    --------
    >>> import reluflow as rf
    >>> c = rf.datasets.vardi_shamir_srebro("4.3")
    >>> round(rf.conditions.loss_below_threshold(c.data, rf.Network(*c.start)).value, 6)
    0.218563
    """
    check_pair(data, net)
    threshold = separation_loss(loss, data.counts)
    margins = data.y * net(data.X)
    with np.errstate(over="ignore"):
        total = float(np.exp(log_total(margins, loss, data.counts)))
    freeze(margins)
    return Verdict(
        name=f"small {loss} loss [LLWA, Theorem 3.1]",
        holds=total < threshold,
        value=total,
        meaning=f"sum of the losses, below {threshold:.6g}",
        witness=margins,
    )


def check_pair(data: object, net: object) -> None:
    """Refuse data without labels, and data and network that do not fit together."""
    check_data(data)
    _check_net(net)
    assert isinstance(data, Dataset)  # for the type checker: the lines above refuse the rest
    assert isinstance(net, Network)
    check_inputs(data, net)


def check_inputs(data: Dataset, net: Network) -> None:
    """Refuse a network with other inputs than the data."""
    if net.dim != data.d:
        raise invalid("net", f"have {data.d} inputs, as the data", str(net.dim))


def _check_net(net: object) -> None:
    refuse_layers(net, "net", "net.balance has what layers keep")
    instance(net, "net", Network, "a Network")
    assert isinstance(net, Network)  # for the type checker
    one_output(net)
