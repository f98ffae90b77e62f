"""The kinds of events, by the codes that the core uses."""

from __future__ import annotations

EVENT_KINDS = (
    "cross_up",
    "cross_down",
    "slide",
    "leave_up",
    "leave_down",
    "die",
    "branch",
    "start_up",
    "start_down",
    "start_slide",
)
"""Names of the kinds of events; the position is the code."""

RENAMED_KINDS = {
    "hold": "slide",
    "release_up": "leave_up",
    "release_down": "leave_down",
    "stop": "die",
    "start_hold": "start_slide",
}
"""What the names of version 0.1 are called now."""
