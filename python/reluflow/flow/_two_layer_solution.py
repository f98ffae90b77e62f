"""The run of a `Network` that the layered core integrates, read in the weights and the time of the network."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .._digest import content_digest
from .._files import write_archive
from .._html import card
from .._missed import missed
from .._validation import FloatArray, PatternArray, freeze, invalid, real, real_array
from ..explorer import Explorer
from ..kinks import EVENT_KINDS
from ..layered import LAYERED_KINDS, DeepSolution, LayeredBranching
from ..layered._several import pair_of
from ..layered._two_layers import AsLayers
from ..limits import Limit
from ..limits._limit_of import limit_of
from ..limits._output_problem import OutputProblem
from ..limits._outputs import limit_of_outputs
from ..losses import reduction_factor
from ..networks import Network
from ._events import EventTable, codes_with_deaths, pattern_at
from ._explore import explore
from ._facts import facts, head
from ._two_layer_storage import content_of_network, restored_network
from ._xarray import dataset

if TYPE_CHECKING:
    import xarray as xr

FORMAT = "reluflow solution of a network by layers"
# In the first layer every input is there all the time: units neither wake up nor run out of inputs.
_CODES = np.array([EVENT_KINDS.index(kind) if kind in EVENT_KINDS else 255 for kind in LAYERED_KINDS], dtype=np.uint8)


class TwoLayerSolution:
    """What `integrate` returns for a `Network` with several outputs, with fixed output weights or with two rates.

    The flow is that of two layers as of a layered network, `layered`; states, events and times here are those of the
    network. All arrays are read-only.

    Attributes
    ----------
    data
        The data of the run: as they were given, of a pair its arrays.
    initial, final : Network
        The network at both ends, with its pattern.
    settings : dict
        Every argument that was used, and the version.
    layered : DeepSolution
        The run as that of a layered network, for `analysis.layer_raster` and its like. With rates its weights and its
        time are rescaled.
    t, log_t, log_loss : ndarray, shape (k,)
        Times of the kept states, their logarithms, and the logarithm of the loss.
    W : ndarray, shape (k, m, d)
    a : ndarray, shape (k, m), or (k, m, K) with several outputs
    balance : ndarray, shape (k, m)
        |a_j|² - |w_j|² of the kept states, or |a_j|²/η_a - |w_j|²/η_w with rates, which the flow keeps where both
        layers are trained.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.MultiClassDataset([[2.0, 0.1], [0.1, 2.0], [-1.0, -1.0]], ["red", "green", "blue"])
    >>> net = rf.Network.init(8, data.d, outputs=data.K, scale=0.3, seed=1)
    >>> sol = rf.integrate(data, net, loss="cross_entropy", until=rf.Stop(mean_loss=0.05))
    >>> [data.classes[k] for k in sol.final(data.X).argmax(axis=1)]
    ['red', 'green', 'blue']
    >>> sol(0.5).a.shape, bool(abs(sol.balance).max() < 1e-8)
    ((8, 3), True)
    """

    def __init__(self, data: Any, reader: AsLayers, settings: dict[str, Any], layered: DeepSolution) -> None:
        self.data = data
        self.settings = settings
        self.layered = layered
        self._reader = reader
        self.t, self.log_t = reader.times(layered.t, layered.log_t, settings["save_at"], settings["save_at_log"])
        self.log_loss: FloatArray = layered.log_loss
        self.W, self.a = reader.weights(layered.theta)
        for array in (self.t, self.log_t, self.W, self.a):
            freeze(array)

    # --- outcome ---

    @cached_property
    def initial(self) -> Network:
        """The network at the start, with its pattern."""
        return self._read(self.layered._raw["checkpoints"][0])

    @cached_property
    def final(self) -> Network:
        """The network at the end, with its pattern."""
        return self._read(self.layered._end)

    def _read(self, state: dict[str, Any]) -> Network:
        return self._reader.network(np.asarray(state["theta"]), state["sides"][1])

    @property
    def status(self) -> str:
        """Why the run ended, one word."""
        return self.layered.status

    @property
    def message(self) -> str:
        """Why the run ended, a sentence."""
        speed, text = self._reader.speed, str(self.layered._raw["message"])
        if speed != 1.0 and not self.success:
            text = f"{text} (times are those of the layers, {speed:g} t)"
        return text + "".join(missed(name, self.settings[name], len(self.t)) for name in ("save_at", "save_at_log"))

    @property
    def success(self) -> bool:
        """Whether the run ended as asked, or at rest."""
        return self.layered.success

    @property
    def branched(self) -> bool:
        """Whether the run ended at a branch point, as ``on_branch="raise"`` asks."""
        return self.status == "branch"

    @property
    def branchings(self) -> tuple[LayeredBranching, ...]:
        """Times with several continuations, in the time and the places (layer, unit, sample) of `layered`."""
        return self.layered.branchings

    @property
    def stats(self) -> dict[str, Any]:
        """Work done: ``steps``, ``events`` by kind, ``n_events``, ``event_sets``, ``seconds`` and more."""
        return {**self.layered.stats, "events": self.events.counts()}

    @property
    def t_start(self) -> float:
        """Time at the start."""
        return self.layered.t_start / self._reader.speed

    @property
    def log_t_start(self) -> float:
        """Natural logarithm of the time at the start, -inf at 0."""
        return self.layered.log_t_start - math.log(self._reader.speed)

    @property
    def t_end(self) -> float:
        """Time at the end; inf where it overflows."""
        until = self.settings["until"]
        if self.status == "reached_time" and "time" in until:
            return float(until["time"])
        return self.layered.t_end / self._reader.speed

    @property
    def log_t_end(self) -> float:
        """Natural logarithm of the time at the end."""
        return self.layered.log_t_end - math.log(self._reader.speed)

    @property
    def log_loss_end(self) -> float:
        """Natural logarithm of the loss at the end."""
        return self.layered.log_loss_end

    @property
    def leak(self) -> float:
        """Slope of the activation on the negative side."""
        return self._reader.start.leak

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return str(self.settings["loss"])

    @property
    def reduction(self) -> str:
        """``"sum"`` or ``"mean"``."""
        return str(self.settings["reduction"])

    @cached_property
    def balance(self) -> FloatArray:
        """The conserved quantities of the neurons at the kept states, shape (k, m)."""
        rate_w, rate_a = self._reader.rates
        outputs = self.a if self.a.ndim == 3 else self.a[..., None]
        found: FloatArray = (outputs**2).sum(axis=2) / rate_a - (self.W**2).sum(axis=2) / rate_w
        freeze(found)
        return found

    @cached_property
    def limit(self) -> Limit:
        """Where the flow ends, polished from the last state: a critical point, or a direction of cross-entropy.

        Look at ``sol.limit.certified`` and ``sol.limit.reason``. The direction is that of a KKT point of min ½|θ|²
        subject to f_y - f_k >= 1 for all other classes k.

        Raises
        ------
        ValueError
            A run with ``train="first"`` or two rates, whose limit is that of another problem.
        """
        reader, final = self._reader, self.final
        if reader.train != "both" or reader.rates[0] != reader.rates[1]:
            raise invalid("limit", "be asked of a run that trains both layers at one rate", "one of another flow")
        pair = pair_of(self.data, final, self.loss)
        decay = self.settings.get("weight_decay", 0.0) / reduction_factor(self.reduction, pair.total)
        if final.n_outputs == 1:
            return limit_of(self.data, final, self.loss, decay)
        return limit_of_outputs(OutputProblem(pair.X, pair.target_rows, pair.each, self.loss, decay), final)

    # --- events ---

    @cached_property
    def events(self) -> EventTable:
        """Every event, in order of time."""
        raw, speed = self.layered.events, self._reader.speed
        times = (raw.t, raw.log_t) if speed == 1.0 else (raw.t / speed, raw.log_t - math.log(speed))
        codes = _CODES[raw.code]
        table = EventTable(*times, raw.unit.astype(np.int32), raw.sample.astype(np.int32), codes, raw.event_set)
        if self.leak > 0.0:
            return table
        names = (table.t, table.log_t, table.neuron, table.sample)
        return EventTable(*names, codes_with_deaths(table, self._pattern0), table.tie)

    def pattern(self, t: float) -> PatternArray:
        """Return the signs of the pre-activations at time t, after the events of that time, shape (m, n).

        Raises
        ------
        ValueError
            t is outside the run; the message names the range.
        """
        pattern = self(t).pattern
        assert pattern is not None  # for the type checker: every state has one
        return pattern

    # --- dense output ---

    @overload
    def __call__(self, t: float) -> Network: ...
    @overload
    def __call__(self, t: Sequence[float] | FloatArray) -> tuple[Network, ...]: ...
    def __call__(self, t: float | Sequence[float] | FloatArray) -> Network | tuple[Network, ...]:
        """Return the network at time t, with its pattern; of several times, shape (k,), the networks in their order.

        Raises
        ------
        ValueError
            t is outside the run; the message names the range.
        """
        if np.ndim(t):
            return tuple(self(float(time)) for time in real_array(t, "t", "(k,)"))
        when = _inside(real(t, "t"), "t", self.t_start, self.t_end)
        if when == self.t_end:
            return self.final
        log_start = float(self.layered._raw["checkpoints"][0]["log_t"])
        clock = (when, "t") if when > 0.0 else (log_start, "log_t")  # the first of all times that doubles hold as 0
        return self._network(self._theta(when), *clock)

    def at(self, *, log_t: float) -> Network:
        """Return the network at the time whose natural logarithm is `log_t`.

        Raises
        ------
        ValueError
            `log_t` is outside the run.
        """
        first, last = float(self.layered._raw["checkpoints"][0]["log_t"]), self.layered.log_t_end
        shift = math.log(self._reader.speed)
        when = _inside(real(log_t, "log_t"), "log_t", first - shift, last - shift)
        state = self.layered._state(min(max(when + shift, first), last), "log_t")
        return self._network(np.asarray(state["theta"]), when, "log_t")

    def _theta(self, t: float) -> FloatArray:
        ends = self.layered.t_start, self.layered.t_end
        return np.asarray(self.layered._state(min(max(t * self._reader.speed, ends[0]), ends[1]), "t")["theta"])

    def _network(self, theta: FloatArray, time: float, clock: str) -> Network:
        """Return the network of parameters at a time: its pattern is made by the events of the run alone."""
        W, a = self._reader.weights(theta)
        return self._reader.start._with(W, a, pattern_at(self.events, self._pattern0, time, clock))

    @property
    def _pattern0(self) -> PatternArray:
        pattern = self.initial.pattern
        assert pattern is not None  # for the type checker: the network of a run has one
        return pattern

    def states(self, times: npt.ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Return the weights at many times: W, shape (k, m, d), and a, shape (k, m) or (k, m, K).

        Raises
        ------
        ValueError
            A time is outside the run.
        """
        wanted = [_inside(float(t), "t", self.t_start, self.t_end) for t in real_array(times, "times", "(k,)")]
        size = self.layered.initial.n_parameters
        W, a = self._reader.weights(np.array([self._theta(t) for t in wanted]).reshape(len(wanted), size))
        freeze(W)
        freeze(a)
        return W, a

    def _thinned(self) -> TwoLayerSolution:
        """Return the run with its ends alone; `sol(t)` then integrates again from the start."""
        return TwoLayerSolution(self.data, self._reader, self.settings, self.layered._thinned())

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of the run: the same for the same run, however long it took, in every process."""
        reader = self._reader
        return content_digest(self.data, self.initial, reader.train, reader.rates, self.settings, self.layered)

    # --- storage and text ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the solution to one .npz file, whole or not at all; `reluflow.load` reads it back.

        Raises
        ------
        FileNotFoundError, PermissionError
            The folder does not exist or may not be written to.
        """
        write_archive(path, *self._content())

    def _content(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return the arrays of a file and its record."""
        return content_of_network(self.layered, self._reader, self.settings, self.data, FORMAT)

    @classmethod
    def _restored(cls, arrays: dict[str, Any], meta: dict[str, Any]) -> TwoLayerSolution:
        """Make a solution of the arrays of a file and its record."""
        return cls(*restored_network(arrays, meta))

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle and copy without the compiled run."""
        return (TwoLayerSolution, (self.data, self._reader, self.settings, self.layered))

    def to_xarray(self) -> xr.Dataset:
        """Return the states, the events, the data and the settings as a dataset with named dimensions.

        `reluflow.analysis.to_xarray` says what is in it, and takes other times.

        Raises
        ------
        ImportError
            xarray is not installed (extra ``analysis``).

        Examples
        --------
        >>> import reluflow as rf
        >>> net = rf.Network.init(8, 2, outputs=2, scale=0.3, seed=1)
        >>> sol = rf.integrate((np.eye(2), np.eye(2)), net, loss="squared", until=1.0, save_at=[0.5, 1.0])
        >>> sol.to_xarray()["a"].dims
        ('time', 'neuron', 'output')
        """
        return dataset(self, self.t, self.log_t, self.W, self.a, self.log_loss)

    def explore(self, path: str | os.PathLike[str] | None = "explorer.html", *, n_times: int = 80) -> Explorer:
        """Write one HTML page to drag through the run in, as `Solution.explore` does, with a colour for each output.

        Neurons have the colour of the output that a_j is largest in. For classes the plane shows the largest output,
        and margins are those to the next class; for the squared loss errors take their place.

        Parameters
        ----------
        path, n_times
            As for `Solution.explore`, which says what is returned and what can go wrong.

        Examples
        --------
        >>> import reluflow as rf
        >>> net = rf.Network.init(8, 2, outputs=2, scale=0.3, seed=1)
        >>> sol = rf.integrate(rf.Dataset(np.eye(2), np.eye(2)), net, loss="squared", until=1.0)
        >>> sol.explore(None, n_times=5).html[:15]
        '<!doctype html>'
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
        net = self._reader.start
        return f"{head(self)}, width={net.width}, dim={net.dim}, outputs={net.n_outputs})"


def _inside(time: float, name: str, first: float, last: float) -> float:
    if not first <= time <= last:
        raise invalid(name, f"lie in the run, from {first!r} to {last!r}", repr(time))
    return time
