"""What the page shows of a run at each of its times: directions, outputs, margins or errors, events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

from .._validation import FloatArray
from ..losses import is_of_margins, log_total, reduction_factor

# Points along each side of the plane of outputs: 41² values a frame keep a page of 80 frames near a megabyte.
_GRID = 41
_LINE = 201  # points along the line of outputs
_BEYOND = 1.3  # the view reaches this many times as far as the samples


@dataclass(frozen=True, eq=False)
class Film:
    """The states of a run at k times, and its events.

    Attributes
    ----------
    X : ndarray, shape (n, d)
    targets : ndarray, shape (n, K)
        Labels or real targets; one-hot rows for cross-entropy.
    counts : ndarray, shape (n,)
        What each sample counts in the loss.
    loss, reduction : str
    t, log_t : ndarray, shape (k,)
    networks : sequence of callables, length k
        The network at each time; it has a `norm`.
    rows : callable
        What gives the rows of the first layer of a network, shape (m, d).
    a : ndarray, shape (k, m, K), or None
        Output weights of these rows; None where they have none, for there are more layers.
    degree : int
        L of f(c θ) = c^L f(θ), 0 where there is none.
    event_log_t : ndarray, shape (E,)
    event_place : ndarray, shape (E, p)
        Who has the event, and the number of the sample.
    places : tuple of str, length p
        What these numbers are called.
    event_row, event_first : ndarray, shape (E,)
        Row of the event in the picture of all, and row of the first layer that has it, -1 for another layer.
    n_rows : int
        Number of rows of that picture.
    first_rows : tuple of int
        The first row of each layer, where there are more than one.
    event_kind : sequence of str, length E
    """

    X: FloatArray
    targets: FloatArray
    counts: FloatArray
    loss: str
    reduction: str
    t: FloatArray
    log_t: FloatArray
    networks: Sequence[Any]
    rows: Callable[[Any], FloatArray]
    a: FloatArray | None
    degree: int
    event_log_t: FloatArray
    event_place: npt.NDArray[np.integer[Any]]
    places: tuple[str, ...]
    event_row: npt.NDArray[np.integer[Any]]
    event_first: npt.NDArray[np.integer[Any]]
    n_rows: int
    first_rows: tuple[int, ...]
    event_kind: Sequence[str]

    def __len__(self) -> int:
        """Return the number k of times."""
        return len(self.t)

    @property
    def K(self) -> int:
        """Number of outputs."""
        return int(self.targets.shape[1])

    @property
    def classes(self) -> npt.NDArray[np.intp] | None:
        """Class of each sample, shape (n,); None if there are none."""
        return self.targets.argmax(axis=1) if self.loss == "cross_entropy" else None

    @cached_property
    def clock(self) -> FloatArray:
        """log10 t at each time; a start at t = 0 stands a twentieth of the axis before the next one. Shape (k,)."""
        clock = self.log_t / np.log(10.0)
        if not np.isfinite(clock[0]):
            rest = clock[1:] if len(clock) > 1 else np.zeros(1)
            clock = np.append(rest[0] - max(0.05 * float(np.ptp(rest)), 0.1), clock[1:])
        return np.asarray(clock)

    @cached_property
    def event_clock(self) -> FloatArray:
        """The same of the events, those before the second time at the first. Shape (E,)."""
        return np.asarray(np.maximum(self.event_log_t / np.log(10.0), self.clock[0]))

    @cached_property
    def last_frame(self) -> npt.NDArray[np.intp]:
        """Number of the first time at which each event has happened, shape (E,)."""
        return np.minimum(np.searchsorted(self.log_t, self.event_log_t), len(self) - 1)

    # --- directions ---

    @cached_property
    def axes(self) -> FloatArray:
        """Orthonormal rows of the picture of directions: the coordinates for d = 2 and 3, else the singular plane.

        Shape (2 or 3, d).
        """
        d = self.X.shape[1]
        if d in (2, 3):
            return np.eye(d)
        rows = np.zeros((2, d))
        rows[: min(d, 2)] = self._singular_plane
        return rows

    @cached_property
    def _singular_plane(self) -> FloatArray:
        """The leading right singular vectors of W at the end, each with its largest entry positive."""
        found = np.linalg.svd(self.rows(self.networks[-1]))[2][:2]
        lead = np.argmax(np.abs(found), axis=1)
        return np.asarray(found * np.sign(found[np.arange(len(found)), lead])[:, None])

    @cached_property
    def sizes(self) -> FloatArray:
        """|w_j| at each time, shape (k, m)."""
        return np.array([np.linalg.norm(self.rows(net), axis=1) for net in self.networks])

    @cached_property
    def directions(self) -> FloatArray:
        """w_j/|w_j| on the axes, nan where w_j = 0, shape (k, m, 2 or 3)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            places = [
                (self.rows(net) / size[:, None]) @ self.axes.T
                for net, size in zip(self.networks, self.sizes, strict=True)
            ]
        return np.array(places)

    # --- outputs ---

    def values(self, frame: int, X: FloatArray) -> FloatArray:
        """Return the outputs at inputs (p, d), shape (p, K)."""
        return np.asarray(self.networks[frame](X).reshape(len(X), self.K))

    @cached_property
    def free(self) -> list[int]:
        """The inputs that vary from sample to sample; the others are constant, a bias."""
        return [c for c, column in enumerate(self.X.T) if np.ptp(column) > 0 or not column[0]]

    @cached_property
    def window(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A basis, an origin and the coordinates of the samples of the line or plane where outputs are shown.

        The inputs that vary if there are one or two of them, with the bias at its value; else the singular plane
        through 0. Shapes (1 or 2, d), (d,), (n, 1 or 2).
        """
        X, d = self.X, self.X.shape[1]
        if len(self.free) in (1, 2):
            basis, origin = np.eye(d)[self.free], X[0].copy()
            origin[self.free] = 0.0
        else:
            basis, origin = self._singular_plane, np.zeros(d)
        return basis, origin, (X - origin) @ basis.T

    @cached_property
    def ticks(self) -> FloatArray:
        """Coordinates along each side of the window, shape (g,)."""
        reach = _BEYOND * float(np.abs(self.window[2]).max())
        return np.linspace(-reach, reach, _LINE if len(self.window[0]) == 1 else _GRID)

    def outputs(self, frame: int) -> FloatArray:
        """F on the window at one time, shape (K, g) or (K, g, g), rows along the second axis."""
        basis, origin, _ = self.window
        if len(basis) == 1:
            return self.values(frame, origin + self.ticks[:, None] * basis[0]).T
        u, v = np.meshgrid(self.ticks, self.ticks)
        inputs = origin + np.column_stack((u.ravel(), v.ravel())) @ basis
        return np.asarray(self.values(frame, inputs).T.reshape(self.K, *u.shape))

    # --- loss, margins, errors ---

    @cached_property
    def fitted(self) -> FloatArray:
        """The outputs at the samples at each time, shape (k, n, K)."""
        return np.array([self.values(frame, self.X) for frame in range(len(self))])

    @cached_property
    def has_margins(self) -> bool:
        """Whether the loss is one of margins; otherwise errors are shown."""
        return self.loss != "squared"

    @cached_property
    def margins(self) -> FloatArray:
        """Margins at each time, shape (k, n): y_i f(x_i), or the own class's output minus the largest of the others."""
        if self.loss != "cross_entropy":
            return np.asarray((self.targets * self.fitted)[:, :, 0])
        own = (self.targets * self.fitted).sum(axis=2)
        return np.asarray(own - np.where(self.targets == 1.0, -np.inf, self.fitted).max(axis=2))

    @cached_property
    def errors(self) -> FloatArray:
        """|f(x_i) - y_i| at each time, shape (k, n)."""
        return np.asarray(np.linalg.norm(self.fitted - self.targets, axis=2))

    @cached_property
    def log10_loss(self) -> FloatArray:
        """log10 of the loss of the run at each time, shape (k,)."""
        totals = np.array([self._log_total(frame) for frame in range(len(self))])
        return np.asarray((totals + np.log(reduction_factor(self.reduction, float(self.counts.sum())))) / np.log(10.0))

    def _log_total(self, frame: int) -> float:
        if is_of_margins(self.loss):
            return log_total(self.margins[frame], self.loss, self.counts)
        if self.loss == "squared":
            with np.errstate(divide="ignore"):
                return float(np.log(0.5 * (self.counts @ self.errors[frame] ** 2)))
        f = self.fitted[frame]
        beyond = f - (self.targets * f).sum(axis=1)[:, None]  # of the others, above the own class
        others = logsumexp(np.where(self.targets == 1.0, -np.inf, beyond), axis=1)
        return log_total(-others, "logistic", self.counts)  # log(1 + Σ e^(f_k - f_c)), to all digits

    @cached_property
    def normalised_margins(self) -> FloatArray:
        """q_i/|θ|^L at each time, 0 for a network of zeros, shape (k, n); q_i itself without a degree L."""
        power = np.array([net.norm for net in self.networks])[:, None] ** self.degree
        return np.asarray(np.divide(self.margins, power, out=np.zeros_like(self.margins), where=power > 0))

    @cached_property
    def shown(self) -> FloatArray:
        """What is drawn of each sample: its margin over |θ|^L, or its error, shape (k, n)."""
        return self.normalised_margins if self.has_margins else self.errors
