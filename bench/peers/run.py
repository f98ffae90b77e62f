"""What a module that drives a peer gives: a way prepared for one problem, and the answer of one run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from time import process_time

import numpy as np


@dataclass(frozen=True)
class Answer:
    """The state θ = (W, a) flat where the run ended, the time there, and what it took."""

    theta: np.ndarray
    reached: float
    n_steps: int
    event_t: list[float] | None = None
    ended: str = "finished"


@dataclass
class Budget:
    """The processor seconds of one run. A way that can look at it between steps ends with what it has."""

    seconds: float
    begin: float = field(default_factory=process_time)

    def over(self) -> bool:
        return process_time() - self.begin > self.seconds


Run = Callable[[float, Budget], Answer]  # from the tolerance

# A way with events that has located so many more than there are is caught on a boundary that it cannot slide along.
CHATTER = 200


@dataclass
class Chatter:
    """Tells the chattering at a held boundary: many events while the time hardly moves."""

    t: float = -1.0
    count: int = 0

    def seen(self, t: float) -> bool:
        if t > self.t * (1.0 + 1e-6):
            self.t, self.count = t, 0
        self.count += 1
        return self.count > CHATTER
