"""What is there for two layers alone: networks and runs of layers are refused with what there is instead."""

from __future__ import annotations

from .._validation import invalid
from ._network import DeepNetwork
from ._solution import DeepSolution


def refuse_layers(value: object, name: str, why: str) -> None:
    """Refuse a network of layers, or a run of one.

    Raises
    ------
    ValueError
        It is one of them; the message names the argument and says why.
    """
    if isinstance(value, (DeepNetwork, DeepSolution)):
        raise invalid(name, f"be of two layers ({why})", f"a {type(value).__name__}")
