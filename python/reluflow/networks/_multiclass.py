"""K independent two-layer networks, one for each class [WP, Sec. 2]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from .._digest import content_digest, hash_of
from .._validation import FloatArray, IntArray, instance, invalid, shown
from ._network import Network
from ._parts import one_output


@dataclass(frozen=True, eq=False, init=False, repr=False)
class MultiClassNetwork:
    """K independent networks on the same inputs: output k says how much a sample looks like class k.

    Each is trained on one class against the rest, [WP, Sec. 2]. ``Network.init(..., classes=K)`` draws one.

    Parameters
    ----------
    networks : iterable of Network
        K >= 2 of them, with one number of inputs and one leak; the widths may differ.

    Attributes
    ----------
    networks : tuple of Network
    K, dim : int
        Number of classes and of inputs.
    leak : float
    norm : float
        Euclidean norm of all weights of all networks.

    Raises
    ------
    ValueError
        Fewer than two networks, something else than a network, or networks that differ in inputs or leak.

    Examples
    --------
    >>> import reluflow as rf
    >>> net = rf.Network.init(5, 2, classes=3, scale=0.1, seed=1)
    >>> net
    MultiClassNetwork(K=3, widths=(5, 5, 5), dim=2, leak=0)
    >>> net[0] == net[1]
    False
    >>> net([[1.0, 0.0], [0.0, 1.0]]).shape
    (2, 3)
    """

    networks: tuple[Network, ...]

    def __init__(self, networks: Iterable[Network]) -> None:
        kept = tuple(networks)
        if len(kept) < 2:
            raise invalid("networks", "hold one network for each of at least two classes", f"{len(kept)}")
        for net in kept:
            instance(net, "networks", Network, "networks only")
            one_output(net, "networks")
        for name in ("dim", "leak"):
            values = [getattr(net, name) for net in kept]
            if len(set(values)) > 1:
                raise invalid("networks", f"have one {name}", ", ".join(f"{value:g}" for value in values))
        object.__setattr__(self, "networks", kept)

    @property
    def K(self) -> int:
        """Number of classes."""
        return len(self.networks)

    @property
    def dim(self) -> int:
        """Number d of inputs."""
        return self.networks[0].dim

    @property
    def leak(self) -> float:
        """Slope of the activation on the negative side."""
        return self.networks[0].leak

    @property
    def norm(self) -> float:
        """Euclidean norm of all weights of all networks."""
        return float(np.linalg.norm([net.norm for net in self.networks]))

    def __len__(self) -> int:
        """Return K."""
        return self.K

    def __iter__(self) -> Iterator[Network]:
        """Go through the networks in the order of the classes."""
        return iter(self.networks)

    def __getitem__(self, k: int) -> Network:
        """Return the network of class index k, 0 ... K-1.

        Raises
        ------
        ValueError
            ``k`` is no class index.
        """
        if isinstance(k, (bool, np.bool_)) or not isinstance(k, (int, np.integer)) or not 0 <= k < self.K:
            raise invalid("k", f"be a class index 0 ... {self.K - 1}", shown(k))
        return self.networks[int(k)]

    def __call__(self, X: npt.ArrayLike) -> FloatArray:
        """Evaluate all networks on inputs X (n, d): the outputs f_k(x_i), shape (n, K).

        Raises
        ------
        ValueError
            X has another shape or holds something that is not a finite real number.
        """
        return np.column_stack([net(X) for net in self.networks])

    def predict(self, X: npt.ArrayLike) -> IntArray:
        """Return the class index of the largest output for each row of X (n, d), shape (n,); the first of equal ones.

        Raises
        ------
        ValueError
            As for a call.
        """
        indices: IntArray = self(X).argmax(axis=1).astype(np.int64)
        return indices

    @cached_property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of all that `==` compares: equal where networks are equal, in every process."""
        return content_digest(*self.networks)

    def __hash__(self) -> int:
        """Return a hash that is the same in every process."""
        return hash_of(self.fingerprint)

    def __eq__(self, other: object) -> bool:
        """Tell whether all networks are equal, entry by entry."""
        if not isinstance(other, MultiClassNetwork):
            return NotImplemented
        return self.networks == other.networks

    def __repr__(self) -> str:
        """One line: the sizes and the leak."""
        widths = ", ".join(str(net.width) for net in self.networks)
        return f"MultiClassNetwork(K={self.K}, widths=({widths}), dim={self.dim}, leak={self.leak:g})"
