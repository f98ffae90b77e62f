"""A run, proved: that the events of a solution, and no others, happen, and where the state is."""

from __future__ import annotations

from ._certificate import load
from ._limit import ProvedLimit, prove_limit
from ._proof import Proof, ProvedEvents, State
from ._prove import prove

__all__ = ["Proof", "ProvedEvents", "ProvedLimit", "State", "load", "prove", "prove_limit"]
