"""What the arrays and values of a stored solution must be: kinds, shapes that agree, numbers that a run can give."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .._files import DamagedError
from ..kinks import EVENT_KINDS

# Name, dtype and shape of each array: m neurons, d inputs, n samples, k kept states, c checkpoints, e events,
# p numbers of the control of steps.
_SHAPES = (
    ("t", "f8", "k"),
    ("log_t", "f8", "k"),
    ("log_loss", "f8", "k"),
    ("W", "f8", "kmd"),
    ("a", "f8", "km"),
    ("checkpoint_t", "f8", "c"),
    ("checkpoint_log_t", "f8", "c"),
    ("checkpoint_W", "f8", "cmd"),
    ("checkpoint_a", "f8", "cm"),
    ("checkpoint_events", "i8", "c"),
    ("event_t", "f8", "e"),
    ("event_log_t", "f8", "e"),
    ("event_neuron", "i4", "e"),
    ("event_sample", "i4", "e"),
    ("event_kind", "u1", "e"),
    ("event_tie", "i8", "e"),
    ("W0", "f8", "md"),
    ("a0", "f8", "m"),
    ("final_W", "f8", "md"),
    ("final_a", "f8", "m"),
    ("final_pattern", "i1", "mn"),
    ("pattern0", "i1", "mn"),
    ("beyond_W", "f8", "md"),
    ("beyond_a", "f8", "m"),
    ("beyond_pattern", "i1", "mn"),
    ("final_sample_weights", "f8", "n"),
    ("beyond_sample_weights", "f8", "n"),
    ("final_pace", "f8", "p"),
)
# Of a run to its limit that went on beyond the range of doubles: its last state, smaller by a power of two.
_BEYOND = ("beyond_W", "beyond_a", "beyond_pattern")
# Of the samples at both ends, where margins no longer tell them.
_SAMPLE_WEIGHTS = ("final_sample_weights", "beyond_sample_weights")
_PACES = 5  # `Pace` of the core
# Not in the files of older versions, or not in all.
LATER = ("checkpoint_events", *_BEYOND, *_SAMPLE_WEIGHTS, "final_pace")
_WEIGHTS = ("W", "a", "checkpoint_W", "checkpoint_a", "final_W", "final_a", "beyond_W", "beyond_a")
_TIMES = ("t", "log_t", "checkpoint_t", "checkpoint_log_t", "event_t", "event_log_t")
_RECORD = {
    "final_t": float,
    "final_log_t": float,
    "final_log_loss": float,
    "status": str,
    "message": str,
    "success": bool,
    "stats": dict,
    "branchings": list,
}


def check_arrays(arrays: dict[str, Any]) -> None:
    """Check the arrays of a solution.

    Raises
    ------
    DamagedError
        The message names the array and what is wrong with it.
    """
    shape = arrays["X"].shape
    if len(shape) != 2:
        raise DamagedError(f"X has the shape {shape}")
    sizes = {"n": shape[0], "d": shape[1], "p": _PACES}
    for name, kind, letters in _SHAPES:
        if name in LATER and name not in arrays:
            continue
        _check_shape(name, arrays[name], np.dtype(kind), letters, sizes)
    _require(len({name in arrays for name in _BEYOND}) == 1, "beyond_W", "a part of a state")
    for name in [name for name in _WEIGHTS if name in arrays]:
        _require(bool(np.isfinite(arrays[name]).all()), name, "a weight that is not finite")
    for name in [name for name in _SAMPLE_WEIGHTS if name in arrays]:
        shares = arrays[name]
        is_share = bool(((shares >= 0) & np.isfinite(shares)).all()) and bool(shares.any())
        _require(is_share, name, "weights that are no shares of a sum")
    pace = arrays.get("final_pace", np.zeros(_PACES))
    _require(bool(((pace >= 0) & np.isfinite(pace)).all()), "final_pace", "lengths of steps that no run has")
    for name in _TIMES:
        steps = arrays[name][1:] >= arrays[name][:-1]  # False beside nan
        _require(bool(steps.all()) and not np.isnan(arrays[name][:1]).any(), name, "times that do not increase")
    _require(not np.isnan(arrays["log_loss"]).any(), "log_loss", "a nan")
    for name in [name for name in ("final_pattern", "pattern0", "beyond_pattern") if name in arrays]:
        _require(bool(((arrays[name] >= -1) & (arrays[name] <= 1)).all()), name, "a sign that is none of -1, 0, +1")
    for name, end in (("neuron", sizes["m"]), ("sample", sizes["n"]), ("kind", len(EVENT_KINDS))):
        column = arrays["event_" + name]
        _require(bool(((column >= 0) & (column < end)).all()), "event_" + name, f"a number outside 0 ... {end - 1}")
    counts = np.r_[0, arrays.get("checkpoint_events", ()), sizes["e"]]
    _require(bool((counts[1:] >= counts[:-1]).all()), "checkpoint_events", "numbers of events that do not increase")


def _check_shape(name: str, array: npt.NDArray[Any], dtype: np.dtype[Any], letters: str, sizes: dict[str, int]) -> None:
    if array.dtype != dtype or array.ndim != len(letters):
        raise DamagedError(f"{name} has the dtype {array.dtype} and the shape {array.shape}")
    for letter, size in zip(letters, array.shape, strict=True):
        if sizes.setdefault(letter, size) != size:
            raise DamagedError(f"{name} has the shape {array.shape}, which does not agree with the other arrays")


def _require(holds: bool, name: str, found: str) -> None:
    if not holds:
        raise DamagedError(f"{name} holds {found}")


def check_record(raw: dict[str, Any]) -> None:
    """Check the values of a solution that are no arrays.

    Raises
    ------
    DamagedError
        The message names the value.
    """
    for name, kind in _RECORD.items():
        if not isinstance(raw[name], kind):
            raise DamagedError(f"{name} is {raw[name]!r}")
    for name in ("final_t", "final_log_t", "final_log_loss"):
        _require(not np.isnan(raw[name]), name, "nan")
