"""What happens at the kinks, shared by `limits`, `flow`, `early` and `analysis`.

The activation boundaries of a dataset, what a neuron does there, and its flow under constant duals. Nothing
here is public.
"""

from __future__ import annotations

from ._event_columns import EventColumns
from ._event_kinds import EVENT_KINDS, RENAMED_KINDS

__all__ = ["EVENT_KINDS", "RENAMED_KINDS", "EventColumns"]
