"""Random orthogonally separable data: x_i·x_j > 0 within a class, <= 0 between classes."""

from __future__ import annotations

import math
from typing import Literal, overload

import numpy as np

from .._validation import FloatArray, Seed, generator, integer, invalid
from ._dataset import Dataset
from ._multiclass import MultiClassDataset

CAP_SHARE = 0.99  # of the widest cap that keeps the promise: rounding must not undo it
NORM_RANGE = (0.5, 1.5)  # |x| is uniform here, so that samples of one class differ in size as well
PL_SAMPLES, PL_INPUTS = 500, 20  # [PL, Sec. 5.1]


@overload
def orthogonally_separable(n: int, d: int, *, classes: Literal[2] = 2, seed: Seed = 0) -> Dataset: ...
@overload
def orthogonally_separable(n: int, d: int, *, classes: int, seed: Seed = 0) -> Dataset | MultiClassDataset: ...
def orthogonally_separable(n: int, d: int, *, classes: int = 2, seed: Seed = 0) -> Dataset | MultiClassDataset:
    """Draw orthogonally separable data of two or more classes.

    The class directions are the corners of a regular simplex in a random orientation, at the angle
    θ = arccos(-1/(K-1)) from each other. A class fills a cap around its direction, of half angle 0.99 times the
    smaller of 45 degrees and (θ - 90)/2: samples of one class then meet at less than 90 degrees, samples of
    two classes at more. Norms are uniform in [0.5, 1.5].

    Parameters
    ----------
    n : int
        Number of samples, at least one a class. The first classes get one more where K does not divide n.
    d : int
        Number of inputs, at least K - 1.
    classes : int, optional
        Number K of classes. With 2 the first has the label +1, the second -1.
    seed : int, optional
        Seed of the generator.

    Returns
    -------
    Dataset or MultiClassDataset
        A `Dataset` for two classes, else a `MultiClassDataset`; samples stand class by class.

    Raises
    ------
    ValueError
        Fewer than 2 classes, fewer samples than classes, or d < K - 1.

    References
    ----------
    [PL] Sec. 2 (two classes), [WP] Sec. 2.1 (K classes).

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.orthogonally_separable(6, 3, seed=1)
    Dataset(n=6, d=3, n_positive=3, n_negative=3, name='orthogonally separable, seed 1')
    >>> rf.datasets.orthogonally_separable(6, 3, classes=3).K
    3
    """
    K = integer(classes, "classes", least=2)
    n_samples, n_inputs = integer(n, "n", least=K), integer(d, "d")
    if n_inputs < K - 1:
        raise invalid("d", f"be at least {K - 1} for {K} classes", repr(n_inputs))
    rng = generator(seed)
    labels = np.sort(np.arange(n_samples) % K)
    centres = _simplex(K, n_inputs) @ _rotation(n_inputs, rng)
    half_angle = CAP_SHARE * min(math.pi / 4, (math.acos(-1 / (K - 1)) - math.pi / 2) / 2)
    X = _cap_samples(centres[labels], half_angle, rng)
    name = f"orthogonally separable, seed {seed}"
    if K == 2:
        return Dataset(X, 1.0 - 2.0 * labels, name=name)
    return MultiClassDataset(X, labels, name=name)


def phuong_lampert(n: int = PL_SAMPLES, d: int = PL_INPUTS, *, seed: Seed = 0) -> Dataset:
    """Draw the data of [PL], Section 5.1: Gaussian samples filtered to two opposite orthants.

    With z = (1, -1, ..., 1, -1), a Gaussian x is kept with the label +1 if it lies in the first orthant and
    x·z >= 0, with the label -1 if it lies in the opposite orthant and x·z >= 0, and dropped otherwise. The
    literal filter keeps one draw in 2^d. The same law comes from x = ±|g| with g Gaussian, where neighbouring inputs
    are swapped if x·z < 0. Half of the samples, rounded up, get the label +1; the paper leaves the share to chance.

    The data are orthogonally separable. With the paper's sizes only a handful of support examples a class exist, so
    that its assumption "the support examples span R^d" fails for its own recipe.

    Parameters
    ----------
    n : int, optional
        Number of samples, at least 2.
    d : int, optional
        Number of inputs, even.
    seed : int, optional
        Seed of the generator.

    Returns
    -------
    Dataset
        The +1 samples come first.

    Raises
    ------
    ValueError
        ``n`` below 2, ``d`` odd or below 2.

    References
    ----------
    [PL] Phuong & Lampert, The Inductive Bias of ReLU Networks on Orthogonally Separable Data, ICLR 2021, Sec. 5.1.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.phuong_lampert(seed=3)
    Dataset(n=500, d=20, n_positive=250, n_negative=250, name='Phuong-Lampert, seed 3')
    """
    n_samples, n_inputs = integer(n, "n", least=2), integer(d, "d", least=2)
    if n_inputs % 2:
        raise invalid("d", "be even", repr(n_inputs))
    rng = generator(seed)
    y = np.where(np.arange(n_samples) < (n_samples + 1) // 2, 1.0, -1.0)
    X = y[:, None] * np.abs(rng.standard_normal((n_samples, n_inputs)))
    swapped = X.reshape(n_samples, -1, 2)[:, :, ::-1].reshape(n_samples, n_inputs)
    below = (X[:, ::2] - X[:, 1::2]).sum(axis=1) < 0
    return Dataset(np.where(below[:, None], swapped, X), y, name=f"Phuong-Lampert, seed {seed}")


def _simplex(K: int, d: int) -> FloatArray:
    """Return K unit rows in d >= K - 1 dimensions with pairwise cosine -1/(K-1)."""
    centred = np.eye(K) - 1 / K
    basis = np.linalg.svd(centred)[2][: K - 1]  # orthonormal, spans the vectors that sum to 0
    corners = centred @ basis.T
    corners /= np.linalg.norm(corners, axis=1, keepdims=True)
    return np.hstack((corners, np.zeros((K, d - K + 1))))


def _rotation(d: int, rng: np.random.Generator) -> FloatArray:
    """Return a random orthogonal matrix, uniform up to the signs of its columns."""
    q: FloatArray = np.linalg.qr(rng.standard_normal((d, d)))[0]
    return q


def _cap_samples(centres: FloatArray, half_angle: float, rng: np.random.Generator) -> FloatArray:
    """Draw one sample around each unit row of `centres`, within the given angle and with a norm in NORM_RANGE."""
    n, d = centres.shape
    norms = rng.uniform(NORM_RANGE[0], NORM_RANGE[1], (n, 1))
    if d == 1:
        return norms * centres
    side = rng.standard_normal((n, d))
    side -= np.sum(side * centres, axis=1, keepdims=True) * centres
    side /= np.linalg.norm(side, axis=1, keepdims=True)
    # The radius law of a flat disc of dimension d - 1 spreads the samples over the whole cap.
    angle = half_angle * rng.uniform(0, 1, (n, 1)) ** (1 / (d - 1))
    samples: FloatArray = norms * (np.cos(angle) * centres + np.sin(angle) * side)
    return samples
