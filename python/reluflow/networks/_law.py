"""The law of a random start: sizes, signs, balance, and pairs of neurons that cancel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypedDict

import numpy as np
import numpy.typing as npt

from .._validation import FloatArray, Seed, integer, invalid, place, positive, real, real_array, truth


class StartOptions(TypedDict, total=False):
    """Options of `Network.init` with a default, for the type checker; they are explained there."""

    scale: float
    balanced: bool
    imbalance: float
    norms: npt.ArrayLike | None
    signs: npt.ArrayLike | None
    antisymmetric: bool
    outputs: int
    leak: float
    bias_input: float | None
    seed: Seed


@dataclass(frozen=True)
class Law:
    """How the weights of a start are drawn.

    Attributes
    ----------
    shape : tuple of int
        Neurons that are drawn, half of them where the others are their opposites, and inputs.
    scale : float
        Size of the weights.
    balanced : bool
        Whether all w_j have the length `scale` or that of `norms`, and |a_j|² - |w_j|² is `imbalance`.
    imbalance : float
    norms, signs : ndarray, shape (neurons drawn,), or None
    antisymmetric : bool
        Whether every neuron has an opposite one.
    outputs : int
        Number K of outputs.
    """

    shape: tuple[int, int]
    scale: float
    balanced: bool
    imbalance: float
    norms: FloatArray | None
    signs: FloatArray | None
    antisymmetric: bool
    outputs: int

    def draw(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        """Draw W (m, d) and a, (m,) or (m, K)."""
        W, a = self._balanced(rng) if self.balanced else self._gaussian(rng)
        return (np.vstack((W, W)), np.concatenate((a, -a))) if self.antisymmetric else (W, a)

    def _balanced(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        W = rng.standard_normal(self.shape)
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        directions = self._directions(rng)
        sizes = np.full(self.shape[0], self.scale) if self.norms is None else self.norms
        # Without imbalance |a_j| is the length itself, to the last bit: the flow keeps what is exactly zero.
        outputs = sizes if self.imbalance == 0 else np.sqrt(sizes * sizes + self.imbalance)
        return sizes[:, None] * W, (outputs * directions.T).T

    def _directions(self, rng: np.random.Generator) -> FloatArray:
        """Draw what a_j is of its length: a sign, or a unit vector of K numbers."""
        if self.outputs > 1:
            a = rng.standard_normal((self.shape[0], self.outputs))
            return np.asarray(a / np.linalg.norm(a, axis=1, keepdims=True))
        return rng.choice(np.array([-1.0, 1.0]), self.shape[0]) if self.signs is None else self.signs

    def _gaussian(self, rng: np.random.Generator) -> tuple[FloatArray, FloatArray]:
        shape = self.shape[0] if self.outputs == 1 else (self.shape[0], self.outputs)
        W, a = rng.standard_normal(self.shape), rng.standard_normal(shape)
        return self.scale * W, self.scale * (a if self.signs is None else np.abs(a) * self.signs)


def law_of(
    width: int,
    dim: int,
    scale: float,
    balanced: bool,
    imbalance: float,
    *,
    norms: npt.ArrayLike | None,
    signs: npt.ArrayLike | None,
    antisymmetric: bool,
    outputs: int = 1,
    classes: object = None,
) -> Law:
    """Check the arguments of `Network.init` that say how weights are drawn."""
    m, d, size = integer(width, "width"), integer(dim, "dim"), positive(scale, "scale")
    for name, value in (("balanced", balanced), ("antisymmetric", antisymmetric)):
        truth(value, name)
    if antisymmetric and m % 2:
        raise invalid("width", "be even for an antisymmetric start, whose neurons are pairs", repr(m))
    drawn = m // 2 if antisymmetric else m
    K = integer(outputs, "outputs")
    if K > 1 and classes is not None:
        raise invalid("outputs", "be left out with classes, which have a network of one output each", repr(outputs))
    if K > 1 and signs is not None:
        raise invalid("signs", "be left out with several outputs, where a_j has a direction and no sign", "signs")
    lengths = None if norms is None else _one_each(norms, "norms", drawn)
    if lengths is not None and not (lengths > 0).all():
        raise invalid("norms", "hold numbers above 0", place(lengths, lengths <= 0))
    given = None if signs is None else _one_each(signs, "signs", drawn)
    if given is not None and not (np.abs(given) == 1).all():
        raise invalid("signs", "hold +1 and -1 only", place(given, np.abs(given) != 1))
    difference = real(imbalance, "imbalance")
    _check_imbalance(difference, size if lengths is None else float(lengths.min()))
    if not balanced and (difference or lengths is not None):
        name, found = ("imbalance", repr(difference)) if difference else ("norms", "norms")
        raise invalid(name, "be left out where balanced is False, for Gaussian weights have their own", found)
    return Law((drawn, d), size, bool(balanced), difference, lengths, given, bool(antisymmetric), K)


def _check_imbalance(difference: float, smallest: float) -> None:
    if not smallest * smallest + difference >= 0:
        raise invalid("imbalance", f"be at least -|w_j|² = {-smallest * smallest:g}", repr(difference))


def _one_each(value: npt.ArrayLike, name: str, count: int) -> FloatArray:
    numbers = real_array(value, name, "(m,)")
    if len(numbers) != count:
        raise invalid(name, f"hold {count} numbers, one for each neuron that is drawn", f"{len(numbers)}")
    return numbers
