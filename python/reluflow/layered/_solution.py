"""The solution of a run of a layered network: states, events, dense output."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .._digest import content_digest, untimed
from .._html import card
from .._missed import missed
from .._times import time_text
from .._validation import FloatArray, IntArray, freeze, invalid, real, real_array
from ..explorer import Explorer
from ._balance import balance_weights
from ._events import LayeredEventTable
from ._explore import explore_layers
from ._frozen import Frozen
from ._limit import LayeredLimit
from ._limit_of import limit_of_layers
from ._model import Problem
from ._network import DeepNetwork
from ._storage import write
from ._xarray import dataset_of_layers

if TYPE_CHECKING:
    import xarray as xr

# What `stats` tells of the state beyond the last one, and its name there.
_BEYOND = (("log_norm", "log_norm"), ("events", "n_events"))


@dataclass(frozen=True)
class LayeredBranching:
    """A time with several continuations.

    Attributes
    ----------
    t, log_t : float
    places : tuple of (layer, unit, sample)
        One place of each boundary that is met.
    options : tuple of tuple of int
        A side of each boundary for every continuation: +1, -1, or 0 to slide.
    chosen : int
        The option that was taken.
    lists_all : bool
        False if there are more continuations than are looked at: ``options`` are those that were found.
    """

    t: float
    log_t: float
    places: tuple[tuple[int, int, int], ...]
    options: tuple[tuple[int, ...], ...]
    chosen: int
    lists_all: bool = True


class DeepSolution:
    """The flow of a layered network from a start to an end.

    Attributes
    ----------
    data
        The data of the run.
    initial, final : DeepNetwork
    t, log_t, log_loss : ndarray, shape (k,)
        Times of the kept states, their logarithms, and the logarithm of the loss there.
    theta : ndarray, shape (k, P)
        The kept states.
    events : LayeredEventTable
    branchings : tuple of LayeredBranching
    status, message : str
    success : bool
        Whether the run ended as asked, or at rest.
    stats : dict
        Work done.
    """

    def __init__(self, problem: Problem, initial: DeepNetwork, settings: dict[str, Any], raw: dict[str, Any]) -> None:
        self.data = problem.data
        self.initial = initial
        self.settings = settings
        self._problem = problem
        self._raw = raw
        states = raw["saved"] if "save_at" in settings else raw["steps"]
        self.t: FloatArray = states["t"]
        self.log_t: FloatArray = states["log_t"]
        self.log_loss: FloatArray = states["log_loss"]
        self.theta: FloatArray = states["theta"]
        for array in (self.t, self.log_t, self.log_loss, self.theta):
            freeze(array)

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return str(self.settings["loss"])

    @property
    def reduction(self) -> str:
        """``"sum"`` or ``"mean"``."""
        return str(self.settings["reduction"])

    # --- outcome ---

    @property
    def status(self) -> str:
        """How the run ended."""
        return str(self._raw["status"])

    @property
    def message(self) -> str:
        """The outcome in words, with what it met and when, and times to save at that it did not reach."""
        name = "save_at_log" if self.settings.get("save_in_log") else "save_at"
        return str(self._raw["message"]) + missed(name, self.settings.get("save_at"), len(self.t))

    @property
    def success(self) -> bool:
        """Whether the run ended as asked, or at rest."""
        return bool(self._raw["success"])

    @cached_property
    def final(self) -> DeepNetwork:
        """The network at the end."""
        return self.initial._with(np.array(self._end["theta"]))

    @property
    def _end(self) -> dict[str, Any]:
        state: dict[str, Any] = self._raw["checkpoints"][-1]
        return state

    @property
    def t_start(self) -> float:
        """Time at the start."""
        return float(self._raw["checkpoints"][0]["t"])

    @property
    def log_t_start(self) -> float:
        """Natural logarithm of the time at the start, -inf at 0."""
        return float(self._raw["checkpoints"][0]["log_t"])

    @property
    def t_end(self) -> float:
        """Time at the end; inf where it overflows."""
        return float(self._end["t"])

    @property
    def log_t_end(self) -> float:
        """Natural logarithm of the time at the end."""
        return float(self._end["log_t"])

    @property
    def log_loss_end(self) -> float:
        """Natural logarithm of the loss at the end."""
        return float(self._raw["log_loss"])

    @cached_property
    def events(self) -> LayeredEventTable:
        """What happened, in order of time."""
        raw = self._raw["events"]
        columns = [raw[name] for name in ("t", "log_t", "layer", "unit", "sample", "kind", "event_set")]
        return LayeredEventTable(*columns)

    @cached_property
    def branchings(self) -> tuple[LayeredBranching, ...]:
        """Times with several continuations."""
        return tuple(
            LayeredBranching(
                point["t"],
                point["log_t"],
                tuple(tuple(place) for place in point["places"]),
                tuple(tuple(option) for option in point["options"]),
                point["chosen"],
                point.get("lists_all", True),  # files of earlier versions list all
            )
            for point in self._raw["branchings"]
        )

    @property
    def stats(self) -> dict[str, Any]:
        """Work done: ``steps``, ``mean_order``, ``events`` by kind, ``n_events``, ``event_sets``, ``seconds``.

        A run to its limit that went on beyond its last state has ``beyond_log_norm``, the log |θ| that it came to, and
        ``beyond_events``, the number of events on the way.
        """
        steps = int(self._raw["n_steps"])
        beyond = self._raw.get("beyond", {})
        return {
            "steps": steps,
            "mean_order": self._raw["order_sum"] / max(steps, 1),
            "events": self.events.counts(),
            "n_events": len(self.events),
            "event_sets": int(self._raw["n_event_sets"]),
            "seconds": float(self._raw["seconds"]),
            **{f"beyond_{name}": beyond[key] for name, key in _BEYOND if key in beyond},
        }

    @property
    def branched(self) -> bool:
        """Whether the run ended at a branch point, as ``on_branch="raise"`` asks."""
        return self.status == "branch"

    # --- dense output ---

    @overload
    def __call__(self, t: float) -> DeepNetwork: ...
    @overload
    def __call__(self, t: Sequence[float] | FloatArray) -> tuple[DeepNetwork, ...]: ...
    def __call__(self, t: float | Sequence[float] | FloatArray) -> DeepNetwork | tuple[DeepNetwork, ...]:
        """Return the network at time t of the run; of several times, shape (k,), the networks in their order.

        Raises
        ------
        ValueError
            t is outside the run; the message names the range.
        """
        if np.ndim(t):
            return tuple(self(float(time)) for time in real_array(t, "t", "(k,)"))
        return self.initial._with(np.array(self._state(real(t, "t"), "t")["theta"]))

    def at(self, *, log_t: float) -> DeepNetwork:
        """Return the network at the time whose natural logarithm is `log_t`.

        Raises
        ------
        ValueError
            `log_t` is outside the run.
        """
        return self.initial._with(np.array(self._state(real(log_t, "log_t"), "log_t")["theta"]))

    def states(self, times: npt.ArrayLike) -> FloatArray:
        """Return the parameters at many times, shape (k, P).

        Raises
        ------
        ValueError
            A time is outside the run.
        """
        return np.array([self(float(t)).theta for t in real_array(times, "times", "(k,)")])

    def pattern(self, t: float) -> list[IntArray]:
        """Return the sides of all units at time t, after its events: (n, size) for each layer, 0 while it slides.

        Raises
        ------
        ValueError
            t is outside the run.
        """
        return [np.array(side) for side in self._state(real(t, "t"), "t")["sides"][1:]]

    def _state(self, time: float, clock: str) -> dict[str, Any]:
        first, last = self._raw["checkpoints"][0][clock], self._end[clock]
        if not first <= time <= last:
            raise invalid(clock, f"lie in the run, from {first:g} to {last:g}", repr(time))
        if time == last:
            return self._end
        return self._problem.state_at(self._raw["checkpoints"], time, clock == "log_t", self.settings["rtol"])

    # --- where it tends to ---

    @cached_property
    def limit(self) -> LayeredLimit:
        """Where the flow ends, polished in the last pattern and certified: a direction, or a critical point."""
        X, end = self._problem.X, self._raw.get("beyond", self._end)
        frozen = Frozen(self.initial.nodes, X, end["sides"], end["modes"], self.initial.n_parameters)
        return limit_of_layers(self.initial._with(np.array(end["theta"])), frozen, self._problem, end.get("weights"))

    # --- what is conserved ---

    @cached_property
    def balance(self) -> FloatArray:
        """The conserved quantities θᵀEθ at the kept states, shape (k, number of them).

        E runs over the diagonals that leave f as it is: for a unit with weights of its own it is Σ in² - Σ out², where
        a bias counts as in.
        """
        weights = balance_weights(self.initial.nodes, self.initial.n_parameters)
        found: FloatArray = self.theta**2 @ weights.T
        return found

    def _thinned(self) -> DeepSolution:
        """Return the run with its ends alone; `sol(t)` then integrates again from the start."""
        raw = dict(self._raw)
        raw["checkpoints"] = [raw["checkpoints"][0], raw["checkpoints"][-1]]
        raw["steps"] = {name: column[[0, -1]] for name, column in raw["steps"].items()}
        return DeepSolution(replace(self._problem), self.initial, self.settings, raw)

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of the run: the same for the same run, however long it took, in every process."""
        return content_digest(self._problem.content, self.initial, self.settings, untimed(self._raw))

    # --- storage and text ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the solution to one .npz file, whole or not at all; `reluflow.load` reads it back.

        Raises
        ------
        FileNotFoundError, PermissionError
            The folder does not exist or may not be written to.
        """
        write(self, path)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without the compiled run; dense output starts from the stored states."""
        return (DeepSolution, (self._problem, self.initial, self.settings, self._raw))

    def explore(self, path: str | os.PathLike[str] | None = "explorer.html", *, n_times: int = 80) -> Explorer:
        """Write one HTML page to drag through the run in, which needs no network; a notebook also shows it.

        The page has the directions of the rows of the first layer, the outputs, loss, margins over |θ|^L (of the
        squared loss errors), and the events of all layers, layer below layer, as `Solution.explore` has them.

        Parameters
        ----------
        path, n_times
            As for `Solution.explore`, which says what is returned and what can go wrong.

        Examples
        --------
        >>> import reluflow as rf
        >>> net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
        >>> sol = rf.integrate(rf.datasets.wang_pilanci("obtuse"), net, until=10.0)
        >>> sol.explore("run.html", n_times=10)
        Explorer(Wang-Pilanci, obtuse, layers 2-4-3-1, ... events, 11 times)
        """
        return explore_layers(self, path, n_times)

    def to_xarray(self) -> xr.Dataset:
        """Return the states, the events, the data and the settings as a dataset with named dimensions.

        Layer l has its matrix ``W1``, ``W2``, ... over (time, unit_l, unit_{l-1}), or its free parameters ``u1``, ...
        where some entries are fixed or shared, biases ``b1``, ..., and ``pattern1``, ...: signs of the pre-activations,
        0 on a boundary and where no input is live. `reluflow.analysis.to_xarray` takes other times.

        Returns
        -------
        xarray.Dataset
            Dimensions time, input, unit_1, ..., output, sample and event. ``to_netcdf`` and ``to_zarr`` keep it bit for
            bit.

        Raises
        ------
        ImportError
            xarray is not installed (extra ``analysis``).

        Examples
        --------
        >>> import reluflow as rf
        >>> net = rf.DeepNetwork.init([rf.Dense(4), rf.Dense(3), rf.Dense(1)], dim=2, seed=1)
        >>> sol = rf.integrate(rf.datasets.wang_pilanci("obtuse"), net, until=10.0, save_at=[1.0, 10.0])
        >>> found = sol.to_xarray()
        >>> found["W2"].dims, found["W2"].shape, found.attrs["status"]
        (('time', 'unit_2', 'unit_1'), (2, 3, 4), 'reached_time')
        """
        return dataset_of_layers(self, self.t, self.log_t, self.theta, self.log_loss)

    def summary(self) -> str:
        """Return a few lines of text: the outcome, the work and the events."""
        return "\n".join(f"{name:<12}{value}" for name, value in self._facts())

    def _repr_html_(self) -> str:
        """Show the summary as a table in a notebook."""
        return card("DeepSolution", self._facts())

    def _facts(self) -> tuple[tuple[str, str], ...]:
        stats = self.stats
        counts = ", ".join(f"{kind} {number}" for kind, number in stats["events"].items()) or "none"
        loss = f"{self.settings['loss']}, {self.settings['reduction']}"
        return (
            ("status", f"{self.status}: {self.message}"),
            ("time", f"from {self._span} (log t = {self.log_t_end:.10g})"),
            ("network", f"{self.initial!r}, |θ| = {self.final.norm:.6g} at the end"),
            ("loss", f"{loss}: log loss = {self.log_loss_end:.8g} at the end"),
            ("events", counts),
            ("branchings", f"{len(self.branchings)}"),
            ("work", f"{stats['steps']} steps, mean order {stats['mean_order']:.1f}, {stats['seconds']:.3g} s"),
        )

    @property
    def _span(self) -> str:
        ends = (self.t_start, self.log_t_start), (self.t_end, self.log_t_end)
        return " to ".join(time_text(*end) for end in ends)

    def __repr__(self) -> str:
        """One line: the outcome, the time span and the sizes."""
        return f"DeepSolution({self.status}, t from {self._span}, {len(self.t)} states, {len(self.events)} events)"
