"""A run that was cut short and its continuation, as the one run that they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from .._validation import freeze
from ._solution import Solution
from ._stop import Stop

_STATES = ("t", "log_t", "W", "a", "log_loss")
_NODES = ("t", "log_t", "W", "a")
_EVENTS = ("t", "log_t", "neuron", "sample", "kind")
# Arrays of fewer bytes are copied whenever a leg is joined to them.
_LARGE = 1 << 20
# Work that adds up, and what was met; of the rest the continuation knows the present value.
WORK = (
    "steps",
    "orders",
    "late_steps",
    "carried_steps",
    "late_refused",
    "late_iterations",
    "rhs_equivalents",
    "seconds",
)
_SUMS = (*WORK, "events", "event_sets")


def joined(first: Solution, second: Solution, until: Stop) -> Solution:
    """Return the solution from the start of `first` to the end of `second`, which continues it, run `until` then."""
    one, two = first._raw, second._raw
    raw: dict[str, Any] = {**two, "pattern0": one["pattern0"]}
    for name in _NODES:
        raw["checkpoint_" + name] = _chained(one, two, "checkpoint_", name)
    raw.pop("checkpoint_events", None)
    if "checkpoint_events" in one and "checkpoint_events" in two:
        counts = two["checkpoint_events"] + len(one["event_t"])
        raw["checkpoint_events"] = _chained(one, {**two, "checkpoint_events": counts}, "checkpoint_", "events")
    for name in _STATES:
        shared = name in _NODES and one[name] is one["checkpoint_" + name] and two[name] is two["checkpoint_" + name]
        if first.settings.save_at_log_norm is not None:
            raw[name] = _extended(one[name], two[name])  # each state is one that was asked for
        else:
            raw[name] = raw["checkpoint_" + name] if shared else _chained(one, two, "", name)
    for name in _EVENTS:
        raw["event_" + name] = np.concatenate((one["event_" + name], two["event_" + name]))
    last = int(one["event_tie"][-1]) if len(one["event_tie"]) else 0
    raw["event_tie"] = np.concatenate((one["event_tie"], two["event_tie"] + last))
    raw["branchings"] = [*one["branchings"], *two["branchings"]]
    raw["stats"] = {**two["stats"], **{name: one["stats"][name] + two["stats"][name] for name in _SUMS}}
    for value in raw.values():
        if isinstance(value, np.ndarray):
            freeze(value)
    settings = replace(first.settings, until=until, version=second.settings.version)
    return Solution(first.data, first.initial, settings, raw)


def _chained(one: dict[str, Any], two: dict[str, Any], prefix: str, name: str) -> Any:
    """Join the rows of both, without the first of `two` where it repeats the last of `one`."""
    times = one[prefix + "log_t"], two[prefix + "log_t"]
    repeated = int(bool(len(times[0]) and len(times[1]) and times[0][-1] == times[1][0]))
    return _extended(one[prefix + name], two[prefix + name][repeated:])


class _Room(np.ndarray):
    """Rows of a joined array, `used` of them, and room behind them for those of the legs to come."""

    used: int


def _extended(rows: npt.NDArray[Any], more: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return both, one behind the other.

    A long run has dozens of legs, and its states can be hundreds of megabytes: they stay where they are while there is
    room behind them.
    """
    count = len(rows) + len(more)
    if rows.nbytes < _LARGE or rows.dtype != more.dtype:
        return np.concatenate((rows, more))
    room = rows.base
    if not (isinstance(room, _Room) and room.used == len(rows) and count <= len(room)):
        room = _Room((2 * count, *rows.shape[1:]), rows.dtype)
        room.used = 0
        room[: len(rows)] = rows
    room[len(rows) : count] = more
    room.used = count
    return np.ndarray((count, *rows.shape[1:]), rows.dtype, buffer=room)
