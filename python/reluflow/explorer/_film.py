"""What the page shows of a run at each of its times: directions, outputs on a line or a plane, margins, events."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray
from ..datasets import Dataset
from ..losses import log_total, loss_arguments, reduction_factor
from ..networks import Network

# Points along each side of the plane of outputs: 41² values a frame keep a page of 80 frames near a megabyte.
_GRID = 41
_LINE = 201  # points along the line of outputs
_BEYOND = 1.3  # the view reaches this many times as far as the samples


@dataclass(frozen=True, eq=False)
class Film:
    """The states of a run at k times, and its events.

    Attributes
    ----------
    data : Dataset
    leak : float
    loss, reduction : str
    t, log_t : ndarray, shape (k,)
    W : ndarray, shape (k, m, d)
    a : ndarray, shape (k, m)
    event_log_t : ndarray, shape (E,)
    event_neuron, event_sample : ndarray, shape (E,)
    event_kind : sequence of str, length E
    """

    data: Dataset
    leak: float
    loss: str
    reduction: str
    t: FloatArray
    log_t: FloatArray
    W: FloatArray
    a: FloatArray
    event_log_t: FloatArray
    event_neuron: npt.NDArray[np.int32]
    event_sample: npt.NDArray[np.int32]
    event_kind: Sequence[str]

    def __len__(self) -> int:
        """Return the number k of times."""
        return len(self.t)

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
        d = self.data.d
        if d in (2, 3):
            return np.eye(d)
        rows = np.zeros((2, d))
        rows[: min(d, 2)] = self._singular_plane
        return rows

    @cached_property
    def _singular_plane(self) -> FloatArray:
        """The leading right singular vectors of W at the end, each with its largest entry positive."""
        found = np.linalg.svd(self.W[-1])[2][:2]
        lead = np.argmax(np.abs(found), axis=1)
        return np.asarray(found * np.sign(found[np.arange(len(found)), lead])[:, None])

    @cached_property
    def sizes(self) -> FloatArray:
        """|w_j| at each time, shape (k, m)."""
        return np.asarray(np.linalg.norm(self.W, axis=2))

    @cached_property
    def directions(self) -> FloatArray:
        """w_j/|w_j| on the axes, nan where w_j = 0, shape (k, m, 2 or 3)."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray((self.W / self.sizes[:, :, None]) @ self.axes.T)

    # --- outputs ---

    def network(self, frame: int) -> Network:
        """Return the network at one time."""
        return Network(self.W[frame], self.a[frame], leak=self.leak)

    @cached_property
    def free(self) -> list[int]:
        """The inputs that vary from sample to sample; the others are constant, a bias."""
        return [c for c, column in enumerate(self.data.X.T) if np.ptp(column) > 0 or not column[0]]

    @cached_property
    def window(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """A basis, an origin and the coordinates of the samples of the line or plane where outputs are shown.

        The inputs that vary if there are one or two of them, with the bias at its value; else the singular plane
        through 0. Shapes (1 or 2, d), (d,), (n, 1 or 2).
        """
        X, d = self.data.X, self.data.d
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
        """F on the window at one time, shape (g,) or (g, g), rows along the second axis."""
        basis, origin, _ = self.window
        if len(basis) == 1:
            return self.network(frame)(origin + self.ticks[:, None] * basis[0])
        u, v = np.meshgrid(self.ticks, self.ticks)
        inputs = origin + np.column_stack((u.ravel(), v.ravel())) @ basis
        return np.asarray(self.network(frame)(inputs).reshape(u.shape))

    # --- loss and margins ---

    @cached_property
    def margins(self) -> FloatArray:
        """q_i = y_i f(x_i) at each time, shape (k, n)."""
        return np.array([self.data.y * self.network(frame)(self.data.X) for frame in range(len(self))])

    @cached_property
    def log10_loss(self) -> FloatArray:
        """log10 of the loss of the run at each time, shape (k,)."""
        outputs = [self.network(frame)(self.data.X) for frame in range(len(self))]
        totals = np.array(
            [log_total(loss_arguments(self.data, f, self.loss), self.loss, self.data.counts) for f in outputs]
        )
        return np.asarray((totals + np.log(reduction_factor(self.reduction, self.data.n))) / np.log(10.0))

    @cached_property
    def normalised_margins(self) -> FloatArray:
        """q_i/|θ|² at each time, 0 for a network of zeros, shape (k, n)."""
        square = ((self.W**2).sum(axis=(1, 2)) + (self.a**2).sum(axis=1))[:, None]
        return np.asarray(np.divide(self.margins, square, out=np.zeros_like(self.margins), where=square > 0))
