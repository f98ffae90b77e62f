"""Times as text."""

from __future__ import annotations

import math


def time_text(t: float, log_t: float, digits: int = 6) -> str:
    """Return a time with so many digits, as a power of e where it overflows."""
    if math.isfinite(t):
        return f"{t:.{digits}g}"
    exponent = f"{log_t:.{digits}g}"
    return f"e^({exponent})" if "e" in exponent else f"e^{exponent}"
