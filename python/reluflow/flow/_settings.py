"""How a run was made: every argument that can change its result, and the version that made it."""

from __future__ import annotations

from dataclasses import dataclass, fields

from .._validation import FloatArray, ReadOnly
from ..losses import LossName, ReductionName
from ._stop import Stop


@dataclass(frozen=True, eq=False, kw_only=True)
class Settings(ReadOnly):
    """Arguments of `reluflow.integrate`, as used, and the version of reluflow.

    Attributes
    ----------
    until : Stop
    loss, reduction : str
    weight_decay : float
        γ of the term γ/2 |θ|² that is added to the loss.
    rtol : float
    atol : float or None
        None stands for 0: the error is relative to each neuron's size alone.
    save_at, save_at_log, save_at_log_norm : ndarray or None
    on_branch : str
    max_events : int or None
    start_time, start_log_time : float
        Time at the start and its logarithm; 0 and -inf unless the run continues another one.
    version : str
        Version of reluflow.
    """

    until: Stop
    loss: LossName
    reduction: ReductionName
    rtol: float
    atol: float | None
    save_at: FloatArray | None
    save_at_log: FloatArray | None
    on_branch: str
    max_events: int | None
    start_time: float
    start_log_time: float
    version: str
    weight_decay: float = 0.0
    save_at_log_norm: FloatArray | None = None

    def as_dict(self) -> dict[str, object]:
        """Return the settings by name, in the order of the class."""
        return {field.name: getattr(self, field.name) for field in fields(self)}
