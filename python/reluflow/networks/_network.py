"""Two-layer networks: f(x) = Σ_j a_j φ(w_j·x) with φ(z) = max(z, αz) and one output or several, as immutable values."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Unpack, overload

import numpy as np
import numpy.typing as npt

from .._digest import content_digest, hash_of
from .._files import read_archive, write_archive
from .._validation import FloatArray, PatternArray, Seed, freeze, generator, integer, invalid, leak_value
from ._law import StartOptions, law_of
from ._parts import checked_bias, checked_signs, checked_weights, outputs_of, with_bias_input
from ._shown import line, table
from ._torch import module_of, weights_of

if TYPE_CHECKING:
    from ._multiclass import MultiClassNetwork

_FORMAT, _SCHEMA = "reluflow network", 1


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Network:
    """A two-layer ReLU or leaky ReLU network, f(x) = Σ_j a_j max(w_j·x, leak w_j·x).

    The arrays are private copies and read-only.

    Parameters
    ----------
    W : array_like, shape (m, d)
        First-layer weights, one row a neuron.
    a : array_like, shape (m,) or (m, K)
        Output weights; with K >= 2 outputs one row a neuron.
    leak : float, optional
        Slope α of the activation on the negative side, in [0, 1). 0 is the ReLU.
    pattern : array_like of int, shape (m, n), optional
        Exact signs of the pre-activations w_j·x_i on the n samples of a dataset: +1, -1, and 0 where neuron j lies on
        the boundary of sample i. The networks of a solution carry it, so that `reluflow.integrate` continues exactly
        where a run stopped: a held pair is still held, though w_j·x_i is only zero to rounding. A network that you
        build yourself needs none; its signs are read off W Xᵀ at the start of a run.
    bias_input : float, optional
        The constant c that is the last input: c times the last column of W is the bias, and inputs come without this
        column. The networks of a run on data with a bias (`Dataset.with_bias`) have it.

    Attributes
    ----------
    W : ndarray, shape (m, d), float64, C order, read-only
    a : ndarray, shape (m,) or (m, K), float64, C order, read-only
    leak : float
    pattern : ndarray, shape (m, n), int8, read-only, or None
    bias_input : float, or None
    bias : ndarray, shape (m,), or None
        What is added to w_j·x of inputs without the bias column.
    width, dim, n_outputs : int
        Number m of neurons, d of inputs, and K of outputs.
    theta : ndarray, shape (m, d + K)
        The parameters θ of each neuron in a row, (w_j, a_j).
    norm : float
        |θ|, the Euclidean norm of all weights.
    balance : ndarray, shape (m,)
        |a_j|² - |w_j|², constant along the flow.

    Raises
    ------
    ValueError
        A bad shape, dtype, entry, leak or bias; the message names the argument, what was found and what is expected.

    Examples
    --------
    >>> import reluflow as rf
    >>> net = rf.Network([[1.0, 0.0], [0.0, 2.0]], [1.0, -2.0])
    >>> net([[3.0, -1.0], [0.0, 1.0]]), net.balance
    (array([ 3., -4.]), array([0., 0.]))
    >>> rf.Network([[1.0, -0.5]], [2.0], bias_input=1.0)([[3.0]])
    array([5.])
    >>> rf.Network([[1.0, 0.0], [0.0, 2.0]], [[1.0, -1.0], [0.0, 3.0]])([[3.0, 1.0]])
    array([[3., 3.]])
    """

    W: FloatArray
    a: FloatArray
    leak: float
    pattern: PatternArray | None
    bias_input: float | None

    def __init__(
        self,
        W: npt.ArrayLike,
        a: npt.ArrayLike,
        *,
        leak: float = 0.0,
        pattern: npt.ArrayLike | None = None,
        bias_input: float | None = None,
    ) -> None:
        weights, outputs = checked_weights(W, a)
        signs = None if pattern is None else checked_signs(pattern, len(weights))
        bias = None if bias_input is None else checked_bias(bias_input, weights.shape[1])
        self._set(weights, outputs, leak_value(leak), signs, bias)

    @overload
    @classmethod
    def init(cls, width: int, dim: int, *, classes: None = None, **options: Unpack[StartOptions]) -> Network: ...

    @overload
    @classmethod
    def init(cls, width: int, dim: int, *, classes: int, **options: Unpack[StartOptions]) -> MultiClassNetwork: ...

    @classmethod
    def init(
        cls,
        width: int,
        dim: int,
        *,
        classes: int | None = None,
        outputs: int = 1,
        scale: float = 1e-3,
        balanced: bool = True,
        imbalance: float = 0.0,
        norms: npt.ArrayLike | None = None,
        signs: npt.ArrayLike | None = None,
        antisymmetric: bool = False,
        leak: float = 0.0,
        bias_input: float | None = None,
        seed: Seed = 0,
    ) -> Network | MultiClassNetwork:
        """Draw a random network; the same arguments give the same bits.

        Parameters
        ----------
        width, dim : int
            Number m of neurons and number d of inputs, the column of a bias among them.
        classes : int, optional
            K >= 2: draw K such networks, one a class, from K independent streams of random numbers. The first ones
            are the same whatever K is.
        outputs : int, optional
            K: draw one network with K outputs, a of shape (m, K). Balanced, the directions of w_j and a_j are uniform.
        scale : float, optional
            Size of the weights.
        balanced : bool, optional
            True: w_j is uniform on the sphere of radius `scale` and a_j = ±scale, each sign with probability 1/2, so
            that |a_j| = |w_j| [WP, PL]. False: w_j ~ N(0, scale² I) and a_j ~ N(0, scale²) [LLWA, Sec. 4, with c = 1].
        imbalance : float, optional
            δ = |a_j|² - |w_j|² of every neuron, which the flow keeps: |a_j| = (|w_j|² + δ)^½.
        norms : array_like, shape (m,), optional
            |w_j| of each neuron, above 0, instead of `scale`.
        signs : array_like, shape (m,), optional
            +1 or -1, the sign of each a_j, instead of random ones; for one output.
        antisymmetric : bool, optional
            True: the second half of the neurons has the w_j of the first half, and the opposite a_j, so that f = 0 at
            the start. m is even, and `norms` and `signs` are those of the first half, shape (m/2,).
        leak : float, optional
            Slope of the activation on the negative side, in [0, 1).
        bias_input : float, optional
            The constant that is the last input; the networks of a run on data with a bias know it by themselves.
        seed : int, numpy.random.Generator or None, optional
            Seed of `numpy.random.default_rng`; of class k, of ``default_rng([seed, k])``. A Generator is drawn from,
            with classes from one that it spawns for each; None is another start every time.

        Returns
        -------
        Network, or MultiClassNetwork if `classes` is given

        Raises
        ------
        ValueError
            ``width``, ``dim`` or ``outputs`` below 1, ``classes`` below 2 or beside ``outputs``, ``scale`` not above 0,
            ``imbalance`` below -|w_j|², ``norms`` or ``signs`` of another length, an odd antisymmetric ``width``,
            ``leak`` outside [0, 1), ``seed`` below 0.

        Examples
        --------
        >>> import reluflow as rf
        >>> net = rf.Network.init(3, 2, scale=0.5, seed=1)
        >>> abs(net.a)
        array([0.5, 0.5, 0.5])
        >>> rf.Network.init(4, 2, antisymmetric=True, scale=0.6, imbalance=0.64).a
        array([-1.,  1.,  1., -1.])
        """
        each: dict[str, Any] = {"norms": norms, "signs": signs, "outputs": outputs, "classes": classes}
        law = law_of(width, dim, scale, balanced, imbalance, antisymmetric=antisymmetric, **each)
        slope = leak_value(leak)
        stream = generator(seed)

        def draw(source: np.random.Generator) -> Network:
            return cls(*law.draw(source), leak=slope, bias_input=bias_input)

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
        record = {"leak": self.leak, "bias_input": self.bias_input}
        write_archive(path, arrays, {"format": _FORMAT, "schema": _SCHEMA, **record})

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
            known = {"leak": record["leak"], "bias_input": record.get("bias_input")}
            return cls(arrays["W"], arrays["a"], pattern=arrays.get("pattern"), **known)
        except Exception as error:  # whatever the wrong kind of value in a damaged file leads to
            raise invalid("path", "hold a whole network", f"{os.fspath(path)!r}, damaged: {error}") from error

    @classmethod
    def from_torch(cls, module: Any) -> Network:
        """Take the weights of a torch module: Linear, ReLU or LeakyReLU, Linear, with any number of outputs.

        A bias of the first layer becomes the last column of W, with `bias_input` 1. The data of a run then need a
        column of ones, which `Dataset.with_bias` appends.

        Parameters
        ----------
        module : torch.nn.Module
            With these three layers and no other, such as a ``Sequential`` of them. Its precision and device do not
            matter; W and a are float64.

        Raises
        ------
        ValueError
            Other layers or an output bias, which `DeepNetwork.from_torch` takes, a slope outside [0, 1), or a module
            whose outputs are not those of its layers. An ImportError without torch (extra ``torch``).
        """
        W, a, leak, bias_input = weights_of(module)
        return cls(W, a, leak=leak, bias_input=bias_input)

    def to_torch(self, *, bias: bool | None = None) -> Any:
        """Return a torch module with these weights, in double precision.

        Parameters
        ----------
        bias : bool, optional
            True: the last column of W becomes the bias of the first layer, and the module takes d - 1 inputs. By
            default that is so where the network has a `bias_input`, which the bias then contains.

        Returns
        -------
        torch.nn.Sequential
            Linear, ReLU (LeakyReLU if the leak is above 0), Linear; outputs have the shape (n, K), also with K = 1.

        Raises
        ------
        ValueError
            A `bias` that is no truth value, or W with one column alone. An ImportError without torch (extra ``torch``).
        """
        return module_of(self, bias=bias)

    def _with(self, W: FloatArray, a: FloatArray, pattern: PatternArray | None = None) -> Network:
        """Return a network of this leak and bias from arrays that the core made: not checked, not copied."""
        net = type(self).__new__(type(self))
        net._set(W, a, self.leak, pattern, self.bias_input)
        return net

    def _set(self, W: FloatArray, a: FloatArray, leak: float, pattern: PatternArray | None, bias: float | None) -> None:
        fields = {"W": W, "a": a, "leak": leak, "pattern": pattern, "bias_input": bias}
        for name, value in fields.items():
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
    def n_outputs(self) -> int:
        """Number K of outputs."""
        return outputs_of(self.a)

    @property
    def bias(self) -> FloatArray | None:
        """What is added to w_j·x of inputs without the bias column, shape (m,); None for a network without a bias."""
        return None if self.bias_input is None else self.bias_input * self.W[:, -1]

    @property
    def theta(self) -> FloatArray:
        """The parameters θ of each neuron in a row, (w_j, a_j), shape (m, d + K)."""
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
        """|a_j|² - |w_j|² of each neuron, shape (m,), computed as (|a_j| - |w_j|)(|a_j| + |w_j|)."""
        norms = np.linalg.norm(self.W, axis=1)
        sizes = np.abs(self.a) if self.a.ndim == 1 else np.linalg.norm(self.a, axis=1)
        balance: FloatArray = (sizes - norms) * (sizes + norms)
        return balance

    def __call__(self, X: npt.ArrayLike) -> FloatArray:
        """Evaluate the network on inputs X.

        Parameters
        ----------
        X : array_like, shape (n, d), or (n, d - 1) with a bias
            Inputs, one row a sample; the column of a bias may be left out.

        Returns
        -------
        ndarray, shape (n,), or (n, K) with K >= 2 outputs
            f(x_i) for each row.

        Raises
        ------
        ValueError
            X has another shape or holds something that is not a finite real number.
        """
        Z = with_bias_input(X, self.dim, self.bias_input) @ self.W.T
        values: FloatArray = np.maximum(Z, self.leak * Z) @ self.a
        return values

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of all that `==` compares: equal where networks are equal, in every process."""
        bias = () if self.bias_input is None else (self.bias_input,)
        return content_digest(self.W, self.a, self.leak, self.pattern, *bias)

    def __hash__(self) -> int:
        """Return a hash that is the same in every process."""
        return hash_of(self.fingerprint)

    def __eq__(self, other: object) -> bool:
        """Tell whether weights, leak, pattern and bias are equal, entry by entry."""
        if not isinstance(other, Network):
            return NotImplemented
        same = np.array_equal(self.W, other.W) and np.array_equal(self.a, other.a)
        same = same and (self.leak, self.bias_input) == (other.leak, other.bias_input)
        if self.pattern is None or other.pattern is None:
            return same and self.pattern is other.pattern
        return same and np.array_equal(self.pattern, other.pattern)

    def __repr__(self) -> str:
        """One line: sizes, leak, norm and whether a pattern is carried."""
        return line(self)

    def _repr_html_(self) -> str:
        """Show sizes, norm and signs as a table in a notebook."""
        return table(self)

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied network with its arrays read-only again."""
        self.__dict__.update(state)
        self.__dict__.setdefault("bias_input", None)
        self._freeze()
