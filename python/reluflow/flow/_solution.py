"""The solution of a run: states, events and outcome, with dense output."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast, overload

import numpy as np
import numpy.typing as npt

from .._digest import content_digest, untimed
from .._html import card
from .._validation import FloatArray, PatternArray, freeze, invalid, real, real_array
from ..datasets import Dataset
from ..explorer import Explorer
from ..limits import Limit
from ..limits._limit_of import limit_of
from ..losses import LossName, ReductionName, reduction_factor
from ..networks import Network
from ._branchings import BranchingTable
from ._dense import Dense
from ._events import EventTable
from ._explore import explore
from ._facts import facts, head
from ._scale import hold
from ._settings import Settings
from ._writing import write
from ._xarray import dataset

if TYPE_CHECKING:
    import xarray as xr


@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """What `integrate` returns: the flow of one network on one dataset. All arrays are read-only.

    The states ``t, log_t, W, a, log_loss`` are those at ``save_at`` or its like, or else at the accepted steps (of a
    long run in a large network, every second, fourth, ... one). ``sol(t)`` gives any other time of the run to the
    accuracy of the run itself.

    Attributes
    ----------
    data : Dataset
    initial : Network
        The network at the start, with the pattern of the start.
    settings : Settings
        Every argument that was used, and the version.
    """

    data: Dataset
    initial: Network
    settings: Settings
    _raw: dict[str, Any]

    # --- kept states ---

    @property
    def t(self) -> FloatArray:
        """Times of the states, shape (k,); inf where they overflow."""
        return self._array("t")

    @property
    def log_t(self) -> FloatArray:
        """Natural logarithms of the times, shape (k,); -inf at t = 0."""
        return self._array("log_t")

    @property
    def W(self) -> FloatArray:
        """First-layer weights, shape (k, m, d)."""
        return self._array("W")

    @property
    def a(self) -> FloatArray:
        """Output weights, shape (k, m)."""
        return self._array("a")

    @property
    def log_loss(self) -> FloatArray:
        """Natural logarithm of the loss, a sum or a mean as ``reduction`` says, shape (k,)."""
        return self._array("log_loss")

    def _array(self, name: str) -> FloatArray:
        return cast("FloatArray", self._raw[name])

    @cached_property
    def events(self) -> EventTable:
        """Every event, in order of time."""
        names = ("t", "log_t", "neuron", "sample", "kind", "tie")
        return EventTable(*(self._raw["event_" + name] for name in names))

    @cached_property
    def branchings(self) -> BranchingTable:
        """Every time at which the flow had several continuations."""
        return BranchingTable._from_core(self._raw["branchings"])

    @property
    def pattern0(self) -> PatternArray:
        """Signs of the pre-activations at the start, before its events, shape (m, n)."""
        pattern: PatternArray = self._raw["pattern0"]
        return pattern

    # --- outcome ---

    @cached_property
    def final(self) -> Network:
        """The network at the end. It carries its pattern, so that a run can continue from it exactly."""
        raw = self._raw
        return self.initial._with(raw["final_W"], raw["final_a"], raw["final_pattern"])

    @cached_property
    def limit(self) -> Limit:
        """Where the flow ends, polished from the last state: a direction, or a critical point of finite norm.

        Look at ``sol.limit.certified`` and ``sol.limit.reason``.
        """
        final, raw, end = self.final, self._raw, "final"
        if self.settings.weight_decay:
            decay = self.settings.weight_decay / reduction_factor(self.settings.reduction, self.data.total)
            return limit_of(self.data, final, self.loss, decay)
        if "beyond_W" in raw:
            final, end = final._with(raw["beyond_W"], raw["beyond_a"], raw["beyond_pattern"]), "beyond"
            larger = self.stats["beyond_log_norm"] - float(np.log(final.norm))
        else:
            held = hold(final.W, final.a, self.log_t_end)
            final, larger = final._with(held.W, held.a, final.pattern), held.exponent * float(np.log(2.0))
        return limit_of(self.data, final, self.loss, sample_weights=raw.get(f"{end}_sample_weights"), log_scale=larger)

    @property
    def status(self) -> str:
        """Why the run ended, one word: ``reached_time``, ``reached_mean_loss``, ``interrupted``, ..."""
        return str(self._raw["status"])

    @property
    def message(self) -> str:
        """Why the run ended, a sentence."""
        return str(self._raw["message"])

    @property
    def success(self) -> bool:
        """Whether the run ended by a criterion of its Stop, or at rest."""
        return bool(self._raw["success"])

    @property
    def branched(self) -> bool:
        """Whether the run ended at a branch point, as ``on_branch="raise"`` asks."""
        return self.status == "branch"

    @cached_property
    def stats(self) -> dict[str, Any]:
        """Work done: ``steps``, ``events`` by kind, ``n_events``, ``rhs_equivalents``, ``seconds`` and more."""
        stats = dict(self._raw["stats"])
        return {**stats, "events": self.events.counts(), "n_events": len(self.events)}

    @property
    def t_start(self) -> float:
        """Time at which the run starts."""
        return self.settings.start_time

    @property
    def log_t_start(self) -> float:
        """Natural logarithm of the time at which the run starts, -inf at 0."""
        return self.settings.start_log_time

    @property
    def t_end(self) -> float:
        """Time at which the run ended; inf where it overflows."""
        return float(self._raw["final_t"])

    @property
    def log_t_end(self) -> float:
        """Natural logarithm of the time at which the run ended."""
        return float(self._raw["final_log_t"])

    @property
    def log_loss_end(self) -> float:
        """Natural logarithm of the loss at the end."""
        return float(self._raw["final_log_loss"])

    @property
    def leak(self) -> float:
        """Slope of the activation on the negative side."""
        return self.initial.leak

    @property
    def loss(self) -> LossName:
        """Name of the loss."""
        return self.settings.loss

    @property
    def reduction(self) -> ReductionName:
        """``"sum"`` or ``"mean"``."""
        return self.settings.reduction

    # --- dense output ---

    @cached_property
    def _dense(self) -> Dense:
        return Dense(self.data, self.leak, self.settings, self._raw, self.events)

    @overload
    def __call__(self, t: float) -> Network: ...
    @overload
    def __call__(self, t: Sequence[float] | FloatArray) -> tuple[Network, ...]: ...
    def __call__(self, t: float | Sequence[float] | FloatArray) -> Network | tuple[Network, ...]:
        """Return the network at time t, with its pattern; of several times, the networks in their order.

        Parameters
        ----------
        t : float, or array_like of shape (k,)
            Times of the run, from `t_start` to `t_end`. `states` gives the weights alone, stacked.

        Returns
        -------
        Network, or tuple of k Networks

        Raises
        ------
        ValueError
            t is outside the run; the message names the range.

        Examples
        --------
        >>> import reluflow as rf
        >>> data = rf.Dataset([[1.0]], [1])
        >>> sol = rf.integrate(data, rf.Network([[0.1]], [0.1]), until=1.0)
        >>> sol(0.0) == sol.initial
        True
        >>> [round(net.norm, 3) for net in sol([0.0, 0.5, 1.0])]
        [0.141, 0.181, 0.232]
        """
        if np.ndim(t) == 0:
            return self._network(t, "t")
        times = real_array(t, "t", "(k,)")
        W, a = self._dense.states(times, "t")
        patterns = [self._dense.pattern(float(time), "t") for time in times]
        parts = zip(W, a, patterns, strict=True)
        return tuple(self.initial._with(W_, a_, pattern) for W_, a_, pattern in parts)

    def at(self, *, log_t: float) -> Network:
        """Return the network at the time whose natural logarithm is `log_t`, for times that overflow.

        Raises
        ------
        ValueError
            `log_t` is outside the run; the message names the range.
        """
        return self._network(log_t, "log_t")

    def _network(self, time: object, clock: str) -> Network:
        when = real(time, clock)
        W, a = self._dense.states(np.array([when]), clock)
        return self.initial._with(W[0], a[0], self._dense.pattern(when, clock))

    def states(
        self, times: npt.ArrayLike | None = None, *, log_times: npt.ArrayLike | None = None
    ) -> tuple[FloatArray, FloatArray]:
        """Return the weights at many times.

        Parameters
        ----------
        times : array_like, shape (k,)
            Times of the run in any order.
        log_times : array_like, shape (k,)
            Natural logarithms of times, instead of `times`.

        Returns
        -------
        W : ndarray, shape (k, m, d)
        a : ndarray, shape (k, m)

        Raises
        ------
        ValueError
            A time outside the run, or both kinds of times, or none.
        """
        if (times is None) == (log_times is None):
            raise invalid("times", "be given, or else log_times", "neither" if times is None else "both")
        if times is not None:
            return self._dense.states(real_array(times, "times", "(k,)"), "t")
        assert log_times is not None  # for the type checker: one of the two is given
        return self._dense.states(real_array(log_times, "log_times", "(k,)"), "log_t")

    def pattern(self, t: float) -> PatternArray:
        """Return the signs of the pre-activations at time t, after the events of that time, shape (m, n).

        Raises
        ------
        ValueError
            t is outside the run; the message names the range.
        """
        return self._dense.pattern(real(t, "t"), "t")

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of the run: the same for the same run, however long it took, in every process."""
        return content_digest(self.data, self.initial, self.settings, untimed(self._raw))

    # --- storage and text ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the solution to one .npz file, whole or not at all; `reluflow.load` reads it back exactly.

        Raises
        ------
        FileNotFoundError, PermissionError
            The folder does not exist or may not be written to; the message names the path.
        OSError
            The system cannot write, because the disk is full for example; the message names the path, and what was
            there is still there.
        """
        write(self, path)

    def to_xarray(self) -> xr.Dataset:
        """Return the states, the events, the data and the settings as a dataset with named dimensions.

        `reluflow.analysis.to_xarray` says what is in it, and takes other times.

        Returns
        -------
        xarray.Dataset
            Dimensions time, neuron, input, sample and event. ``to_netcdf`` and ``to_zarr`` keep it bit for bit.

        Raises
        ------
        ImportError
            xarray is not installed (extra ``analysis``).

        Examples
        --------
        >>> import reluflow as rf
        >>> data = rf.datasets.wang_pilanci("obtuse")
        >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=10.0, save_at=[1.0, 10.0])
        >>> found = sol.to_xarray()
        >>> found["a"].dims, found["a"].shape, found.attrs["status"]
        (('time', 'neuron'), (2, 10), 'reached_time')
        """
        return dataset(self, self.t, self.log_t, self.W, self.a, self.log_loss)

    def explore(self, path: str | os.PathLike[str] | None = "explorer.html", *, n_times: int = 80) -> Explorer:
        """Write one HTML page to drag through the run in, which needs no network; a notebook also shows it.

        The page has the directions of the neurons (on a circle for d = 2, on a sphere for d = 3, else on the plane of
        the two leading singular directions at the end), the outputs (along a line for one input beside a bias, on a
        plane otherwise, black where they are 0), loss, margins (of the squared loss errors), and the events as they
        happen. Neurons, samples and events tell their numbers under the pointer.

        Parameters
        ----------
        path : str or path, optional
            Where to write it; None writes nothing.
        n_times : int, optional
            Number of times on the slider beside the start, at least 2; a few less where some fall together.

        Returns
        -------
        Explorer
            The page; ``explorer.html`` is its text.

        Raises
        ------
        ImportError
            plotly is not installed (extra ``explore``).
        ValueError
            A bad number of times, or what is no path.
        FileNotFoundError, PermissionError
            The folder does not exist or may not be written to; the message names the path.

        Examples
        --------
        >>> import reluflow as rf
        >>> data = rf.datasets.wang_pilanci("obtuse")
        >>> sol = rf.integrate(data, rf.Network.init(10, 2, seed=1), until=1e4)
        >>> sol.explore("run.html", n_times=10)
        Explorer(Wang-Pilanci, obtuse, 10 neurons, 5 events, 11 times)
        """
        return explore(self, path, n_times)

    def summary(self) -> str:
        """Return a few lines of text: the outcome, the work and the events."""
        return "\n".join(f"{name:<12}{value}" for name, value in facts(self))

    def _repr_html_(self) -> str:
        """Show the summary as a table in a notebook."""
        return card("Solution", facts(self))

    def __repr__(self) -> str:
        """One line: the outcome, the time span and the sizes."""
        return f"{head(self)}, width={self.initial.width}, dim={self.initial.dim})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied solution with its arrays read-only again."""
        self.__dict__.update(state)
        for value in self._raw.values():
            if isinstance(value, np.ndarray):
                freeze(value)
