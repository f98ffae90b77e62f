"""What a descent returns."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

from .._digest import fingerprint_of
from .._files import read_archive, write_archive
from .._validation import FloatArray, IntArray, ReadOnly, freeze, invalid
from ..layered._several import data_of, stored
from ..networks import Network

_FORMAT, _SCHEMA = "reluflow descent", 1
_ARRAYS = ("t", "step_index", "W", "a", "log_loss")
VALUES = ("steps_done", "seconds", "status", "message", "settings")


@dataclass(frozen=True, eq=False)
class DescentResult(ReadOnly):
    """What `descend` returns. All arrays are read-only.

    Attributes
    ----------
    data : Dataset, or what else `descend` was given for several outputs
    initial, final : Network
        The network before the first and after the last step.
    t : ndarray, shape (k,)
        Flow time of the kept states: step size times step index.
    step_index : ndarray of int, shape (k,)
        Number of steps taken at the kept states, from 0.
    W : ndarray, shape (k, m, d)
    a : ndarray, shape (k, m), or (k, m, K) with several outputs
    log_loss : ndarray, shape (k,)
        Natural logarithm of the loss on all samples, with the reduction.
    steps_done : int
    seconds : float
        Wall-clock time.
    status : str
        ``reached_steps``, ``stopped_by_callback``, ``interrupted`` or ``non_finite``.
    message : str
        The status as a sentence.
    settings : dict
        Every argument that was used, and the version.
    """

    data: Any
    initial: Network
    final: Network
    t: FloatArray = field(repr=False)
    step_index: IntArray = field(repr=False)
    W: FloatArray = field(repr=False)
    a: FloatArray = field(repr=False)
    log_loss: FloatArray = field(repr=False)
    steps_done: int
    seconds: float
    status: str
    message: str
    settings: dict[str, Any]

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits of the run: the same for the same run, however long it took, in every process."""
        return fingerprint_of(self)

    def __repr__(self) -> str:
        """One line: how it ended and how far it came."""
        m, d = self.final.W.shape
        steps = f"{self.steps_done} steps to t={float(self.t[-1]):.6g}"
        return f"DescentResult({self.status}, {steps}, log loss={float(self.log_loss[-1]):.6g}, width={m}, dim={d})"

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to one .npz file, whole or not at all; `DescentResult.load` reads it back exactly.

        Raises
        ------
        FileNotFoundError, PermissionError
            The folder does not exist or may not be written to.
        OSError
            The system cannot write; what was there is still there.
        """
        own, about = stored(self.data)
        start: dict[str, Any] = {"W0": self.initial.W, "a0": self.initial.a, **own}
        if self.initial.pattern is not None:
            start["pattern0"] = self.initial.pattern
        known = {"leak": self.initial.leak, "net_bias_input": self.initial.bias_input}
        record = {name: getattr(self, name) for name in VALUES} | known | about
        arrays = {name: getattr(self, name) for name in _ARRAYS}
        write_archive(path, {**arrays, **start}, {"format": _FORMAT, "schema": _SCHEMA, **record})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> DescentResult:
        """Read a result that `save` wrote: the same bits.

        Raises
        ------
        FileNotFoundError, IsADirectoryError
            There is no such file, or it is a folder.
        ValueError
            The file holds no result of `descend`, or is damaged; the message names the path and what is wrong.
        """
        arrays, record = read_archive(path, (_FORMAT,), _SCHEMA)
        try:
            for array in arrays.values():
                freeze(array)
            kept = {name: arrays[name] for name in _ARRAYS} | {name: record[name] for name in VALUES}
            if kept["settings"].get("rates") is not None:
                kept["settings"]["rates"] = tuple(kept["settings"]["rates"])
            data = data_of(arrays, record)
            known = {"leak": record["leak"], "bias_input": record.get("net_bias_input")}
            initial = Network(arrays["W0"], arrays["a0"], pattern=arrays.get("pattern0"), **known)
            final = initial._with(arrays["W"][-1], arrays["a"][-1])
            return cls(data=data, initial=initial, final=final, **kept)
        except Exception as error:  # whatever the wrong kind of value in a damaged file leads to
            raise invalid("path", "hold a whole descent", f"{os.fspath(path)!r}, damaged: {error}") from error

    @property
    def success(self) -> bool:
        """Whether all steps were taken."""
        return self.status == "reached_steps"
