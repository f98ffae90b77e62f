"""Times and norms to save at that a run did not reach, in words for its message."""

from __future__ import annotations

from ._validation import FloatArray


def missed(name: str, wanted: FloatArray | None, reached: int) -> str:
    """Say which of the times or norms `wanted`, the argument `name`, are not among the first `reached`, if any."""
    if wanted is None or reached >= len(wanted):
        return ""
    count, what = len(wanted) - reached, "norms" if name == "save_at_log_norm" else "times"
    first = float(wanted[reached])
    return f"; {count} of {len(wanted)} {what} of {name} were not reached, the first is {first!r}"
