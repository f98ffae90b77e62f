"""From what the core returns to the status and message of a solution."""

from __future__ import annotations

from typing import Any

from .._validation import FloatArray
from ._settings import Settings

NO_CHOICE = -1  # the run ended at its last branch point

# Sentences for the statuses that say all by themselves.
_MESSAGES = {
    "reached_time": "the time of the stop was reached",
    "reached_log_time": "the log time of the stop was reached",
    "reached_loss": "the loss of the stop was reached",
    "reached_mean_loss": "the mean loss of the stop was reached",
    "reached_direction": "the direction turns less than the stop asks for",
    "reached_events": "the number of events of the stop was reached",
    "reached_seconds": "the wall-clock time of the stop was reached",
    "max_events": "max_events was reached",
}


def complete(raw: dict[str, Any], settings: Settings, n: int) -> None:
    """Give `raw` its final status and message: which loss ended the run, and which times it did not reach."""
    if raw["status"] == "reached_loss" and settings.until.ends_on_mean(n, settings.reduction):
        raw["status"] = "reached_mean_loss"
    if raw["status"] == "branch":
        raw["branchings"][-1]["chosen"] = NO_CHOICE
    message = raw["message"] or _MESSAGES.get(raw["status"], raw["status"])
    for name, times in (("save_at", settings.save_at), ("save_at_log", settings.save_at_log)):
        if times is not None and len(raw["t"]) < len(times):
            message += _missed(name, times, len(raw["t"]))
    raw["message"] = message


def _missed(name: str, times: FloatArray, reached: int) -> str:
    count = len(times) - reached
    return f"; {count} of {len(times)} times of {name} were not reached, the first is {float(times[reached])!r}"
