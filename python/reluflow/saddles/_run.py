"""`saddle_to_saddle`: the limit process, stage by stage, until nothing grows."""

from __future__ import annotations

from typing import Literal

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, freeze, integer, invalid, is_table, leak_value, real_array
from ..datasets import Dataset, MultiClassDataset
from ..datasets._arrays import has_several, name_of_targets, one_target_of
from ..early._alignment import checked_directions, checked_signs
from ..flow._progress import listeners
from ..layered._integrate import checked_rtol
from ..layered._problem import ArrayData
from ..losses import LossName, ReductionName, check_loss, check_reduction, check_targets
from ._bodies import at_start as bodies_at_start
from ._flow import Flow
from ._neurons import at_start
from ._path import SaddlePath
from ._several import OutputWalk, flow_of_outputs
from ._several_flow import OutputFlow
from ._walk import Walk
from ._watch import SaddleCallback, Watch

# Infinitesimal neurons stand in a run at 1e-144 and may grow to 1e-24: a grown one is larger. Products of a rate and a
# size, and their squares, are doubles.
_SQUARED_SIZES = 1e-45, 1e150
_RATES = 1e-150, 1e150


def saddle_to_saddle(
    data: Dataset | MultiClassDataset | ArrayData,
    directions: npt.ArrayLike,
    signs: npt.ArrayLike,
    *,
    loss: LossName | Literal["cross_entropy"] = "squared",
    reduction: ReductionName = "sum",
    leak: float = 0.0,
    rtol: float = 1e-11,
    max_stages: int = 1000,
    progress: bool = False,
    callback: SaddleCallback | None = None,
) -> SaddlePath:
    """Follow the flow from vanishing weights, |w_j| = |a_j| = ε -> 0, from saddle to saddle to its end.

    In units of log(1/ε) the flow jumps between critical points. At each the infinitesimal neurons turn to extremal
    directions and grow at constant rates; the first to reach size one leaves, along an orbit that ends at the next.
    No small number is chosen: the limit process itself is followed (docs/design/saddles.md).

    Parameters
    ----------
    data : Dataset
        n samples in d dimensions, or (X, targets) or (X, targets, weights). For K outputs targets (n, K), or a
        `MultiClassDataset`.
    directions : array_like, shape (m, d)
        Directions of w_j; lengths mean nothing, but no row may be zero.
    signs : array_like, shape (m,)
        Signs of a_j, +1 or -1. For K outputs directions of a_j, shape (m, K).
    loss, reduction : optional
        As for `reluflow.integrate`; K outputs take ``squared`` and ``cross_entropy``.
    leak : float, optional
        Slope of the activation on the negative side, in [0, 1).
    rtol : float, optional
        Relative accuracy of the orbits, as for `reluflow.integrate`.
    max_stages : int, optional
        End with the status ``max_stages`` after so many saddles.
    progress : bool, optional
        Show a live line on the standard error once it has lasted two seconds, as `reluflow.integrate` does.
    callback : callable, optional
        Called with a `saddles.SaddleProgress` at the end of each leg and ten times a second; the path stops when it
        returns True.

    Returns
    -------
    SaddlePath
        Look at ``path.status`` and ``path.message``: what the limit process cannot decide is an outcome, not an
        exception. After Ctrl-C it has the stages so far, with the status ``interrupted``.

    Raises
    ------
    ValueError
        A bad argument; the message names it, what was found and what is expected.

    Notes
    -----
    For orthogonal inputs these are the stages of E. Boursier, L. Pillaud-Vivien & N. Flammarion, Gradient flow
    dynamics of shallow ReLU networks for square loss and orthogonal inputs, 2022.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [2.0, -1.0])
    >>> path = rf.saddle_to_saddle(data, [[1.0, 0.5], [0.5, 1.0]], [1, -1])
    >>> path.times.round(12).tolist(), path.losses.round(12).tolist()
    ([0.0, 0.5, 1.0], [2.5, 0.5, 0.0])
    >>> path.status, path.stages[-1].kind
    ('ended', 'global')
    """
    watch = Watch(listeners(progress, callback))
    options = check_reduction(reduction), leak_value(leak), checked_rtol(rtol)
    stages = integer(max_stages, "max_stages")
    is_given = isinstance(data, (Dataset, tuple))
    if isinstance(data, MultiClassDataset) or has_several(data) or (is_given and is_table(signs)):
        X = real_array(data[0], "data[0]", "(n, d)") if isinstance(data, tuple) else data.X
        rows = checked_directions(directions, X.shape[1])
        several, units, heads = flow_of_outputs(data, rows, signs, (loss, *options), watch)
        _check_sizes(several.pair.X, several.pair.target_rows)
        return _followed(OutputWalk(several, bodies_at_start(units, heads), stages), several, units, heads, options[1])
    targets = name_of_targets(data)
    data = one_target_of(data, expected="a Dataset, a pair (X, targets), or for K outputs a MultiClassDataset")
    if str(loss) == "cross_entropy":  # which K outputs take
        way = "'cross_entropy' is for K outputs, signs of the shape (m, K)"
        raise invalid("loss", "be one of 'logistic', 'exponential', 'squared' for one output", f"{loss!r}: {way}")
    rows = checked_directions(directions, data.d)
    sides = checked_signs(signs, len(rows))
    flow = Flow(data, check_loss(loss), options[0], options[2], watch)
    check_targets(data, flow.loss, targets)
    _check_sizes(data.X, data.y)
    begin = at_start(rows, sides, options[1])
    return _followed(Walk(flow, at_start(rows, sides, options[1]), stages), flow, begin.w, begin.a, options[1])


def _check_sizes(X: FloatArray, targets: FloatArray) -> None:
    """Refuse data whose neurons grow to a size or at a rate that has no place beside the infinitesimal ones."""
    longest, largest = float(np.abs(X).max()), float(np.abs(targets).max())
    if largest == 0:  # no neuron grows
        return
    for found, what, bounds in (
        (largest / longest, "max |y| / max |x|, the square of the size that neurons grow to,", _SQUARED_SIZES),
        (largest * longest, "max |y| max |x|, the rate at which they grow,", _RATES),
    ):
        if not bounds[0] <= found <= bounds[1]:
            expected = f"have {what} between {bounds[0]:g} and {bounds[1]:g} (multiply x or y by a number)"
            raise invalid("data", expected, f"{found:g}")


def _followed(
    walk: Walk | OutputWalk, flow: Flow | OutputFlow, directions: FloatArray, signs: FloatArray, leak: float
) -> SaddlePath:
    """Follow all stages from a start."""
    try:
        status, message, horizon = walk.run()
    finally:
        flow.watch.close()
    for array in (directions, signs):
        freeze(array)
    return SaddlePath(
        data=flow.data,
        directions=directions,
        signs=signs,
        leak=leak,
        loss=flow.loss,
        reduction=flow.reduction,
        rtol=flow.rtol,
        stages=tuple(walk.stages),
        horizon=horizon,
        status=status,
        message=message,
    )
