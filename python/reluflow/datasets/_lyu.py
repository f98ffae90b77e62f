"""The three data sets of [LLWA], Figure 1, and the nonlinear KKT point on the left one."""

from __future__ import annotations

import math

import numpy as np

from .._validation import leak_value, one_of
from ._construction import Construction, fixed, weights
from ._dataset import Dataset
from ._symmetric import symmetrise

FIGURE_LEAK = 0.5  # α of [LLWA, Fig. 1]
_MIDDLE = ((0.1, 1, 0.05), (0.1, -1, 0.05), (20, 1, 0.05), (20, -1, 0.05), (-1, 0, 0.05))
_MIDDLE_LABELS = (1, 1, 1, 1, -1)
# `hinted` with H = 60, K = 1, eps = 1/8 on the last four samples, whose max-margin direction is (1, 0) exactly.
_RIGHT = ((60, 0), (0.125, 1), (0.125, -1), (0.6, 0.3), (0.5, -0.2), (-0.6, 0.2), (-0.5, -0.4))
_RIGHT_LABELS = (1, 1, 1, 1, 1, -1, -1)


def lyu_figure1(panel: str, *, leak: float = FIGURE_LEAK) -> Dataset:
    """Return the data of one panel of [LLWA], Figure 1 (leaky ReLU, α = 1/2).

    Parameters
    ----------
    panel : {"left", "middle", "right"}
        - "left": symmetric, 6 samples in the plane, App. I.1.1, for the given leak. The greatest margin (1 + α)/4
          belongs to the linear classifier; a nonlinear KKT point exists as well, see `lyu_kkt`.
        - "middle": App. I.1.2, separable along the first input, the third is constant. The paper prints no numbers;
          these are +: (0.1, ±1, 0.05), (20, ±1, 0.05), -: (-1, 0, 0.05). The flow ends at one neuron with the
          margin 0.055902, the greatest is 0.127604.
        - "right": a hinted data set (`hinted`), again with numbers of our own: base +: (0.6, 0.3), (0.5, -0.2),
          -: (-0.6, 0.2), (-0.5, -0.4), H = 60, K = 1, eps = 1/8. The flow ends at the margin eps/2 = 0.0625, the
          greatest is 0.110476.
    leak : float, optional
        α in [0, 1); only the left panel depends on it.

    Returns
    -------
    Dataset
        n = 6, d = 2; n = 5, d = 3; n = 7, d = 2.

    Raises
    ------
    ValueError
        ``panel`` is none of the three, ``leak`` outside [0, 1).

    References
    ----------
    [LLWA] Lyu, Li, Wang & Arora, Gradient Descent on Two-layer Nets, NeurIPS 2021, Fig. 1 and App. I.1.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.lyu_figure1("left").X[:3].round(6)
    array([[ 1.      ,  2.115375],
           [ 1.      ,  0.      ],
           [ 1.      , -2.115375]])
    """
    where = one_of(panel, "panel", ("left", "middle", "right"))
    slope = leak_value(leak)
    name = f"Lyu et al., Figure 1, {where}"
    if where == "left":
        cot = 1 / math.tan(_beta(slope))
        return symmetrise(np.array([[1, cot], [1, 0], [1, -cot]]), name=name)
    if where == "middle":
        return Dataset(_MIDDLE, _MIDDLE_LABELS, name=name)
    return Dataset(_RIGHT, _RIGHT_LABELS, name=name)


def lyu_kkt(*, leak: float = FIGURE_LEAK) -> Construction:
    """Return the nonlinear KKT point on the left data of [LLWA], Figure 1: three neurons, suboptimal margin.

    Parameters
    ----------
    leak : float, optional
        α in [0, 1).

    Returns
    -------
    Construction
        No start; |θ|² = 2 (1 + 1/cos β)/(1 + α) at the limit, 4/(1 + α) at the global optimum. Each of the
        first two neurons stands on the boundaries of one pair x, -x, with the subgradient α there; the third on none.

    Raises
    ------
    ValueError
        ``leak`` outside [0, 1).

    References
    ----------
    [LLWA] App. I.1.1.

    Examples
    --------
    >>> import reluflow as rf
    >>> c = rf.datasets.lyu_kkt(leak=0.5)
    >>> round(1 / c.limit_norm2, 6), round(1 / c.global_norm2, 6)
    (0.356107, 0.375)
    """
    slope = leak_value(leak)
    beta = _beta(slope)
    sin, cos = math.sin(beta), math.cos(beta)
    size, last = (2 * (1 + slope) * cos) ** -0.5, (1 + slope) ** -0.5
    pair = sin**2 / (cos * (1 - slope))
    return Construction(
        name="[LLWA] App. I.1.1",
        data=lyu_figure1("left", leak=slope),
        leak=slope,
        start=None,
        limit=weights([[size * cos, size * sin], [size * cos, -size * sin], [-last, 0]], [size, size, -last]),
        multipliers=fixed([pair, 0, pair, 0, 1 - 2 * slope * pair, 0]),
        global_norm2=4 / (1 + slope),
        better=None,
    )


def _beta(leak: float) -> float:
    """Return β in (0, π/4] with (2 sin²β + cos β) α² - (1 + cos β) α + cos 2β = 0.

    Divided by 1 - α this is 2 (1 + α) cos²β - α cos β - (1 + 2α) = 0. It is solved for 1 - cos β = 2 sin²(β/2), which
    tends to 0 as α tends to 1.
    """
    half = 4 + 3 * leak
    versine = 2 * (1 - leak) / (half + math.sqrt(half**2 - 8 * (1 + leak) * (1 - leak)))
    return 2 * math.asin(math.sqrt(versine / 2))
