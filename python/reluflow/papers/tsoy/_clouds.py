"""[TK]'s data: four clouds in the plane, those of one class opposite each other."""

from __future__ import annotations

import numpy as np

from ..._validation import FloatArray
from ...datasets import Dataset
from ...networks import Network

SKEWED = np.pi / 3  # the second angle between the axes of the two classes in the code
AXES_SKEWED = np.array([-30.0, 90.0, 150.0, 270.0])  # orthogonal to the clouds of the other class, in degrees


def symmetric(rng: np.random.Generator, n: int = 16, sigma: float = 0.005, radius: float = 0.01) -> Dataset:
    """Draw a cloud at (1, 0), reflect it in both axes, and exchange the axes for the other class.

    The code has every point twice, which changes no mean: its reflection of the other inputs does nothing in the plane.
    """
    cloud = _cloud(rng, n, sigma, radius)
    cloud = np.vstack((cloud, cloud * [1, -1]))
    cloud = np.vstack((cloud, cloud * [-1, 1]))
    return Dataset(np.vstack((cloud, cloud[:, ::-1])), np.repeat([-1.0, 1.0], len(cloud)))


def skew(rng: np.random.Generator, n: int, angle: float, sigma: float = 0.1 / 2**0.5, radius: float = 0.2) -> Dataset:
    """Draw a cloud at (1, 0) and its mirror image at (-1, 0); reflect both so that their axis has the given angle."""
    cloud = _cloud(rng, n, sigma, radius)
    cloud = np.vstack((cloud, cloud * [-1, 1]))
    turn = np.array([[np.cos(angle), np.sin(angle)], [np.sin(angle), -np.cos(angle)]])
    return Dataset(np.vstack((cloud, cloud @ turn)), np.repeat([-1.0, 1.0], len(cloud)))


def _cloud(rng: np.random.Generator, n: int, sigma: float, radius: float) -> FloatArray:
    """Draw n normal points around (1, 0) and keep those within the radius."""
    points = rng.normal(0.0, sigma, (n, 2))
    return np.asarray(points[(points**2).sum(axis=1) < radius**2] + [1.0, 0.0])


def torch_start(rng: np.random.Generator, width: int, scale: float) -> Network:
    """Draw the uniform start of torch's linear layers, times the scale: |w_jk| <= scale/√2, |a_j| <= scale/√m."""
    W = rng.uniform(-1.0, 1.0, (width, 2)) / 2**0.5
    return Network(scale * W, scale * rng.uniform(-1.0, 1.0, width) / width**0.5)


def far(W: FloatArray, axes: FloatArray) -> FloatArray:
    """Return the angle (degrees) of each row to the nearest of some directions, given in degrees."""
    own = np.degrees(np.arctan2(W[:, 1], W[:, 0]))
    away = (own[:, None] - axes + 180.0) % 360.0 - 180.0
    return np.asarray(np.abs(away).min(axis=1))
