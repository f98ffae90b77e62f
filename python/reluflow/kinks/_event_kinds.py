"""The kinds of events, by the codes that the core uses."""

from __future__ import annotations

EVENT_KINDS = (
    "cross_up",
    "cross_down",
    "hold",
    "release_up",
    "release_down",
    "stop",
    "branch",
    "start_up",
    "start_down",
    "start_hold",
)
"""Names of the kinds of events; the position is the code."""
