"""The constructions of [VSS] for fully connected two-layer ReLU networks.

[VSS] has more: diagonal, convolutional and deep networks (Theorems 4.1, 4.4, 5.1). Those are other parametrisations
with another flow, not networks of this library.
"""

from __future__ import annotations

import math

import numpy as np

from .._validation import invalid, one_of, real
from ._construction import Construction, Weights, fixed, weights
from ._dataset import Dataset

PRINTED_H = 0.25  # height of the two samples in Theorems 3.2, 4.3 and 5.4
MAX_H = 0.4  # the global optimum of Theorem 4.3 has the form below up to √2 - 1, that of 3.2 up to 1/√3
_SAME = {"5.3": "4.2", "5.4": "4.3"}  # theorems that use another one's construction


def vardi_shamir_srebro(theorem: str, *, h: float = PRINTED_H) -> Construction:
    """Return a construction of [VSS] with its start, its limit and its global optimum.

    All labels are +1, and all claims hold for both losses. The starts of "4.2" and "4.3" have L(θ) < ln 2 (sum); that
    of "3.2" comes to it on its way.

    Parameters
    ----------
    theorem : {"3.2", "4.2", "4.3", "5.3", "5.4"}
        - "3.2": samples (±1, h), two neurons, one active on both samples, one on none. The limit is one neuron (0, 1)
          and is no local optimum. It starts in an open set: any w_1, w_2 with these activities and v_1 > 0 will do.
        - "4.2" (part 2; the same in "5.3"): samples (0, 1), (1, 0), (0, -1), (-1, 0) with w_i(0) = 2 x_i, v_i(0) = 2.
          No local optimum, though all neurons are non-zero. The start lies on boundaries (w_1·x_2 = 0) and branches:
          the paper means the flow that keeps the symmetry, and a change of 1e-8 leads elsewhere.
        - "4.3" (the same in "5.4"): samples (±1, h) and (0, -1), two neurons. A local optimum, not a global one. The
          paper gives the limit up to α >= 2, β >= 1; it is α = 2, β = 1 exactly.
    h : float, optional
        Height of the pair (±1, h) in "3.2" and "4.3", in (0, 0.4]; the paper's theorems have 1/4. As h -> 0 the limit
        is worse than the optimum by any factor [VSS, Remark 3.1]. The start of "4.3" is scaled with h so that its
        margins do not depend on it.

    Returns
    -------
    Construction
        `better` is given for the printed h only.

    Raises
    ------
    ValueError
        Another theorem, ``h`` outside (0, 0.4], or ``h`` given for "4.2".

    References
    ----------
    [VSS] Vardi, Shamir & Srebro, On Margin Maximization in Linear and ReLU Networks, 2022, App. C.3, C.5, C.6.

    Examples
    --------
    >>> import reluflow as rf
    >>> c = rf.datasets.vardi_shamir_srebro("3.2")
    >>> rf.Network(*c.limit)(c.data.X)
    array([1., 1.])
    >>> c.limit_norm2, round(c.global_norm2, 6)
    (8.0, 3.88057)
    """
    number = one_of(theorem, "theorem", ("3.2", "4.2", "4.3", "5.3", "5.4"))
    height = real(h, "h", "lie in (0, 0.4]")
    if not 0 < height <= MAX_H:
        raise invalid("h", "lie in (0, 0.4]", repr(height))
    name = f"[VSS] Theorem {number}"
    kind = _SAME.get(number, number)
    if kind == "4.2":
        if height != PRINTED_H:
            raise invalid("h", f"be left out for theorem {number!r}", repr(height))
        return _cross(name)
    return _frozen_neuron(name, height) if kind == "3.2" else _two_groups(name, height)


def _frozen_neuron(name: str, h: float) -> Construction:
    size = h**-0.5
    return Construction(
        name=name,
        data=Dataset([[1, h], [-1, h]], [1, 1], name=name),
        leak=0.0,
        # At h = 1/4: w_1 = (0.1, 0.9) is active on both samples, w_2 = (0.05, -0.6) on none.
        start=weights([[0.4 * h, 0.9], [0.2 * h, -0.6]], [0.3, -0.2]),
        limit=weights([[0, size], [0, 0]], [size, 0]),
        multipliers=fixed([1 / (2 * h)] * 2),
        global_norm2=4 / math.hypot(1, h),
        better=_better_than_one_neuron if h == PRINTED_H else None,
    )


def _better_than_one_neuron(e: float) -> Weights:
    root = math.sqrt(2 * e)
    return weights([[e / 2, 2 - 2 * e], [-root, 0]], [2, root])


def _cross(name: str) -> Construction:
    X = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
    return Construction(
        name=name,
        data=Dataset(X, [1] * 4, name=name),
        leak=0.0,
        start=weights(2 * X, [2] * 4),
        limit=weights(X, [1] * 4),
        multipliers=fixed([1] * 4),
        global_norm2=4 * math.sqrt(2),
        better=_better_than_cross,
    )


def _better_than_cross(e: float) -> Weights:
    return weights([[e, 1 - e], [1 - e, -e], [-e, -1 + e], [-1 + e, e]], [1] * 4)


def _two_groups(name: str, h: float) -> Construction:
    size = h**-0.5
    start = 1.5 * size  # 3 at h = 1/4, as printed
    return Construction(
        name=name,
        data=Dataset([[1.0, h], [-1.0, h], [0.0, -1.0]], [1] * 3, name=name),
        leak=0.0,
        start=weights([[0, start], [0, -2]], [start, 2]),
        limit=weights([[0, size], [0, -1]], [size, 1]),
        multipliers=fixed([1 / (2 * h), 1 / (2 * h), 1]),
        # Two neurons (±(1 + h/2), -1/2), each active on one sample of the pair and on (0, -1).
        global_norm2=4 * math.hypot(1 + h / 2, 0.5),
        better=_better_than_two_groups if h == PRINTED_H else None,
    )


def _better_than_two_groups(e: float) -> Weights:  # the paper's network has no small parameter
    norm = math.hypot(1, PRINTED_H)
    return weights([[0.5 / norm, 0.5 * PRINTED_H / norm], [-1 - PRINTED_H, -1]], [2, 1])
