"""Linearly separable data of [LLWA]: symmetric pairs (Assumption 4.1) and the linear teacher of App. J."""

from __future__ import annotations

import numpy as np

from .._validation import FloatArray, Seed, generator, integer, invalid, real
from ._dataset import Dataset, checked_inputs, one_target

TABLE_INPUTS = 50  # d in [LLWA, App. J]
TABLE_BIAS = 0.1  # the value of the extra input there
# Max-margin test errors of draws at 0.2 and at 0.5 enclose seven of the ten in Table 1; the others lie just below 0.5.
TABLE_MARGIN = 0.45


def symmetric(n: int, d: int, *, margin: float = 0.1, seed: Seed = 0) -> Dataset:
    """Draw symmetric linearly separable data in the unit ball.

    Samples are uniform in the unit ball up to a shift: with u a random unit vector, the component along u is
    moved to at least `margin` and the rest shrunk so that |x| <= 1. These n/2 samples get +1, their negatives -1.

    Parameters
    ----------
    n : int
        Number of samples, even.
    d : int
        Number of inputs.
    margin : float, optional
        Some unit vector separates the data by at least this much, in (0, 1).
    seed : int, optional
        Seed of the generator.

    Returns
    -------
    Dataset
        x_{i+n/2} = -x_i, the first half labelled +1.

    Raises
    ------
    ValueError
        ``n`` is odd, ``margin`` outside (0, 1).

    References
    ----------
    [LLWA] Lyu, Li, Wang & Arora, Gradient Descent on Two-layer Nets, NeurIPS 2021, Assumptions 3.2 and 4.1.

    Examples
    --------
    >>> import reluflow as rf
    >>> data = rf.datasets.symmetric(6, 2, seed=1)
    >>> bool((data.X[3:] == -data.X[:3]).all())
    True
    """
    half, n_inputs = _half(n), integer(d, "d")
    least = real(margin, "margin", "lie in (0, 1)")
    if not 0 < least < 1:
        raise invalid("margin", "lie in (0, 1)", repr(least))
    rng = generator(seed)
    u = rng.standard_normal(n_inputs)
    u /= np.linalg.norm(u)
    X = rng.standard_normal((half, n_inputs))
    X *= rng.uniform(0, 1, (half, 1)) ** (1 / n_inputs) / np.linalg.norm(X, axis=1, keepdims=True)
    along = X @ u
    moved = least + (1 - least) * np.abs(along)
    room = np.sqrt((1 - moved**2) / np.maximum(1 - along**2, np.finfo(np.float64).tiny))
    return symmetrise(room[:, None] * (X - np.outer(along, u)) + np.outer(moved, u), name=f"symmetric, seed {seed}")


def symmetrise(half: Dataset | FloatArray, *, name: str | None = None) -> Dataset:
    """Add the negative of every sample with the opposite label.

    Parameters
    ----------
    half : Dataset, or array_like of shape (n, d)
        The samples; an array stands for samples labelled +1.
    name : str, optional
        Name of the result; by default that of `half` with "symmetrised" added.

    Returns
    -------
    Dataset
        2n samples in the order of [LLWA, Assumption 4.1]: y_i x_i labelled +1, then their negatives labelled -1. A
        sample and its negative count alike; a bias becomes an input like the others, since its sign turns over.

    Raises
    ------
    ValueError
        What `Dataset` refuses.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.symmetrise([[0.9, 0.1], [0.5, 0.6], [0.4, -0.3]]).n
    6
    """
    data = one_target(half, "half") if isinstance(half, Dataset) else _all_positive(half)
    positive = data.X * data.y[:, None]
    y = np.repeat([1.0, -1.0], data.n)
    default = f"{data.name}, symmetrised".removeprefix(", ")
    title = default if name is None else name
    weights = None if data.weights is None else np.tile(data.weights, 2)
    return Dataset(np.vstack((positive, -positive)), y, weights=weights, name=title, feature_names=data.feature_names)


def linear_teacher(
    n: int, d: int = TABLE_INPUTS, *, margin: float = TABLE_MARGIN, bias: float = TABLE_BIAS, seed: Seed = 0
) -> Dataset:
    """Draw Gaussian samples labelled by a linear teacher and moved away from its plane.

    x ~ N(0, I_d), y = sign(x_1), then y * margin is added to x_1, and a constant column `bias` is appended. The
    teacher is the first axis: a random one has the same law, and train and test sets with different seeds share it.

    Parameters
    ----------
    n : int
        Number of samples; the paper trains on 10, 20, ..., 100 and tests on 10000.
    d : int, optional
        Number of inputs before the bias.
    margin : float, optional
        Distance the samples are moved, >= 0. The paper says "mildly away"; with the default the test errors of
        max-margin classifiers come near those of its Table 1.
    bias : float, optional
        The constant extra input; 0 leaves it out.
    seed : int, optional
        Seed of the generator.

    Returns
    -------
    Dataset
        d + 1 inputs, or d if ``bias`` is 0.

    Raises
    ------
    ValueError
        ``margin`` below 0, or a number that is not finite.

    References
    ----------
    [LLWA] App. J, Table 1 and Fig. 4.

    Examples
    --------
    >>> import reluflow as rf
    >>> rf.datasets.linear_teacher(10).d
    51
    """
    n_samples, n_inputs = integer(n, "n"), integer(d, "d")
    shift = real(margin, "margin", "be a finite number of at least 0")
    if shift < 0:
        raise invalid("margin", "be a finite number of at least 0", repr(shift))
    constant = real(bias, "bias")
    rng = generator(seed)
    X = rng.standard_normal((n_samples, n_inputs))
    y = np.where(X[:, 0] >= 0, 1.0, -1.0)
    X[:, 0] += shift * y
    data = Dataset(X, y, name=f"linear teacher, seed {seed}")
    return data if constant == 0 else data.with_bias(constant)


def _all_positive(half: FloatArray) -> Dataset:
    X = checked_inputs(half, None, "half")
    return Dataset(X, np.ones(len(X)))


def _half(n: int) -> int:
    n_samples = integer(n, "n", least=2)
    if n_samples % 2:
        raise invalid("n", "be even", repr(n_samples))
    return n_samples // 2
