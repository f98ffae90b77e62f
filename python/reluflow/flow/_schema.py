"""The names in a solution file: one .npz, arrays as they are, everything else as JSON; no pickle."""

from __future__ import annotations

from ._content import LATER

FORMAT = "reluflow solution"
CLASSES = "reluflow solution of several classes"
SCHEMA = 1  # raise it when the names or meanings below change

_STATES = ("t", "log_t", "W", "a", "log_loss")
CHECKPOINTS = tuple("checkpoint_" + name for name in ("t", "log_t", "W", "a"))
_EVENTS = tuple("event_" + name for name in ("t", "log_t", "neuron", "sample", "kind", "tie"))
RAW_ARRAYS = (*_STATES, *CHECKPOINTS, *_EVENTS, *LATER, "final_W", "final_a", "final_pattern", "pattern0")
RAW_VALUES = ("final_t", "final_log_t", "final_log_loss", "status", "message", "success", "stats", "branchings")
TIMES = ("save_at", "save_at_log", "save_at_log_norm")
