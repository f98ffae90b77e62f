"""Directions of the neurons at the iterations that App. F draws, by gradient descent and by the exact flow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..._validation import FloatArray
from ...analysis import States, states
from ...datasets import Dataset
from ...descent import DescentResult, descend
from ...flow import Solution, integrate
from ...networks import Network
from ._tools import ITERATIONS, SMALL, STEP, WIDTH, survivors, unit

MAX_DRAWS = 1000  # starts tried for one with enough neurons alive; half of them have these
TURNING = 20.0  # time by which the neurons of these starts have turned; later they only grow
LIVING = 2  # neurons of each label that a drawn run keeps, so that there is something to see


@dataclass(frozen=True, eq=False)
class Trajectory:
    """Directions of m neurons: a path to draw as a line, and the marked iterations.

    Attributes
    ----------
    data : Dataset
    title : str
    signs : ndarray, shape (m,)
    smooth : ndarray, shape (k, m, d)
        ŵ_j along the run.
    marks : ndarray, shape (1 + p, m, d)
        ŵ_j at the start and at the marked iterations.
    staggered : bool
        Whether the path is a smooth arc, which is drawn beside the circle, or the chords between the marks.
    """

    data: Dataset
    title: str
    signs: FloatArray
    smooth: FloatArray
    marks: FloatArray
    staggered: bool

    def rectified(self, directions: FloatArray) -> FloatArray:
        """Return (Xŵ_j)₊, shape (k, m, n)."""
        return np.maximum(directions @ self.data.X.T, 0.0)


@dataclass(frozen=True, eq=False)
class Pair:
    """One start, followed by gradient descent and by the flow."""

    data: Dataset
    net: Network
    descent: DescentResult
    flow: Solution

    @property
    def alive(self) -> npt.NDArray[np.bool_]:
        """Mask of the neurons that are active on some sample at the end of the flow, shape (m,)."""
        pattern = self.flow.final.pattern
        assert pattern is not None
        return np.asarray((pattern > 0).any(axis=1))

    @property
    def dead(self) -> npt.NDArray[np.bool_]:
        """Mask of the neurons that are active on no sample after 1000 iterations, by descent and the flow, shape (m,).

        Others die later, or a step of descent takes the output weight of one that dies through 0, and it grows again.
        """
        pattern = self.flow(STEP * ITERATIONS[-2]).pattern
        assert pattern is not None
        seen = self.descent.W[ITERATIONS[-2]] @ self.data.X.T > 0
        return np.asarray(~(seen | (pattern > 0)).any(axis=1))

    def descent_path(self, title: str = f"gradient descent, step {STEP:g}") -> Trajectory:
        """Return gradient descent as the paper draws it: chords between iterations 1, 10, ... 10^4."""
        marks = unit(self.descent.W[np.array([0, *ITERATIONS])])
        return Trajectory(self.data, title, np.sign(self.net.a), unit(self.descent.W), marks, False)

    def flow_path(self, title: str = "exact flow") -> Trajectory:
        """Return the flow, marked at the times step · iteration."""
        turning = np.linspace(0.0, TURNING, 400)
        smooth = states(self.flow, np.append(turning, np.geomspace(TURNING, self.flow.t_end, 60)[1:]))
        marks = self.flow_marks()
        return Trajectory(self.data, title, np.sign(self.net.a), unit(smooth.W), unit(marks.W), True)

    def flow_marks(self) -> States:
        """Return the flow at the start and at the times of the marked iterations."""
        return states(self.flow, np.array([0.0, *(STEP * k for k in ITERATIONS)]))


def pair(data: Dataset, net: Network) -> Pair:
    """Run gradient descent for 10^4 iterations and the flow for the same time."""
    steps = ITERATIONS[-1]
    descent = descend(data, net, step=STEP, n_steps=steps, save_every=1)
    return Pair(data, net, descent, integrate(data, net, until=STEP * steps))


def start(seed: int, dim: int = 2) -> Network:
    """Return the random balanced start of App. F: ten neurons with small weights."""
    return Network.init(WIDTH, dim, scale=SMALL, seed=seed)


def fitting_start(data: Dataset, seed: int) -> tuple[Network, int]:
    """Return the first start from this seed on in which every label that occurs keeps two living neurons and some die.

    Returns
    -------
    Network
    int
        Its seed.
    """
    for number in range(seed, seed + MAX_DRAWS):
        net = start(number, data.d)
        plus, minus = survivors(data, net)
        if (
            plus + minus < WIDTH
            and (plus >= LIVING or not (data.y > 0).any())
            and (minus >= LIVING or not (data.y < 0).any())
        ):
            return net, number
    raise RuntimeError(f"no start of {MAX_DRAWS} keeps two neurons for every label")


def living_start(data: Dataset, seed: int) -> tuple[Network, int]:
    """Return the first start from this seed on in which some neurons live and some die, and its seed."""
    for number in range(seed, seed + MAX_DRAWS):
        net = start(number, data.d)
        if 0 < sum(survivors(data, net)) < WIDTH:
            return net, number
    raise RuntimeError(f"no start of {MAX_DRAWS} keeps a neuron and loses one")


def showing_start(data: Dataset, number: int) -> tuple[Network, int]:
    """Return the first start from this seed on that keeps a neuron of each label, and its seed."""
    for seed in range(number, number + MAX_DRAWS):
        net = start(seed, data.d)
        if min(survivors(data, net)) > 0:
            return net, seed
    raise RuntimeError(f"no start of {MAX_DRAWS} keeps a neuron for every label")


def scaled_value(data: Dataset, net: Network) -> float:
    """Return ½|θ|² of the network scaled to least margin 1; infinity where it does not separate the data."""
    least = float((data.y * net(data.X)).min())
    return 0.5 * net.norm**2 / least if least > 0 else float("inf")


def together(errors: npt.ArrayLike, W: FloatArray) -> float:
    """Return the root mean square of the errors of neurons, each by its |w|².

    A neuron that nearly died turns while it grows, and may be small still, and on its way, after 10^4 iterations.
    """
    sizes = np.linalg.norm(W, axis=1)
    return float(np.linalg.norm(sizes * np.asarray(errors)) / np.linalg.norm(sizes))
