"""Two-layer networks: f(x) = Σ_j a_j φ(w_j·x) with φ(z) = max(z, αz), as immutable values."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
import numpy.typing as npt

from .._digest import content_digest, hash_of
from .._files import read_archive, write_archive
from .._html import card
from .._validation import (
    FloatArray,
    PatternArray,
    Seed,
    freeze,
    generator,
    instance,
    integer,
    invalid,
    leak_value,
    positive,
    real_array,
)
from ._parts import checked_signs, draw_weights
from ._torch import module_of, weights_of

if TYPE_CHECKING:
    from ._multiclass import MultiClassNetwork

_FORMAT, _SCHEMA = "reluflow network", 1


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Network:
    """A two-layer ReLU or leaky ReLU network without bias, f(x) = Σ_j a_j max(w_j·x, leak w_j·x).

    The arrays are private copies and read-only.

    Parameters
    ----------
    W : array_like, shape (m, d)
        First-layer weights, one row a neuron.
    a : array_like, shape (m,)
        Output weights.
    leak : float, optional
        Slope α of the activation on the negative side, in [0, 1). 0 is the ReLU.
    pattern : array_like of int, shape (m, n), optional
        Exact signs of the pre-activations w_j·x_i on the n samples of a dataset: +1, -1, and 0 where neuron j lies on
        the wall of sample i. The networks of a solution carry it, so that `reluflow.integrate` continues exactly
        where a run stopped: a held pair is then still held, though w_j·x_i is only zero to rounding. A network
        that you build yourself needs none; its signs are read off W Xᵀ at the start of a run.

    Attributes
    ----------
    W : ndarray, shape (m, d), float64, C order, read-only
    a : ndarray, shape (m,), float64, read-only
    leak : float
    pattern : ndarray, shape (m, n), int8, read-only, or None
    width, dim : int
        Number m of neurons and number d of inputs.
    theta : ndarray, shape (m, d + 1)
        The parameters θ of each neuron in a row, (w_j, a_j).
    norm : float
        |θ|, the Euclidean norm of all weights.
    balance : ndarray, shape (m,)
        a_j² - |w_j|², constant along the flow.

    Raises
    ------
    ValueError
        A bad shape, dtype, entry or leak; the message names the argument, what was found and what is expected.

    Examples
    --------
    >>> import reluflow as rf
    >>> net = rf.Network([[1.0, 0.0], [0.0, 2.0]], [1.0, -2.0])
    >>> net([[3.0, -1.0], [0.0, 1.0]])
    array([ 3., -4.])
    >>> net.balance
    array([0., 0.])
    """

    W: FloatArray
    a: FloatArray
    leak: float
    pattern: PatternArray | None

    def __init__(
        self,
        W: npt.ArrayLike,
        a: npt.ArrayLike,
        *,
        leak: float = 0.0,
        pattern: npt.ArrayLike | None = None,
    ) -> None:
        weights = real_array(W, "W", "(m, d)")
        if weights.shape[0] < 1 or weights.shape[1] < 1:
            raise invalid("W", "hold at least one row and one column", f"the shape {weights.shape}")
        outputs = real_array(a, "a", "(m,)")
        if len(outputs) != len(weights):
            raise invalid("a", f"have one weight for each of the {len(weights)} rows of W", f"{len(outputs)} weights")
        signs = None if pattern is None else checked_signs(pattern, len(weights))
        self._set(weights, outputs, leak_value(leak), signs)

    @overload
    @classmethod
    def init(
        cls,
        width: int,
        dim: int,
        *,
        classes: None = None,
        scale: float = 1e-3,
        balanced: bool = True,
        leak: float = 0.0,
        seed: Seed = 0,
    ) -> Network: ...

    @overload
    @classmethod
    def init(
        cls,
        width: int,
        dim: int,
        *,
        classes: int,
        scale: float = 1e-3,
        balanced: bool = True,
        leak: float = 0.0,
        seed: Seed = 0,
    ) -> MultiClassNetwork: ...

    @classmethod
    def init(
        cls,
        width: int,
        dim: int,
        *,
        classes: int | None = None,
        scale: float = 1e-3,
        balanced: bool = True,
        leak: float = 0.0,
        seed: Seed = 0,
    ) -> Network | MultiClassNetwork:
        """Draw a random network; the same arguments give the same bits.

        Parameters
        ----------
        width, dim : int
            Number m of neurons and number d of inputs.
        classes : int, optional
            K >= 2: draw K such networks, one a class, from K independent streams of random numbers. The first ones
            are the same whatever K is.
        scale : float, optional
            Size of the weights.
        balanced : bool, optional
            True: w_j is uniform on the sphere of radius `scale` and a_j = ±scale, each sign with probability 1/2, so
            that |a_j| = |w_j| as in [WP] and [PL]. False: w_j ~ N(0, scale² I) and a_j ~ N(0, scale²), the start of
            the symmetric case of [LLWA, Sec. 4] with c = 1.
        leak : float, optional
            Slope of the activation on the negative side, in [0, 1).
        seed : int, numpy.random.Generator or None, optional
            Seed of the generator `numpy.random.default_rng`; of class k, of ``default_rng([seed, k])``. A Generator is
            drawn from, with classes from one that it spawns for each; None is another start every time.

        Returns
        -------
        Network, or MultiClassNetwork if `classes` is given

        Raises
        ------
        ValueError
            ``width`` or ``dim`` below 1, ``classes`` below 2, ``scale`` not above 0, ``leak`` outside [0, 1), ``seed``
            below 0.

        Examples
        --------
        >>> import reluflow as rf
        >>> net = rf.Network.init(3, 2, scale=0.5, seed=1)
        >>> abs(net.a)
        array([0.5, 0.5, 0.5])
        """
        shape = (integer(width, "width"), integer(dim, "dim"))
        size = positive(scale, "scale")
        instance(balanced, "balanced", (bool, np.bool_), "True or False")
        slope = leak_value(leak)
        stream = generator(seed)

        def draw(source: np.random.Generator) -> Network:
            W, a = draw_weights(source, shape, bool(balanced))
            return cls(size * W, size * a, leak=slope)

        if classes is None:
            return draw(stream)
        from ._multiclass import MultiClassNetwork

        K = integer(classes, "classes", least=2)
        if seed is None or stream is seed:
            return MultiClassNetwork(draw(child) for child in stream.spawn(K))
        return MultiClassNetwork(draw(generator(seed, k)) for k in range(K))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the network to one .npz file, whole or not at all; `Network.load` reads it back exactly.

        Raises
        ------
        OSError
            The system cannot write, for want of the folder or of a right; what was there is still there.
        """
        pattern = {} if self.pattern is None else {"pattern": self.pattern}
        arrays = {"W": self.W, "a": self.a, **pattern}
        write_archive(path, arrays, {"format": _FORMAT, "schema": _SCHEMA, "leak": self.leak})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Network:
        """Read a network that `save` wrote: the same bits.

        Raises
        ------
        OSError
            There is no such file, or it cannot be read.
        ValueError
            The file holds no network, or is damaged; the message names the path and what is wrong.

        Examples
        --------
        >>> import tempfile, pathlib
        >>> import reluflow as rf
        >>> net = rf.Network.init(3, 2, seed=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     net.save(pathlib.Path(folder, "net.npz"))
        ...     rf.Network.load(pathlib.Path(folder, "net.npz")) == net
        True
        """
        arrays, record = read_archive(path, (_FORMAT,), _SCHEMA)
        try:
            return cls(arrays["W"], arrays["a"], leak=record["leak"], pattern=arrays.get("pattern"))
        except Exception as error:  # whatever the wrong kind of value in a damaged file leads to
            raise invalid("path", "hold a whole network", f"{os.fspath(path)!r}, damaged: {error}") from error

    @classmethod
    def from_torch(cls, module: Any) -> Network:
        """Take the weights of a torch module: Linear, ReLU or LeakyReLU, Linear, with one output.

        A bias of the first layer becomes the last column of W. The inputs then need a column of ones, as
        `reluflow.datasets.add_bias` appends it.

        Parameters
        ----------
        module : torch.nn.Module
            With these three layers and no other, such as a ``Sequential`` of them. Its precision and device do not
            matter; W and a are float64.

        Raises
        ------
        ValueError
            Other layers, several outputs, an output bias (a flow has none), a slope outside [0, 1), or a module whose
            outputs are not those of its layers. An ImportError without torch (extra ``torch``).
        """
        W, a, leak = weights_of(module)
        return cls(W, a, leak=leak)

    def to_torch(self, *, bias: bool = False) -> Any:
        """Return a torch module with these weights, in double precision.

        Parameters
        ----------
        bias : bool, optional
            True: the last column of W becomes the bias of the first layer, and the module takes d - 1 inputs.

        Returns
        -------
        torch.nn.Sequential
            Linear, ReLU (LeakyReLU if the leak is above 0), Linear; outputs have the shape (n, 1).

        Raises
        ------
        ValueError
            `bias` is no truth value, or W has one column alone. An ImportError without torch (extra ``torch``).
        """
        return module_of((self.W, self.a, self.leak), bias=bias)

    @classmethod
    def _trusted(cls, W: FloatArray, a: FloatArray, leak: float, pattern: PatternArray | None) -> Network:
        """Build a network from arrays that the core made: not checked, not copied, made read-only."""
        net = cls.__new__(cls)
        net._set(W, a, leak, pattern)
        return net

    def _set(self, W: FloatArray, a: FloatArray, leak: float, pattern: PatternArray | None) -> None:
        for name, value in (("W", W), ("a", a), ("leak", leak), ("pattern", pattern)):
            object.__setattr__(self, name, value)
        self._freeze()

    def _freeze(self) -> None:
        for array in (self.W, self.a, self.pattern):
            if array is not None:
                freeze(array)

    @property
    def width(self) -> int:
        """Number m of neurons."""
        return int(self.W.shape[0])

    @property
    def dim(self) -> int:
        """Number d of inputs."""
        return int(self.W.shape[1])

    @property
    def theta(self) -> FloatArray:
        """The parameters θ of each neuron in a row, (w_j, a_j), shape (m, d + 1)."""
        return np.column_stack((self.W, self.a))

    @property
    def norm(self) -> float:
        """|θ|, the Euclidean norm of all weights; it neither overflows nor underflows on the way."""
        largest = max(float(np.abs(self.W).max()), float(np.abs(self.a).max()))
        if largest == 0:
            return 0.0
        return largest * float(np.linalg.norm(self.theta / largest))

    @property
    def balance(self) -> FloatArray:
        """a_j² - |w_j|² of each neuron, shape (m,), computed as (|a_j| - |w_j|)(|a_j| + |w_j|)."""
        norms = np.linalg.norm(self.W, axis=1)
        sizes = np.abs(self.a)
        balance: FloatArray = (sizes - norms) * (sizes + norms)
        return balance

    def __call__(self, X: npt.ArrayLike) -> FloatArray:
        """Evaluate the network on inputs X.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Inputs, one row a sample.

        Returns
        -------
        ndarray, shape (n,)
            f(x_i) for each row.

        Raises
        ------
        ValueError
            X has another shape or holds something that is not a finite real number.
        """
        inputs = real_array(X, "X", "(n, d)")
        if inputs.shape[1] != self.dim:
            raise invalid("X", f"have {self.dim} columns, the inputs of the network", f"{inputs.shape[1]} columns")
        Z = inputs @ self.W.T
        values: FloatArray = np.maximum(Z, self.leak * Z) @ self.a
        return values

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of all that `==` compares: equal where networks are equal, in every process."""
        return content_digest(self.W, self.a, self.leak, self.pattern)

    def __hash__(self) -> int:
        """Return a hash that is the same in every process."""
        return hash_of(self.fingerprint)

    def __eq__(self, other: object) -> bool:
        """Tell whether weights, leak and pattern are equal, entry by entry."""
        if not isinstance(other, Network):
            return NotImplemented
        same = np.array_equal(self.W, other.W) and np.array_equal(self.a, other.a) and self.leak == other.leak
        if self.pattern is None or other.pattern is None:
            return same and self.pattern is other.pattern
        return same and np.array_equal(self.pattern, other.pattern)

    def __repr__(self) -> str:
        """One line: sizes, leak, norm and whether a pattern is carried."""
        carried = "" if self.pattern is None else f", pattern on {self.pattern.shape[1]} samples"
        return f"Network(width={self.width}, dim={self.dim}, leak={self.leak:g}, norm={self.norm:.6g}{carried})"

    def _repr_html_(self) -> str:
        """Show sizes, norm and signs as a table in a notebook."""
        n_positive, n_negative = int((self.a > 0).sum()), int((self.a < 0).sum())
        rest = self.width - n_positive - n_negative
        signs = f"{n_positive} with a > 0, {n_negative} with a < 0" + (f", {rest} with a = 0" if rest else "")
        rows = [("neurons", f"{self.width}: {signs}"), ("inputs", self.dim), ("leak", f"{self.leak:g}")]
        carried = () if self.pattern is None else (("pattern", f"on {self.pattern.shape[1]} samples"),)
        return card("Network", (*rows, ("|θ|", f"{self.norm:.6g}"), *carried))

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied network with its arrays read-only again."""
        self.__dict__.update(state)
        self._freeze()
