"""The states of a run at chosen times, stacked over time, with the exact sign pattern of each instant."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, PatternArray, ReadOnly, freeze, integer, invalid, real_array
from ..datasets import Dataset
from ..descent import DescentResult
from ..flow._arguments import check_pattern
from ..flow._events import patterns
from ..losses import (
    LossName,
    ReductionName,
    check_loss,
    check_reduction,
    log_total,
    loss_arguments,
    reduction_factor,
)
from ..networks import Network
from ._inputs import check_data, check_descent, check_net, check_run
from ._kernels import lengths, outputs

if TYPE_CHECKING:
    from ..flow import Solution


@dataclass(frozen=True, eq=False)
class States(ReadOnly):
    """A run seen at k times: what every function of `reluflow.analysis` works on.

    Attributes
    ----------
    data : Dataset
    leak : float
    loss, reduction : str
    t, log_t : ndarray, shape (k,)
        Times and their logarithms; t is inf where it overflows, log_t is then the truth.
    W : ndarray, shape (k, m, d)
    a : ndarray, shape (k, m)
    pattern : ndarray, shape (k, m, n), int8
        Signs of the pre-activations: +1 active, -1 inactive, 0 held on the boundary.
    """

    data: Dataset
    leak: float
    loss: LossName
    reduction: ReductionName
    t: FloatArray
    log_t: FloatArray
    W: FloatArray
    a: FloatArray
    pattern: PatternArray

    def __len__(self) -> int:
        """Return the number k of times."""
        return len(self.t)

    @property
    def width(self) -> int:
        """Number m of neurons."""
        return int(self.a.shape[1])

    @cached_property
    def margins(self) -> FloatArray:
        """q_i = y_i f(x_i) at each time, shape (k, n); a ValueError where the targets are no labels."""
        self.require_margins()
        q = np.asarray(self.data.y * self.outputs)
        freeze(q)
        return q

    @cached_property
    def normalised_margins(self) -> FloatArray:
        """q_i / |θ|² at each time, shape (k, n), taken at weights of norm about 1; nan where all weights are zero."""
        self.require_margins()
        exponent = -np.frexp(self.norm)[1]
        W, a = np.ldexp(self.W, exponent[:, None, None]), np.ldexp(self.a, exponent[:, None])
        unit = np.ldexp(np.where(self.norm > 0, self.norm, np.nan), exponent)
        f = np.array([outputs(self.data.X, *net, self.leak) for net in zip(W, a, strict=True)])
        q = np.asarray(self.data.y * f / unit[:, None] ** 2)
        freeze(q)
        return q

    @cached_property
    def outputs(self) -> FloatArray:
        """f(x_i) at each time, shape (k, n)."""
        f = np.array([outputs(self.data.X, W, a, self.leak) for W, a in zip(self.W, self.a, strict=True)])
        freeze(f)
        return f

    def require_margins(self) -> None:
        """Refuse a run whose targets are no labels.

        Raises
        ------
        ValueError
            A target is neither +1 nor -1, so there are no margins.
        """
        if not self.data.has_labels:
            raise invalid("source", "be a run on labels, +1 and -1, which have margins", repr(self.data))

    @property
    def loss_arguments(self) -> FloatArray:
        """What the loss takes: the margins, or the errors f(x_i) - y_i of the squared loss, shape (k, n)."""
        return loss_arguments(self.data, self.outputs, self.loss)

    @cached_property
    def log_loss_sum(self) -> FloatArray:
        """Log of the summed loss at each time, shape (k,), whatever the reduction."""
        return np.array([log_total(q, self.loss, self.data.counts) for q in self.loss_arguments])

    @property
    def log_loss(self) -> FloatArray:
        """Log of the loss of the run, with its reduction, shape (k,)."""
        return np.asarray(self.log_loss_sum + np.log(reduction_factor(self.reduction, self.data.total)))

    @cached_property
    def sizes(self) -> FloatArray:
        """|θ_j| = (|w_j|² + a_j²)^½ of each neuron, shape (k, m)."""
        return np.asarray(np.hypot(lengths(self.W), self.a))

    @cached_property
    def norm(self) -> FloatArray:
        """|θ| at each time, shape (k,)."""
        return lengths(self.sizes)

    @property
    def signs(self) -> FloatArray:
        """Sign of a_j at the last time where it is not 0, shape (m,); 0 if there is none."""
        return last_signs(self.a)

    def at(self, index: int) -> Network:
        """Return the network at the time number `index`, from the end if it is negative.

        Raises
        ------
        ValueError
            There is no such time.
        """
        k = integer(index, "index", least=-len(self), most=len(self) - 1)
        return Network(
            self.W[k],
            self.a[k],
            leak=self.leak,
            pattern=self.pattern[k],
            bias_input=self.data.bias_input,
        )


Source: TypeAlias = "Solution | States | DescentResult"


def states(source: Source, times: npt.ArrayLike | None = None, *, log_times: npt.ArrayLike | None = None) -> States:
    """Collect the states of a run at the given times.

    Parameters
    ----------
    source : Solution, States or DescentResult
        A run. States are handed back as they are. Of gradient descent the kept states are taken, with the signs of
        their pre-activations.
    times : array_like, shape (k,), optional
        Increasing times within the run, evaluated by dense output. Without them: the times the solution holds.
    log_times : array_like, shape (k,), optional
        Natural logarithms of times instead, for runs whose time overflows.

    Returns
    -------
    States

    Raises
    ------
    ValueError
        Times that do not increase or lie outside the run, both kinds of times, or times together with States or a
        descent.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.wang_pilanci("obtuse")
    >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
    >>> run = rf.analysis.states(sol, [0.0, 1.0, 10.0])
    >>> run.W.shape, run.pattern.shape
    ((3, 10, 2), (3, 10, 2))
    """
    if isinstance(source, States):
        if times is not None or log_times is not None:
            raise invalid("times", "be left out, for States carry their times", "times")
        return source
    if isinstance(source, DescentResult):
        if times is not None or log_times is not None:
            raise invalid("times", "be left out, for gradient descent has its own (save_every)", "times")
        return _states_of_descent(source)
    check_run(source, "source", or_states=True)
    if times is None and log_times is None:
        t, log_t, W, a = source.t, source.log_t, source.W, source.a
    else:
        t, log_t = grid_of(times, log_times)
        W, a = source.states(times, log_times=log_times)
    return States(
        data=source.data,
        leak=source.leak,
        loss=source.loss,
        reduction=source.reduction,
        t=t,
        log_t=log_t,
        W=W,
        a=a,
        pattern=patterns(source, t, log_t),
    )


def last_signs(a: FloatArray) -> FloatArray:
    """Return the sign of each output weight (k, m) when it was last not 0: weight decay takes all below the doubles."""
    last = len(a) - 1 - np.argmax(a[::-1] != 0, axis=0)
    return np.asarray(np.sign(a[last, np.arange(a.shape[1])]))


def signs_of(W: FloatArray, X: FloatArray) -> PatternArray:
    """Return the signs of the pre-activations, shape (..., m, n)."""
    return np.sign(W @ X.T).astype(np.int8)


def _states_of_descent(run: DescentResult) -> States:
    check_descent(run)
    with np.errstate(divide="ignore"):
        log_t = np.log(run.t)
    signs = signs_of(run.W, run.data.X)
    loss, reduction = check_loss(run.settings["loss"]), check_reduction(run.settings["reduction"])
    return States(run.data, run.initial.leak, loss, reduction, run.t, log_t, run.W, run.a, signs)


def grid_of(times: npt.ArrayLike | None, log_times: npt.ArrayLike | None) -> tuple[FloatArray, FloatArray]:
    """Return increasing times and their logarithms.

    Raises
    ------
    ValueError
        Numbers that do not increase.
    """
    name = "times" if log_times is None else "log_times"
    grid = real_array(times if log_times is None else log_times, name, "(k,)")  # type: ignore[arg-type]  # one is given
    if not len(grid) or (np.diff(grid) <= 0).any():
        raise invalid(name, "hold increasing numbers", f"{len(grid)} that do not increase")
    with np.errstate(divide="ignore", over="ignore"):
        return (grid, np.log(grid)) if log_times is None else (np.exp(grid), grid)


def state_of(data: Dataset, net: Network, *, loss: LossName = "logistic", reduction: ReductionName = "sum") -> States:
    """Wrap one network as States with a single time 0.

    Its pattern is that which the network carries, where that is one on these data, and otherwise the signs of W X^T:
    the final network of a run can be seen on held-out samples.

    Raises
    ------
    ValueError
        Data or a network of another kind, or with other inputs.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.Dataset([[1.0, 0.0], [0.0, 1.0]], [1, -1])
    >>> one = rf.analysis.state_of(data, rf.Network([[2.0, -1.0]], [1.0]))
    >>> one.margins
    array([[ 2., -0.]])
    """
    check_data(data)
    check_net(net)
    if net.dim != data.d:
        raise invalid("net", f"have dim {data.d}, the columns of X", f"dim {net.dim}")
    pattern = net.pattern
    if pattern is None or not _is_pattern_on(data, net):
        pattern = np.sign(net.W @ data.X.T).astype(np.int8)
    zero = np.zeros(1)
    with np.errstate(divide="ignore"):
        log_zero = np.log(zero)
    known = (check_loss(loss), check_reduction(reduction))
    return States(data, net.leak, *known, zero, log_zero, net.W[None], net.a[None], pattern[None])


def _is_pattern_on(data: Dataset, net: Network) -> bool:
    try:
        check_pattern(data.X, net)
    except ValueError:  # it is that of other samples
        return False
    return True
