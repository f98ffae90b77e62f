"""Networks that the flow does not run: diagonal, convolutional and deep linear ones, as functions of their weights."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np

from ..._validation import FloatArray
from ._checks import Margins, relu

Phi = Callable[[Any], Any]


def identity(z: Any) -> Any:
    """Return z: the activation of a linear network."""
    return z


ACTIVATIONS: dict[str, Phi] = {"linear": identity, "ReLU": relu}


def diagonal(x: FloatArray, depth: int, phi: Phi) -> Margins:
    """Return θ -> f(x) of the diagonal network, with the depth times d weights of θ layer by layer.

    Each hidden layer multiplies every coordinate by its own weight and applies φ; the last one adds them up.

    Examples
    --------
    >>> diagonal(np.array([1.0, 2.0]), 2, identity)(np.array([1.0, 0.5, 1.0, 0.5]))
    array([1.5])
    """

    def output(theta: Any) -> Any:
        layers = np.reshape(theta, (depth, len(x)))
        signal = x
        for layer in layers[:-1]:
            signal = phi(layer * signal)
        return np.array([layers[-1] @ signal])

    return output


def convolution(patches: FloatArray, phi: Phi) -> Margins:
    """Return θ = (w, v) -> Σ_j v_j φ(w·x⁽ʲ⁾) with one filter w for all patches x⁽ʲ⁾, shape (k, p)."""

    def output(theta: Any) -> Any:
        w, v = theta[: patches.shape[1]], theta[patches.shape[1] :]
        return np.array([v @ phi(patches @ w)])

    return output


def patches(inputs: FloatArray, y: FloatArray, phi: Phi) -> Margins:
    """Return θ = (w_1 … w_k, v) -> y_i Σ_l v_l φ(w_l·x_i⁽ˡ⁾), each neuron with inputs of its own, shape (n, k, p)."""
    _, k, p = inputs.shape

    def output(theta: Any) -> Any:
        W, v = np.reshape(theta[: k * p], (k, p)), theta[k * p :]
        return y * (phi(np.einsum("nkp,kp->nk", inputs, W)) @ v)

    return output


def diagonals(X: FloatArray, y: FloatArray, depth: int, phi: Phi) -> Margins:
    """Return θ -> y_i f(x_i) of the diagonal network on several samples."""
    each = [diagonal(x, depth, phi) for x in X]

    def output(theta: Any) -> Any:
        return y * np.concatenate([one(theta) for one in each])

    return output


def deep(X: FloatArray, y: FloatArray, widths: tuple[int, ...], phi: Phi) -> Margins:
    """Return θ -> y_i W⁽ᵐ⁾φ(…φ(W⁽¹⁾x_i)) for layers of these widths, the first one d and the last one 1."""

    def output(theta: Any) -> Any:
        signal, start = X.T, 0
        for place, (n_in, n_out) in enumerate(itertools.pairwise(widths)):
            signal = np.reshape(theta[start : start + n_in * n_out], (n_out, n_in)) @ (phi(signal) if place else signal)
            start += n_in * n_out
        return y * signal[0]

    return output


def deep_linear(X: FloatArray, y: FloatArray, widths: tuple[int, ...]) -> Margins:
    """Return θ -> y_i W⁽ᵐ⁾…W⁽¹⁾x_i for layers of these widths, the first one d and the last one 1."""

    def output(theta: Any) -> Any:
        signal, start = X.T, 0
        for n_in, n_out in itertools.pairwise(widths):
            signal = np.reshape(theta[start : start + n_in * n_out], (n_out, n_in)) @ signal
            start += n_in * n_out
        return y * signal[0]

    return output


def aligned_layers(direction: FloatArray, size: float, widths: tuple[int, ...], rng: np.random.Generator) -> FloatArray:
    """Return W⁽ˡ⁾ = C v_l v_{l-1}ᵀ with unit v_l, v_0 the direction and v_m = 1, flattened [VSS, C.2]."""
    vectors = [direction / np.linalg.norm(direction)]
    for width in widths[1:-1]:
        vector = rng.standard_normal(width)
        vectors.append(vector / np.linalg.norm(vector))
    vectors.append(np.ones(1))
    layers = [size * np.outer(after, before) for before, after in itertools.pairwise(vectors)]
    return np.concatenate([layer.ravel() for layer in layers])
